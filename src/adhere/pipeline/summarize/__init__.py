"""Count the Responses and Verdicts of a Run into its Summary.

summary.py     the whole Summary; the counts must add up
counts.py      outcomes -> counts, rates, intervals: the one place that divides
tracked.py     the numbers that trackers are given
measures.py    what a suite's way of asking shows beside pass rates: by level, turn, variant, role and depth
"""

from adhere.pipeline.summarize.summary import summarize, summarize_shards, versions_of

__all__ = ["summarize", "summarize_shards", "versions_of"]
