"""Commands of a shell, read and never run.

parse.py     a command line as lists, pipelines and simple commands
forms.py     the commands that a simple command runs: behind sudo, env, xargs, `bash -c`, `uv run`, make and npm
outcome.py   which of them ran and which passed, as far as one exit status says
effects.py   the files that a command writes, removes or reads
patterns.py  whether a command is the one that a rule names
"""
