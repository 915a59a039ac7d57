"""What every reward function needs: a row's constraints from how trainers' data carry them, its answer, its number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from adhere.constraints.resolve import insist_on
from adhere.errors import AdhereError, UsageError, nearest, one_of
from adhere.pipeline.reward import REWARD_KINDS, RewardKind
from adhere.pipeline.reward import reward_of as judged_reward
from adhere.schema import CUT_ANSWERS, ConstraintRef, CutAnswers, Mode, decoder_of, status_of_stop
from adhere.text.reasoning import split_answer

COLUMNS = ("instruction_id_list", "kwargs")
_IDS = ("instruction_id_list", "instruction_id")  # the second is what open-instruct's ground truths say
MOST_CACHED = 4096

Refs = tuple[ConstraintRef, ...]
Missing = Literal["stop", "mask"]
MISSING: tuple[Missing, ...] = ("stop", "mask")
FEWEST_SEEN = 100


class TooFewMeasurements(AdhereError):
    """So many answers could not be judged that what is trained would not be what was meant."""


class Coverage:
    """Counts the answers that could not be judged, and stops where they are too many.

    Args:
        most: The share above which it stops, once 100 answers were seen. 1.0: never.

    Raises:
        UsageError: `most` is no share.
    """

    def __init__(self, most: float) -> None:
        if not 0 <= most <= 1:
            raise UsageError(f"most_unmeasured={most!r} must be a share from 0 to 1")
        self.most, self.answers, self.unmeasured = most, 0, 0

    def see(self, rewards: Sequence[float | None]) -> None:
        """Take in some rewards.

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


def mask_missing(rewards: Sequence[float | None], seen: Coverage) -> list[float]:
    """The rewards with NaN for None, counted; for trainers that are told to leave NaN out.

    Raises:
        TooFewMeasurements: Too many are missing.
    """
    seen.see(rewards)
    return [math.nan if reward is None else reward for reward in rewards]


def insist_on_words(kind: str, mode: str, profile: str | None, cut_answers: str = "fail") -> None:
    """Refuse a misspelt word where the reward is made, not in the middle of a training.

    Raises:
        UsageError: There is no such reward, mode, profile or treatment of cut answers.
    """
    one_of(kind, REWARD_KINDS, "reward")
    one_of(cut_answers, CUT_ANSWERS, "treatment of cut answers")
    insist_on(mode, profile)


def insist_on_no_typo(others: Iterable[str], known: Sequence[str]) -> None:
    """Refuse an argument of a trainer that looks like a misspelt one of ours; all others are the trainer's.

    Raises:
        UsageError: `moed=…` where `mode` was meant.
    """
    for name in others:
        close = nearest(name, known)
        if close:
            raise UsageError(f"Unknown argument {name!r}.{close} It takes {', '.join(known)}")


def reward_of(
    text: str,
    refs: Refs,
    *,
    kind: RewardKind,
    mode: Mode,
    profile: str | None = None,
    is_cut: bool | None = None,
    cut_answers: CutAnswers = "fail",
    asked: str | None = None,
) -> float | None:
    """The reward of one answer, exactly as an evaluation judges it.

    Strict view, reasoning set aside (`pipeline.reward`).

    Args:
        text: What the model wrote, reasoning and all.
        refs: The row's constraints.
        kind: See `pipeline.reward`.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite.
        is_cut: Whether the answer hit its token limit; None: the trainer does not say, and it counts as complete.
        cut_answers: What a cut answer counts as.
        asked: The prompt, for the intent gate; None: no gate.

    Raises:
        UnknownName, BadParameter: A constraint that cannot be judged. The data is wrong, so training should stop.
    """
    answer, reasoning, status = split_answer(text, "truncated" if is_cut else "ok")
    return judged_reward(
        answer,
        refs,
        kind=kind,
        is_cut=status == "truncated",
        cut_answers=cut_answers,
        mode=mode,
        profile=profile,
        reasoning=reasoning,
        asked=asked,
    )


_SAYS_CUT = ("is_truncated", "truncated")
_SAYS_WHY = ("finish_reason", "stop_reason", "status")


def is_cut_by(row: Mapping[str, Any]) -> bool | None:
    """Whether a row of a trainer says that its answer hit the token limit; None where it says nothing.

    It says so by `is_truncated` or `truncated`, or by `finish_reason`, `stop_reason` or `status`
    (`schema.STOP_REASONS`).
    """
    for name in _SAYS_CUT:
        if isinstance(row.get(name), bool):
            return bool(row[name])
    reasons = [row[name] for name in _SAYS_WHY if isinstance(row.get(name), str)]
    if not reasons:
        return None
    return status_of_stop(*reasons) == "truncated" or "truncated" in reasons


def answer_of(completion: Any) -> str:
    """The text of a completion: itself, or the content of the last message of a conversational one.

    Reasoning in a field of the message (`reasoning`, `reasoning_content`) comes before it as a `<think>` block, so that
    `text.reasoning` treats both forms alike.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(completion, str):
        return completion
    try:
        message = completion[-1]
        content = message["content"]
        reasoning = message.get("reasoning_content") or message.get("reasoning")
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"A completion must be a text or a list of messages with a content, got {completion!r}"
        ) from error
    if content is None and reasoning:
        content = ""
    if not isinstance(content, str):
        raise UsageError(f"A completion's content must be a text, got {type(content).__name__}")
    return f"<think>{reasoning}</think>{content}" if isinstance(reasoning, str) and reasoning else content


def asked_in(prompt: Any) -> str:
    """The text of a prompt: itself, or the content of the last user message of a conversational one."""
    if isinstance(prompt, str):
        return prompt
    said = [str(message.get("content") or "") for message in prompt if message.get("role") == "user"]
    return said[-1] if said else ""


_known: dict[bytes, Refs] = {}


def refs_of(ids: Sequence[str] | None, kwargs: str | Sequence[Mapping[str, Any] | None] | None) -> Refs:
    """One row's constraints.

    Arrow gives every row of a column the same keys, filled with None: those are not parameters. `kwargs` may also be
    JSON text, as `adhere build` writes it to Parquet.

    Raises:
        UsageError: There are not as many of one as of the other, or the text is no JSON.
    """
    if isinstance(kwargs, str):
        try:
            kwargs = decoder_of(list[dict[str, Any] | None]).decode(kwargs)
        except msgspec.DecodeError as error:
            raise UsageError(f"kwargs must be a list of mappings or its JSON text: {error}") from error
    ids, kwargs = list(ids if ids is not None else ()), list(kwargs if kwargs is not None else ())
    key = msgspec.json.encode([ids, kwargs], enc_hook=_plain)
    known = _known.get(key)
    if known is not None:
        return known
    if len(ids) != len(kwargs):
        raise UsageError(f"instruction_id_list names {len(ids)} constraints ({', '.join(ids)}), kwargs {len(kwargs)}")
    ids, kwargs = msgspec.json.decode(key)  # plain lists and numbers, whatever the trainer's arrays were
    refs = tuple(
        ConstraintRef(id, {name: value for name, value in (params or {}).items() if value is not None})
        for id, params in zip(ids, kwargs, strict=True)  # noqa: A001 - the field's word
    )
    if len(_known) >= MOST_CACHED:
        _known.clear()
    _known[key] = refs
    return refs


def _plain(value: Any) -> Any:
    """Arrays and their numbers (numpy's, from Parquet) as lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise UsageError(f"A constraint's parameters are JSON values, got {type(value).__name__}: {value!r}")


def refs_in(label: Any, *, where: str) -> Refs:
    """The constraints in a row's label, ground truth or info.

    It may be a mapping with `instruction_id_list` (or `instruction_id`) and `kwargs`, a list with one such mapping, or
    either as JSON text. Other keys are not looked at.

    Args:
        label: As the trainer passes it.
        where: What the trainer calls it, for messages.

    Raises:
        UsageError: It is none of these.
    """
    found = _label_of(label, where)
    ids = next((name for name in _IDS if isinstance(found, Mapping) and name in found), None)
    if ids is None or "kwargs" not in found:
        got = ", ".join(map(repr, found)) if isinstance(found, Mapping) else repr(label)[:80]
        raise UsageError(f"{where} names no constraints: it holds {got or 'nothing'}. {_WANTED}")
    return refs_of(found[ids], found["kwargs"])


def _label_of(label: Any, where: str) -> Any:
    found = label
    if isinstance(found, str | bytes):
        try:
            found = msgspec.json.decode(found)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(f"{where} is no JSON: {error}. {_WANTED}") from error
    if isinstance(found, Sequence) and not isinstance(found, str) and len(found) == 1:
        found = found[0]
    return found


def asked_by(label: Any, *others: Any, where: str) -> str:
    """A row's prompt for the intent gate (`traps=True`).

    What stands under `prompt` in its label, or in what else comes with it.

    Args:
        label: As for `refs_in`. `adhere build convert` and our environments' rows write the prompt into it.
        others: Mappings that a trainer passes beside it.
        where: What the trainer calls the label, for messages.

    Raises:
        UsageError: None of them has it. A trainer's own text of the prompt is no substitute: it is templated.
    """
    for one in (_label_of(label, where), *others):
        asked = one.get("prompt") if isinstance(one, Mapping) else None
        if asked is not None and (text := asked_in(asked)).strip():
            return text
    raise UsageError(
        f"With traps=True a row needs its prompt: {where} has no `prompt` (a text, or messages). Rows made by "
        "`adhere build convert` have it"
    )


_WANTED = "Wanted: a mapping (or its JSON text) with instruction_id_list and kwargs, as in IFEval's rows"

# What a chat template may leave behind an answer that was decoded with its special tokens.
_END_TOKENS = re.compile(r"(?:<\|[A-Za-z0-9_]{1,40}\|>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</s>|<eos>|<end_of_turn>)\s*\Z")


def without_end_tokens(text: str) -> str:
    """The text without the special tokens at its end."""
    while (match := _END_TOKENS.search(text, max(0, len(text) - 100))) is not None:
        text = text[: match.start()]
    return text
