"""Read messages, labels and training rows in the shapes that other tools give them.

messages.py  reads a message's role and text, and finds the model's answer in a conversation
labels.py    reads a row's constraints: columns, labels and ground truths, as mappings, JSON or Python literals
rows.py      reads a training row of TRL or of a public data set: what is asked, and what is answered
files.py     reads files of such rows; errors name file and line
"""
