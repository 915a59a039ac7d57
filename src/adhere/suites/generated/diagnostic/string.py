"""Templates about string manipulation, four in all."""

from __future__ import annotations

import random

from adhere.constraints.kinds.held_out.exact import Text
from adhere.suites.generated.diagnostic.items import Item, Template, distinct_words, ordinal

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_VOWELS = "aeiou"
_SEPARATORS = (("hyphens", "-"), ("underscores", "_"), ("plus signs", "+"), ("slashes", "/"), ("semicolons", ";"))


def sort_unique(rng: random.Random) -> Item:
    """Draw an item: remove repeated words, sort and join them."""
    unique = distinct_words(rng, rng.randint(6, 8))
    with_repeats = [*unique, *rng.sample(unique, 3)]
    rng.shuffle(with_repeats)
    separator_name, separator = rng.choice(_SEPARATORS)
    text = (
        f"Here is a list of words:\n\n{' '.join(with_repeats)}\n\n"
        "Remove repetitions, so that every word is left exactly once. Sort the words in alphabetical order, "
        f"from a to z. Join them with {separator_name} ({separator}), without spaces.\n\n"
        "Output only the resulting text, on one line, and nothing else."
    )
    return Item(text, Text(separator.join(sorted(unique)), "text"))


def nth_letters(rng: random.Random) -> Item:
    """Draw an item: take the letter at the same place of each word."""
    place = rng.randint(2, 4)
    words = distinct_words(rng, rng.randint(8, 10))
    text = (
        f"Take the {ordinal(place)} letter of each of these words, in the order of the words:\n\n{' '.join(words)}\n\n"
        f"The leftmost letter of a word is its 1st letter. Write the {len(words)} letters that you took as capital "
        "letters, next to each other, without anything between them.\n\n"
        "Output only these letters and nothing else."
    )
    return Item(text, Text("".join(word[place - 1] for word in words).upper(), "text"))


def shift_then_drop_vowels(rng: random.Random) -> Item:
    """Draw an item: apply Caesar's cipher, then remove the vowels from its result."""
    by = rng.randint(2, 9)
    word = "-".join(distinct_words(rng, 3))
    shifted = word.translate(str.maketrans(_ALPHABET, _ALPHABET[by:] + _ALPHABET[:by]))
    text = (
        f"Start with this text:\n\n{word}\n\n"
        "Do these two steps, one after the other:\n"
        f"1. Replace every letter by the letter that comes {by} places later in the alphabet; "
        "after z the alphabet goes on with a. Hyphens stay as they are.\n"
        "2. From the result of step 1, remove every vowel (a, e, i, o, u). Everything else stays, hyphens too.\n\n"
        "Output only the text that step 2 gives and nothing else."
    )
    return Item(text, Text("".join(letter for letter in shifted if letter not in _VOWELS), "text"))


def chained_transform(rng: random.Random) -> Item:
    """Draw an item of five steps: reverse words, change case, join, drop every k-th character, reverse text."""
    words = distinct_words(rng, rng.randint(5, 6))
    every = rng.randint(3, 5)
    text = (
        f"Start with this list of words:\n\n{' '.join(words)}\n\n"
        "Do these five steps, each with the result of the step before:\n"
        "1. Reverse the order of the words: the last word comes first. The words themselves stay as they are.\n"
        "2. Write every word that is now at an odd place (1st, 3rd, 5th) in capital letters. "
        "The other words stay as they are.\n"
        "3. Join all words with underscores (_) to one text without spaces.\n"
        f"4. Remove every {ordinal(every)} character of that text, that is, the characters number {every}, "
        f"{2 * every}, {3 * every} and so on. Count from the left, starting at 1, on the text as step 3 gave it; "
        "underscores are characters, too.\n"
        "5. Reverse the whole text: the last character comes first.\n\n"
        "Output only the text that step 5 gives and nothing else."
    )
    turned = [word.upper() if place % 2 == 0 else word for place, word in enumerate(reversed(words))]
    joined = "_".join(turned)
    remaining = "".join(character for number, character in enumerate(joined, start=1) if number % every)
    return Item(text, Text(remaining[::-1], "text"))


TEMPLATES = (
    Template("string:sort_unique", "string-manipulation", "easy", "Remove repeated words, sort, join", sort_unique),
    Template("string:nth_letters", "string-manipulation", "typical", "The n-th letter of each word, in capitals",
        nth_letters),
    Template(
        "string:shift_then_drop_vowels", "string-manipulation", "hard", "Caesar shift, then remove the vowels",
        shift_then_drop_vowels,
    ),
    Template(
        "string:chained_transform", "string-manipulation", "hard",
        "Reverse words, change case, join, drop every k-th character, reverse", chained_transform,
    ),
)  # fmt: skip
