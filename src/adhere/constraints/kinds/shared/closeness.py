"""Measure how close a wrong answer came, in [0, 1].

This is the partial score, which is reported apart and never part of a pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from rapidfuzz.distance import LCSseq, Levenshtein


def in_order(answer: Sequence[Hashable], expected: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of `answer` and `expected`."""
    return LCSseq.similarity(answer, expected)


def of_texts(answer: str, expected: str) -> float:
    """Return 1 - Levenshtein's edit distance / length of the longer text; 1 for two empty texts."""
    longer = max(len(answer), len(expected))
    return 1 - Levenshtein.distance(answer, expected) / longer if longer else 1.0


def of_lists(answer: Sequence[Hashable], expected: Sequence[Hashable]) -> float:
    """Return the number of elements that `in_order` finds, divided by the longer length; 1 for two empty lists."""
    longer = max(len(answer), len(expected))
    return in_order(answer, expected) / longer if longer else 1.0


def of_tables(answer: Sequence[tuple[str, ...]], expected: Sequence[tuple[str, ...]]) -> float:
    """Return the larger of two shares: rows that are right and in order, and cells that are right in their place."""
    cells = max(sum(map(len, answer)), sum(map(len, expected)))
    right = sum(
        cell == expected_cell
        for row, expected_row in zip(answer, expected, strict=False)
        for cell, expected_cell in zip(row, expected_row, strict=False)
    )
    return max(of_lists(answer, expected), right / cells if cells else 0.0)


def leaves(value: Any) -> Counter[tuple[Hashable, ...]]:
    """Count the plain values of a JSON value, each with its path of keys and positions.

    An empty container is a plain value. Two values are equal if their leaves are: numbers count by value, while `true`
    is not 1 and "1" is not 1.
    """
    counts: Counter[tuple[Hashable, ...]] = Counter()
    waiting: list[tuple[tuple[Hashable, ...], Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict) and item:
            waiting.extend(((*path, key), child) for key, child in item.items())
        elif isinstance(item, list) and item:
            waiting.extend(((*path, number), child) for number, child in enumerate(item))
        else:
            counts[(*path, *_plain(item))] += 1
    return counts


def _plain(item: Any) -> tuple[str, Hashable]:
    if isinstance(item, dict | list):
        return type(item).__name__, None
    if isinstance(item, bool) or not isinstance(item, int | float):
        return type(item).__name__, item
    return "number", item


def of_values(answer: Counter[tuple[Hashable, ...]], expected: Counter[tuple[Hashable, ...]]) -> float:
    """Return the number of leaves that both have, divided by the leaves of the value with more; 1 if both are empty."""
    more = max(answer.total(), expected.total())
    return (answer & expected).total() / more if more else 1.0
