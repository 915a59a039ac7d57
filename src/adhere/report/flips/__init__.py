"""Two Runs answer by answer."""
