"""Checks that find printed numbers which cannot all be right: one file a kind of contradiction."""
