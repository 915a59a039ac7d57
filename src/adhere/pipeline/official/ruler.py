"""RULER's and NeedleBench's published number: the score of each task, and the mean of the tasks.

A task's score is the mean over its prompts of the share of references found; tasks count the same, however many prompts
each has.

Source: C.-P. Hsieh et al., arXiv 2404.06654; M. Li et al., arXiv 2407.11963.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import mean

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import Value, cluster_of, estimate_mean, list_decided, mean_of_means
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the score of each task, and the mean if there are several tasks."""
    shares_by_part: dict[str, list[Value]] = defaultdict(list)
    for prompt in answers.prompts:
        for draw in range(answers.draws if "part" in prompt.tags else 0):
            passes = list_decided(answers, prompt, 0, draw)
            if passes:
                shares_by_part[prompt.tags["part"]].append((cluster_of(prompt), mean(passes)))
    for part, shares in shares_by_part.items():
        yield estimate_mean("score", part, shares, "prompts")
    if len(shares_by_part) > 1:
        yield mean_of_means("score", "mean of tasks", shares_by_part, "prompts")
