"""Rates of kept rules, with intervals, and paired differences of two sets of sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from adhere.rules.checks.judge import RuleVerdict
from adhere.schema import Record
from adhere.stats import paired_bootstrap, wilson_clustered

SEED = 20261127


class Rate(Record, frozen=True):
    """Holds the share of kept among kept and broken verdicts; if there are none, the share is None, with the reason.

    `untriggered` and `undecided` are in no denominator. `sessions` counts the sessions with a kept or broken verdict.
    """

    name: str
    kept: int
    broken: int
    untriggered: int
    undecided: int
    sessions: int
    rate: float | None
    low: float | None
    high: float | None
    reason: str = ""


class Pairing(Record, frozen=True):
    """Holds how much more often the first of two sets of sessions kept rules, with the interval, in shares.

    A pair is a task and a rule that are decided in both sets; the interval is clustered by task. `name` is the rule, or
    all rules. Without a pair the numbers are None, and `reason` says why.
    """

    name: str
    tasks: int
    pairs: int
    difference: float | None
    low: float | None
    high: float | None
    reason: str = ""


def rate_of(name: str, verdicts: Iterable[RuleVerdict]) -> Rate:
    """Return the share of kept verdicts, its interval clustered by session."""
    counts: dict[str, int] = defaultdict(int)
    by_session: dict[str, list[int]] = defaultdict(list)
    for verdict in verdicts:
        counts[verdict.outcome] += 1
        if verdict.outcome in {"kept", "broken"}:
            by_session[verdict.session].append(verdict.outcome == "kept")
    n_kept, n_broken = counts["kept"], counts["broken"]
    groups = list(by_session.values())
    interval = wilson_clustered([sum(group) for group in groups], [len(group) for group in groups])
    return Rate(
        name, n_kept, n_broken, counts["untriggered"], counts["undecided"], len(groups),
        n_kept / (n_kept + n_broken) if n_kept + n_broken else None,
        interval.low if interval else None, interval.high if interval else None,
        "" if n_kept + n_broken else "no session triggered it and shows what came of it",
    )  # fmt: skip


def rates_by(verdicts: Sequence[RuleVerdict], key: Callable[[RuleVerdict], str]) -> list[Rate]:
    """Return a rate for each value of `key`, in order of appearance; verdicts with an empty value are left out."""
    groups: dict[str, list[RuleVerdict]] = {}
    for verdict in verdicts:
        if name := key(verdict):
            groups.setdefault(name, []).append(verdict)
    return [rate_of(name, group) for name, group in groups.items()]


def pair(first: Sequence[RuleVerdict], second: Sequence[RuleVerdict], tasks: Mapping[str, str]) -> list[Pairing]:
    """Return the differences of two sets of sessions on the same tasks: over all rules, then rule by rule.

    Args:
        first: Verdicts of the first set.
        second: Verdicts of the second set, on the same rules.
        tasks: The task of each session, by its name.
    """
    ours, theirs = _shares(first, tasks), _shares(second, tasks)
    common = sorted(ours.keys() & theirs.keys())
    rules = list(dict.fromkeys(rule for _, rule in common))
    rows = [_difference("all rules", common, ours, theirs)]
    return rows + [_difference(rule, [key for key in common if key[1] == rule], ours, theirs) for rule in rules]


_Shares = dict[tuple[str, str], float]


def _shares(verdicts: Iterable[RuleVerdict], tasks: Mapping[str, str]) -> _Shares:
    """Return the share of a task's sessions that kept a rule, by (task, rule)."""
    outcomes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for verdict in verdicts:
        task = tasks.get(verdict.session, "")
        if verdict.outcome in {"kept", "broken"} and task:
            outcomes[task, verdict.rule].append(verdict.outcome == "kept")
    return {key: sum(values) / len(values) for key, values in outcomes.items()}


def _difference(name: str, keys: Sequence[tuple[str, str]], ours: _Shares, theirs: _Shares) -> Pairing:
    tasks = [task for task, _ in keys]
    n = len(set(tasks))
    if not keys:
        return Pairing(name, 0, 0, None, None, None, "no rule is decided in both sets on one task")
    differences = [ours[key] - theirs[key] for key in keys]
    is_clustered = n < len(keys)
    estimate = paired_bootstrap(differences, seed=SEED, clusters_P=tasks if is_clustered else None)
    low, high = estimate.interval or (None, None)
    return Pairing(name, n, len(keys), estimate.value, low, high, estimate.reason)
