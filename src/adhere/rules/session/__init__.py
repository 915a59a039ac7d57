"""A session of an agent in any log format: who said what, which tools were called, with what result.

model.py      what a session is
acts.py       what its calls do: commands, edits, commits, reads
record.py     what readers fill while they go through a log
read.py       which reader a file needs, by its content; folders, runs
logs/         a reader for each format
discover.py   the sessions of this repository in the folders of the tools that write them
secrets.py    keys and passwords, removed before anything is shown
paths.py      paths below the repository, also of Windows, and patterns of paths
"""
