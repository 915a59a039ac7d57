"""Words are found as their pattern finds them, wherever the search begins."""

import random

from hypothesis import given
from hypothesis import strategies as st

from adhere.constraints.kinds.shared import phrases

PIECES = (
    "cat",
    "Cat",
    "cats",
    "CAT nap",
    "a cat  nap",
    "ca",
    "t",
    " ",
    "_cat_",
    "cat-like",
    "\n",
    ".",
    "é",
    "K",
    "\u212a",
    "nap",
    "\u0301",
)


def plainly(text, phrase):
    return [match.span() for match in phrases.pattern(phrase).finditer(text)]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(("cat", "cat nap", "k", "K", "é")))
def test_counted_and_found_as_the_pattern_does(text, phrase):
    spans = plainly(text, phrase)
    assert phrases.count(text, phrase) == len(spans)
    assert phrases.first(text, phrase) == (spans[0] if spans else None)
    assert phrases.contains(text, phrase) == bool(spans)


def test_a_long_text_is_lowered_once_for_all_words():
    text = " ".join(random.Random(7).choices(("Harbor", "light", "Sea"), k=20_000))
    phrases._lower.cache_clear()
    assert not any(phrases.contains(text, f"word{number}") for number in range(50))
    assert phrases._lower.cache_info().misses == 1
