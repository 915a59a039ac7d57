"""Read the words of a sentence so that a program can compare them: stems, names, and which way comparisons point."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adhere.evidence.claims.names import benchmark_key, family_of, is_known, looks_like_model, model_name
from adhere.evidence.statements.lexicon import data, pattern, words
from adhere.evidence.statements.quantities import Quantity, quantities

BEGINNING = 5  # letters by which a word is known as another form of one
MOST_TOKENS = 400  # of a passage; what stands beyond is not compared
# `1University` has the mark of a footnote before it.
_TOKEN = re.compile(
    r"(?!\d{1,2}[A-Z][a-z]{3})[A-Za-zÀ-ÿΑ-ωЀ-ӿ\d][\w.+@'’/-]*[\w+]|[A-Za-zÀ-ÿ\d]|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
_VERSION = re.compile(
    r"v?\d+(?:\.\d+)?(?:-(?!shot)[\w.-]+|[BMbm])?(?:['’]s)?|Instruct|Chat|Base|Turbo|Plus|Opus|Sonnet|Haiku|Pro|Mini|mini"
)
_SIGNS = re.compile(r"[^\w]")
_SPELT = re.compile(
    r"(?<![A-Za-z])([a-z]{3,}?)(two|three|four|five|six|seven|nine)(?=base|eval|instruct|think|chat|[\W\d_]|$)"
)
_DIGITS = {word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine".split())}
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_STOP = frozenset(words("wording", "stop"))
_NEGATIVE, _BOUND = pattern("wording", "negative"), pattern("wording", "bound")
_WAYS = {word: way for name, way in (("up", 1), ("down", -1)) for word in words("wording", name)}
_OPPOSITES = [frozenset(pair.split("/")) for pair in words("wording", "opposites")]
_QUANTIFIERS = {word: name for name, said in data("wording")["quantifiers"].items() for word in said.split()}
_ENDINGS = words("wording", "endings")


class Name(NamedTuple):
    """Holds a name in a sentence: of a model, a data set, a method; `key` is equal for all its spellings.

    `is_sure` is false for a capital at the beginning of a sentence, which any word has there.
    """

    start: int
    end: int
    text: str
    key: str
    is_model: bool
    is_sure: bool = True


class Wording(NamedTuple):
    """Holds what can be compared in a text: `stems` of words, `names`, `numbers`, and the `ways` of comparing words.

    `tokens` are (start, end, text). `bare` are the stems of words that are no names; `keys` are the keys of everything
    that may be a name. `beginnings` are the first BEGINNING letters of stems. `is_negative` says that the text has a
    negation.
    """

    text: str
    tokens: tuple[tuple[int, int, str], ...]
    stems: frozenset[str]
    bare: frozenset[str]
    names: tuple[Name, ...]
    keys: frozenset[str]
    numbers: tuple[Quantity, ...]
    beginnings: frozenset[str]
    ways: frozenset[int]
    is_negative: bool


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without its ending: an English ending, or a plural of other languages."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            rest = word[: -len(ending)]
            return (
                rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "sl" else rest.removesuffix("i")
            )
    return word


def with_digits(text: str) -> str:
    r"""Return a text with digits for the number words in names (`\olmothree`: LaTeX has no digits in commands)."""
    return _SPELT.sub(lambda match: match[1] + _DIGITS[match[2]], text)


def tokens(text: str) -> list[tuple[int, int, str]]:
    """Return the words of a text with their places; a letter of Chinese, Japanese or Korean is a word."""
    return [(match.start(), match.end(), match.group()) for match in _TOKEN.finditer(text)][:MOST_TOKENS]


def name_key(text: str) -> str:
    """Return the key that spellings of a name share: models without their tuning, everything else without signs."""
    text = text.strip(" .,'’").removesuffix("'s").removesuffix("’s")
    return model_name(text).key.replace("-", "") if looks_like_model(text) else benchmark_key(text)


def _is_name(token: str, *, is_first: bool) -> bool:
    letters = [char for char in token if char.isalpha()]
    if not letters or token[0].isdigit():
        return False
    if any(char.isdigit() for char in token) or any(char.isupper() for part in token.split("-") for char in part[1:]):
        return True
    return token[0].isupper() and (not is_first or is_known(token))


def _names(text: str, token_spans: Sequence[tuple[int, int, str]]) -> Iterator[Name]:
    """Yield the names of a text; a family and the version after it are one name (`Llama 2`, `Qwen 2.5-72B`)."""
    passed = 0
    for place, (start, end, token) in enumerate(token_spans):
        if place < passed or _CJK.match(token):
            continue
        before = text[:start].rstrip(' *_“"(')[-1:]
        is_first = not before or before in ".:?!;•"
        is_name = _is_name(token, is_first=is_first)
        if not is_name and not (is_first and token[0].isupper() and token.lower() not in _STOP):
            continue
        passed, last = place + 1, end
        if family_of(token):
            while (
                passed < len(token_spans)
                and text[last : token_spans[passed][0]] == " "
                and _VERSION.fullmatch(token_spans[passed][2])
            ):
                last, passed, is_name = token_spans[passed][1], passed + 1, True
                if text[:last].endswith(("'s", "’s")):
                    break
        elif is_name and not is_known(token) and (version := re.match(r" \d\.\d(?![\d.%])", text[last:])):
            last, passed = last + version.end(), passed + 1  # `Apache 2.0`
        name_text = text[start:last]
        yield Name(start, last, name_text, name_key(name_text), looks_like_model(name_text), is_name)


def is_latin(text: str) -> bool:
    """Tell whether more than four fifths of a text's letters are Latin; a Chinese letter counts three times."""
    letters = [char for char in text if char.isalpha()]
    other = sum(3 if _CJK.match(char) else 1 for char in letters if ord(char) > 0x24F)
    return other < 0.2 * max(len(letters), 1)


def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text, in order."""
    return tuple(_names(text, tokens(text)))


@functools.lru_cache(maxsize=1 << 14)
def wording(text: str) -> Wording:
    """Read a text into a Wording."""
    text = with_digits(text)
    token_spans = tokens(text)
    all_numbers = quantities(text)
    dates = [(q.start, q.end) for q in all_numbers if q.unit == "date"]
    names = tuple(n for n in _names(text, token_spans) if not any(start <= n.start < end for start, end in dates))
    name_spans = [(name.start, name.end) for name in names]
    numbers = tuple(
        q for q in all_numbers if q.is_inner or not any(start <= q.start < end for start, end in name_spans)
    )
    spans = [(number.start, number.end) for number in numbers if not number.is_inner]
    stems: set[str] = set()
    bare: set[str] = set()
    sure = [(name.start, name.end) for name in names if name.is_sure]
    for place, (start, _, token) in enumerate(token_spans):
        if any(first <= start < last for first, last in spans):
            continue
        if _CJK.match(token):
            if place and token_spans[place - 1][1] == start and _CJK.match(token_spans[place - 1][2]):
                stems.add(token_spans[place - 1][2] + token)
                bare.add(token_spans[place - 1][2] + token)
            continue
        for part in re.split(r"[-/]", token):
            if len(part) > 1 and part.lower() not in _STOP and not part[0].isdigit():
                stems.add(stem(part))
                bare |= set() if any(first <= start < last for first, last in sure) else {stem(part)}
    keys = frozenset(_keys(text, token_spans)) - {""}
    bounds = [(match.start(), match.end()) for match in _BOUND.finditer(text)]
    ways = frozenset(
        way for at, _, word in token_spans if (way := _way(word.lower())) and not any(a <= at < b for a, b in bounds)
    )
    heads = frozenset(word[:BEGINNING] for word in stems)
    is_negative = bool(_NEGATIVE.search(text))
    facts = (frozenset(stems), frozenset(bare), names, keys, numbers, heads, ways, is_negative)
    return Wording(text, tuple(token_spans), *facts)


def _keys(text: str, token_spans: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """Yield the keys of everything in a text that may be a name: of one to three words, and of the parts of a word."""
    for at, (start, end, token) in enumerate(token_spans):
        if token.islower() and token.isalpha():
            continue
        yield from (name_key(token), benchmark_key(token))
        if "-" in token or "/" in token:
            yield from (benchmark_key(part) for part in re.split(r"[-/]", token))
        until = end
        for last in token_spans[at + 1 : at + 3]:
            if text[until : last[0]] not in {" ", "-", ""}:
                break
            until = last[1]
            yield name_key(text[start:until])


@functools.lru_cache(maxsize=1 << 12)
def _way(word: str) -> int:
    if word in _WAYS:
        return _WAYS[word]
    return next((way for key, way in _STEMMED.items() if stem(word) == key), 0)


_STEMMED = {stem(word): way for word, way in _WAYS.items()}


def are_opposites(word: str, other: str) -> bool:
    """Tell whether two words mean opposite things: `rises` and `falls`, `with` and `without`."""
    ways = _way(word.lower()), _way(other.lower())
    pair = {stem(word), stem(other)}
    return ways[0] * ways[1] < 0 or any(pair == {stem(side) for side in both} for both in _OPPOSITES)


def quantifiers(text: Wording) -> frozenset[str]:
    """Return the kinds of quantifiers in a text: all, most, only, none."""
    kinds = {_QUANTIFIERS[word] for word in re.findall(r"[a-z]+", text.text.lower()) if word in _QUANTIFIERS}
    return frozenset(kinds - ({"only"} if text.numbers else set()))  # "only 5": no more than emphasis


def opposes(sentence: Wording, source: Wording) -> str:
    """Return how two texts contradict each other: `way` (higher, lower), `word` (online, offline), `not`, or empty."""
    if len(sentence.ways) == 1 and len(source.ways) == 1 and sentence.ways != source.ways:
        return "" if sentence.is_negative != source.is_negative else "way"
    if sentence.is_negative != source.is_negative:
        return "not"
    if len(sentence.ways) == 1 and source.ways and not sentence.ways & source.ways:
        return "word"
    for pair in _OPPOSITES:
        words = {stem(word) for word in pair}
        own_words, source_words = sentence.stems & words, source.stems & words
        if len(own_words) == 1 and source_words and not own_words & source_words:
            return "word"
    return ""


def search_words(text: str) -> list[str]:
    """Return the words by which a passage is searched: stems, names and numbers, in letters and digits alone."""
    words: list[str] = []
    text, before = with_digits(text), ""
    for _, _, token in tokens(text):
        if _CJK.match(token):
            words += [before + token] if _CJK.match(before) else []
        else:
            parts = [part for part in re.split(r"[-/]", token) if part and part.lower() not in _STOP]
            words += [stem(part) for part in parts if not part[0].isdigit()]
            words += [name_key(token), benchmark_key(token)] if len(parts) > 1 else []
        before = token
    words += [f"n{number.value:g}" for number in quantities(text)]
    return list(dict.fromkeys(_SIGNS.sub("_", word) for word in words if word))
