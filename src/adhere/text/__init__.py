"""What the judge knows about text: words, sentences, paragraphs, lines, views, reasoning.

Every function is linear in time.
"""
