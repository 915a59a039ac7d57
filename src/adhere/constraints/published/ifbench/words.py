"""IFBench `words:` kinds: rules about every word, its letters, its syllables, its place.

Source: allenai/IFBench at db69a6f and its checkers of July 2025, quirks included: words are mostly the pieces between
white space after removing all ASCII punctuation marks.
"""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.english.syllables import syllables
from adhere.constraints.published.ifbench.english.tagger import first_tag
from adhere.constraints.published.ifbench.english.tokens import (
    first_tokens,
    iterate_tokens,
    last_tokens,
    leading_tokens,
)
from adhere.constraints.published.ifbench.features import (
    EDGES,
    MARKS,
    bare_then_lower_words,
    bare_words,
    lower_chunks,
    lower_then_bare_words,
)
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    GIVEN,
    NEW,
    OLD,
    WORD,
    accept,
    at_least,
    number,
    published_check,
    published_pair,
    quote,
    reject,
    verdict,
    whole,
)
from adhere.constraints.published.shared.features import Text

_ALPHABET = string.ascii_lowercase


@published_check("words:alphabet", BOTH, "Begin each word with the next letter of the alphabet, starting over after Z.")
def alphabet(text: Text) -> Finding:
    """Check that each word begins with the letter after that of the word before; the first, with any of a-z."""
    words = bare_words(text)
    if not words:
        return reject("found no words")
    letter = words[0][0].lower()
    if letter not in _ALPHABET:
        return reject(f"the first word, {quote(words[0])}, begins with no letter from a to z")
    at = _ALPHABET.index(letter)
    for order, word in enumerate(words[1:], 2):
        at = (at + 1) % 26
        if word[0].lower()[0] != _ALPHABET[at]:
            return reject(f"word {order} is {quote(word)}, needed one that begins with {_ALPHABET[at]}")
    return accept(f"{len(words)} words follow the alphabet", len(words))


@published_check("words:vowel", BOTH, "Write one paragraph with at most three different vowels.")
def vowel(text: Text) -> Finding:
    """Count the different vowels; a line break makes two paragraphs, which fail."""
    stripped = text.stripped
    if "\n" in stripped:
        return reject("found more than one line", stripped.count("\n") + 1, 1)
    return judge_vowels(text)


def judge_vowels(text: Text) -> Finding:
    """Judge whether a text has at most three of the five vowels, in any case."""
    lower = text.lower
    vowels = [letter for letter in "aeiou" if letter in lower]
    return verdict(len(vowels) <= 3, f"found the vowels {' '.join(vowels) or 'none'}, needed at most 3", len(vowels), 3)


_CLUSTER = re.compile("[bcdfghjklmnpqrstvwxyz]{2}")


@published_check("words:consonants", BOTH, "Put two consonants side by side into every word.")
def consonants(text: Text) -> Finding:
    """Check that every white-space word, numbers and marks too, has two consonants side by side; `y` is one."""
    clustered = _CLUSTER.search
    for order, word in enumerate(lower_chunks(text), 1):
        if not clustered(word):
            return reject(f"word {order}, {quote(word)}, has no two consonants side by side", word[:40])
    return accept("every word has two consonants side by side")


@published_check("words:palindrome", BOTH, "Use at least 10 one-word palindromes of at least 5 letters.")
def palindrome(text: Text) -> Finding:
    """Count palindromes of five letters or more; repeats count."""
    words = bare_then_lower_words(text)
    count = sum(1 for word in words if word[0] == word[-1] and len(word) >= 5 and word == word[::-1])
    return at_least(count, 10, "palindromes of 5 letters or more")


_PRIMES = frozenset(n for n in range(2, 100) if all(n % divisor for divisor in range(2, n)))


@published_check("words:prime_lengths", BOTH, "Use only words whose number of letters is prime.")
def prime_lengths(text: Text) -> Finding:
    """Check each word's length against the primes below 100."""
    for order, word in enumerate(bare_words(text), 1):
        if len(word) not in _PRIMES:
            return reject(f"word {order}, {quote(word)}, has {len(word)} letters, needed a prime", len(word), "prime")
    return accept("every word has a prime number of letters")


@published_check("words:repeats", BOTH, "Use no word more than {small_n} times.", small_n=number(1, 5))
def repeats(text: Text, small_n: float) -> Finding:
    """Judge how often the most frequent word stands, in any letter case, marks taken out."""
    words = lower_then_bare_words(text)
    if not words:
        return accept("found no words", 0, small_n)
    word, times = Counter(words).most_common(1)[0]
    reason = f"the most frequent word, {quote(word)}, stands {times} times, needed at most {small_n}"
    return verdict(times <= small_n, reason, times, small_n)


@published_check("words:no_consecutive", BOTH, "Let no two neighbouring words begin with the same letter.")
def no_consecutive(text: Text) -> Finding:
    """Compare the first letters of neighbouring words in any letter case, marks taken out, line breaks ignored."""
    words = lower_then_bare_words(text)
    for left, right in itertools.pairwise(words):
        if left[0] == right[0]:
            return reject(f"{quote(left)} and {quote(right)} begin with the same letter")
    return accept("no two neighbouring words begin with the same letter")


@published_check("words:odd_even_syllables", BOTH, "Alternate words with an odd and an even number of syllables.")
def odd_even_syllables(text: Text) -> Finding:
    """Count syllables by syllapy's list, else by groups of vowels; a word with a digit has none."""
    before: tuple[str, int] | None = None
    for word in bare_then_lower_words(text):
        count = syllables(word)
        if before is not None and count % 2 == before[1] % 2:
            reason = f"{quote(before[0])} has {before[1]} syllables and {quote(word)} has {count}"
            return reject(f"{reason}, needed one odd and one even")
        before = word, count
    return accept("odd and even numbers of syllables alternate")


@published_pair("words:paragraph_last_first", "End each line with the word it began with.", new=True, old=False)
def paragraph_last_first(text: Text, skips_wordless: bool) -> Finding:  # noqa: FBT001 - which of the two checkers
    """Check that each line's first and last word are the same, in any case; a line without words fails in 2025 only."""
    # Beyond ASCII a letter's lower case may depend on its neighbours, so there each line is lowered by itself.
    for order, line in enumerate(text.lower.split("\n") if text.raw.isascii() else text.lines, 1):
        stripped = line.strip().lower()
        if not stripped:
            continue
        words = stripped.strip(EDGES).split()
        if not words:
            if skips_wordless:
                continue
            return reject(f"line {order} holds no word")
        if words[0] != words[-1]:
            ends = f"begins with {quote(words[0])} and ends with {quote(words[-1])}"
            return reject(f"line {order} {ends}, needed the same word")
    return accept("each line ends with the word it began with")


@published_check("words:start_verb", BOTH, "Begin with a verb.", version=2)
def start_verb(text: Text) -> Finding:
    """Check that the first Treebank token is tagged VB, VBD, VBG, VBN, VBP or VBZ."""
    tokens = first_tokens(text, 3)
    if not tokens:
        return reject("found no words", needed="a verb")
    tag, is_clear = first_tag(tokens)
    expected = "a verb (a tag with VB)"
    if not is_clear:
        return Finding(
            "undecided", f"the first word, {quote(tokens[0])}, may or may not be a verb: the tagger is unsure"
        )
    return verdict(
        "VB" in tag, f"the first word, {quote(tokens[0])}, is tagged {tag}, needed {expected}", tag, expected
    )


_POSITION_SAID = 'The second word and the second to last word must be "{keyword}".'


@published_check("words:words_position", NEW, _POSITION_SAID, keyword=GIVEN)
def words_position(text: Text, keyword: str) -> Finding:
    """Compare Treebank tokens with the keyword in any case; one mark at the end is skipped."""
    word = keyword.strip()
    lowered = word.lower()
    if word.isalnum() and lowered not in text.lower:
        return reject(f"found no {word!r}", needed=word)
    first, last = first_tokens(text, 3), last_tokens(text, 3)
    if len(first) < 2:
        return reject(f"found {amount(len(first), 'words')}, needed {word!r} as second and second to last")
    back = -3 if last[-1] in MARKS else -2
    if len(last) < -back:
        return reject(f"found too few words for {word!r} as second and second to last")
    reason = f"the second word is {quote(first[1])}, the second to last {quote(last[back])}, needed {word!r}"
    pair = [first[1][:40], last[back][:40]]
    return verdict(first[1].lower() == last[back].lower() == lowered, reason, pair, word)


@published_check("words:words_position", OLD, _POSITION_SAID, keyword=GIVEN)
def words_position_2025(text: Text, keyword: str) -> Finding:
    """Compare Treebank tokens with the keyword, case kept; a mark at the end counts as a word."""
    word = keyword.strip()
    if word.isalnum() and word not in text.raw:
        return reject(f"found no {word!r}", needed=word)
    first, last = first_tokens(text, 2), last_tokens(text, 2)
    if len(first) < 2:
        return reject(f"found {amount(len(first), 'words')}, needed {word!r} as second and second to last")
    reason = f"token 2 is {quote(first[1])}, the second to last {quote(last[-2])}, needed {word!r}"
    return verdict(first[1] == last[-2] == word, reason, [first[1][:40], last[-2][:40]], word)


_NTH_SAID = 'Use the word "{keyword}" in sentence {n}, as word {m} of it.'


@published_check("words:keywords_specific_position", NEW, _NTH_SAID, keyword=WORD, n=whole(20, 30), m=whole(30, 40))
def keywords_specific_position(text: Text, keyword: str, n: int, m: int) -> Finding:
    """Check a word by Punkt sentences and by Treebank tokens with a letter or digit, in any case."""
    word = keyword.strip()
    lowered = word.lower()
    sentences = text.sentences
    if not 0 < n <= len(sentences[:n]):
        return reject(f"found {amount(len(sentences), 'sentences')}, needed at least {n}", len(sentences), n)
    if word.isalnum() and lowered not in text.lower:
        return reject(f"found no {word!r}", needed=word)
    words = (token for token in iterate_tokens(sentences[n - 1]) if any(map(str.isalnum, token)))
    return _word_at(list(itertools.islice(words, max(m, 0))), m, word, lower=lowered)


@published_check("words:keywords_specific_position", OLD, _NTH_SAID, keyword=WORD, n=whole(20, 30), m=whole(30, 40))
def keywords_specific_position_2025(text: Text, keyword: str, n: int, m: int) -> Finding:
    """Check a word by sentences cut by substitution and by all Treebank tokens, marks too, case kept."""
    word = keyword.strip()
    sentences = pieces(text)
    if not 0 < n <= len(sentences[:n]):
        return reject(f"found {amount(len(sentences), 'sentences')}, needed at least {n}", len(sentences), n)
    return _word_at(leading_tokens(sentences[n - 1], m), m, word)


def _word_at(words: list[str], m: int, keyword: str, *, lower: str | None = None) -> Finding:
    if not 0 < m <= len(words):
        return reject(f"the sentence has {len(words)} words, needed at least {m}", len(words), m)
    word = words[m - 1]
    same = word == keyword if lower is None else word.lower() == lower
    return verdict(same, f"word {m} of the sentence is {quote(word)}, needed {keyword!r}", word[:40], keyword)
