"""Checks of a rule, and how a session is held against them.

spec.py      rules and their checks as TOML says them: a library of kinds, never code
events.py    whether an act is the one that a check names: yes, no, or the log does not show it
order.py     never, does, before, after, between, instead, asks_before
texts.py     replies, files, commit messages and branch names under constraints
judge.py     a rule and a session: kept, broken, untriggered or undecided, with the place
"""
