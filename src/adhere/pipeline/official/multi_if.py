"""Multi-IF's published number: for each turn and language, the mean of IFEval's four accuracies.

Source: Y. He et al., arXiv 2410.15553; `metrics.py` of facebookresearch/Multi-IF, written anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from adhere.pipeline.outcomes import Answers, keeps_all
from adhere.pipeline.summarize.estimates import cluster_of, mean_over_clusters
from adhere.schema import VIEWS, Prompt
from adhere.store.summary import Measure

Pair = tuple[int, int]
"""Counts (passed, decided)."""


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the mean of four of each turn, over all languages and by language."""
    languages = list(dict.fromkeys(prompt.tags.get("language", "") for prompt in answers.prompts))
    for turn in range(max((len(prompt.turns) for prompt in answers.prompts), default=0)):
        prompts = [prompt for prompt in answers.prompts if turn < len(prompt.turns)]
        yield _mean_of_four(answers, prompts, turn, f"turn {turn + 1}")
        for language in languages if len(languages) > 1 else ():
            chosen = [prompt for prompt in prompts if prompt.tags.get("language", "") == language]
            yield _mean_of_four(answers, chosen, turn, f"turn {turn + 1}, {language}")


def _mean_of_four(answers: Answers, prompts: Sequence[Prompt], turn: int, scope: str) -> Measure:
    """Return the mean of four ratios of sums over answers; the interval is of their linear parts (delta method)."""
    value, linear_parts = parts_of_four(answers, prompts, turn)
    parts = [(cluster_of(prompt), part) for prompt, part in linear_parts]
    return msgspec.structs.replace(mean_over_clusters("mean of four", scope, parts, "answers"), value=value)


def parts_of_four(
    answers: Answers, prompts: Sequence[Prompt], turn: int
) -> tuple[float | None, list[tuple[Prompt, float]]]:
    """Return the mean of IFEval's four accuracies of one turn, and its linear parts, one for each answer.

    Without any answer: None and an empty list.
    """
    rows = [
        (prompt, row)
        for prompt in prompts
        for draw in range(answers.draws)
        if (row := _four_pairs(answers, prompt, turn, draw)) is not None
    ]
    if not rows:
        return None, []
    passed = [sum(row[at][0] for _, row in rows) for at in range(4)]
    totals = [sum(row[at][1] for _, row in rows) for at in range(4)]
    rates = [a / b for a, b in zip(passed, totals, strict=True)]
    value = sum(rates) / 4
    return value, [(prompt, value + _linear_part(row, rates, totals, len(rows))) for prompt, row in rows]


def _four_pairs(answers: Answers, prompt: Prompt, turn: int, draw: int) -> list[Pair] | None:
    """Return one answer's pairs: for its prompt and for its instructions, strict and then loose.

    None where one of the four is undecided.
    """
    row: list[Pair] = []
    for view in VIEWS:
        outcomes = answers.outcomes(prompt, turn, draw, view)
        passed, failed = outcomes.count("pass"), outcomes.count("fail")
        is_kept = keeps_all(outcomes, len(outcomes))
        row += [(int(bool(is_kept)), int(is_kept is not None)), (passed, passed + failed)]
    return row if all(total for _, total in row) else None


def _linear_part(row: Sequence[Pair], rates: Sequence[float], totals: Sequence[int], n: int) -> float:
    """Return how far one answer moves the mean of four.

    This is the first-order term of each ratio a/b, (a_i - rate * b_i) / mean(b), averaged over the four.
    """
    shift = 0.0
    for (passed, n_decided), rate, total in zip(row, rates, totals, strict=True):
        shift += (passed - rate * n_decided) * n / total
    return shift / 4
