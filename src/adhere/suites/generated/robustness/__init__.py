"""Families that ask the same thing in other ways: order, wording, number of rules, option names, language."""
