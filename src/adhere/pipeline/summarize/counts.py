"""Turn outcomes into rates; no other place divides. `summarize` and `verify` both count here.

Answers to one prompt, and the constraints of one answer, are a cluster: they are not independent, and intervals say so.
Only sums by prompt are kept, so that a million answers take no more room than one to each prompt.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from adhere.constraints.published.judged.table import JUDGED
from adhere.pipeline.outcomes import Slot, keeps_all
from adhere.schema import VIEWS, View
from adhere.stats import ClusterSums
from adhere.store.summary import CountSums, Rate, Sums, Tally, TallySums, TrialSums

NO_PROMPT = "no prompt was measured"
NO_CONSTRAINT = "no constraint was measured"
MOST_UNDECIDED = 0.1
"""Share of undecided trials from which no rate is given: a rate of the others would be about something else."""
FEWEST_UNDECIDED = 10
"""Number of undecided trials below which their share says nothing yet: one row of five is a fifth."""


class Trials:
    """Counts what passes or fails by prompt: conversations, or constraints of conversations."""

    def __init__(self) -> None:
        self._of_prompt: dict[str, list[int]] = {}  # trials, passed, trials of finished answers, passed of those
        self.undecided = 0  # trials of answers that a program looked at and could not decide: they are in no rate

    def add(self, prompt_id: str, passed: int, n: int, *, is_completed: bool) -> None:
        """Count `n` trials of which `passed` passed; `is_completed`: the model finished its answers."""
        row = self._of_prompt.get(prompt_id)
        if row is None:
            self._of_prompt[prompt_id] = [n, passed, n, passed] if is_completed else [n, passed, 0, 0]
            return
        row[0] += n
        row[1] += passed
        if is_completed:
            row[2] += n
            row[3] += passed

    def sums(self) -> TrialSums:
        """Return the sums over all prompts."""
        rows = self._of_prompt.values()
        every = ClusterSums.of([row[1] for row in rows], [row[0] for row in rows])
        completed = every
        if any(row[2] != row[0] for row in rows):
            completed = ClusterSums.of([row[3] for row in rows], [row[2] for row in rows])
        return TrialSums(every, completed, self.undecided, sum(row[1] / row[0] for row in rows))


def _headline(sums: TrialSums, nothing: str) -> Rate:
    """Return the rate as `_rate` does, but no number where a tenth of the trials, and ten at least, are undecided."""
    rate, n = _rate(sums, nothing), sums.undecided + sums.every[1]
    if not rate.n or sums.undecided < max(FEWEST_UNDECIDED, MOST_UNDECIDED * n):
        return rate
    reason = f"{sums.undecided:,} of {n:,} are undecided, and the rest would be another measurement"
    return Rate(
        rate.passed, rate.n, None, None, None, rate.passed_completed, rate.n_completed, None, None, None, reason
    )


def _rate(sums: TrialSums, nothing: str) -> Rate:
    """Return the share that passed under both denominators; `nothing` is the reason if there was no trial."""
    every, completed = _share(sums.every), _share(sums.completed)
    return Rate(
        *every, *completed, reason=nothing if not every.n else "no answer was finished" if not completed.n else ""
    )


class _Share(NamedTuple):
    """Holds a share with its interval, in the order of Rate's fields."""

    passed: int
    n: int
    share: float | None
    low: float | None
    high: float | None


def _share(sums: Sums) -> _Share:
    cluster_sums = ClusterSums(*sums)
    interval = cluster_sums.wilson()
    if interval is None:
        return _Share(0, 0, None, None, None)
    return _Share(
        cluster_sums.passed, cluster_sums.trials, cluster_sums.passed / cluster_sums.trials, interval.low, interval.high
    )


class _KindCounts:
    """Counts verdicts on one kind, or one family, of constraint."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.trials: dict[View, Trials] = {view: Trials() for view in VIEWS}

    def sums(self) -> TallySums:
        """Return the sums of what was counted."""
        return TallySums(dict(self.outcomes), self.trials["strict"].sums(), self.trials["loose"].sums())


class Counts:
    """Counts what passes in some conversations: prompts and constraints, by view, kind and family."""

    def __init__(self) -> None:
        self._prompt: dict[View, Trials] = {view: Trials() for view in VIEWS}
        self._instruction: dict[View, Trials] = {view: Trials() for view in VIEWS}
        self._kinds: dict[str, _KindCounts] = defaultdict(_KindCounts)
        self._families: dict[str, _KindCounts] = defaultdict(_KindCounts)

    def add(
        self, prompt_id: str, slots: Sequence[Slot], n_constraints: int, *, is_completed: bool, times: int = 1
    ) -> bool | None:
        """Count one conversation; return whether it keeps all constraints strictly, None where that is unknown.

        Args:
            prompt_id: Id of its prompt.
            slots: The constraints that were judged.
            n_constraints: How many constraints the conversation has.
            is_completed: Whether the model finished every turn.
            times: How often to count the conversation.
        """
        every = {view: keeps_all([slot.outcome(view) for slot in slots], n_constraints) for view in VIEWS}
        for view, keeps in every.items():
            unknown = sum(slot.outcome(view) == "undecided" and slot.constraint_id != JUDGED for slot in slots)
            self._instruction[view].undecided += times * unknown
            if keeps is not None:
                self._prompt[view].add(prompt_id, times * keeps, times, is_completed=is_completed)
            elif unknown:
                self._prompt[view].undecided += times
        for slot in slots:
            kind, family = self._kinds[slot.constraint_id], self._families[slot.constraint_id.partition(":")[0]]
            kind.outcomes[slot.strict] += times
            family.outcomes[slot.strict] += times
            for view in VIEWS:
                outcome = slot.outcome(view)
                if outcome != "undecided":
                    passed = times if outcome == "pass" else 0
                    for trials in (self._instruction[view], kind.trials[view], family.trials[view]):
                        trials.add(prompt_id, passed, times, is_completed=slot.completed)
        return every["strict"]

    def finish(self) -> CountedRates:
        """Return what was counted, as rates."""
        return CountedRates(
            CountSums(
                (self._prompt["strict"].sums(), self._prompt["loose"].sums()),
                (self._instruction["strict"].sums(), self._instruction["loose"].sums()),
                {name: self._families[name].sums() for name in sorted(self._families)},
                {name: self._kinds[name].sums() for name in sorted(self._kinds)},
            )
        )


class CountedRates(NamedTuple):
    """Turns sums of counts into rates; see CountSums."""

    sums: CountSums

    def prompt(self, view: View) -> Rate:
        """Return the rate of conversations in which every constraint passed."""
        return _headline(self.sums.prompt[VIEWS.index(view)], NO_PROMPT)

    def instruction(self, view: View) -> Rate:
        """Return the rate of constraints, each counting once (the micro average)."""
        return _headline(self.sums.instruction[VIEWS.index(view)], NO_CONSTRAINT)

    def instruction_macro(self) -> float | None:
        """Return the mean over prompts of the share of constraints that pass strictly; None where `instruction` is."""
        strict = self.sums.instruction[VIEWS.index("strict")]
        return None if self.instruction("strict").of_all is None else strict.shares / strict.every[0]

    def kinds(self) -> dict[str, Tally]:
        """Return the tallies by constraint id, sorted."""
        return {name: _tally(tally) for name, tally in self.sums.kinds.items()}

    def families(self) -> dict[str, Tally]:
        """Return the tallies by the part of the id before the colon, sorted."""
        return {name: _tally(tally) for name, tally in self.sums.families.items()}


def add_sums(sums: CountSums, other: CountSums) -> CountSums:
    """Add the counts of two disjoint sets of prompts."""
    return CountSums(
        (_add_trials(sums.prompt[0], other.prompt[0]), _add_trials(sums.prompt[1], other.prompt[1])),
        (
            _add_trials(sums.instruction[0], other.instruction[0]),
            _add_trials(sums.instruction[1], other.instruction[1]),
        ),
        _add_tallies(sums.families, other.families),
        _add_tallies(sums.kinds, other.kinds),
    )


def _add_tallies(sums: Mapping[str, TallySums], other: Mapping[str, TallySums]) -> dict[str, TallySums]:
    nothing = TallySums({}, TrialSums(), TrialSums())
    tallies = {}
    for name in sorted({*sums, *other}):
        a, b = sums.get(name, nothing), other.get(name, nothing)
        outcomes = dict(Counter(a.outcomes) + Counter(b.outcomes))
        tallies[name] = TallySums(outcomes, _add_trials(a.strict, b.strict), _add_trials(a.loose, b.loose))
    return tallies


def _add_trials(sums: TrialSums, other: TrialSums) -> TrialSums:
    return TrialSums(
        ClusterSums(*sums.every).plus(ClusterSums(*other.every)),
        ClusterSums(*sums.completed).plus(ClusterSums(*other.completed)),
        sums.undecided + other.undecided,
        sums.shares + other.shares,
    )


def _tally(sums: TallySums) -> Tally:
    strict = _rate(sums.strict, NO_CONSTRAINT)
    tally = Tally(
        checked=sum(sums.outcomes.values()),
        passed=sums.outcomes.get("pass", 0),
        failed=sums.outcomes.get("fail", 0),
        undecided=sums.outcomes.get("undecided", 0),
        strict=strict,
        loose=strict if sums.loose == sums.strict else _rate(sums.loose, NO_CONSTRAINT),
    )
    insist(tally.checked == tally.passed + tally.failed + tally.undecided, f"verdicts do not add up: {tally}")
    return tally


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that were measured; None where none was."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def mean_of_all(*rates: float | None) -> float | None:
    """Return the mean of several rates; None where any was not measured."""
    return None if None in rates else mean(rates)


def insist(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as assert, and stays under python -O
    """Raise an AssertionError unless `holds`: the counts do not add up, which is a bug of ours."""
    if not holds:
        raise AssertionError(otherwise)
