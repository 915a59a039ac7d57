"""Measure how close a wrong answer came, in [0, 1].

This is the partial score, which is reported apart and never part of a pass. Both distances are bit-parallel: a big
integer holds one column of the usual table. What takes difflib a product of lengths (and more) takes one pass over the
answer here, with integers as wide as the expected answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any


def edit_distance(answer: Sequence[Hashable], expected: Sequence[Hashable]) -> int:
    """Return Levenshtein's distance: the fewest insertions, deletions and replacements of elements.

    Source: G. Myers, J. ACM 46 (1999) 395, in the form of H. Hyyrö (2003) for the distance of whole sequences.
    """
    if not expected:
        return len(answer)
    places = _places(expected)
    every, last = (1 << len(expected)) - 1, 1 << (len(expected) - 1)
    rises, falls, distance = every, 0, len(expected)
    for element in answer:
        equal = places.get(element, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        right_rises = falls | (every & ~(diagonal | rises))
        right_falls = rises & diagonal
        if right_rises & last:
            distance += 1
        elif right_falls & last:
            distance -= 1
        right_rises = (right_rises << 1) | 1
        right_falls <<= 1
        rises = every & (right_falls | ~(diagonal | right_rises))
        falls = every & right_rises & diagonal
    return distance


def in_order(answer: Iterable[Hashable], expected: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of `answer` and `expected`.

    Source: H. Hyyrö, Bit-parallel LCS-length computation revisited (2004).
    """
    places = _places(expected)
    every = (1 << len(expected)) - 1
    free = every
    for element in answer:
        hits = free & places.get(element, 0)
        free = ((free + hits) | (free - hits)) & every
    return len(expected) - free.bit_count()


def _places(expected: Sequence[Hashable]) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for number, element in enumerate(expected):
        places[element] = places.get(element, 0) | 1 << number
    return places


def of_texts(answer: str, expected: str) -> float:
    """Return 1 - edit distance / length of the longer text; 1 for two empty texts."""
    longer = max(len(answer), len(expected))
    return 1 - edit_distance(answer, expected) / longer if longer else 1.0


def of_lists(answer: Sequence[Hashable], expected: Sequence[Hashable]) -> float:
    """Return the number of elements that `in_order` finds, divided by the longer length; 1 for two empty lists."""
    longer = max(len(answer), len(expected))
    return in_order(answer, expected) / longer if longer else 1.0


def of_tables(answer: Sequence[tuple[str, ...]], expected: Sequence[tuple[str, ...]]) -> float:
    """Return the larger of two shares: rows that are right and in order, and cells that are right in their place."""
    cells = max(sum(map(len, answer)), sum(map(len, expected)))
    right = sum(
        one == other
        for row, expected_row in zip(answer, expected, strict=False)
        for one, other in zip(row, expected_row, strict=False)
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
