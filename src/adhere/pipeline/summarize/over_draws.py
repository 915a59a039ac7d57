"""Measure what several draws of each prompt show: pass@k, pass^k, and the spread of the draws' own rates.

A prompt counts if all its draws were measured, so that a curve over k is of the same prompts. Prompts are the units of
the intervals (a group of prompts is one unit).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import stdev
from typing import get_args

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import cluster_of, conversations, estimate_mean, nothing_measured
from adhere.stats.draws import Convention, all_of, any_of, steps_to
from adhere.store.summary import DrawSums, Measure

SPREAD = "spread of draws"


def draw_sums(answers: Answers) -> DrawSums:
    """Return the sums that `over_draws` needs of the answers; empty sums for a single draw."""
    if answers.draws < 2:
        return DrawSums()
    passes_by_prompt: dict[str, list[bool]] = defaultdict(list)
    clusters = {prompt.id: cluster_of(prompt) for prompt in answers.prompts}
    for prompt, _, ok in conversations(answers):
        passes_by_prompt[prompt.id].append(ok)
    whole = {name: passed for name, passed in passes_by_prompt.items() if len(passed) == answers.draws}
    return DrawSums(
        tuple(map(sum, whole.values())),
        tuple(clusters[name] for name in whole),
        tuple(map(sum, zip(*whole.values(), strict=True))) or (0,) * answers.draws,
    )


def over_draws(sums: DrawSums, draws: int) -> Iterator[Measure]:
    """Yield pass@k and pass^k for k = 1, 2, 4, … under both conventions, then the spread; nothing for a single draw."""
    if draws < 2:
        return
    for convention in get_args(Convention):
        for sign, estimator in (("pass@", any_of), ("pass^", all_of)):
            for k in steps_to(draws):
                if convention == "unbiased" or k > 1:  # k = 1 is the same under both
                    value_of = [estimator(k, passed, draws, convention) for passed in range(draws + 1)]
                    values = [
                        (cluster, value_of[passed]) for cluster, passed in zip(sums.clusters, sums.passed, strict=True)
                    ]
                    scope = f"of {draws} draws" if convention == "unbiased" else "plug-in"
                    yield estimate_mean(f"{sign}{k}", scope, values, "prompts")
    n = len(sums.passed)
    yield _spread([passed / n for passed in sums.by_draw] if n else [])


def _spread(rates: Sequence[float]) -> Measure:
    """Return the standard deviation of the draws' rates (divisor D - 1) with its chi-squared interval."""
    from scipy.stats import chi2

    if not rates:
        return nothing_measured(SPREAD, "", "draws", "no prompt was measured in all draws")
    spread, free = stdev(rates), len(rates) - 1
    range_text = f"draws, {100 * min(rates):.1f} to {100 * max(rates):.1f} %"
    if not spread:
        return Measure(SPREAD, "", 0.0, None, None, len(rates), range_text, "all draws have the same rate")
    low, high = (spread * math.sqrt(free / float(chi2.ppf(tail, free))) for tail in (0.975, 0.025))
    return Measure(SPREAD, "", spread, low, min(1.0, high), len(rates), range_text)
