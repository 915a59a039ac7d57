"""MultiChallenge's published number: the mean over its axes of the share of questions that any attempt passes.

Source: V. Deshpande et al., arXiv 2501.17399; `src/result_parser.py` in ekwinox117/multi-challenge at 5ccefcc, written
anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import estimate_share, mean_of_means
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the score overall, then of each axis. A question counts if an attempt passed or all were measured."""
    axes: dict[str, list[tuple[str, float]]] = {}
    for prompt in answers.prompts:
        passed = [answers.passes(prompt, draw) for draw in range(answers.draws)]
        if True in passed or None not in passed:
            axes.setdefault(prompt.tags["slice"], []).append((prompt.id, float(True in passed)))
    yield mean_of_means("MultiChallenge score", "", axes, "questions")
    for axis, values in axes.items():
        yield estimate_share("any attempt", axis, [(name, int(value), 1) for name, value in values], "questions")
