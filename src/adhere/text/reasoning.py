"""Separate a model's reasoning from its answer: one rule for evaluation, sweeps, `verify`, rewards, environments.

| form | where it comes from |
|---|---|
| `<think>…</think>`, `<thinking>`, `<reasoning>`, `<thought>`, `<seed:think>`, in any case | most reasoning models |
| `[THINK]…[/THINK]`, `◁think▷…◁/think▷`, `<|begin_of_thought|>…<|end_of_thought|>` | Magistral, Kimi-VL, Sky-T1 |
| `<|START_THINKING|>…<|END_THINKING|>`, `<unused94>…<unused95>`, `<|channel>thought…<channel|>` | Cohere, Gemma's kin |
| `<|channel|>analysis<|message|>…<|end|>…final…` | gpt-oss (harmony), with its marks or decoded without them |
| what `ADHERE_REASONING_TAGS` holds: `OPEN CLOSE`, more pairs after blanks | anything else |

Reasoning in a separate field (`reasoning`, `reasoning_content`) is read elsewhere: `models/http/values.py`,
`verify/rows.py`.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.schema import Status

TAGS = "ADHERE_REASONING_TAGS"
"""The environment variable that holds a person's own pairs of tags.

Trainers and the processes that judge can be given the tags in no other way.
"""
_NAMES = ("think", "thinking", "reasoning", "thought", "seed:think")
_PAIRS = (
    *((f"<{name}>", f"</{name}>") for name in _NAMES),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>", "<unused95>"),
    ("<|channel>thought", "<channel|>"),
)
# What some of these write around the answer that follows.
_ANSWERS = (("<|begin_of_solution|>", "<|end_of_solution|>"), ("<|START_RESPONSE|>", "<|END_RESPONSE|>"))
# What a decoder leaves before an answer: marks that show nothing, and the head of the assistant's turn.
_LEAD = re.compile(
    r"(?:[\s\ufeff\u200b]|<s>|<bos>|<\|begin_of_text\|>|<\|im_start\|>assistant\b|"
    r"<\|start_header_id\|>assistant<\|end_header_id\|>)*"
)
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(\w+)[^<]*<\|message\|>(.*?)(<\|end\|>|<\|return\|>|"
    r"<\|call\|>|(?=<\|start\|>)|\Z)",
    re.DOTALL,
)
_FINAL = "<|start|>assistant<|channel|>final<|message|>"
# Harmony, decoded without its special tokens: `analysisWe need…assistantfinalThe sea…`. Where `assistantfinal` never
# comes the answer was cut before it began, but for one that is `final` from its first word on. No word begins so: a
# letter that is no small one follows, and it is a sentence's, no name of a program's (`analysisResult = …`).
_BARE_ANALYSIS, _BARE_FINAL = re.compile("(?:assistant)?(?:analysis|commentary)"), "assistantfinal"
_SENTENCE = r"(?=[^\W\d_])(?![a-z\u00df-\u00f6\u00f8-\u00ff])(?!\w*(?:\s*[=:(\[{;]|\.\w))"
_CUT_ANALYSIS = re.compile(_BARE_ANALYSIS.pattern + _SENTENCE)
_ONLY_FINAL = re.compile("(?:assistant)?final" + _SENTENCE)


class SplitAnswer(NamedTuple):
    """Holds a model's output in parts: the answer, its reasoning (None: none shown), and how it ended."""

    text: str
    reasoning: str | None
    status: Status


class _Split(NamedTuple):
    reasoning: str | None
    answer: str
    is_cut: bool = False


def split_reasoning(text: str) -> tuple[str | None, str]:
    """Return (reasoning, answer); reasoning is None if there is none.

    Leading blocks are reasoning, and so is everything before a closing tag without an opening one (chat templates often
    supply that). If a leading block is never closed, the answer is "". A block inside the answer is part of the answer.

    Raises:
        UsageError: `ADHERE_REASONING_TAGS` holds no pairs.
    """
    return _split(text)[:2]


def split_answer(text: str, status: Status = "ok") -> SplitAnswer:
    """Split a model's output into the parts that are judged, as `split_reasoning` does, and set its status.

    Reasoning that is never closed was cut before the answer began: the status is then `truncated`, and the text empty.
    An answer without visible text is `empty`.

    Args:
        text: What the model wrote.
        status: How the call ended; only `ok` can change.
    """
    reasoning, answer, is_cut = _split(text)
    if status == "ok":
        status = "truncated" if is_cut else "ok" if answer.strip() else "empty"
    return SplitAnswer(answer, reasoning, status)


def own_tags() -> tuple[str, ...]:
    """Return the tags in `ADHERE_REASONING_TAGS`: opening and closing ones in turn.

    Raises:
        UsageError: The number of tags is odd.
    """
    tags = tuple(os.environ.get(TAGS, "").split())
    if len(tags) % 2:
        raise UsageError(
            f"{TAGS} holds pairs, an opening and a closing tag with blanks between, got {' '.join(tags)!r}"
        )
    return tags


class _Tags(NamedTuple):
    opening: re.Pattern[str]
    closings: tuple[re.Pattern[str], ...]
    openings: tuple[re.Pattern[str], ...]
    hints: tuple[str, ...]  # a text without any of them has no closing tag


@lru_cache(maxsize=8)
def _tags(own: tuple[str, ...]) -> _Tags:
    pairs = (*_PAIRS, *zip(own[::2], own[1::2], strict=True))
    opening = re.compile("|".join(f"({re.escape(start)})" for start, _ in pairs), re.IGNORECASE)
    starts, ends = (tuple(re.compile(re.escape(pair[side]), re.IGNORECASE) for pair in pairs) for side in (0, 1))
    hints = dict.fromkeys("" if end[:2].upper() != end[:2].lower() else end[:2] for _, end in pairs)
    return _Tags(opening, ends, starts, tuple(hints))


def _split(text: str) -> _Split:
    tags = _tags(own_tags())
    rest = text[_LEAD.match(text).end() :]  # type: ignore[union-attr]  # it may match nothing, and always matches
    opening = tags.opening.match(rest)
    if opening is None:
        if rest.startswith(("<|channel|>", "<|start|>assistant<|channel|>")):
            return _split_channels(rest)
        if _FINAL in rest:  # the template opened the reasoning
            before, _, after = rest.partition(_FINAL)
            return _split_channels(f"<|channel|>analysis<|message|>{before}{_FINAL}{after}")
        return _split_bare(rest) or _split_unopened(text, tags)
    reasoning: list[str] = []
    while opening is not None and opening.lastindex is not None:
        end = tags.closings[opening.lastindex - 1].search(rest, opening.end())
        if end is None:
            return _Split("\n".join([*reasoning, rest[opening.end() :].strip()]), "", is_cut=True)
        reasoning.append(rest[opening.end() : end.start()].strip())
        start = end.end()
        while start < len(rest) and rest[start].isspace():
            start += 1
        opening = tags.opening.match(rest, start)
    return _Split("\n".join(reasoning), _without_frame(rest[start:]))


def _without_frame(answer: str) -> str:
    """Return an answer without the marks that its model writes around it."""
    for start, end in _ANSWERS:
        if answer.startswith(start):
            return answer.removeprefix(start).rstrip().removesuffix(end).strip()
    return answer


def _split_bare(text: str) -> _Split | None:
    """Split harmony output decoded without its marks; None if the text is something else."""
    bare = _BARE_ANALYSIS.match(text)
    if bare is not None and _BARE_FINAL in text:
        before, _, after = text[bare.end() :].partition(_BARE_FINAL)
        return _Split(before.strip(), after.lstrip())
    if bare is not None and _CUT_ANALYSIS.match(text):
        return _Split(text[bare.end() :].strip(), "", is_cut=True)
    final = _ONLY_FINAL.match(text)
    return None if final is None else _Split(None, text[final.end() :])


def _split_unopened(text: str, tags: _Tags) -> _Split:
    """Split at the first closing tag that has no opening tag before it."""
    if not any(hint in text for hint in tags.hints):  # nearly every answer, so this comes first
        return _Split(None, text)
    ends = sorted(
        (end.start(), end.end(), number)
        for number, closing in enumerate(tags.closings)
        if (end := closing.search(text)) is not None
    )
    for start, after, number in ends:
        if tags.openings[number].search(text, 0, start) is None:
            return _Split(text[:start].strip(), text[after:].lstrip())
    return _Split(None, text)


def _split_channels(text: str) -> _Split:
    """Split harmony output: the channel `final` is the answer, every other channel is reasoning.

    Without `final` the answer never began.
    """
    messages = [(match[1], match[2].strip()) for match in _CHANNEL.finditer(text)]
    reasoning = [content for channel, content in messages if channel != "final"]
    answer = [content for channel, content in messages if channel == "final"]
    return _Split("\n".join(reasoning) if reasoning else None, "\n".join(answer), is_cut=not answer)
