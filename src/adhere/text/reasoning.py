"""Separates a model's reasoning from its answer."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


def split_reasoning(text: str) -> tuple[str | None, str]:
    """(reasoning, answer); reasoning is None where there is none.

    Leading `<think>…</think>` blocks are reasoning, and so is everything before a closing tag that no leading tag opens
    (chat templates often supply the opening one). A leading tag that is never closed leaves no answer: "". A `<think>`
    inside the answer is part of the answer.
    """
    reasoning: list[str] = []
    rest = text.lstrip()
    start = 0
    if not rest.startswith(_OPEN):
        before, tag, after = text.partition(_CLOSE)
        return (before.strip(), after.lstrip()) if tag else (None, text)
    while rest.startswith(_OPEN, start):
        end = rest.find(_CLOSE, start)
        if end < 0:
            reasoning.append(rest[start + len(_OPEN) :].strip())
            return "\n".join(reasoning), ""
        reasoning.append(rest[start + len(_OPEN) : end].strip())
        start = end + len(_CLOSE)
        while start < len(rest) and rest[start].isspace():
            start += 1
    return "\n".join(reasoning), rest[start:]
