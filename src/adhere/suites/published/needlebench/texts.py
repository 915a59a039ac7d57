"""Make long texts with needles, cut and filled by tokens as the published code does.

A text is as many tokens of shuffled lines as the length leaves after a buffer and the needles; a needle is inserted
between two tokens, which may be inside a word or a Chinese character (then a replacement mark appears).

Source: `needlebench_v2/{origin,parallel,multi}.py` of OpenCompass 0.5.4 (Apache-2.0), written anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from adhere.errors import SpecError, UsageError
from adhere.extras import need
from adhere.suites.published.table import need_columns, read_rows

T = TypeVar("T")
SPREAD = 10  # percent of the text between two needles of a reasoning prompt


class Tokenizer(Protocol):
    """Turns texts into tokens and back."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, with a replacement mark for a character that was cut."""


def tokenizer() -> Tokenizer:
    """Return the published tokenizer, that of gpt-4 (cl100k_base).

    Raises:
        MissingExtra: tiktoken is not installed.
        UsageError: The vocabulary can neither be read nor fetched.
    """
    try:
        encoding: Tokenizer = need("tiktoken", extra="needlebench").encoding_for_model("gpt-4")
    except OSError as error:  # requests' errors are these
        raise UsageError(
            "needlebench: tiktoken could not fetch its vocabulary cl100k_base. Connect once, "
            f"or set TIKTOKEN_CACHE_DIR to a folder that has it: {error}"
        ) from error
    return encoding


class Haystack:
    """Holds the texts of one file and, for each repeat, the published order of them.

    Repeat 0 shuffles the file's order with seed 0; repeat k shuffles the order of repeat k - 1 with seed k.
    """

    def __init__(self, path: Path, tokens: Tokenizer, repeats: int) -> None:
        rows, self.sha256 = read_rows(path)
        self._texts = []
        for at, row in rows:
            need_columns(at, row, {"text": str})
            self._texts.append(row["text"])
        self._path, self._tokens = path, tokens
        self._encoded: dict[int, list[int]] = {}
        self._orders: list[list[int]] = []
        order = list(range(len(self._texts)))
        for repeat in range(repeats):
            random.Random(repeat).shuffle(order)
            self._orders.append(list(order))

    def first(self, repeat: int, count: int) -> list[int]:
        """Return the first `count` tokens of a repeat's order, fewer if the file has fewer."""
        tokens: list[int] = []
        for at in self._orders[repeat]:
            tokens += self._line(at)
            if len(tokens) >= count:
                break
        return tokens[: max(count, 0)]

    def _line(self, at: int) -> list[int]:
        if at not in self._encoded:
            try:
                self._encoded[at] = self._tokens.encode(self._texts[at])
            except ValueError as error:  # a text that spells a special token
                raise SpecError(f"{self._path}: row {at + 1}: cannot be cut into tokens: {error}") from error
        return self._encoded[at]


def shuffle_needles(needles: Sequence[T], seed: int) -> list[T]:
    """Return the needles in the published order for `seed`."""
    order = list(needles)
    random.Random(seed).shuffle(order)
    return order


def with_many(hay: list[int], needles: Sequence[list[int]], depths: Sequence[int]) -> list[int]:
    """Return `hay` with a needle at each depth, in percent of the text without needles."""
    return _insert(hay, needles, [int(len(hay) * (depth / 100)) for depth in depths])


def with_chain(hay: list[int], needles: Sequence[list[int]], depth: int) -> list[int]:
    """Return `hay` with the first needle at a depth in percent, and each next one a tenth of the text further on.

    As published, the length of the earlier needles counts twice, so later ones are deeper than that; the last is at
    most at the end.
    """
    total = len(hay)
    points: list[int] = []
    before = 0  # tokens of the needles before
    for number, needle in enumerate(needles):
        point = (
            int(total * (depth / 100))
            if not number
            else int(points[-1] + len(needles[number - 1]) + total * (SPREAD / 100))
        )
        points.append(min(point, total + before))
        before += len(needle)
    return _insert(hay, needles, points)


def _insert(hay: list[int], needles: Sequence[list[int]], points: Sequence[int]) -> list[int]:
    """Return `hay` with each needle put in at its point, moved on by the needles before it."""
    offset = 0
    for point, needle in zip(points, needles, strict=True):
        hay = hay[: point + offset] + needle + hay[point + offset :]
        offset += len(needle)
    return hay
