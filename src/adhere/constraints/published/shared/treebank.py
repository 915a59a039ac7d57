"""Split a sentence into word tokens as NLTK's `word_tokenize` does (NLTK 3.8.1 to 3.9.x), in linear time.

Source: the Penn Treebank rules as `nltk.tokenize.destructive.NLTKWordTokenizer` 3.9.1 applies them, one substitution
after the other on the whole sentence. Ours differs in method: the rules look no further than one chunk (a piece between
white space) and the character next to it, except for the full stop at the end of the sentence; so chunks are tokenised
one by one and remembered, and only the last few go through the rules together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, filterfalse, repeat

_OPENING = ("«", "“", "‘", "„")
_CLOSING = ("»", "”", "’")
_BACKTICKS = re.compile(r"`+")
_QUOTE_OPENS = re.compile(r"([ (\[{<])(?:\"|'')")
_QUOTE_BEFORE_LETTER = re.compile(r"(?i)'(?!re|ve|ll|m|t|s|d|n)(?=\w\b)")
_COLON_OR_COMMA = re.compile(r"([:,])(\D)")
_DOTS = re.compile(r"\.{2,}")
_QUOTE_CLOSES = re.compile(r"([^'])' ")
_CLITIC = re.compile(r"([^' ])('[sSmMdD]|') ")
_LONG_CLITIC = re.compile(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ")
_CONTRACTIONS = tuple(
    (part, re.compile(pattern, re.IGNORECASE))
    for part, pattern in (
        ("cannot", r"\b(can)(not)\b"),
        ("d'ye", r"\b(d)('ye)\b"),
        ("gimme", r"\b(gim)(me)\b"),
        ("gonna", r"\b(gon)(na)\b"),
        ("gotta", r"\b(got)(ta)\b"),
        ("lemme", r"\b(lem)(me)\b"),
        ("more'n", r"\b(more)('n)\b"),
        ("wanna", r"\b(wan)(na)(?=\s)"),
        ("'tis", r" ('t)(is)\b"),
        ("'twas", r" ('t)(was)\b"),
    )
)
_CONTRACTED = frozenset(("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"))
# Besides contracted words, only these rules cut a run of letters and digits; else a token in capitals takes a run in
# capitals.
_CUTS_RUNS = re.compile("n't|'t(?:is|was)", re.IGNORECASE)
_RUN = re.compile(r"[^\W_]+")
_CONTRACTED_INSIDE = re.compile("cannot|gimme|gonna|gotta|lemme|wanna", re.IGNORECASE)
# What separates the tokens of a chunk without apostrophes, as far as it can stand between two letters.
_BETWEEN_WORDS = re.compile(r"""[«“‘„»”’`";@#$%&?!*\]\[(){}<>]|--|\.{2,}|[:,](?=\D|\Z)""")
_SPLIT = (*"[](){}<>", "--")
_TAIL = frozenset("])}>\"'»”’ ")
_EDGE_MARKS = ".,!?:;()[]{}<>*“”‘’«»„"
_OTHER_BLANK = re.compile(r"[^\S ]")
_CHUNK = re.compile(r"\S+")
_STOP_INSIDE = re.compile(r"""[.?!][)";}\]*:@'({\[!?]""")
_LONGEST_CACHED = 40
_MOST_DOUBTFUL = 1000
LONG = 10_000
_WINDOW = 4096
_BLANK = re.compile(r"\s")
_TAIL_OR_BLANK = (
    "])}>\"'»”’\t\n\v\f\r\x1c\x1d\x1e\x1f "
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def _lower(text: str) -> str:
    """Return the text in lower case, as `re.IGNORECASE` compares: dotted and dotless I are i's, a long s is an s.

    U+0307 is what is left of a lower-cased dotted I.
    """
    lower = text.lower()
    return lower if lower.isascii() else lower.replace("\u0131", "i").replace("\u017f", "s").replace("\u0307", "")


def is_contracted(word: str) -> bool:
    """Tell whether a word of letters is two tokens, such as "cannot"."""
    return 4 < len(word) < 7 and _lower(word) in _CONTRACTED


def tokenize(sentence: str) -> list[str]:
    """Return the tokens of one sentence."""
    chunks = [match.span() for match in _CHUNK.finditer(sentence)]
    last = len(chunks) - 1
    while last > 0 and _TAIL.issuperset(sentence[chunks[last][0] : chunks[last][1]]):
        last -= 1  # a full stop counts as final if only closing marks follow it
    if last <= 0:
        return _rules(sentence)
    tokens: list[str] = []
    for start, end in chunks[:last]:
        chunk = sentence[start:end]
        if chunk.isalnum() and not is_contracted(chunk):
            tokens.append(chunk)
            continue
        before = "" if start == 0 else " " if sentence[start - 1] == " " else "\n"
        after = " " if sentence[end] == " " else "\n"
        tokens += (
            _cached_chunk(chunk, before, after) if end - start <= _LONGEST_CACHED else _chunk(chunk, before, after)
        )
    rest = sentence[chunks[last][0] - 1 :]
    return tokens + list(_cached_end(rest) if len(rest) <= _LONGEST_CACHED else _end(rest))


def windows(sentence: str) -> Iterator[list[str]]:
    """Yield the tokens of `tokenize` some at a time, for callers that need only the first few of a long sentence."""
    start = 0
    if len(sentence) > LONG:
        # The full stop that may be final, and all that is looked at with it, stands in the last chunk with other marks.
        last = len(sentence.rstrip(_TAIL_OR_BLANK))
        while (blank := _BLANK.search(sentence, start + _WINDOW, last)) is not None:
            after = " " if blank[0] == " " else "\n"
            window = sentence[start : blank.start()]
            if start:
                yield tokenize(f"x{window}{after}x")[1:-1]
            else:
                yield tokenize(f"{window}{after}x")[:-1]
            start = blank.start()
    yield tokenize(f"x{sentence[start:]}")[1:] if start else tokenize(sentence)


def iterate(sentence: str) -> Iterator[str]:
    """Yield the tokens of `tokenize` one at a time."""
    return chain.from_iterable(windows(sentence))


def _end(rest: str) -> list[str]:
    """Return the tokens of the last chunks of a sentence, from the white space before them on."""
    return _rules(f"x{rest}")[1:]


_cached_end = lru_cache(maxsize=1 << 15)(_end)


def _chunk(chunk: str, before: str, after: str) -> list[str]:
    """Return the tokens of a chunk that is not its sentence's last; `before` is "" at the sentence's start."""
    if before:
        return _rules(f"x{before}{chunk}{after}x")[1:-1]
    return _rules(f"{chunk}{after}x")[:-1]


_cached_chunk = lru_cache(maxsize=1 << 15)(_chunk)


def _rules(text: str) -> list[str]:
    """Apply all substitutions, one after the other, to text that ends as a sentence does."""
    return _ending_rules(_middle_rules(_opening_rules(text)))


def _opening_rules(text: str) -> str:
    for mark in _OPENING:
        text = text.replace(mark, f" {mark} ")
    if "`" in text:
        text = _BACKTICKS.sub(r" \g<0> ", text)
    if text.startswith('"'):
        text = "``" + text[1:]
    text = text.replace("``", " `` ")
    if '"' in text or "''" in text:
        text = _QUOTE_OPENS.sub(r"\1 `` ", text)
    return _QUOTE_BEFORE_LETTER.sub("' ", text) if "'" in text else text


def _middle_rules(text: str) -> str:
    period = text.rfind(".")
    if period > 0 and text[period - 1] != ".":
        rest = text[period + 1 :].rstrip()
        if _TAIL.issuperset(rest):
            text = f"{text[:period]} . {rest} "
    if ":" in text or "," in text:
        parts = _COLON_OR_COMMA.split(text)
        parts[1::3] = [f" {mark} " for mark in parts[1::3]]
        text = "".join(parts)
        if text[-1] in ":,":
            text = f"{text[:-1]} {text[-1]} "
    if ".." in text:
        text = _DOTS.sub(r" \g<0> ", text)
    for mark in ";@#$%&?!":
        text = text.replace(mark, f" {mark} ")
    if "' " in text:
        text = _QUOTE_CLOSES.sub(r"\1 ' ", text)
    text = text.replace("*", " * ")
    for mark in _SPLIT:
        text = text.replace(mark, f" {mark} ")
    return text


def _ending_rules(text: str) -> list[str]:
    for mark in _CLOSING:
        text = text.replace(mark, f" {mark} ")
    text = text.replace("''", " '' ").replace('"', " '' ")
    parts = text.split()
    if "'" in text:
        text = f" {' '.join(parts)} "
        text = _LONG_CLITIC.sub(r"\1 \2 ", _CLITIC.sub(r"\1 \2 ", text))
        parts = text.split()
    lower = _lower(text)
    contracted = [pattern for part, pattern in _CONTRACTIONS if part in lower]
    if not contracted:
        return parts
    text = f" {' '.join(parts)} "
    for pattern in contracted:
        text = pattern.sub(r" \1 \2 ", text)
    return text.split()


def capitals_by_chunk(text: str) -> int | None:
    """Count the tokens of the text in capitals; None if only tokenising its sentences can tell.

    A chunk is counted by itself if its count cannot depend on the text around it or on where sentences end. Each
    doubtful chunk costs as much as tokenising ten, so a text with many is left to the tokens.
    """
    if text.isascii() and text == text.lower():
        return 0
    if len(text) <= LONG:
        return _sum_of_capitals(zip(filterfalse(str.islower, text.split()), repeat(1)))
    return _sum_of_capitals(Counter(text.split()).items())


def _sum_of_capitals(chunks: Iterable[tuple[str, int]]) -> int | None:
    """Count the tokens in capitals of (chunk, how often it occurs) pairs; None if that cannot be told."""
    total = 0
    doubtful: set[str] = set()
    for chunk, times in chunks:
        core = chunk.strip(_EDGE_MARKS)
        if core.isalnum() and not is_contracted(core):
            if core.isupper():
                total += times
            continue
        count = _cached_capitals(chunk) if len(chunk) <= _LONGEST_CACHED else _capitals(chunk)
        if count is None:
            return None
        if "'" in chunk and any(map(str.isupper, _RUN.findall(chunk))):
            doubtful.add(chunk)
            if len(doubtful) > _MOST_DOUBTFUL:
                return None
        total += count * times
    return total


def _capitals(chunk: str) -> int | None:
    """Count the tokens in capitals of a chunk; None if the count depends on its surroundings."""
    if chunk.isascii() and chunk == chunk.lower():
        return 0
    contracted = _CONTRACTED_INSIDE.search(chunk) is not None
    if not any(map(str.isupper, _RUN.findall(chunk))) and not contracted and not _CUTS_RUNS.search(chunk):
        return 0
    if _STOP_INSIDE.search(chunk) and ("'" in chunk or ":" in chunk or contracted):
        return None
    if "'" not in chunk and not contracted:
        return sum(map(str.isupper, _BETWEEN_WORDS.split(chunk)))
    counts = {
        sum(map(str.isupper, tokens))
        for tokens in (
            _rules(chunk),
            *(_chunk(chunk, before, after) for before in ("", " ", "\n") for after in (" ", "\n")),
        )
    }
    return counts.pop() if len(counts) == 1 else None


_cached_capitals = lru_cache(maxsize=1 << 15)(_capitals)


def forget() -> None:
    """Empty the caches of chunks, for measurements."""
    for cached in (_cached_chunk, _cached_end, _cached_capitals):
        cached.cache_clear()
