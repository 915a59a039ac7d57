"""Describe a study before it starts: what a person writes, what is planned, what it costs, and what is frozen."""
