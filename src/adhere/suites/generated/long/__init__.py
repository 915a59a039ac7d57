"""Families with long contexts."""
