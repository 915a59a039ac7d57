"""What every reward function needs: a row's constraints from how trainers' data carry them, its answer, its number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adhere.constraints.resolve import Mode
from adhere.errors import UsageError
from adhere.pipeline.judge import judge_text
from adhere.pipeline.reward import REWARD_KINDS, RewardKind, reward
from adhere.schema import ConstraintRef
from adhere.text.reasoning import split_reasoning

COLUMNS = ("instruction_id_list", "kwargs")
_IDS = ("instruction_id_list", "instruction_id")  # the second is what open-instruct's ground truths say
MOST_CACHED = 4096

Refs = tuple[ConstraintRef, ...]


def checked_kind(kind: str) -> RewardKind:
    """The kind of reward.

    Raises:
        UsageError: There is no such kind.
    """
    for known in REWARD_KINDS:
        if kind == known:
            return known
    raise UsageError(f"Unknown reward kind {kind!r}. It is one of {', '.join(map(repr, REWARD_KINDS))}")


def reward_of(text: str, refs: Refs, *, kind: RewardKind, mode: Mode, profile: str | None = None) -> float | None:
    """The reward of one answer, exactly as an evaluation judges it: strict view, reasoning set aside.

    None where there is no measurement: a verifier failed or left it undecided, or there are no constraints.

    Raises:
        UnknownName, BadParameter: A constraint that cannot be judged. The data is wrong, so training should stop.
    """
    reasoning, answer = split_reasoning(text)
    verdicts = judge_text(answer, refs, ("strict",), mode=mode, profile=profile, reasoning=reasoning)
    return reward(verdicts, kind=kind)


def answer_of(completion: Any) -> str:
    """The text of a completion: itself, or the content of the last message of a conversational one.

    Raises:
        UsageError: It is neither.
    """
    if not isinstance(completion, str):
        try:
            completion = completion[-1]["content"]
        except (IndexError, KeyError, TypeError) as error:
            raise UsageError(
                f"A completion must be a text or a list of messages with a content, got {completion!r}"
            ) from error
        if not isinstance(completion, str):
            raise UsageError(f"A completion's content must be a text, got {type(completion).__name__}")
    return completion


_known: dict[bytes, Refs] = {}


def refs_of(ids: Sequence[str] | None, kwargs: Sequence[Mapping[str, Any] | None] | None) -> Refs:
    """One row's constraints. Arrow gives every row of a column the same keys, filled with None: those are not parameters.

    Raises:
        UsageError: There are not as many of one as of the other.
    """
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
    _known[key] = refs  # the same tuple again and again, so that the judge makes its constraints ready once
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
    found = label
    if isinstance(found, str | bytes):
        try:
            found = msgspec.json.decode(found)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(f"{where} is no JSON: {error}. {_WANTED}") from error
    if isinstance(found, Sequence) and not isinstance(found, str) and len(found) == 1:
        found = found[0]
    ids = next((name for name in _IDS if isinstance(found, Mapping) and name in found), None)
    if ids is None or "kwargs" not in found:
        got = ", ".join(map(repr, found)) if isinstance(found, Mapping) else repr(label)[:80]
        raise UsageError(f"{where} names no constraints: it holds {got or 'nothing'}. {_WANTED}")
    return refs_of(found[ids], found["kwargs"])


_WANTED = "Wanted: a mapping (or its JSON text) with instruction_id_list and kwargs, as in IFEval's rows"

# What a chat template may leave behind an answer that was decoded with its special tokens.
_END_TOKENS = re.compile(r"(?:<\|[A-Za-z0-9_]{1,40}\|>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</s>|<eos>|<end_of_turn>)\s*\Z")


def without_end_tokens(text: str) -> str:
    """The text without the special tokens at its end."""
    while (match := _END_TOKENS.search(text, max(0, len(text) - 100))) is not None:
        text = text[: match.start()]
    return text
