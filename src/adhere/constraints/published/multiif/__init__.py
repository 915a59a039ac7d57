"""Multi-IF's counters that follow the language of the answer (arXiv 2410.15553, Apache-2.0).

Its other kinds are IFEval's.
"""
