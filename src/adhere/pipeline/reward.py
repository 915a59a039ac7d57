"""Turn verdicts into one number, for training.

The reward is the evaluation: the same judge, the same strict view, the same rules.

* `outcomes.together` combines the constraints of an answer, as in every rate: one fail decides.
* An answer that was cut at its token limit fails, unless `cut_answers` says to judge it as it stands, as a suite may.
* **A verifier's fault is no measurement.** Where a verifier raised or took too long (`Verdict.fault`) the reward is
  None, and trainers leave the answer out, with one exception: `binary` is 0 where another constraint failed, whatever
  this one is.
* **Another undecided constraint earns nothing.** Where the prompt has failed all the same, it counts as not passed.
  Where nothing failed, the reward is None if no answer could decide the constraint (`Judge.undecidable`): nothing was
  measured. But where it lies in this answer (no language is found in digits), it counts as not passed too: were it
  None, a policy would learn to write what cannot be judged instead of failing.
* **A language rule is never passed by a text without letters.** The published code passes `12345` as any language, and
  an evaluation in reference mode says so, too; a policy would learn to write digits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from adhere.constraints.published.shared.language import NO_LETTERS
from adhere.errors import one_of
from adhere.pipeline.judge import judge_of
from adhere.pipeline.outcomes import together
from adhere.schema import CUT_ANSWERS, ConstraintRef, CutAnswers, Mode, Verdict
from adhere.text.size import is_too_long

if TYPE_CHECKING:
    from adhere.pipeline.responding import Others

RewardKind = Literal["dense", "binary"]
REWARD_KINDS: tuple[RewardKind, ...] = ("dense", "binary")


def reward(
    verdicts: Iterable[Verdict], *, kind: RewardKind, undecidable: Collection[int] | None = None
) -> float | None:
    """Return how well one answer does what it was told, in [0, 1], from the strict view.

    Args:
        verdicts: The verdicts on one response. Views other than the strict one are ignored.
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only where all pass.
        undecidable: Positions of the constraints that no answer decides (`Judge.undecidable`); None: all that are
            undecided.

    Returns:
        None where there is no strict verdict (a failed call, a prompt without constraints), where a verifier failed, or
        where nothing failed and a constraint is undecided that no answer decides.

    Raises:
        UsageError: There is no such kind.
    """
    kind = one_of(kind, REWARD_KINDS, "reward")
    strict = [verdict for verdict in verdicts if verdict.view == "strict"]
    outcomes = [
        "fail"
        if undecidable is not None
        and verdict.outcome == "undecided"
        and not verdict.fault
        and verdict.index not in undecidable
        else verdict.outcome
        for verdict in strict
    ]
    outcome = together(outcomes, len(outcomes))
    if outcome == "undecided" or (kind == "dense" and any(verdict.fault for verdict in strict)):
        return None
    return float(outcome == "pass") if kind == "binary" else outcomes.count("pass") / len(outcomes)


def reward_of(
    text: str,
    refs: Iterable[ConstraintRef],
    *,
    kind: RewardKind,
    is_cut: bool = False,
    cut_answers: CutAnswers = "fail",
    mode: Mode = "reference",
    profile: str | None = None,
    reasoning: str | None = None,
    request: str | None = None,
    others: Others | None = None,
) -> float | None:
    """Return the reward of one answer. The study's online stages and every trainer's reward use this function.

    Args:
        text: The answer, without the model's reasoning.
        refs: The constraints.
        kind: See `reward`.
        is_cut: Whether the answer hit its token limit.
        cut_answers: Whether an answer that is cut fails, or is judged as it stands.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: Which version of a published suite.
        reasoning: The reasoning, for the few constraints that are about it.
        request: The prompt. An answer that does not respond to it (`pipeline.responding`) earns nothing. None: the
            constraints alone count.
        others: The other answers of the run or batch, to tell whether this one responds; None: they are not looked at.

    Raises:
        UnknownName, BadParameter, UsageError: A constraint cannot be judged, or `kind`, `cut_answers` or `mode` is
            unknown.
    """
    kind = one_of(kind, REWARD_KINDS, "reward")
    cut_answers = one_of(cut_answers, CUT_ANSWERS, "treatment of cut answers")
    refs = tuple(refs)
    judge = judge_of(refs, mode=mode, profile=profile)
    if cut_answers == "fail" and (is_cut or is_too_long(text)):
        return 0.0 if len(judge) else None
    verdicts = judge.verdicts(text, ("strict",), reasoning=reasoning)
    verdicts = without_empty_passes(verdicts, refs, text, mode=mode, profile=profile, reasoning=reasoning)
    undecidable = None
    if any(verdict.outcome == "undecided" and not verdict.fault for verdict in verdicts):
        undecidable = judge.undecidable
    earned_reward = reward(verdicts, kind=kind, undecidable=undecidable)
    if request is not None and earned_reward:
        from adhere.pipeline.responding import Exchange, responds

        answer = responds(Exchange(request, text, refs, profile), others=others, mode=mode)
        return 0.0 if answer.outcome == "no" else earned_reward
    return earned_reward


_LANGUAGE_RULES = ("language:", "change_case:english_")


def without_empty_passes(
    verdicts: Sequence[Verdict],
    refs: Sequence[ConstraintRef],
    text: str,
    *,
    mode: Mode,
    profile: str | None = None,
    reasoning: str | None = None,
) -> list[Verdict]:
    """Return strict verdicts as a reward counts them: a language rule that a text without letters passed fails.

    Args:
        verdicts: The verdicts on one answer.
        refs: The constraints that `Verdict.index` counts.
        text: The answer.
        mode: The mode in which the answer was judged; `fixed` leaves such texts undecided by itself.
        profile: As of `reward_of`.
        reasoning: As of `reward_of`.
    """

    def is_empty(verdict: Verdict) -> bool:
        ref = refs[verdict.index]
        if verdict.outcome != "pass" or verdict.view != "strict" or not _asks_language(ref.id, ref.params):
            return False
        if NO_LETTERS in verdict.reason:
            return True
        if mode == "fixed" or ref.id.startswith(_LANGUAGE_RULES):
            return False
        # Of a composition the reason may not say what an inner rule found; fixed mode leaves such a rule undecided.
        (fixed_verdict,) = judge_of((ref,), mode="fixed", profile=profile).verdicts(
            text, ("strict",), reasoning=reasoning
        )
        return fixed_verdict.outcome == "undecided"

    reason = f"{NO_LETTERS}, which no reward is paid for"
    return [
        msgspec.structs.replace(verdict, outcome="fail", reason=reason) if is_empty(verdict) else verdict
        for verdict in verdicts
    ]


def _asks_language(kind: object, params: object) -> bool:
    """Tell whether a constraint, or one inside it, is a rule about the language."""
    if isinstance(kind, str) and kind.startswith(_LANGUAGE_RULES):
        return True
    if isinstance(params, dict):
        return _asks_language(params.get("id"), list(params.values()))
    return isinstance(params, list | tuple) and any(_asks_language(None, param) for param in params)
