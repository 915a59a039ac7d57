"""StructEval's published number for output that is not rendered.

0.2 for the syntax, 0.8 for the share of paths, rounded to two digits.

Source: J. Yang et al., arXiv 2505.20139; `eval_engine/main.py` in TIGER-AI-Lab/StructEval at 13a34f4, written anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import cluster_of, decided_answers, estimate_mean
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the mean score of all tasks and of each kind of task."""
    task_scores = [(prompt, score_of(passes[0], passes[1:])) for prompt, passes in decided_answers(answers)]
    kinds = dict.fromkeys(prompt.tags["slice"] for prompt in answers.prompts)
    for kind in ("", *(kinds if len(kinds) > 1 else ())):
        values = [(cluster_of(prompt), score) for prompt, score in task_scores if kind in {"", prompt.tags["slice"]}]
        yield estimate_mean("StructEval score", kind, values, "answers")


def score_of(parses: bool, paths: list[bool]) -> float:  # noqa: FBT001 - it is what is scored
    """Return one answer's score: 0.2 if it parses, and then 0.8 times the share of `paths` that hold."""
    return round(0.2 * parses + 0.8 * (sum(paths) / len(paths) if parses else 0.0), 2)
