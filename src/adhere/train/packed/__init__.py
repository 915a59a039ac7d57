"""Rows of tokens packed as trees: what rows share is computed once, by whole weights or adapters."""
