"""Families about seeing: drawings that a model writes, and pictures that it is shown."""
