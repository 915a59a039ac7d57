"""Sentences against the tables that they speak of: values and orders."""
