"""The page of two runs, and the same as LaTeX."""
