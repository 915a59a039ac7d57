"""WildIFEval's published number.

The mean over tasks of the share of constraints kept, overall and by the number of constraints. A constraint is kept or
not: the paper speaks of the judge's probability, and its code counts a probability of at least 0.5 as 1. A task of
which nothing was decided is in no mean.

Source: G. Lior et al., arXiv 2503.06573; `data_analysis/plots_for_paper.py` in gililior/wild-if-eval-code at 8df2240,
written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import estimate_mean, list_decided
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the mean score of all tasks, and by number of constraints."""
    rows = [
        (prompt.tags.get("slice", ""), prompt.id, mean(passes))
        for prompt in answers.prompts
        for draw in range(answers.draws)
        if (passes := list_decided(answers, prompt, 0, draw))
    ]
    for size in ("", *sorted({row_size for row_size, _, _ in rows})):
        values = [(name, value) for row_size, name, value in rows if size in {"", row_size}]
        yield estimate_mean("score", size, values, "tasks")
