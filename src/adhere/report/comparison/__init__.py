"""The page that compares two runs, and the same as LaTeX."""
