"""Tell whether some place of a text holds at least half of a test item, in order: a third rule.

The rule `lcs` (`text.repeats`) compares whole texts, so a long document matches by the words that all texts have, and
an item in the middle of it is lost; `ngram` needs 13 unchanged tokens. This rule seeks an item of `n` tokens in windows
of about `n` tokens, so neither the length of the document nor a changed word in each line matters.

1. The rarest runs of four tokens of each item are indexed, as 64-bit hashes. A table of bits tells for nearly all runs
   of a text that no item has them.
2. An item is compared where a text has two of its runs near each other (one, if the item has few).
3. There the longest common subsequence decides, first of tokens' slots and then of real tokens: half of the shorter
   text, or all of it if that has fewer than 13 tokens.

Unlike the other two rules, this one may miss a match that a scan of all windows would find: one without two of the
runs. How often this happens is measured (docs/reference/decontaminate.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import LCSseq

from adhere.text.repeats import FEWEST_TOKENS, BlockRule, Match, blank_out, join_ranges, token_keys

RUN = 4
FEWEST = 5
"""The fewest tokens of the shorter text; below, nothing matches."""
_INDEXED = 24  # runs of an item; more cost memory and find no more (measured)
_SLOT_BITS = 18  # of a token's number where windows are compared roughly
_MOST_OWNERS = 64  # items of a run that is looked at; a run of more says nothing
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)


class SpanRule(BlockRule):
    """Finds the test items that some place of a text repeats.

    Args:
        items: The texts of the test items.
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._vocabulary: dict[bytes, int] = {}
        texts = [blank_out(item) for item in items]
        self._items = [
            [self._vocabulary.setdefault(word, len(self._vocabulary) + 1) for word in text.split()] for text in texts
        ]
        self._slack = np.array([max(8, len(item) // 4) for item in self._items], dtype=np.int64)
        hashes, places, begins, numbers = _runs(texts)
        self._numbered = [numbers[start:end].tolist() for start, end in itertools.pairwise(begins)]
        self._has_slot = np.zeros(1 << _SLOT_BITS, dtype=bool)
        self._has_slot[numbers] = True
        owners = np.searchsorted(begins, places, side="right") - 1
        _, inverse, spread = np.unique(hashes, return_inverse=True, return_counts=True)
        # Of each item the runs that fewest items have; of equals the first.
        order = np.lexsort((places, spread[inverse], owners))
        rank = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
        chosen = order[(rank < _INDEXED) & (spread[inverse][order] <= _MOST_OWNERS)]
        chosen = chosen[np.argsort(hashes[chosen], kind="stable")]
        self._hashes, self._owners = hashes[chosen], owners[chosen].astype(np.int32)
        self._offsets = (places[chosen] - begins[self._owners]).astype(np.int32)
        self._enough = np.minimum(2, np.bincount(self._owners, minlength=len(items)))
        bits = min(26, max(12, len(chosen).bit_length() + 4))
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[self._hashes >> self._shift] = True  # by a hash's highest bits

    @property
    def memory_bytes(self) -> int:
        """Bytes that the index holds, without the interpreter's own objects."""
        arrays = (self._hashes, self._owners, self._offsets, self._table, self._slack, self._has_slot)
        places = 16 * sum(map(len, self._items))
        return sum(int(array.nbytes) for array in arrays) + places + sum(map(len, self._vocabulary))

    def _of_block(self, texts: list[bytes]) -> list[Match | None]:
        nearest: list[Match | None] = [None] * len(texts)
        hashes, places, begins, numbers = _runs(texts)
        has_slot = self._has_slot[numbers]
        # Of the runs that an item may have: where they stand in the sorted index, once for each item that has them.
        likely = np.flatnonzero(self._table[hashes >> self._shift])
        hashes, places = hashes[likely], places[likely]
        first = np.searchsorted(self._hashes, hashes)
        counts = np.searchsorted(self._hashes, hashes, side="right") - first
        hit = np.repeat(np.arange(len(hashes)), counts)
        entry = join_ranges(first, counts)
        items, starts = self._owners[entry].astype(np.int64), places[hit] - self._offsets[entry]
        rows = np.searchsorted(begins, places[hit], side="right") - 1
        text_numbers: dict[int, list[int]] = {}  # of each token of a text its number, 0 where no item has it
        lengths = np.diff(begins).tolist()
        for row, item, start in self._places(rows, items, starts):
            item_tokens = self._items[item]
            shorter = min(lengths[row], len(item_tokens))
            if shorter < FEWEST:
                continue
            fewest = shorter if shorter < FEWEST_TOKENS else -(-shorter // 2)
            slack = int(self._slack[item])
            begin = max(0, start - int(begins[row]) - slack)
            # By numbers of few bits first: two tokens may share one, so this lets too much in and leaves nothing out.
            span = slice(
                int(begins[row]) + begin,
                min(int(begins[row]) + begin + len(item_tokens) + 2 * slack, int(begins[row + 1])),
            )
            rough = numbers[span][has_slot[span]].tolist()
            if len(rough) < fewest or LCSseq.similarity(rough, self._numbered[item], score_cutoff=fewest) < fewest:
                continue
            if row not in text_numbers:
                text_numbers[row] = [self._vocabulary.get(word, 0) for word in texts[row].split()]
            window = [*filter(None, text_numbers[row][begin : begin + len(item_tokens) + 2 * slack])]
            common = LCSseq.similarity(window, item_tokens, score_cutoff=fewest) if len(window) >= fewest else 0
            best = nearest[row]
            if common >= fewest and (best is None or common * best.shorter > best.common * shorter):
                nearest[row] = Match(item, common, shorter)
        return nearest

    def _places(self, rows: np.ndarray, items: np.ndarray, starts: np.ndarray) -> list[tuple[int, int, int]]:
        """Return (text, item, estimated start of the item in the text) for each place with enough runs near each other.

        The start is that of the middle run of the place.
        """
        if not len(rows):
            return []
        order = np.lexsort((starts, items, rows))
        rows, items, starts = rows[order], items[order], starts[order]
        edge = (np.diff(rows) != 0) | (np.diff(items) != 0) | (np.diff(starts) > self._slack[items[1:]])
        first = np.concatenate([[0], np.flatnonzero(edge) + 1])
        sizes = np.diff(np.concatenate([first, [len(rows)]]))
        first, sizes = (part[sizes >= self._enough[items[first]]] for part in (first, sizes))
        middle = first + sizes // 2
        return list(zip(rows[middle].tolist(), items[middle].tolist(), starts[middle].tolist(), strict=True))


def _runs(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (hash of every run, place of its first token, where each text begins, slot of each token)."""
    keys, begins = token_keys(texts)
    n = max(0, len(keys) - RUN + 1)
    keys ^= keys >> np.uint64(31)
    total = keys[:n] * _ODD[0]
    for offset in range(1, RUN):
        total += keys[offset : offset + n] * _ODD[offset]
    total = (total ^ (total >> np.uint64(29))) * _ODD[0]
    inside = np.ones(n, dtype=bool)  # whether all tokens of a run are of one text
    for begin in begins[1:-1]:
        inside[max(0, begin - RUN + 1) : begin] = False
    places = np.flatnonzero(inside)
    return total[places], places, begins, ((keys * _ODD[0]) >> np.uint64(64 - _SLOT_BITS)).view(np.int64)
