"""Estimate shares and means with 95 % intervals from the answers of a Run; every Measure is made here.

Answers that belong together (to one prompt, or to one group of prompts) are a cluster: they are not independent, and
intervals say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from adhere.pipeline.outcomes import Answers
from adhere.schema import Prompt
from adhere.stats import paired_bootstrap, wilson_clustered
from adhere.store.summary import Measure

_BOOTSTRAP_SEED = 0
Trial = tuple[str, int, int]
"""(cluster, how many passed, of how many)."""
Value = tuple[str, float]
"""(cluster, value)."""


def estimate_share(name: str, scope: str, trials: Iterable[Trial], noun: str) -> Measure:
    """Return the share of all trials that passed, with a Wilson interval that is widened for clusters."""
    of_cluster: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for cluster, passed, number in trials:
        of_cluster[cluster][0] += passed
        of_cluster[cluster][1] += number
    rows = [row for row in of_cluster.values() if row[1]]
    interval = wilson_clustered([row[0] for row in rows], [row[1] for row in rows])
    if interval is None:
        return nothing_measured(name, scope, noun)
    n = sum(row[1] for row in rows)
    return Measure(name, scope, sum(row[0] for row in rows) / n, interval.low, interval.high, n, noun)


def estimate_mean(name: str, scope: str, values: Sequence[Value], noun: str, *, top: float = 1.0) -> Measure:
    """Return the mean of (cluster, number) values from 0 to `top`, with a bootstrap interval over the clusters."""
    if not values:
        return nothing_measured(name, scope, noun)
    clusters, numbers = [cluster for cluster, _ in values], [value for _, value in values]
    shares, names = [value / top for value in numbers], dict.fromkeys(clusters)
    if len(set(numbers)) == 1:  # each cluster tells the same once
        estimate = paired_bootstrap(shares[: len(names)], seed=_BOOTSTRAP_SEED)
    else:
        together = clusters if len(names) < len(numbers) else None
        estimate = paired_bootstrap(shares, seed=_BOOTSTRAP_SEED, resamples=2000, clusters_P=together)
    low, high = estimate.interval or (None, None)
    return Measure(
        name,
        scope,
        sum(numbers) / len(numbers),
        None if low is None else max(0.0, low) * top,
        None if high is None else max(0.0, high) * top,
        len(numbers),
        noun,
        reason=estimate.reason,
    )


def mean_over_clusters(name: str, scope: str, values: Sequence[Value], noun: str, *, top: float = 1.0) -> Measure:
    """Estimate as `estimate_mean` does, but let single (weighted) values exceed `top`; the interval stays within it."""
    estimate = estimate_mean(name, scope, values, noun, top=top)
    return msgspec.structs.replace(estimate, high=None if estimate.high is None else min(top, estimate.high))


def mean_of_means(
    name: str, scope: str, groups: Mapping[str, Sequence[Value]], noun: str, *, top: float = 1.0
) -> Measure:
    """Return the mean over groups of the group means: groups count the same, however many values each has."""
    n = sum(map(len, groups.values()))
    weighted_values = [
        (cluster, value * n / (len(groups) * len(values))) for values in groups.values() for cluster, value in values
    ]
    return mean_over_clusters(name, scope, weighted_values, noun, top=top)


def nothing_measured(name: str, scope: str, noun: str, reason: str = "nothing was measured") -> Measure:
    """Return a measure without a number."""
    return Measure(name, scope, None, None, None, 0, noun, reason=reason)


def cluster_of(prompt: Prompt) -> str:
    """Return the cluster that a prompt belongs to: its group, or itself."""
    return prompt.tags.get("group", prompt.id)


def conversations(answers: Answers) -> Iterator[tuple[Prompt, int, bool]]:
    """Yield (prompt, draw, whether everything passed) for every conversation that was measured."""
    for prompt in answers.prompts:
        for draw in range(answers.draws):
            passed = answers.passes(prompt, draw)
            if passed is not None:
                yield prompt, draw, passed


def list_decided(answers: Answers, prompt: Prompt, turn: int, draw: int) -> list[bool]:
    """Return whether each constraint of one turn passed, without the undecided ones."""
    outcomes = answers.outcomes(prompt, turn, draw)
    return [outcome == "pass" for outcome in outcomes if outcome in {"pass", "fail"}]


def all_decided(answers: Answers, prompt: Prompt, draw: int) -> list[bool] | None:
    """Return whether each constraint of the first turn passed; None if one is undecided or there is no answer."""
    outcomes = answers.outcomes(prompt, 0, draw)
    return [outcome == "pass" for outcome in outcomes] if outcomes and "undecided" not in outcomes else None


def decided_answers(answers: Answers) -> Iterator[tuple[Prompt, list[bool]]]:
    """Yield (prompt, whether each constraint passed) for every first answer whose constraints are all decided."""
    for prompt in answers.prompts:
        for draw in range(answers.draws):
            passes = all_decided(answers, prompt, draw)
            if passes is not None:
                yield prompt, passes


def length_of_run(passed: Sequence[bool]) -> int:
    """Return how many passed before the first that did not."""
    return next((number for number, ok in enumerate(passed) if not ok), len(passed))
