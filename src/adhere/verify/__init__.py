"""Judge answers that someone already has.

`answers` takes a file of answers, and `rows` judges it one block at a time.
"""
