"""Rows of tokens packed as trees: shared beginnings are computed once, by whole weights or adapters."""
