"""Run verifiers; no other place does (the judge).

Evaluation, re-scoring, data building and rewards all use this module.

The policy, in one place:

* An answer without any visible character fails everything: nothing was answered. One that calls a tool is judged by the
  kinds that read calls; they have one view, and every other kind finds no text in it.
* `strict` judges the text as it stands. `loose` passes where any of IFEval's eight variants of the text passes, so what
  passes strictly passes loosely by construction, and only strict failures are looked at again.
* An unknown constraint id, mode, profile or view, or a parameter outside its domain, raises: the data is wrong, and a
  guess would be a number without a measurement.
* A verifier that raises, takes too long (`constraints.limit`) or answers something that is no Finding is a bug, not the
  model's fault: the verdict is `undecided` and a `Fault`. It is never a pass, never a fail, and no reward comes of it.
* An answer beyond a million characters is judged as if it had been cut there, and every reason says so (`text.size`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from adhere.constraints.finding import Fault, Finding
from adhere.constraints.limit import LIMIT_S, Clock, OverTime, clock_of_this_thread
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import EMPTY, STRIPPED, PublishedConstraint, loosely
from adhere.constraints.resolve import insist_on, resolve, version_at_hand, version_of, version_of_ref
from adhere.errors import UsageError, one_of
from adhere.schema import OUTCOMES, VIEWS, ConstraintRef, Json, Mode, Outcome, Verdict, View, convert
from adhere.text.size import MOST_CHARACTERS, cut_note

if TYPE_CHECKING:
    from adhere.constraints.base import Constraint

VERIFIER_VERSION = "1"  # raised when this module changes its mind about any text
MOST_CACHED = 4096
BOTH = VIEWS
PROBE = "A quick brown fox jumps over the lazy dog.\n\nIt is happy."
"""An ordinary text. A constraint that is undecided for it is undecided for every answer."""


def verifier_version(constraint: ConstraintRef | str, *, mode: Mode = "reference", profile: str | None = None) -> str:
    """Return the versions a verdict depends on: the judge's and the kind's, e.g. `"1.2"`, `"1.ifeval.1"`.

    For an id alone, the version of a composition leaves out those of the constraints in it.

    Raises:
        UnknownName: There is no such constraint.
        UsageError: There is no such mode or profile.
    """
    if isinstance(constraint, ConstraintRef):
        return f"{VERIFIER_VERSION}.{version_of_ref(constraint, mode=mode, profile=profile)}"
    return f"{VERIFIER_VERSION}.{version_of(constraint, mode=mode, profile=profile)}"


class Judge:
    """Holds the constraints of one turn, ready to judge any number of answers, from any thread.

    Args:
        refs: The constraints, in order.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: Which version of a published suite (`ifbench-2025`); None: the newest.
        random_seed: Some published code draws numbers at random. It is judged with the numbers that follow this seed;
            None leaves the verdict undecided.

    Raises:
        UnknownName: There is no such constraint.
        BadParameter: A parameter lies outside its domain.
        UsageError: There is no such mode or profile.
    """

    __slots__ = ("_constraints", "_heads", "_reading", "_strips", "_undecidable")

    def __init__(
        self,
        refs: Iterable[ConstraintRef],
        *,
        mode: Mode = "reference",
        profile: str | None = None,
        random_seed: int | None = None,
    ) -> None:
        insist_on(mode, profile)
        self._set([resolve(ref, mode=mode, profile=profile, random_seed=random_seed) for ref in refs], profile)

    @classmethod
    def of(cls, constraints: Iterable[Constraint | PublishedConstraint]) -> Judge:
        """Make a Judge of constraints that are made already."""
        judge = cls(())
        judge._set(list(constraints), None)
        return judge

    def _set(self, constraints: list[Constraint | PublishedConstraint], profile: str | None) -> None:
        self._constraints = constraints
        self._strips = profile in STRIPPED
        self._undecidable: frozenset[int] | None = None
        self._reading = frozenset(place for place, constraint in enumerate(constraints) if constraint.reads_calls)
        self._heads = [
            (index, constraint.id, f"{VERIFIER_VERSION}.{version_at_hand(constraint, profile=profile)}")
            for index, constraint in enumerate(constraints)
        ]

    def __len__(self) -> int:
        return len(self._heads)

    @property
    def undecidable(self) -> frozenset[int]:
        """Positions of the constraints that are undecided for every answer.

        The published code draws their parameters, or they are broken. Where another constraint is undecided, the cause
        is the answer.
        """
        if self._undecidable is None:
            findings = self.findings(PROBE)
            self._undecidable = frozenset(
                index for index, (strict, _) in enumerate(findings) if strict[0] == "undecided"
            )
        return self._undecidable

    def findings(
        self,
        text: str,
        *,
        reasoning: str | None = None,
        whole: Callable[[], str] | None = None,
        views: Sequence[View] = BOTH,
    ) -> list[tuple[Finding, Finding]]:
        """Return (strict, loose) for each constraint.

        Args:
            text: The answer itself, without the model's reasoning.
            reasoning: The model's reasoning, for the few constraints that are about reasoning.
            whole: Makes the JSON of the answer with its tool calls (`Response.whole`), for the few constraints that are
                about calls; None: `text` is that JSON, or there are no calls.
            views: The views that are needed. Without `loose`, the strict finding stands in both places.
        """
        if self._strips and text[:1].isspace() | text[-1:].isspace():
            return self._findings_of_the_stripped(text, reasoning, whole, views)
        if len(text) > MOST_CHARACTERS:
            return self._findings_of_the_beginning(text, reasoning, whole, views)
        answer, clock = Text(text), clock_of_this_thread()
        judge = both_views if "loose" in views else strict_twice
        if self._reading and whole is not None:
            whole_answer = Text(whole())
            texts = [whole_answer if place in self._reading else answer for place in range(len(self._constraints))]
            pairs = zip(self._constraints, texts, strict=True)
            findings = [judge(constraint, own_text, reasoning, clock) for constraint, own_text in pairs]
        else:
            findings = [judge(constraint, answer, reasoning, clock) for constraint in self._constraints]
        answer.release()
        return findings

    def _findings_of_the_stripped(
        self, text: str, reasoning: str | None, whole: Callable[[], str] | None, views: Sequence[View]
    ) -> list[tuple[Finding, Finding]]:
        """Return the findings on the answer without the blanks around it; spans count from the unstripped beginning."""
        before = len(text) - len(text.lstrip())

        def moved(finding: Finding) -> Finding:
            span = finding.span
            return finding if span is None else finding._replace(span=(span[0] + before, span[1] + before))

        findings = self.findings(text.strip(), reasoning=reasoning, whole=whole, views=views)
        return [(moved(strict), moved(loose)) for strict, loose in findings]

    def _findings_of_the_beginning(
        self, text: str, reasoning: str | None, whole: Callable[[], str] | None, views: Sequence[View]
    ) -> list[tuple[Finding, Finding]]:
        note = cut_note(text)
        findings = self.findings(text[:MOST_CHARACTERS], reasoning=reasoning, whole=whole, views=views)
        return [
            (strict._replace(reason=f"{strict.reason} ({note})"), loose._replace(reason=f"{loose.reason} ({note})"))
            for strict, loose in findings
        ]

    def verdicts(
        self,
        text: str,
        views: Sequence[View] = BOTH,
        *,
        key: tuple[str, int, int] = ("", 0, 0),
        reasoning: str | None = None,
        whole: Callable[[], str] | None = None,
    ) -> list[Verdict]:
        """Return the findings as Verdicts: a verdict for each constraint and each view, in that order.

        Args:
            text: See `findings`.
            views: Which views to report.
            key: (prompt_id, turn, draw) to write into the verdicts.
            reasoning: See `findings`.
            whole: See `findings`.

        Raises:
            UsageError: There is no such view.
        """
        prompt_id, turn, draw = key
        verdicts: list[Verdict] = []
        views = checked_views(views)
        both = self.findings(text, reasoning=reasoning, whole=whole, views=views)
        for (index, id, version), (strict, loose) in zip(self._heads, both, strict=True):  # noqa: A001 - the field's word
            for view in views:
                finding = strict if view == "strict" else loose
                verdicts.append(
                    Verdict(prompt_id, turn, draw, index, id, view, *finding, version, isinstance(finding, Fault))
                )
        return verdicts


def checked_views(views: Sequence[View]) -> tuple[View, ...]:
    """Return the views, checked.

    Raises:
        UsageError: There is no view, or one is unknown or named twice.
    """
    if views is BOTH:
        return BOTH
    if isinstance(views, str) or not views or len(set(views)) < len(views):
        raise UsageError(f"views={views!r} must be a list of different views, of {', '.join(map(repr, VIEWS))}")
    return tuple(one_of(view, VIEWS, "view") for view in views)


_judges: dict[tuple[bytes, Mode, str | None, int | None], Judge] = {}


def judge_of(
    refs: Iterable[ConstraintRef],
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    random_seed: int | None = None,
) -> Judge:
    """Return the Judge of some constraints; for equal constraints and settings it is made once.

    Raises:
        UnknownName, BadParameter, UsageError: See Judge.
    """
    refs = tuple(refs)
    try:
        key = (msgspec.json.encode(refs), mode, profile, random_seed)
        judge = _judges.get(key)
    except (TypeError, ValueError, OverflowError):  # parameters that are no JSON: Judge says what is wrong with them
        return Judge(refs, mode=mode, profile=profile, random_seed=random_seed)
    if judge is None:
        judge = Judge(refs, mode=mode, profile=profile, random_seed=random_seed)
        if len(_judges) >= MOST_CACHED:
            _judges.clear()
        _judges[key] = judge
    return judge


def judge_text(
    text: str,
    refs: Iterable[ConstraintRef],
    views: Sequence[View] = BOTH,
    *,
    key: tuple[str, int, int] = ("", 0, 0),
    mode: Mode = "reference",
    profile: str | None = None,
    random_seed: int | None = None,
    reasoning: str | None = None,
    whole: Callable[[], str] | None = None,
) -> list[Verdict]:
    """Judge one text by each constraint under each view, in the order of `refs`; arguments as in `Judge`.

    Raises:
        UnknownName, BadParameter, UsageError: See Judge.
    """
    judge = judge_of(refs, mode=mode, profile=profile, random_seed=random_seed)
    return judge.verdicts(text, views, key=key, reasoning=reasoning, whole=whole)


def run_verifier(constraint: Constraint | PublishedConstraint, text: Text, reasoning: str | None = None) -> Finding:
    """Run one verifier on one text, strictly. A verifier that raises gives `undecided`.

    Nowhere else are a verifier's errors caught broadly.
    """
    if text.is_blank:
        return EMPTY
    try:
        if isinstance(constraint, PublishedConstraint):
            return constraint.judge(text)
        if not _is_ours(constraint):
            return _storable(constraint, _of_a_plug_in(constraint, text.raw, reasoning))
        raw = text.raw
        return constraint.check_with(raw, reasoning) if constraint.reads_reasoning else constraint.check(raw)
    except Exception as error:  # noqa: BLE001 - a crashed verifier is recorded, and is never a score
        return Fault("undecided", f"the verifier of {constraint.id} raised {type(error).__name__}: {error}")


def both_views(
    constraint: Constraint | PublishedConstraint, text: Text, reasoning: str | None = None, clock: Clock | None = None
) -> tuple[Finding, Finding]:
    """Return the findings (strict, loose), by one rule for every constraint: `published.loosely`.

    Both together have the time limit of one call. `clock` is this thread's; given, it need not be looked up for every
    constraint.
    """
    strict = None
    clock = clock or clock_of_this_thread()
    try:
        clock.start()
        strict = run_verifier(constraint, text, reasoning)
        if strict[0] == "pass" or constraint.reads_calls:  # mostly, so it is decided here; calls have no loose variant
            loose = strict
        else:
            loose = loosely(lambda variant: run_verifier(constraint, variant, reasoning), text, strict)
        clock.stop()
    except OverTime:
        clock.stop()
        late = _late(constraint)
        return strict or late, late
    except BaseException:
        clock.stop()
        raise
    return strict, loose


def strict_twice(
    constraint: Constraint | PublishedConstraint, text: Text, reasoning: str | None, clock: Clock
) -> tuple[Finding, Finding]:
    """Return the strict finding in both places, for callers that do not need the loose one."""
    try:
        clock.start()
        strict = run_verifier(constraint, text, reasoning)
        clock.stop()
    except OverTime:
        clock.stop()
        strict = _late(constraint)
    except BaseException:
        clock.stop()
        raise
    return strict, strict


def _of_a_plug_in(constraint: Constraint, text: str, reasoning: str | None) -> Any:
    """Run a plug-in's verifier, in a process of its own where a thread could not be stopped (`isolated`)."""
    from adhere.constraints import isolated

    if isolated.is_needed():
        with contextlib.suppress(isolated.NotHere):
            return isolated.check(constraint, text, reasoning)
    return constraint.check_with(text, reasoning) if constraint.reads_reasoning else constraint.check(text)


def _late(constraint: Constraint | PublishedConstraint) -> Finding:
    return Fault("undecided", f"the verifier of {constraint.id} took longer than {LIMIT_S:g} s on this answer")


def _is_ours(constraint: Constraint) -> bool:
    return type(constraint).__module__.startswith("adhere.")


def _storable(constraint: Constraint, finding: Any) -> Finding:
    """Return the finding of a plug-in's verifier if it can be stored; else `undecided`, with the plug-in's name."""
    who = f"the verifier of {constraint.id} ({type(constraint).__module__}.{type(constraint).__qualname__})"
    if not isinstance(finding, Finding):
        return Fault("undecided", f"{who} returned {finding!r:.60}, which is no Finding")
    if finding.outcome not in OUTCOMES:
        return Fault("undecided", f"{who} found {finding.outcome!r:.60}, which is none of {', '.join(OUTCOMES)}")
    try:
        convert(finding._asdict(), _Storable)
        json.dumps(finding, allow_nan=False)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
        return Fault("undecided", f"{who} found something that cannot be stored: {error}")
    return finding


class _Storable(msgspec.Struct):
    """Declares the types that the parts of a Finding must have."""

    outcome: Outcome
    reason: str
    measured: Json
    needed: Json
    span: tuple[int, int] | None
    score: float | None
