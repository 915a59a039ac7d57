"""IFTrain kinds about words, letters and marks.

`keywords:`, `count:`, `letters:`, `first_word:`, `last_word:`, `punctuation:`.

Source: allenai/open-instruct IFEvalG (profile `iftrain`), behaviour reproduced with its quirks: keywords are unescaped
regular expressions found inside longer words, sentences are cut by substitution, falsy parameters are drawn at random.
Ours differs in that nothing is drawn, nothing raises, and every verdict says what it found.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.english.tokens import (
    first_tokens,
    last_tokens,
    leading_tokens,
    plain_chunks,
    tokens_of,
)
from adhere.constraints.published.ifbench.features import find_repeat
from adhere.constraints.published.ifbench.kind import (
    IFTRAIN,
    WORD,
    WORDS,
    Check,
    accept,
    number,
    one_of,
    published_check,
    published_kind,
    quote,
    reject,
    verdict,
    whole,
)
from adhere.constraints.published.ifeval.words import unless_undecidable
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.patterns import Pattern, Undecidable, keyword_pattern
from adhere.constraints.published.shared.registry import Param
from adhere.schema import Json

_RELATIONS = ("less than", "at least")
RELATION = Param("string", choices=_RELATIONS, draw=lambda rng, _params: rng.choice(_RELATIONS))


def _is_no_letter(value: Any, _params: Mapping[str, Json]) -> bool:
    return not value or len(value) > 1 or not "a" <= value.lower()[:1] <= "z"


LETTER = Param("string", is_drawn=_is_no_letter, draw=lambda rng, _params: rng.choice(string.ascii_letters).lower())
"""One letter from a to z; the published code draws a random one for anything else."""


def only_word(value: str | list[str]) -> str:
    """Return a keyword, which some published rows give as a list of one word."""
    return (value if isinstance(value, str) else value[0]).strip()


def _compare(count: int, relation: str, limit: float, units: str) -> Finding:
    reason = f"found {amount(count, units)}, needed {relation} {limit}"
    if relation == "less than":
        return verdict(count < limit, reason, count, f"less than {limit}")
    if relation == "at least":
        return verdict(count >= limit, reason, count, f"at least {limit}")
    return reject(
        f"the relation {relation!r} is neither 'less than' nor 'at least'; the published code fails every answer"
    )


def _times(pattern: Pattern, text: Text, target: int, phrase: str) -> Finding:
    try:
        count = pattern.count(text)
    except Undecidable as why:
        return Finding("undecided", str(why))
    return verdict(count == target, f"found {phrase} {count} times, needed {target}", count, target)


@published_kind("keywords:word_once", IFTRAIN, "Use the keyword {keyword} once.", keyword=WORD)
def word_once(keyword: str) -> Check:
    """Count the keyword in any case, inside longer words too."""
    word = keyword.strip()
    pattern = keyword_pattern(word)
    return lambda text: _times(pattern, text, 1, repr(word))


@published_kind(
    "keywords:word_count_different_numbers",
    IFTRAIN,
    "Use the word {keyword} {relation} {frequency} times.",
    keyword=WORD,
    frequency=number(1, 3),
    relation=RELATION,
)
def word_count_different_numbers(keyword: str, frequency: float, relation: str) -> Check:
    """Count the word in any case, inside longer words too."""
    word = keyword.strip()
    pattern = keyword_pattern(word)
    return unless_undecidable(lambda text: _compare(pattern.count(text), relation, frequency, f"times {word!r}"))


@published_kind(
    "count:count_increment_word",
    IFTRAIN,
    "Use the keyword {keyword1} once and the keyword {keyword2} twice.",
    keyword1=WORD,
    keyword2=WORD,
)
def count_increment_word(keyword1: str, keyword2: str) -> Check:
    """Count both keywords in any case, inside longer words too."""
    words = (keyword1.strip(), keyword2.strip())
    counts = [(keyword_pattern(word), repr(word), times) for times, word in enumerate(words, 1)]

    def check(text: Text) -> Finding:
        first, second = (_times(pattern, text, times, word) for pattern, word, times in counts)
        return second if first.outcome == "pass" else first

    return check


@published_check("keywords:exclude_word_harder", IFTRAIN, "Do not use the keyword {keyword}.", keyword=WORD)
def exclude_word_harder(text: Text, keyword: str) -> Finding:
    """Look for the keyword with a blank on both sides, case kept."""
    spaced_word = f" {keyword.strip()} "
    at = text.raw.find(spaced_word)
    if at >= 0:
        return reject(f"found {spaced_word.strip()!r} between blanks", span=(at + 1, at + len(spaced_word) - 1))
    return accept(f"found no {spaced_word.strip()!r} between blanks")


@published_check("keywords:palindrome", IFTRAIN, "Use a palindrome.")
def palindrome(text: Text) -> Finding:
    """Look for a palindrome; a word of one letter is one."""
    first = next((word for word in text.chunks if word[0] == word[-1] and word == word[::-1]), None)
    return verdict(
        first is not None, f"found {'no palindrome' if first is None else quote(first)}", first and first[:40]
    )


@published_check(
    "keywords:keyword_specific_position",
    IFTRAIN,
    'Use the keyword "{keyword}" in sentence {n}, as word {m} of it.',
    keyword=WORDS,
    n=whole(1, 20),
    m=whole(1, 30),
)
def keyword_specific_position(text: Text, keyword: str | list[str], n: int, m: int) -> Finding:
    """Check a word by sentences cut by substitution and by all Treebank tokens, marks too, case kept."""
    word = only_word(keyword)
    sentences = pieces(text)
    if not 0 < n <= len(sentences[:n]):
        return reject(f"found {amount(len(sentences), 'sentences')}, needed at least {n}", len(sentences), n)
    if word.isalnum() and word not in text.raw:
        return reject(f"found no {word!r}", needed=word)
    return judge_word(leading_tokens(sentences[n - 1], m), n, m, word)


def judge_word(words: Sequence[str], n: int, m: int, keyword: str) -> Finding:
    """Judge whether word `m`, from 1, of the first words of sentence `n` is the keyword."""
    if not 0 < m <= len(words):
        return reject(f"sentence {n} has {len(words)} words, needed at least {m}", len(words), m)
    word = words[m - 1]
    reason = f"word {m} of sentence {n} is {quote(word)}, needed {keyword!r}"
    return verdict(word == keyword, reason, word[:40], keyword)


@published_check("keywords:start_end", IFTRAIN, "Begin and end with the same word, and write nothing after it.")
def start_end(text: Text) -> Finding:
    """Compare the first and last Treebank tokens; a mark at the end is the last one."""
    first, last = first_tokens(text, 2), last_tokens(text, 1)
    if len(first) < 2:
        return reject(f"found {amount(len(first), 'words')}, needed at least 2", len(first), 2)
    reason = f"the answer begins with {quote(first[0])} and ends with {quote(last[0])}, needed the same word"
    return verdict(first[0].lower() == last[0].lower(), reason, [first[0][:40], last[0][:40]], "the same word")


@published_check(
    "keywords:no_adjacent_consecutive", IFTRAIN, "Let no two neighbouring words begin with consecutive letters."
)
def no_adjacent_consecutive(text: Text) -> Finding:
    """Compare first characters of neighbouring words; any two neighbours in Unicode are consecutive."""
    before = ""
    for word in text.chunks:
        first = word[0].lower()
        if before and (len(first) != 1 or len(before) != 1 or ord(first) - ord(before) == 1):
            return reject(f"a word with {before!r} stands before {quote(word)}")
        before = first
    return accept("no two neighbouring words begin with consecutive letters")


@published_check("count:count_unique", IFTRAIN, "Use no word twice.")
def count_unique(text: Text) -> Finding:
    """Look for a repeated Treebank token, marks too, case kept."""
    word = find_repeat(plain_chunks(text)) or find_repeat(tokens_of(text))
    if word is not None:
        return reject(f"{quote(word)} stands more than once", word[:40], "each word once")
    return accept(f"{amount(len(text.tokens), 'words')} stand once each" if text.tokens else "found no words", 0)


_LOWERCASE = re.compile(r"\b[a-z]+\b")


@published_check("count:lowercase_counting", IFTRAIN, "Use at most {N} words in lower case.", N=whole(2, 3))
def lowercase_counting(text: Text, N: float) -> Finding:
    """Count runs of a to z between word boundaries: "don't" is two words."""
    count = len(_LOWERCASE.findall(text.raw))
    return verdict(count <= N, f"found {amount(count, 'words in lower case')}, needed at most {N}", count, N)


_ASCII_LETTERS = re.compile("[a-zA-Z]+")


@published_check(
    "letters:letter_counting",
    IFTRAIN,
    "Use {relation} {N} letters.",
    N=whole(2, 3),
    relation=one_of(*_RELATIONS, drawn_if_empty=True),
)
def letter_counting(text: Text, N: float, relation: str) -> Finding:
    """Count the ASCII letters."""
    return _compare(sum(map(len, _ASCII_LETTERS.findall(text.raw))), relation, N, "letters")


@published_check(
    "letters:letter_counting2",
    IFTRAIN,
    "Use the letter {letter} {let_relation} {let_frequency} times.",
    letter=LETTER,
    let_frequency=number(1, 10),
    let_relation=RELATION,
)
def letter_counting2(text: Text, letter: str, let_frequency: float, let_relation: str) -> Finding:
    """Count the letter, in any case."""
    lower = letter.lower()
    return _compare(text.lower.count(lower), let_relation, let_frequency, f"times the letter {lower!r}")


@published_check(
    "first_word:first_word_sent", IFTRAIN, "Begin each sentence with the word {first_word}.", first_word=WORDS
)
def first_word_sent(text: Text, first_word: str | list[str]) -> Finding:
    """Compare the first word of each sentence; a mark that touches the word belongs to it."""
    word = only_word(first_word)
    lowered = word.lower()
    for order, sentence in enumerate(pieces(text), 1):
        first = sentence.split(None, 1)[:1]
        if not first:
            return reject(f"sentence {order} is empty")
        if first[0].lower() != lowered:
            return reject(f"sentence {order} begins with {quote(first[0])}, needed {word!r}", first[0][:40], word)
    return accept(f"each sentence begins with {word!r}", word, word)


@published_check("first_word:first_word_answer", IFTRAIN, "Begin with the word {first_word}.", first_word=WORD)
def first_word_answer(text: Text, first_word: str) -> Finding:
    """Compare the first word of the answer; a mark that touches the word belongs to it."""
    word = first_word.strip()
    first = text.raw.split(None, 1)[:1]
    if not first:
        return reject("found no words", needed=word)
    same = first[0].lower() == word.lower()
    return verdict(same, f"the answer begins with {quote(first[0])}, needed {word!r}", first[0][:40], word)


_NO_MARKS = re.compile(r"[\w\s]+")


def _core(word: str) -> str:
    return "".join(_NO_MARKS.findall(word))


@published_check("last_word:last_word_sent", IFTRAIN, "End each sentence with the word {last_word}.", last_word=WORDS)
def last_word_sent(text: Text, last_word: str | list[str]) -> Finding:
    """Compare the last word of each sentence, without its marks."""
    word = only_word(last_word)
    lowered = word.lower()
    for order, sentence in enumerate(pieces(text), 1):
        last = sentence.rsplit(None, 1)[-1:]
        if not last:
            return reject(f"sentence {order} is empty")
        if _core(last[0]).lower() != lowered:
            return reject(f"sentence {order} ends with {quote(last[0])}, needed {word!r}", last[0][:40], word)
    return accept(f"each sentence ends with {word!r}", word, word)


@published_check("last_word:last_word_answer", IFTRAIN, "End with the word {last_word}.", last_word=WORDS)
def last_word_answer(text: Text, last_word: str | list[str]) -> Finding:
    """Compare the last word of the answer, without its marks."""
    word = only_word(last_word)
    last = text.raw.rsplit(None, 1)[-1:]
    if not last:
        return reject("found no words", needed=word)
    same = _core(last[0]).lower() == word.lower()
    return verdict(same, f"the answer ends with {quote(last[0])}, needed {word!r}", last[0][:40], word)


def _without(mark: str, name: str) -> Check:
    def check(text: Text) -> Finding:
        at = text.raw.find(mark)
        if at >= 0:
            return reject(f"found {name} at character {at + 1}", span=(at, at + 1))
        return accept(f"found no {name.partition(' ')[2]}")

    return check


@published_kind("punctuation:punctuation_dot", IFTRAIN, "Use no full stops.")
def punctuation_dot() -> Check:
    """Look for full stops; decimal points count too."""
    return _without(".", "a full stop")


@published_kind("punctuation:punctuation_exclamation", IFTRAIN, "Use no exclamation marks.")
def punctuation_exclamation() -> Check:
    """Look for ASCII exclamation marks."""
    return _without("!", "an exclamation mark")
