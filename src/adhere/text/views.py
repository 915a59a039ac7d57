"""The views that an answer is judged under: strict (as it is) and loose (IFEval's eight variants)."""

from __future__ import annotations

from collections.abc import Iterator


def strict(text: str) -> str:
    """The answer as it is."""
    return text


def loose(text: str) -> Iterator[str]:
    """The variants of which any may pass, lazily, without repeats, the text itself first (so strict pass implies loose pass).

    Without `*`; without the first, the last, or both lines (stripped); and these three without `*`. Blank variants are
    left out: a blank answer never passes.

    Source: IFEval (arXiv 2311.07911), `evaluation_main.test_instruction_following_loose`. Ours differs in yielding no
    variant twice, which changes no verdict.
    """
    yield text
    seen = {text}
    for variant in _variants(text):
        if variant not in seen and variant.strip():
            seen.add(variant)
            yield variant


def _variants(text: str) -> Iterator[str]:
    yield text.replace("*", "")
    _, _, without_first = text.partition("\n")
    without_last = text.rpartition("\n")[0]
    without_both = without_first.rpartition("\n")[0]
    pieces = [piece.strip() for piece in (without_first, without_last, without_both)]
    yield from pieces
    for piece in pieces:
        yield piece.replace("*", "")
