"""Checks that find printed numbers which cannot all be right: a file for each kind of contradiction."""
