"""The rule `span`: what lies in one place of a text is found there, and words scattered over a long one are no copy."""

from __future__ import annotations

import random

import pytest

from adhere.text import spans
from adhere.text.spans import SpanRule

WORDS = [f"w{n}" for n in range(3000)]


def words(seed: int, count: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


ITEMS = [" ".join(words(9000 + seed, 30)) for seed in range(50)]
RULE = SpanRule([*ITEMS, "sing me a song today", "too short"])


def test_copies_are_found_wherever_they_stand() -> None:
    texts = [
        f"{' '.join(words(1000 + n, 40 * n))} {item.upper()}! {' '.join(words(2000 + n, 900))}"
        for n, item in enumerate(ITEMS)
    ]
    found = RULE.matches(texts)  # one block ends within them, and texts lie behind each other
    assert [match and (match.item, match.ratio) for match in found] == [(n, 1.0) for n in range(50)]


def test_words_all_over_a_long_text_are_no_copy() -> None:
    item = ITEMS[0].split()
    scattered = " ".join(
        word for pair in zip(item, (" ".join(words(5000 + n, 30)) for n in range(30)), strict=True) for word in pair
    )
    assert RULE.matches([scattered]) == [None]


@pytest.mark.parametrize(("kept", "is_found"), [(16, True), (14, False)])
def test_half_of_the_item_decides(kept: int, is_found: bool) -> None:
    item = ITEMS[3].split()
    text = " ".join([*words(7, 50), *item[:kept], *words(8, 50)])
    (match,) = RULE.matches([text])
    assert (match is not None) is is_found
    assert match is None or (match.item, match.common, match.shorter) == (3, kept, 30)


def test_short_items_only_as_a_whole_and_tiny_ones_never() -> None:
    assert [
        match and match.common
        for match in RULE.matches(["Sing me a song today.", "Sing me a song now.", "too short", "", "a"])
    ] == [5, None, None, None, None]


def test_a_part_of_an_item_is_a_copy_too() -> None:
    (match,) = RULE.matches([" ".join(ITEMS[5].split()[10:24])])
    assert match is not None
    assert (match.item, match.common, match.shorter) == (5, 14, 14)


def test_the_order_of_items_and_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, texts = random.Random(5), []
    for n in range(120):
        item = ITEMS[n % 50].split()
        changed = [word for word in item if rng.random() > n / 150]
        texts.append(" ".join([*words(n, rng.randrange(60)), *changed, *words(-n, rng.randrange(60))]))
    found = RULE.matches(texts)
    assert 40 < sum(match is not None for match in found) < 120
    monkeypatch.setattr("adhere.text.repeats._BLOCK", 7)
    assert RULE.matches(texts) == found
    assert SpanRule([]).matches(texts[:3]) == [None] * 3
    other = SpanRule(ITEMS[::-1]).matches(texts)
    assert [match and (49 - match.item, match.common) for match in other] == [
        match and (match.item, match.common) for match in found
    ]


def test_tokens_that_share_a_slot_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows are compared by few bits first; with four slots for all tokens that filter lets nearly everything in."""
    rng = random.Random(3)
    words = [f"word{number}" for number in range(40)]
    items = [" ".join(rng.choices(words, k=rng.randrange(5, 30))) for _ in range(60)]
    kept = [" ".join(word for word in item.split() if rng.random() < 0.8) for item in items]
    texts = [*kept, *(f"{' '.join(rng.choices(words, k=50))} {one}" for one in kept)]
    usual = SpanRule(items).matches(texts)
    monkeypatch.setattr(spans, "_SLOT_BITS", 2)
    assert SpanRule(items).matches(texts) == usual
    assert 20 < sum(match is not None for match in usual) < len(texts)
