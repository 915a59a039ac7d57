"""Families of tasks with one right answer: rewriting, logic, puzzles, plans, data, mathematics, code."""
