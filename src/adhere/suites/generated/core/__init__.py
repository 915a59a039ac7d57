"""Make the `core` suite and the prompts of studies.

They are everyday queries with drawn constraints, dealt into training and held-out parts.
"""
