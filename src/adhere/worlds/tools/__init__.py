"""Our own worlds of tools.

A state in SQLite, generated tasks with an exact goal state, and rules that a program checks.
"""
