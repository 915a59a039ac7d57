"""Make the answer that `adhere study --json` and `adhere reproduce --json` print: flat, for other programs."""

from __future__ import annotations

import msgspec

from adhere.schema import Json, Record
from adhere.study.design.tuned import Tuning
from adhere.study.outcome.result import Answer, Contrast, Fragility, Growth, Scope, StudyResult, SuiteFound


class Range(Record, frozen=True):
    """Holds the lowest and the highest of several numbers."""

    low: float
    high: float


class Effect(Record, frozen=True):
    """Holds a difference with its interval; `p_adjusted` is Holm's p if several were tested together."""

    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None = None


class OnSuite(Effect, frozen=True):
    """Compares treatment and control on a published suite (prompts, strict); Holm's p is over the suites."""

    rate_treatment: float | None = None
    rate_control: float | None = None


class StudyAnswer(Record, frozen=True):
    """Holds the verdict of a study in one object. Rates and differences are shares (0.03 is 3 points), None if unknown.

    `headline`, `because`, `decides`: sentences that give the answer, its reason (where the interval lies), and what
    would decide an open question. `detectable`: the smallest difference that the study finds with 80 % power. `guards`,
    `sides`: the outcomes of tests beside the pass rate, by name, and of tasks of other harnesses.
    `changed_after_results`: the spec was changed when evaluations existed. `slices`, `suites`: the difference on each
    slice of prompts, and on each published suite.

    `leave_one_out`: the lowest and highest difference without one seed. `sign_flip_p`: exact over seeds. `kinds`: the
    difference with the kinds of constraint taken as a sample, on prompts that ask for one kind. `fragile`: the interval
    excludes 0, but not without some single seed. `these_kinds`: a YES or NO holds for the kinds that were measured, not
    for kinds in general. `growth`: gains and costs of both methods at several budgets; None if budgets were not varied.
    `tuning`: the trials of each tuned stage, `chosen` counts them from 0; None where no settings were searched for.
    """

    study: str
    question: str
    answer: Answer
    scope: Scope
    headline: str
    because: str
    decides: str
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    detectable: float | None
    confidence: float
    treatment: str
    control: str
    slice: str
    rate_treatment: float | None
    rate_control: float | None
    seeds: int
    seed_list: list[int]
    seeds_finished: list[int]
    prompts: int
    guards: dict[str, str]
    sides: dict[str, str]
    failures: list[str]
    changed_after_results: bool
    spec_sha256: str
    minutes: float
    fragile: bool
    these_kinds: bool
    leave_one_out: Range | None
    sign_flip_p: float | None
    kinds: Effect | None
    slices: dict[str, Effect]
    suites: dict[str, OnSuite]
    tuning: Tuning | None
    growth: Growth | None


class Disagreement(Record, frozen=True):
    """Holds a value of `result.json` that the records do not give, and the value that they give."""

    what: str
    stored: Json
    found: Json


class ArmRates(Record, frozen=True):
    """Holds the shares of all prompts that an arm passed, and passed soundly (None: older records), mean over seeds."""

    passed: float | None
    sound: float | None


class Reproduction(Record, frozen=True):
    """Compares a stored study with what its records give: counts of equal and different values, and the answer anew.

    `agree`, `differ` and `parts` count compared values, `parts` by part of the result. `answer_stored` is that of
    `result.json`; all below it comes from the records by the present rule, as in StudyAnswer. `without_seed`: the
    difference without each seed. `sound`: the answer's contrast if only sound answers counted; None if the study counts
    these anyway, or its records are older.
    """

    study: str
    agree: int
    differ: int
    parts: dict[str, int]
    differences: list[Disagreement]
    answer_stored: Answer
    answer: Answer
    fragile: bool
    headline: str
    because: str
    decides: str
    difference: float | None
    low: float | None
    high: float | None
    leave_one_out: Range | None
    without_seed: dict[str, Effect]
    sign_flip_p: float | None
    kinds: Effect | None
    slices: dict[str, Effect]
    arms: dict[str, ArmRates]
    sound: Effect | None


class StartsReproduction(Record, frozen=True):
    """Compares a study from several starts with its records: the combined result, and each start's own."""

    study: str
    agree: int
    differ: int
    differences: list[Disagreement]
    holds: str
    starts: dict[str, Reproduction]

    @property
    def any_differs(self) -> bool:
        """Whether any value, of the combined result or of one start, differs from what the records give."""
        return self.differ > 0 or any(reproduction.differ for reproduction in self.starts.values())


def study_answer(result: StudyResult) -> StudyAnswer:
    """Return the flat answer of a result."""
    verdict, primary, on = result.verdict, result.verdict.primary, result.fragility
    without = on.difference_range if on else None
    return StudyAnswer(
        study=result.name, question=verdict.question, answer=verdict.answer, scope=verdict.scope,
        headline=verdict.headline, because=verdict.because, decides=verdict.decides,
        difference=primary.difference, low=primary.low, high=primary.high,
        p_value=primary.p_value, detectable=primary.minimum_detectable, confidence=primary.confidence,
        treatment=primary.treatment, control=primary.control, slice=primary.slice,
        rate_treatment=primary.rate_treatment,
        rate_control=primary.rate_control, seeds=primary.n_seeds, seed_list=result.seeds,
        seeds_finished=result.seeds_finished, prompts=primary.n_prompts,
        guards={guard.key(primary.control): guard.outcome for guard in result.guards},
        sides={side.task: side.outcome for side in result.sides.tests} if result.sides else {},
        failures=result.failures,
        changed_after_results=any(change.evaluations for change in result.changes), spec_sha256=result.spec_sha256,
        minutes=result.minutes,
        fragile=verdict.fragile, these_kinds=verdict.these_kinds, leave_one_out=Range(*without) if without else None,
        sign_flip_p=on.sign_flip_p if on else None,
        kinds=kinds_of_answer(on),
        slices={contrast.slice: found_of(contrast) for contrast in on.slices} if on else {},
        suites={suite.name: on_suite(suite) for suite in result.suites},
        tuning=result.tuning,
        growth=result.growth,
    )  # fmt: skip


def on_suite(suite: SuiteFound) -> OnSuite:
    """Return a published suite's first contrast, which is the one that the verdict rests on."""
    first = suite.contrasts[0]
    rates = {"rate_treatment": first.rate_treatment, "rate_control": first.rate_control}
    return OnSuite(**msgspec.structs.asdict(found_of(first)), **rates)


def kinds_of_answer(on: Fragility | None) -> Effect | None:
    """Return the difference with kinds taken as a sample of all kinds; None without measurements or with one kind."""
    if on is None or on.kinds.difference is None:
        return None
    return Effect(on.kinds.difference, on.kinds.low, on.kinds.high, on.kinds.p_value)


def found_of(contrast: Contrast) -> Effect:
    """Return a contrast's difference, interval and p-values."""
    return Effect(contrast.difference, contrast.low, contrast.high, contrast.p_value, contrast.p_adjusted)
