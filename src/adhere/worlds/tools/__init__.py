"""Our own worlds of tools.

They have a state in SQLite, generated tasks with an exact goal state, and rules that a program checks.
"""
