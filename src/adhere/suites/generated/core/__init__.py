"""The `core` suite and the study's prompts.

Everyday questions with drawn constraints, dealt into training and held-out parts.
"""
