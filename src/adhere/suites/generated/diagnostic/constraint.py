"""Templates about constraints: one text to copy, and two whose rules many answers keep."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.exact import RuleSet, Text
from adhere.constraints.kinds.held_out.exact_rules import (
    DIFFERENT,
    PLAIN_LINES,
    PLAIN_WORDS,
    SORTED,
    exactly,
    line_words,
    sizes,
    starts,
    without,
)
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS, Item, Template, distinct_words, ordinal

_FREE = "Any row of letters counts as a word; it need not stand in a dictionary."


def exact_output(rng: random.Random) -> Item:
    """Draw an item: copy one line, character by character."""
    first, second, third = distinct_words(rng, 3)
    line = rng.choice(
        (
            f"{rng.choice(NAMES)}-{rng.randint(100, 999)}: {first} | {second} = {rng.randint(10, 99)}%, {third}",
            f"[{first.upper()}] {second}/{third} #{rng.randint(100, 999)} ({rng.choice(CITIES)}) -> OK",
            (
                f"{first} {second.capitalize()}; {third} * {rng.randint(10, 99)} != "
                f"{rng.choice(NAMES)}_{rng.randint(100, 999)}"
            ),
        )
    )
    text = (
        "Output exactly what stands between the words BEGIN and END, character by character, "
        "without these two words and the blanks beside them, and nothing else: no quotes, no explanation, "
        "no further text.\n\n"
        f"BEGIN {line} END"
    )
    return Item(text, Text(line, "verbatim"))


def banned_letters(rng: random.Random) -> Item:
    """Draw an item: sorted words of given lengths without two letters, one with a given first letter."""
    banned = sorted(rng.sample("aeioulnrstdm", 2))
    low = rng.randint(4, 5)
    fitting = [
        word for word in WORDS if banned[0] not in word and banned[1] not in word and low <= len(word) <= low + 2
    ]
    count = rng.randint(5, 9)
    words = sorted(rng.sample(fitting, count))
    place = rng.randint(1, count)
    letter = words[place - 1][0]
    text = (
        f"Write exactly {count} words, on one line, with one space between words. All of this must be true:\n"
        f"- Every word has at least {low} and at most {low + 2} letters.\n"
        f"- No word contains the letter {banned[0]} or the letter {banned[1]}.\n"
        f"- The {ordinal(place)} word starts with the letter {letter}.\n"
        "- No word stands there twice.\n"
        "- The words are in alphabetical order, from a to z.\n"
        "- There are only lowercase letters from a to z and the spaces between the words: no punctuation, no numbers, "
        "no capital letters.\n\n"
        f"{_FREE}\n\n"
        "Output only the words and nothing else."
    )
    rules = (
        exactly(count, "word"), sizes(low, low + 2), without(banned, "word"), starts(place, letter, "word"),
        DIFFERENT, SORTED, PLAIN_WORDS,
    )  # fmt: skip
    return Item(text, RuleSet(" ".join(words), "words", rules))


def shaped_lines(rng: random.Random) -> Item:
    """Draw an item: lines with a given first letter and number of words, without one letter."""
    banned = rng.choice("aeiost")
    usable = [word for word in WORDS if banned not in word]
    letters = rng.sample(sorted({word[0] for word in usable}), rng.randint(4, 5))
    counts = [rng.randint(3, 7) for _ in letters]
    lines = [
        " ".join([rng.choice([word for word in usable if word[0] == letter]), *rng.sample(usable, count - 1)])
        for letter, count in zip(letters, counts, strict=True)
    ]
    shapes = "\n".join(
        f"- Line {number} starts with the letter {letter} and has exactly {count} words."
        for number, (letter, count) in enumerate(zip(letters, counts, strict=True), start=1)
    )
    text = (
        f"Write exactly {len(letters)} lines. All of this must be true:\n{shapes}\n"
        f"- The letter {banned} stands nowhere.\n"
        "- There are only lowercase letters from a to z, with one space between the words of a line: no punctuation, "
        "no numbers, no capital letters.\n\n"
        f"{_FREE} The lines need not make sense.\n\n"
        "Output only the lines and nothing else."
    )
    rules = [exactly(len(letters), "line"), without([banned], "line"), PLAIN_LINES]
    for number, (letter, count) in enumerate(zip(letters, counts, strict=True), start=1):
        rules += [starts(number, letter, "line"), line_words(number, count)]
    return Item(text, RuleSet("\n".join(lines), "lines", tuple(rules)))


TEMPLATES = (
    Template("constraint:exact_output", "constraint-compliance", "easy", "Copy one line exactly", exact_output,
        copies=True, version=2),
    Template(
        "constraint:banned_letters", "constraint-compliance", "typical", "Sorted words without two letters",
        banned_letters
    ),
    Template("constraint:shaped_lines", "constraint-compliance", "hard", "Lines with first letters and lengths",
        shaped_lines),
)  # fmt: skip
