"""Compare two measurements: paired differences with their uncertainty.

paired.py      two Runs, or two files of outcomes -> the difference, overall and per slice
equal.py       the same at equal tokens, or at equal length of the answers
perplexity.py  how well two models predict the same plain text
sides.py       what a change must not cost: tests of non-inferiority
"""

from adhere.pipeline.compare.paired import Comparison, Difference, EqualLength, compare_outcomes, compare_runs

__all__ = ["Comparison", "Difference", "EqualLength", "compare_outcomes", "compare_runs"]
