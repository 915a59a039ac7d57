"""Suites in the row format of IFEval, which `published.rows` reads.

Each file says only what its published file holds.
"""
