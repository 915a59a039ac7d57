"""Suites in formats of their own whose rows a program decides."""
