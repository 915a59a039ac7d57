"""Hold one answer and all that published kinds measure on it; each feature is computed on first use, once.

All kinds of a prompt, and all its loose variants, share these features. Every feature takes linear time on any text and
raises on none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

_WORD = re.compile(r"\w+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Bytes of ASCII text as "w" (word character) or "." (any other), so that a word begins wherever ".w" stands.
_WORD_BYTES = bytes(ord("w") if chr(code).isalnum() or chr(code) == "_" else ord(".") for code in range(128)) + bytes(
    128
)
# Non-ASCII characters that `re.IGNORECASE` equates with an ASCII letter: long s, Kelvin sign, dotted I, dotless i.
_ASCII_LIKE = ("\u017f", "\u212a", "\u0130", "\u0131")


class lazy(Generic[T]):  # noqa: N801 - used as a decorator, like property
    """Makes a property that is computed once per object.

    It does without the lock of `functools.cached_property`, which costs 1 µs a feature.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        """Compute the value and store it in the instance, so that this is not called again."""
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


def _count_words(raw: str) -> int:
    if not raw.isascii() and any(map(str.isalnum, _NOT_ASCII.findall(raw))):
        return len(_WORD.findall(raw))
    kinds = raw.encode("ascii", "replace").translate(_WORD_BYTES)  # what is replaced is no word character
    return kinds.count(b".w") + kinds.startswith(b"w")


# A run of stars between two characters of which neither is an ASCII mark or blank, or after such a one at the end.
_STARS_THAT_COUNT = re.compile(r"[^\x00-@[-`{-\x7f]\*+(?:[^\x00-@[-`{-\x7f]|\Z)")


def _stars_are_blanks(raw: str) -> bool:
    """Tell whether removing the stars makes no difference to langdetect.

    It takes a star for a blank, and several blanks for one, so a star next to a mark or blank does not count. Its limit
    of 10,000 characters and its rules for addresses, which do see stars, must be out of reach.
    """
    return len(raw) <= 10_000 and "http" not in raw and "@" not in raw and not _STARS_THAT_COUNT.search(raw)


def forget() -> None:
    """Empty the caches of decisions on contexts and chunks, for measurements only."""
    from adhere.constraints.published.shared import punkt, treebank

    punkt.forget()
    treebank.forget()


class Text:
    """Holds an answer, or one loose variant of it, with its lazily computed features.

    `raw` is the text itself. Everything named after a published library (`sentences`, `tokens`, `language`) reproduces
    that library's result on `raw` exactly.
    """

    # How a loose variant came about; see `_cut`.
    whole: Text | None = None
    """The text from which this variant comes by removing lines and the white space at both ends."""
    offset = 0
    """The place of this variant in `whole`."""
    with_stars: Text | None = None
    """The same text before its `*` were removed."""

    def __init__(self, raw: str) -> None:
        self.raw = raw

    def release(self) -> None:
        """Drop every feature.

        Variants refer to their text, and the garbage collector would have to find that circle.
        """
        self.__dict__.clear()

    def __repr__(self) -> str:
        return f"Text({self.raw[:40]!r}, {len(self.raw)} characters)"

    @lazy
    def stripped(self) -> str:
        """The text without white space at its ends."""
        return self.raw.strip()

    @lazy
    def is_blank(self) -> bool:
        """Whether there is nothing but white space; no published kind passes such a text."""
        return not self.raw or self.raw.isspace()

    @lazy
    def lower(self) -> str:
        """The text in lower case."""
        return self.raw.lower()

    @lazy
    def stripped_lower(self) -> str:
        """Stripped, then in lower case."""
        return self.stripped.lower()

    @lazy
    def lower_finds_ascii(self) -> bool:
        """Whether searching `lower` for a lower-cased ASCII word finds what `re.IGNORECASE` finds in `raw`."""
        raw = self.raw
        return raw.isascii() or not any(character in raw for character in _ASCII_LIKE)

    @lazy
    def lines(self) -> list[str]:
        """The pieces between newline characters, as by `str.split`."""
        return self.raw.split("\n")

    @lazy
    def chunks(self) -> list[str]:
        """The pieces between white space."""
        return self.raw.split()

    @lazy
    def words(self) -> list[str]:
        r"""Runs of word characters, as NLTK's `RegexpTokenizer(r"\w+")` finds them (NLTK 3.10.3 and later differ)."""
        return _WORD.findall(self.raw)

    @lazy
    def word_count(self) -> int:
        """Number of `words`; a variant subtracts the words of the removed lines, as no word spans a line break."""
        if self.whole is not None:
            return self.whole.word_count - sum(map(_count_words, self._surroundings()))
        return _count_words(self.raw)

    @lazy
    def sentence_breaks(self) -> list[tuple[int, int]]:
        """(end of a sentence, start of the next), before closing marks go to the sentence that they close."""
        from adhere.constraints.published.shared import punkt

        if self.whole is None:
            return punkt.breaks(self.raw)
        return punkt.inherited_breaks(self.raw, self.whole.raw, self.whole.sentence_breaks, self.offset)

    @lazy
    def sentence_spans(self) -> list[tuple[int, int]]:
        """(start, end) of each of `sentences`."""
        from adhere.constraints.published.shared import punkt

        return list(punkt.spans(self.raw, self.sentence_breaks))

    @lazy
    def sentences(self) -> list[str]:
        """The sentences that NLTK's `sent_tokenize(raw)` finds (Punkt, English, NLTK 3.8.1 to 3.9.x)."""
        return [self.raw[start:end] for start, end in self.sentence_spans]

    @property
    def sentence_count(self) -> int:
        """Number of `sentences`."""
        return len(self.sentence_spans)

    @lazy
    def tokens(self) -> list[str]:
        """The tokens that NLTK's `word_tokenize(raw)` finds: sentences, then Treebank rules."""
        from adhere.constraints.published.shared.treebank import tokenize

        return [token for sentence in self.sentences for token in tokenize(sentence)]

    @lazy
    def _capitals_by_chunk(self) -> int | None:
        from adhere.constraints.published.shared.treebank import capitals_by_chunk

        if self.whole is None:
            return capitals_by_chunk(self.raw)
        whole = self.whole._capitals_by_chunk  # noqa: SLF001 - same class
        before, behind = map(capitals_by_chunk, self._surroundings())
        return None if whole is None or before is None or behind is None else whole - before - behind

    @lazy
    def capital_count(self) -> int:
        """Number of `tokens` that are in capitals (`str.isupper`)."""
        by_chunk = self._capitals_by_chunk
        return sum(map(str.isupper, self.tokens)) if by_chunk is None else by_chunk

    @lazy
    def language(self) -> str | None:
        """The result of `langdetect` with seed 0: a code, `"unknown"`, or None without letters to judge."""
        if self.with_stars is not None and _stars_are_blanks(self.with_stars.raw):
            return self.with_stars.language
        from adhere.constraints.published.shared.language import detect

        return detect(self.raw)

    def _surroundings(self) -> tuple[str, str]:
        """Return the texts before and behind a variant in its whole; white space separates them from the variant."""
        whole = "" if self.whole is None else self.whole.raw
        return whole[: self.offset], whole[self.offset + len(self.raw) :]

    @lazy
    def _found_variants(self) -> tuple[list[Text], Iterator[Text]]:
        return [], _distinct_variants(self)

    def variants(self) -> Iterator[Text]:
        """Yield the distinct loose variants that are neither blank nor this text, in IFEval's order.

        Each variant is made on first use, and later calls yield the same object with its features.
        """
        known_variants, source = self._found_variants
        yield from known_variants
        while True:
            n_known = len(known_variants)
            variant = next(source, None)
            if variant is None:
                return
            known_variants.append(variant)
            yield from known_variants[n_known:]


def _distinct_variants(text: Text) -> Iterator[Text]:
    """Yield IFEval's eight variants without repeats, blank ones and the text itself.

    The eight are: without `*`; without the first line, the last line, or both (stripped); and these three without `*`.
    """
    raw = text.raw
    plain = text
    if "*" in raw:
        plain = Text(raw.replace("*", ""))
        plain.with_stars = text
        if plain.raw and not plain.raw.isspace():
            yield plain
    cuts = _cuts(text)
    raws = [raw, plain.raw]  # a list: texts mostly differ in length, which compares faster than they hash
    for cut in cuts:
        if cut.raw and cut.raw not in raws:
            raws.append(cut.raw)
            yield cut
    if plain is text:
        return
    for cut in cuts:
        variant = Text(cut.raw.replace("*", ""))
        if variant.raw not in raws and not variant.is_blank:
            raws.append(variant.raw)
            variant.whole, variant.offset = plain, len(raw[: cut.offset].replace("*", ""))
            variant.with_stars = cut
            yield variant


def _cuts(text: Text) -> list[Text]:
    """Return the text without its first line, its last line, and both, without white space at the ends."""
    raw = text.raw
    first, last = raw.find("\n"), raw.rfind("\n")
    if first < 0:
        return []
    return [_cut(text, first + 1, len(raw)), _cut(text, 0, last), _cut(text, first + 1, last)]


def _cut(text: Text, start: int, end: int) -> Text:
    piece = text.raw[start:end].lstrip()
    cut = Text(piece.rstrip())
    cut.whole, cut.offset = text, max(start, end) - len(piece)
    return cut
