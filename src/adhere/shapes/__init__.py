"""Messages, labels and training rows in the shapes that others give them, each read once for all rooms.

messages.py  whose a message is, what it says, and which text of a conversation is the model's answer
labels.py    a row's constraints: columns, labels and ground truths, as mappings, JSON or Python literals
rows.py      a training row of TRL's or of a public data set: what is asked, and what is answered
files.py     files of such rows, refused by file and line
"""
