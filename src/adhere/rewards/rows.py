"""Shared parts of reward functions: a row's constraints in any trainer's form, its answer, and its reward."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from adhere.constraints.resolve import insist_on
from adhere.errors import AdhereError, UsageError, nearest, one_of
from adhere.pipeline.responding import Others
from adhere.pipeline.reward import REWARD_KINDS, RewardKind
from adhere.pipeline.reward import reward_of as judged_reward
from adhere.schema import CUT_ANSWERS, CutAnswers, Mode, status_of_stop
from adhere.shapes.labels import COLUMNS, Refs, asked_by, refs_in, refs_of
from adhere.shapes.messages import answer_of, asked_in, without_calls
from adhere.text.reasoning import split_answer

Missing = Literal["stop", "mask"]
MISSING: tuple[Missing, ...] = ("stop", "mask")
FEWEST_SEEN = 100


class TooFewMeasurements(AdhereError):
    """Too many answers could not be judged, so that training would not optimise what was meant."""


class Coverage:
    """Counts the answers that could not be judged, and stops if they are too many.

    Args:
        most: The share above which it stops, once 100 answers were seen. 1.0: never.

    Raises:
        UsageError: `most` is not in [0, 1].
    """

    def __init__(self, most: float) -> None:
        if not 0 <= most <= 1:
            raise UsageError(f"most_unmeasured={most!r} must be a share from 0 to 1")
        self.most, self.answers, self.unmeasured = most, 0, 0

    def see(self, rewards: Sequence[float | None]) -> None:
        """Count some rewards.

        Raises:
            TooFewMeasurements: The share of None among all of them is above `most`.
        """
        self.answers += len(rewards)
        self.unmeasured += sum(reward is None for reward in rewards)
        if self.answers >= FEWEST_SEEN and self.unmeasured > self.most * self.answers:
            raise TooFewMeasurements(
                f"{self.unmeasured} of {self.answers} answers could not be judged, "
                f"more than most_unmeasured={self.most:g}. Look at why (adhere verify says it for each constraint), "
                "and leave prompts out that no answer decides"
            )


def mask_missing(rewards: Sequence[float | None], coverage: Coverage) -> list[float]:
    """Replace None by NaN, and count it; for trainers that leave NaN out.

    Raises:
        TooFewMeasurements: Too many are missing.
    """
    coverage.see(rewards)
    return [math.nan if reward is None else reward for reward in rewards]


def insist_on_words(kind: str, mode: str, profile: str | None, cut_answers: str = "fail") -> None:
    """Refuse a misspelt word when the reward is made, not in the middle of training.

    Raises:
        UsageError: There is no such reward, mode, profile or treatment of cut answers.
    """
    one_of(kind, REWARD_KINDS, "reward")
    one_of(cut_answers, CUT_ANSWERS, "treatment of cut answers")
    insist_on(mode, profile)


def insist_on_no_typo(others: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuse a trainer's argument that looks like a misspelt one of ours; all others are the trainer's own.

    Raises:
        UsageError: An argument is nearly one of ours, such as `moed` for `mode`.
    """
    for name in others:
        close = nearest(name, arguments)
        if close:
            raise UsageError(f"Unknown argument {name!r}.{close} It takes {', '.join(arguments)}")


def reward_of(
    text: str | None,
    refs: Refs,
    *,
    kind: RewardKind,
    mode: Mode,
    profile: str | None = None,
    is_cut: bool | None = None,
    cut_answers: CutAnswers = "fail",
    request: str | None = None,
    others: Others | None = None,
) -> float | None:
    """Compute the reward of one answer, exactly as an evaluation judges it.

    It is the strict view, without the reasoning (`pipeline.reward`).

    Args:
        text: What the model wrote, including its reasoning; a text that only calls tools is an empty answer. None:
            there is no answer, so nothing is measured.
        refs: The row's constraints.
        kind: See `pipeline.reward`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite.
        is_cut: Whether the answer hit its token limit; None: the trainer does not say, and it counts as complete.
        cut_answers: What a cut answer counts as.
        request: The prompt, for the gate; None: no gate.
        others: The other answers of the batch, for the gate.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged. The data is wrong, so training should stop.
    """
    if text is None:
        return None
    answer, reasoning, status = split_answer(text, "truncated" if is_cut else "ok")
    return judged_reward(
        without_calls(answer),
        refs,
        kind=kind,
        is_cut=status == "truncated",
        cut_answers=cut_answers,
        mode=mode,
        profile=profile,
        reasoning=reasoning,
        request=request,
        others=others,
    )


_SAYS_CUT = ("is_truncated", "truncated")
_SAYS_WHY = ("finish_reason", "stop_reason", "status")
CUT_COLUMNS = (*_SAYS_CUT, *_SAYS_WHY)
_UNSAID = frozenset({"", "nan", "none", "null", "<na>"})  # as texts, and as what others write for nothing


def is_cut_by(row: Mapping[str, Any]) -> bool | None:
    """Tell whether a trainer's row says that its answer hit the token limit; None if it does not say.

    It says so by `is_truncated` or `truncated` (True, 1, numpy's, Arrow's, a tensor of one number), or by
    `finish_reason`, `stop_reason` or `status` (`schema.STOP_REASONS`; a text, an enumeration's member, SGLang's
    `{"type": …}`, or a list of one).

    Raises:
        UsageError: A flag is neither true nor false.
    """
    for name in _SAYS_CUT:
        flag = _flag(row.get(name), name)
        if flag is not None:
            return flag
    reasons = [reason for name in _SAYS_WHY if (reason := _reason(row.get(name))) is not None]
    if not reasons:
        return None
    return status_of_stop(*reasons) == "truncated" or "truncated" in reasons


def _flag(value: Any, name: str) -> bool | None:
    """Read a flag of any type as true or false; None if it is missing (null, pandas' NaN and NA)."""
    plain = _only(value)
    text = str(plain).strip().lower()
    if text in _UNSAID:
        return None
    if isinstance(plain, str):
        plain = {"true": True, "false": False, "1": True, "0": False}.get(text)
    if isinstance(plain, bool | int | float) and plain in (0, 1):
        return bool(plain)
    raise UsageError(f"{name} says whether an answer was cut at its token limit: true or false, got {value!r:.60}")


def _only(value: Any) -> Any:
    """Return the content of an array, a tensor, an Arrow value or a list of one; anything else unchanged."""
    for name in ("tolist", "as_py"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return _only(value[0]) if isinstance(value, list | tuple) and len(value) == 1 else value


def _reason(value: Any) -> str | None:
    plain = _only(value)
    plain = plain.get("type") if isinstance(plain, Mapping) else getattr(plain, "value", plain)
    return str(plain) if isinstance(plain, str) and plain.strip().lower() not in _UNSAID else None


# What a chat template may leave behind an answer that was decoded with its special tokens.
_END_TOKENS = re.compile(r"(?:<\|[A-Za-z0-9_]{1,40}\|>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</s>|<eos>|<end_of_turn>)\s*\Z")


def without_end_tokens(text: str) -> str:
    """Remove the special tokens at the end of the text."""
    while (match := _END_TOKENS.search(text, max(0, len(text) - 100))) is not None:
        text = text[: match.start()]
    return text


__all__ = [
    "COLUMNS", "CUT_COLUMNS", "FEWEST_SEEN", "MISSING", "Coverage", "Missing", "Refs", "TooFewMeasurements",
    "answer_of", "asked_by", "asked_in", "insist_on_no_typo", "insist_on_words", "is_cut_by", "mask_missing", "refs_in",
    "refs_of", "reward_of", "without_end_tokens",
]  # fmt: skip
