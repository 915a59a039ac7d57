"""The judge: the only place that runs verifiers. Evaluation, re-scoring, data building and rewards all come through here.

The policy, in one place:

* An answer without any visible character fails everything: nothing was answered.
* `strict` judges the text as it stands. `loose` passes where any of the published variants of the text passes
  (`text.views.loose`), so what passes strictly passes loosely by construction, and only strict failures are looked at again.
* An unknown constraint id or a parameter outside its domain raises: the data is wrong, and a guess would be a number
  without a measurement.
* A verifier that raises is our bug, not the model's: the verdict is `undecided` and names the exception. It is never a
  pass, never a fail, and everything that is computed from it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adhere.constraints import Constraint, Finding, from_ref, registry
from adhere.schema import ConstraintRef, Verdict, View
from adhere.text.views import loose

VERIFIER_VERSION = "1"  # raised when this module changes its mind about any text
VIEWS: tuple[View, ...] = ("strict", "loose")
EMPTY = Finding("fail", "the answer is empty")


def verifier_version(constraint_id: str) -> str:
    """What a verdict about `constraint_id` depends on: the judge's version and the kind's, e.g. `"1.2"`.

    Raises:
        UnknownName: No such constraint.
    """
    return f"{VERIFIER_VERSION}.{registry.get(constraint_id).version}"


def judge_text(
    text: str,
    refs: Iterable[ConstraintRef],
    views: Sequence[View] = VIEWS,
    *,
    key: tuple[str, int, int] = ("", 0, 0),
) -> list[Verdict]:
    """Judge one text by each constraint under each view, in the order of `refs`.

    Args:
        text: The answer itself, without the model's reasoning.
        refs: The constraints of the turn that was answered.
        views: Which views to report.
        key: (prompt_id, turn, draw) to write into the verdicts.

    Raises:
        UnknownName: A constraint that no registry knows.
        BadParameter: A constraint whose parameters lie outside their domain.
    """
    verdicts = []
    for index, ref in enumerate(refs):
        constraint = from_ref(ref)
        strict = run_verifier(constraint, text) if text.strip() else EMPTY
        for view in views:
            finding = strict if view == "strict" else _loosely(constraint, text, strict)
            verdicts.append(verdict(finding, index=index, constraint_id=ref.id, view=view, key=key))
    return verdicts


def verdict(
    finding: Finding, *, index: int, constraint_id: str, view: View, key: tuple[str, int, int] = ("", 0, 0)
) -> Verdict:
    """A finding as it is stored."""
    prompt_id, turn, draw = key
    return Verdict(
        prompt_id=prompt_id,
        turn=turn,
        draw=draw,
        index=index,
        constraint_id=constraint_id,
        view=view,
        outcome=finding.outcome,
        reason=finding.reason,
        measured=finding.measured,
        needed=finding.needed,
        span=finding.span,
        score=finding.score,
        verifier_version=verifier_version(constraint_id),
    )


def run_verifier(constraint: Constraint, text: str) -> Finding:
    """One verifier on one text. This is the one broad catch around verifiers: whatever it raises is `undecided`."""
    try:
        return constraint.check(text)
    except Exception as error:  # noqa: BLE001 - a crashed verifier is recorded, and is never a score
        return Finding("undecided", f"the verifier of {constraint.id} raised {type(error).__name__}: {error}")


def _loosely(constraint: Constraint, text: str, strict: Finding) -> Finding:
    """Pass if any variant of the text passes; undecided if none passes but one could not be judged."""
    if strict.outcome == "pass" or not text.strip():
        return strict
    undecided = strict if strict.outcome == "undecided" else None
    for variant in loose(text):
        if variant == text or not variant.strip():
            continue
        finding = run_verifier(constraint, variant)
        if finding.outcome == "pass":
            # The span lies in the variant, not in the text that is shown, so it is not kept.
            return finding._replace(reason=f"{finding.reason} (in a loose variant of the answer)", span=None)
        if finding.outcome == "undecided":
            undecided = undecided or finding
    return undecided or strict
