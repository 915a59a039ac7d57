"""IFBench `count:` kinds: how many words, names, numbers, marks.

Source: allenai/IFBench at db69a6f (profile `ifbench-2026`) and its checkers of July 2025 (`ifbench-2025`), behaviour
reproduced with its quirks; ours differs in that nothing is drawn at random and every verdict says what it found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import cast

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.pronouns import count_new, count_old
from adhere.constraints.published.ifbench.features import EDGES, bare, lower_chunks
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    GIVEN,
    NEW,
    OLD,
    Check,
    accept,
    at_least,
    exactly,
    number,
    number_drawn,
    published_check,
    published_kind,
    quote,
    reject,
    verdict,
)
from adhere.constraints.published.shared.features import Text
from adhere.schema import Json


def _slightly_more(rng: random.Random, params: Mapping[str, Json]) -> Json:
    low = cast("float", params["min_words"])
    return low + rng.randint(int(low * 0.05), int(low * 0.1))


@published_check(
    "count:word_count_range",
    BOTH,
    "Answer in {min_words} to {max_words} words.",
    min_words=number(100, 500),
    max_words=number_drawn(_slightly_more),
)
def word_count_range(text: Text, min_words: float, max_words: float) -> Finding:
    r"""Count runs of `\w`, so that "don't" is two words."""
    count = text.word_count
    bounds = f"{min_words} to {max_words}"
    return verdict(min_words <= count <= max_words, f"found {amount(count, 'words')}, needed {bounds}", count, bounds)


@published_check("count:unique_word_count", BOTH, "Use at least {N} different words.", N=number(100, 500))
def unique_word_count(text: Text, N: float) -> Finding:
    """Count different white-space words in lower case, without marks at their ends.

    All words of marks only count together as one empty word.
    """
    count = len({word.strip(EDGES) for word in set(lower_chunks(text))})
    return at_least(count, N, "different words")


_CONJUNCTIONS = frozenset(["and", "but", "for", "nor", "or", "so", "yet"])


@published_check(
    "count:conjunctions", BOTH, "Use at least {small_n} different coordinating conjunctions.", small_n=number(2, 6)
)
def conjunctions(text: Text, small_n: float) -> Finding:
    """Count different spellings, as published: `and`, `And` and `and,` are three."""
    spellings = {word for word in set(text.chunks) if word.strip(EDGES).lower() in _CONJUNCTIONS}
    return at_least(len(spellings), small_n, "different spellings of coordinating conjunctions")


_NAMES = (
    "Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia "
    "Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob "
    "Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora "
    "Andrew Aria Joseph Claire Ryan Stella Jonathan"
).split()
# The name first, so that it is looked for by plain search.
_WHOLE_NAMES = [(name, re.compile(rf"{name}(?<!\w{name})(?!\w)")) for name in _NAMES]
_NAMES_SAID = "Mention at least {N} different names of this list: " + ", ".join(_NAMES) + "."


@published_check("count:person_names", NEW, _NAMES_SAID, N=number(1, 50))
def person_names(text: Text, N: float) -> Finding:
    """Count the listed names that occur with no word character next to them."""
    raw = text.raw
    count = sum(name in raw and whole.search(raw) is not None for name, whole in _WHOLE_NAMES)
    return at_least(count, N, "different names of the list")


@published_check("count:person_names", OLD, _NAMES_SAID, N=number(1, 50))
def person_names_2025(text: Text, N: float) -> Finding:
    """Count the listed names that occur, inside longer words too: Leonard holds Leo."""
    raw = text.raw
    return at_least(sum(name in raw for name in _NAMES), N, "different names of the list")


_DIGITS = re.compile(r"\d+")


@published_check("count:numbers", BOTH, "Use exactly {N} numbers.", N=number(1, 6))
def numbers(text: Text, N: float) -> Finding:
    """Count runs of digits after removing all marks, so that 3.14 and 2020-01-02 are one number each."""
    return exactly(len(_DIGITS.findall(bare(text))), N, "numbers")


@published_check("count:pronouns", NEW, "Use at least {N} pronouns.", N=number(1, 25))
def pronouns(text: Text, N: float) -> Finding:
    """Count pronouns among Treebank tokens of the lower-cased text, with `/` read as a blank."""
    return at_least(count_new(text), N, "pronouns")


@published_check("count:pronouns", OLD, "Use at least {N} pronouns.", N=number(1, 25))
def pronouns_2025(text: Text, N: float) -> Finding:
    """Count pronouns of a shorter list among white-space words without marks ("he'll" is "hell")."""
    return at_least(count_old(text), N, "personal pronouns")


_INTERROBANGS = ("?!", "!?", "‽")


@published_check(
    "count:punctuation", BOTH, "Use every standard punctuation mark at least once: . , ! ? ; : and the interrobang ?!"
)
def punctuation(text: Text) -> Finding:
    """Look for every mark; an interrobang is removed first, so `!` and `?` must also occur elsewhere."""
    raw = text.raw
    if not any(mark in raw for mark in _INTERROBANGS):
        return reject("found no interrobang (?!, !? or ‽)", needed="?!")
    interrobang = "?!" if "?!" in raw else "!?"
    rest = raw.replace(interrobang, "", 1)
    missing = [mark for mark in ".,!?;:" if mark not in rest]
    if missing:
        return reject(f"besides the interrobang, found no {' '.join(missing)}", missing, ". , ! ? ; :")
    return accept("found every standard punctuation mark and an interrobang")


_TIMES = ((1, "once"), (2, "twice"), (3, "3 times"), (5, "5 times"), (7, "7 times"))


@published_kind(
    "count:keywords_multiple",
    BOTH,
    "Use the keyword {keyword1} once, {keyword2} twice, {keyword3} three times, {keyword4} five times and {keyword5} "
    "seven times.",
    keyword1=GIVEN,
    keyword2=GIVEN,
    keyword3=GIVEN,
    keyword4=GIVEN,
    keyword5=GIVEN,
)
def keywords_multiple(keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str) -> Check:
    """Count each keyword in any case, inside longer words too."""
    words = [keyword.strip() for keyword in (keyword1, keyword2, keyword3, keyword4, keyword5)]
    keywords = [(word, word.lower(), times, phrase) for word, (times, phrase) in zip(words, _TIMES, strict=True)]

    def check(text: Text) -> Finding:
        lower = text.lower
        for word, lowered, times, phrase in keywords:
            count = lower.count(lowered)
            if count != times:
                return reject(f"found {word!r} {count} times, needed {phrase}", count, times)
        return accept("found every keyword exactly as often as asked")

    return check


_EVERY = number(1, 30)._replace(required=True)  # absent or 0, it makes the published code raise; below 0, draw
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@published_check("count:words_japanese", BOTH, "Write every {N}th word in Japanese.", N=_EVERY)
def words_japanese(text: Text, N: float) -> Finding:
    """Check that every `N`th white-space word is Japanese.

    Words of only digits or only marks are excused. One Japanese character makes a word Japanese.
    """
    words = text.chunks
    chosen = words[N - 1 :: N] if isinstance(N, int) else [word for i, word in enumerate(words, 1) if i % N == 0]
    for order, word in enumerate(chosen, 1):
        core = word.strip(EDGES)
        if core and not core.isdigit() and not _JAPANESE.search(core):
            return reject(f"word {order * N} is {quote(core)}, needed a Japanese word", core[:40], "Japanese")
    return accept(f"every {N}th word is Japanese ({len(chosen)} words)", len(chosen))
