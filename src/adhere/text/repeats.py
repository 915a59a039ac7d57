"""Tell whether a text repeats a test item, by two exact rules; a filter before each loses no match.

* **lcs**, for training data (Qwen2 and Qwen2.5 reports): the longest common *subsequence* of tokens has at least 13
  tokens and at least 0.6 of the tokens of the shorter text.
* **ngram**, for test items: any 13 consecutive tokens in common.

Tokens: lower case, apostrophes taken out, every other symbol or punctuation mark a blank, split at blanks; a Chinese or
Japanese character is a token of its own, because those scripts have no blanks. The reports say "strip symbols and
punctuation, tokenise" and not which tokenizer, so counts can differ from theirs.

Source: arXiv 2412.15115 section 3 and arXiv 2407.10671 section 5.2.6. The filter of `lcs` is prefix filtering
(Chaudhuri, Ganti, Kaushik 2006; Xiao et al. 2008), for a common subsequence is no longer than the number of tokens in
common.
"""

from __future__ import annotations

import abc
import itertools
import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

FEWEST_TOKENS = 13
NGRAM = 13
_APOSTROPHES = "'’\u02bc\uff07"
_UNSPACED = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_NOT_ASCII = re.compile(r"([^\x00-\x7f]+)")
_BLOCK = 192  # texts compared at once: what they need fits into a core's cache
_STEP = 1.3  # lengths of texts are put into classes that grow by this factor
_RARE_SHARE = 0.25  # of the tokens that must be in common, how many are looked for among the rarest ones; measured
_SLOT_BITS = 18
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hashing: 2^64 over the golden ratio
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(8)] + [2**64 - 1], dtype=np.uint64)


class _Blanks(dict[int, str | None]):
    """Maps each character for `str.translate`: kept, dropped or a blank; filled as characters are met."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        replacement: str | None = " " if unicodedata.category(char)[0] in "PSZ" or char.isspace() or code < 32 else char
        if char in _APOSTROPHES:
            replacement = None
        elif _UNSPACED.match(char):
            replacement = f" {char} "
        self[code] = replacement
        return replacement


_BLANKS = _Blanks()
# The same for ASCII, in lower case. In UTF-8 no byte of another character looks like one of these.
_ASCII = bytes(
    ord((chr(code).lower().translate(_BLANKS) or " ") if code < 128 else "x") if code < 128 else code
    for code in range(256)
)


class _Runs(dict[str, str]):
    """Caches what `_BLANKS` makes of a run of characters beyond ASCII: a dash, an accented letter, a word.

    Common runs are kept.
    """

    def __missing__(self, run: str) -> str:
        plain = run.lower().translate(_BLANKS)
        if len(run) <= 16 and len(self) < 1 << 16:
            self[run] = plain
        return plain


_RUNS = _Runs()


def blank_out(text: str) -> bytes:
    """Return the text in lower case, with a blank for every character that is no part of a token."""
    if not text.isascii():
        parts = _NOT_ASCII.split(text)
        parts[1::2] = map(_RUNS.__getitem__, parts[1::2])
        text = "".join(parts)
    return text.encode("utf-8", "surrogatepass").translate(_ASCII, b"'")


def tokens(text: str) -> list[bytes]:
    """Return the tokens of a text, as the module's docstring defines them, in UTF-8."""
    return blank_out(text).split()


def common_subsequence(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence of two lists of tokens."""
    return LCSseq.similarity(*_number(left, right))


def _number(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Replace each token by a small number, the same in both lists.

    rapidfuzz compares by hash, and a small number is its own hash.
    """
    numbers: dict[Hashable, int] = {}
    first, second = ([numbers.setdefault(token, len(numbers)) for token in side] for side in (left, right))
    return first, second


def is_near(common: int, shorter: int) -> bool:
    """Tell whether two texts with `common` tokens in common, in order, are near-duplicates.

    `shorter` is the number of tokens of the shorter text.
    """
    return common >= FEWEST_TOKENS and 5 * common >= 3 * shorter


class Match(NamedTuple):
    """Holds the test item that a text repeats most.

    Attributes:
        item: The item's place among the items.
        common: Tokens of the longest common subsequence.
        shorter: Tokens of the shorter text.
    """

    item: int
    common: int
    shorter: int

    @property
    def ratio(self) -> float:
        """`common` over `shorter`."""
        return self.common / self.shorter


class BlockRule(abc.ABC):
    """Compares texts with the test items by a rule, a block of texts at a time."""

    def matches(self, texts: Sequence[str]) -> list[Match | None]:
        """Return for each text its nearest item by the rule (the largest ratio, then the first), or None."""
        nearest: list[Match | None] = []
        for start in range(0, len(texts), _BLOCK):
            nearest += self._of_block([blank_out(text) for text in texts[start : start + _BLOCK]])
        return nearest

    @abc.abstractmethod
    def _of_block(self, texts: list[bytes]) -> list[Match | None]: ...


class SubsequenceRule(BlockRule):
    """Finds the test items that a text is near to; texts or items of fewer than 13 tokens match nothing.

    There are four steps, each for fewer pairs. The first three compare hashes of tokens, so they may pass too many
    pairs but never lose a match: (1) a text must have some of an item's rarest tokens; (2) enough of all of its tokens;
    (3) a long enough common subsequence of hashes; (4) of tokens.

    Args:
        items: The texts of the test items.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._vocabulary: dict[
            bytes, int
        ] = {}  # numbers, because rapidfuzz compares by hash and small ones are their own
        self._items = [
            [self._vocabulary.setdefault(token, len(self._vocabulary) + 1) for token in tokens(item)] for item in items
        ]
        self._lengths = np.array([len(item) for item in self._items], dtype=np.int64)
        self._longest = int(self._lengths.max(initial=0))
        slots, starts = _slots([blank_out(item) for item in items])
        item_slots = np.unique(slots)
        self._size = len(item_slots) + 1
        self._hashes = np.zeros(
            1 << _SLOT_BITS, dtype=np.int32
        )  # of a slot: its number, 0 where no item has such a token
        self._hashes[item_slots] = np.arange(1, self._size, dtype=np.int32)
        hashes = [self._hashes[slots[start:end]] for start, end in itertools.pairwise(starts)]
        self._hashed_items = [item.tolist() for item in hashes]
        bags = [np.unique(item, return_counts=True) for item in hashes]
        self._bag_begins = np.cumsum([0, *(len(numbers) for numbers, _ in bags)])
        self._bag_numbers = np.concatenate([np.zeros(0, np.int32), *(numbers for numbers, _ in bags)])
        self._bag_counts = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in bags)])
        spread = np.bincount(self._bag_numbers, minlength=self._size)
        self._rarest_first = [item[np.lexsort((item, spread[item]))] for item in hashes]
        self._prefixes: dict[int, _Prefixes] = {}

    def _of_block(self, texts: list[bytes]) -> list[Match | None]:
        nearest: list[Match | None] = [None] * len(texts)
        slots, begins = _slots(texts)
        lengths = np.diff(begins)
        hashes = self._hashes[slots]
        text_hashes: dict[int, list[int]] = {}
        text_numbers: dict[int, list[int]] = {}
        for place, item in self._candidates(hashes, begins, lengths):
            shorter = min(int(lengths[place]), len(self._items[item]))
            fewest = _fewest_common(shorter)
            if place not in text_hashes:  # only tokens that some item has can be in common
                of_text = hashes[begins[place] : begins[place + 1]]
                text_hashes[place] = of_text[of_text > 0].tolist()
            if LCSseq.similarity(text_hashes[place], self._hashed_items[item], score_cutoff=fewest) < fewest:
                continue
            if place not in text_numbers:
                text_numbers[place] = list(filter(None, map(self._vocabulary.get, texts[place].split())))
            common = LCSseq.similarity(text_numbers[place], self._items[item], score_cutoff=fewest)
            best = nearest[place]
            if is_near(common, shorter) and (best is None or common * best.shorter > best.common * shorter):
                nearest[place] = Match(item, common, shorter)
        return nearest

    def _candidates(self, numbers: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yield (text, item) of all pairs that may match, by class of length and then in order of the texts."""
        rows = np.repeat(np.arange(len(lengths)), lengths)
        has = np.zeros((len(lengths), self._size), dtype=bool)  # (text, token)
        has[rows, numbers] = True
        has[:, 0] = False  # 0 stands for every token that no item has
        flat = np.flatnonzero(has)
        rows, columns = np.divmod(flat, self._size)
        classes = self._classes(lengths)
        for length in np.unique(classes[classes >= FEWEST_TOKENS]).tolist():
            prefixes = self._prefix(length)
            of_class = np.flatnonzero(classes == length)
            place_of = np.full(len(lengths), -1)
            place_of[of_class] = np.arange(len(of_class))
            at = place_of[rows]
            chosen = (at >= 0) & prefixes.is_used[columns]
            texts, items = prefixes.shared(at[chosen], columns[chosen], len(of_class))
            if len(texts):
                texts = of_class[texts]
                likely = self._in_common(has, texts, items) >= _needed_all(
                    np.minimum(lengths[texts], self._lengths[items])
                )
                yield from zip(texts[likely].tolist(), items[likely].tolist(), strict=True)

    def _in_common(self, has: np.ndarray, texts: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return for each pair an upper bound of the number of the item's tokens that the text has."""
        begins = self._bag_begins[items]
        sizes = self._bag_begins[items + 1] - begins
        places = join_ranges(begins, sizes)
        hits = has[np.repeat(texts, sizes), self._bag_numbers[places]] * self._bag_counts[places]
        return np.add.reduceat(hits, np.cumsum(sizes) - sizes)

    def _classes(self, lengths: np.ndarray) -> np.ndarray:
        """Round each text's length down to one of few lengths; 0 for texts that match nothing."""
        steps = [0, FEWEST_TOKENS]
        while steps[-1] < self._longest:
            steps.append(min(self._longest, max(steps[-1] + 1, int(steps[-1] * _STEP))))
        borders = np.array(steps)
        return borders[np.searchsorted(borders, lengths, side="right") - 1]

    def _prefix(self, length: int) -> _Prefixes:
        """Return the rarest tokens of every item, for texts of at least `length` tokens.

        A text that matches an item of `m` tokens has at least `n` of them. So of any `m - n + k` of them it has at
        least `k`, and so of the rarest. A token is counted as often as both have it, which can only add pairs.
        """
        if length not in self._prefixes:
            numbers, owners = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
            enough = np.full(len(self._rarest_first), np.iinfo(np.int64).max, dtype=np.int64)
            for item, order in enumerate(self._rarest_first):
                fewest = _fewest_common(min(length, len(order)))
                if len(order) < fewest:
                    continue
                enough[item] = max(1, int(fewest * _RARE_SHARE))
                numbers.append(order[: len(order) - fewest + int(enough[item])])
                owners.append(np.full(len(numbers[-1]), item))
            self._prefixes[length] = _Prefixes.of(np.concatenate(numbers), np.concatenate(owners), enough, self._size)
        return self._prefixes[length]


class _Prefixes(NamedTuple):
    """Holds, for texts of one class of length, which items have each token among their rarest.

    The items of token `t` are `owners[begins[t]:begins[t + 1]]`; `is_used[t]` tells whether there are any. `enough[i]`
    is how many of item `i`'s rarest tokens a text must have.
    """

    begins: np.ndarray
    owners: np.ndarray
    enough: np.ndarray
    is_used: np.ndarray

    @classmethod
    def of(cls, numbers: np.ndarray, owners: np.ndarray, enough: np.ndarray, size: int) -> _Prefixes:
        order = np.argsort(numbers, kind="stable")
        begins = np.searchsorted(numbers[order], np.arange(size + 1))
        return cls(begins, owners[order], enough, np.diff(begins) > 0)

    def shared(self, texts: np.ndarray, numbers: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (texts, items) of the pairs that share enough rare tokens, in order.

        Text `texts[i]` has the token `numbers[i]`; `count` is the number of texts.
        """
        begins = self.begins[numbers]
        sizes = self.begins[numbers + 1] - begins
        pairs = np.repeat(texts * len(self.enough), sizes) + self.owners[join_ranges(begins, sizes)]
        counts = np.bincount(pairs, minlength=count * len(self.enough)).reshape(count, -1)
        texts_found, items_found = np.divmod(np.flatnonzero(counts >= self.enough), len(self.enough))
        return texts_found, items_found


def _slots(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return (slot of every token of all texts, where each text begins); equal tokens have equal slots."""
    keys, begins = token_keys(texts)
    slots = ((keys ^ (keys >> np.uint64(29))) * _MULTIPLIER) >> np.uint64(64 - _SLOT_BITS)
    return slots.view(np.int64), begins


def join_ranges(begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the ranges that begin at `begins` and are `sizes` long, one after the other: (3, 9), (2, 1) is 3, 4, 9."""
    shifts = np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
    return shifts + np.arange(len(shifts))


def token_keys(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Return (key of every token of all texts, where each text's tokens begin); the second has one entry more, the end.

    Equal tokens have equal keys. A key is made of the token's first eight bytes and its length, for all texts at once.
    """
    joined = b" ".join([*texts, b" " * 9])
    data = np.frombuffer(joined, dtype=np.uint8)
    is_token = data != 32
    edges = np.flatnonzero(is_token[1:] != is_token[:-1]) + 1
    if is_token[0]:
        edges = np.concatenate([[0], edges])
    starts, ends = edges[0::2], edges[1::2]
    eight = np.ndarray((len(joined) - 7,), dtype="<u8", buffer=joined, strides=(1,))
    lengths = ends - starts
    keys = (eight[starts] & _MASKS[np.minimum(lengths, 8)]) + lengths.view(np.uint64)
    begins = np.cumsum([0, *(len(text) + 1 for text in texts)])
    return keys, np.searchsorted(starts, begins)


def _needed_all(shorter: np.ndarray) -> np.ndarray:
    fewest: np.ndarray = np.maximum(FEWEST_TOKENS, -(-3 * shorter // 5))
    return fewest


def _fewest_common(shorter: int) -> int:
    """Return the fewest common tokens that make a match if the shorter text has `shorter`."""
    return max(FEWEST_TOKENS, -(-3 * shorter // 5))


class Ngram(NamedTuple):
    """Holds an item and the first 13 tokens in a row that a text shares with it."""

    item: int
    ngram: str


class NgramRule:
    """Finds the test items that share 13 tokens in a row with a text.

    Args:
        items: The texts of the test items.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._known: set[bytes] = set()
        self._items: dict[tuple[bytes, ...], list[int]] = {}
        for item, text in enumerate(items):
            words = tokens(text)
            self._known.update(words)
            for gram in dict.fromkeys(_grams(words)):
                self._items.setdefault(gram, []).append(item)

    def first(self, text: str) -> Ngram | None:
        """Return the first shared run and the first item that has it, or None."""
        for gram in self._shared(text):
            return Ngram(self._items[gram][0], b" ".join(gram).decode("utf-8", "replace"))
        return None

    def items(self, text: str) -> set[int]:
        """Return all items that share a run with the text."""
        return {item for gram in self._shared(text) for item in self._items[gram]}

    def _shared(self, text: str) -> Iterator[tuple[bytes, ...]]:
        words = tokens(text)
        item_tokens = self._known
        start = 0
        while start + NGRAM <= len(words):
            # a run cannot hold a token that no item has, so the search goes on behind the last such token
            gap = next(
                (place for place in range(start + NGRAM - 1, start - 1, -1) if words[place] not in item_tokens), None
            )
            if gap is not None:
                start = gap + 1
                continue
            gram = tuple(words[start : start + NGRAM])
            if gram in self._items:
                yield gram
            start += 1


def _grams(words: list[bytes]) -> Iterator[tuple[bytes, ...]]:
    return zip(*(words[offset:] for offset in range(NGRAM)), strict=False)
