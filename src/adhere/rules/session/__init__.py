"""A session of an agent, whoever logged it: who said what, which tools were called, what came of it.

model.py      what a session is
acts.py       what its calls do: commands, edits, commits, reads
record.py     what readers fill while they go through a log
read.py       which reader a file needs, by its content; folders, runs
logs/         a reader a format
discover.py   the sessions of this repository in the folders of the tools that write them
secrets.py    keys and passwords, taken out before anything is shown
paths.py      paths below the repository, those of Windows too, and patterns of paths
"""
