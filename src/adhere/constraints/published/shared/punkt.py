"""Find sentence boundaries as NLTK's English and French Punkt does (NLTK 3.8.1 to 3.9.x), in linear time.

Source: Kiss and Strunk (2006), and the behaviour of `nltk.tokenize.PunktTokenizer("english")` 3.9.1 with its quirks:
only a stop that another mark or another word follows is looked at; of several stops without a blank between them only
the last one is (and the first, where it begins the stretch); the decision is made on that stretch and the next word
alone. Ours differs in method: a run of marks is taken at once, clear cases are accepted at once, and all others are
decided once per distinct context.

NLTK 3.10.2 and later treat curly quotes as closing marks; published scores were made without that.
"""

from __future__ import annotations

import re
from bisect import bisect_left as bisect
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from importlib import resources
from itertools import accumulate, chain, compress, pairwise
from operator import add
from typing import NamedTuple

_CLOSING = r"""[)";}\]*:@'({\[!?]"""  # marks that make the stop before them a candidate
_MANY = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"

# A stop, then greedily what follows it without a blank up to the last stop that is a candidate. Where none is, the rest
# is taken too (the second group), so a million marks are walked once.
_CANDIDATE = re.compile(rf"[.?!](?:(?:\S*[.?!])?(?=(?:{_CLOSING}|\s+(\S+)))|\S*())")
_TOKEN = re.compile(
    rf"""{_MANY}
    |(?=[^("`{{\[:;&\#*@)}}\]\-,])\S+?(?=\s|$|{_CLOSING}|{_MANY}|,(?=$|\s|{_CLOSING}|{_MANY}))
    |\S""",
    re.VERBOSE,
)
_REALIGN = re.compile(r"""["')\]}]+?(?:\s+|(?=--)|$)""", re.MULTILINE)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.\-]*\.?\Z")
_INITIAL = re.compile(r"[^\W\d]\.\Z")
_BLANKS = " \n\t\r\x0b\x0c"  # what counts as a blank before a stop; after it any white space does
_NO_WORD_START = '("`{[:;&#*@)}],-'
_CLOSING_MARKS = frozenset(")\";}]*:@'({[!?")
_OTHER_BLANK = re.compile(r"[^\S \t\n\r\x0b\x0c]")
_LONGEST_CACHED = 80
_BLOCK = 1 << 15
_BLOCK_END = re.compile(r"[ \t\n\r\x0b\x0c](?=\S)")
_WORD_AFTER = re.compile(r"\S+")
_BLANK_RUN = re.compile(r"(\s+)")


class _Model(NamedTuple):
    """Holds Punkt's knowledge of a language; see `punkt_english.NOTICE.txt` and `punkt_french.NOTICE.txt`."""

    abbreviations: frozenset[str]
    collocations: frozenset[tuple[str, str]]
    starters: frozenset[str]
    never_names: frozenset[str]  # seen in lower case, never capitalised inside a sentence
    lower: frozenset[str]  # seen in lower case
    lower_begins: frozenset[str]  # never capitalised, and a sentence once began with it
    hard: frozenset[str]  # words whose full stop may be no sentence end, whatever follows


def _read_model(language: str) -> _Model:
    data = resources.files(__package__).joinpath(f"punkt_{language}.txt").read_text(encoding="utf-8")
    fields = {name: values for name, *values in (line.split("\t") for line in data.splitlines())}
    collocations = {tuple(pair.split(" ")) for pair in fields["collocations"]}
    abbreviations = frozenset(fields["abbreviations"])
    never_names = frozenset(fields["lower-never-name"])
    return _Model(
        abbreviations,
        frozenset((first, second) for first, second in collocations),
        frozenset(fields["starters"]),
        never_names,
        never_names.union(fields["lower-also-name"]),
        frozenset(fields["lower-begins"]),
        abbreviations.union(first for first, _ in collocations),
    )


Break = tuple[int, int]
"""(end of a sentence, start of the next)."""


def spans(text: str, breaks: Iterable[Break]) -> Iterator[tuple[int, int]]:
    """Yield the sentences between the breaks, as (start, end)."""
    start, end, next_start = 0, -1, 0
    for next_end, following in chain(breaks, ((len(text.rstrip()), -1),)):
        if end >= 0:
            # Closing quotes and brackets at the start of a sentence go to the one before.
            match = _REALIGN.match(text, next_start, next_end) if text[next_start] in "\"')]}" else None
            if match:
                yield start, next_start + len(match.group().rstrip())
                next_start = match.end()
            elif start < end:
                yield start, end
        start, end, next_start = next_start, next_end, following
    if start < end:
        yield start, end


def _block_end(text: str, start: int) -> int:
    """Return the place behind a blank that a word follows, at which a long text can be divided.

    Decisions on stops before that place look no further than that word, and those behind it not back beyond it.
    """
    blank = _BLOCK_END.search(text, start + _BLOCK)
    return blank.end() if blank else len(text)


class _Token:
    """Holds a word or mark of a context, and what is decided about it."""

    __slots__ = ("is_abbreviation", "is_break", "is_ellipsis", "kind", "text")

    def __init__(self, text: str, model: _Model) -> None:
        lower = text.lower()
        self.text = text
        self.kind = "##number##" if _NUMBER.match(text) else lower
        self.is_break = text in {".", "?", "!"}
        self.is_abbreviation = False
        self.is_ellipsis = len(text) > 1 and not text.strip(".")
        if not self.is_break and text[-1] == "." and text[-2] != ".":
            abbreviations = model.abbreviations
            self.is_abbreviation = lower[:-1] in abbreviations or lower[:-1].rpartition("-")[2] in abbreviations
            self.is_break = not self.is_abbreviation

    def kind_without_period(self) -> str:
        return self.kind[:-1] if len(self.kind) > 1 and self.kind[-1] == "." else self.kind

    def kind_in_sentence(self) -> str:
        return self.kind_without_period() if self.is_break else self.kind


class Punkt:
    """Splits sentences of one language; its parameters are read when the first text is split."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._ends_plainly = lru_cache(maxsize=1 << 14)(self._find_plain_end)
        self._cached_decision = lru_cache(maxsize=1 << 15)(self._decision)
        self._cached_ends_between = lru_cache(maxsize=1 << 15)(self._ends_between)

    @cached_property
    def model(self) -> _Model:
        """Punkt's knowledge of the language."""
        return _read_model(self._language)

    def forget(self) -> None:
        """Empty the caches of decisions, for measurements."""
        for cached in (self._ends_plainly, self._cached_decision, self._cached_ends_between):
            cached.cache_clear()

    def sentence_spans(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end) of each sentence.

        White space before the first sentence belongs to it; other white space is between sentences.
        """
        return list(self.iterate_spans(text))

    def breaks(self, text: str) -> list[Break]:
        """Return where sentences end and begin, before closing marks are moved to the sentence that they close."""
        return list(self.iterate_breaks(text))

    def inherited_breaks(self, text: str, whole: str, whole_breaks: list[Break], offset: int) -> list[Break]:
        """Return `self.breaks(text)` for a `text` that stands at `offset` in `whole`, without judging its stops again.

        What is decided about a stop depends on its stretch and the next word only. So all but the last stretch of the
        text inherit, where the text begins after a blank and no blank begins either.
        """
        begins_alike = offset == 0 or whole[offset - 1] in _BLANKS
        if not text or not begins_alike or text[0] in _BLANKS or whole[0] in _BLANKS:
            return self.breaks(text)
        end = len(text.rstrip())
        last = max([text.rfind(blank, 0, end) for blank in _BLANKS]) + 1
        first, behind = bisect(whole_breaks, (offset + 1,)), bisect(whole_breaks, (offset + last + 1,))
        breaks = [(stop - offset, following - offset) for stop, following in whole_breaks[first:behind]]
        breaks += [(last + stop, last + following) for stop, following in self.iterate_breaks(text[last:end])]
        return breaks

    def iterate_breaks(self, text: str) -> Iterator[Break]:
        """Yield the results of `breaks` one at a time, for callers that need only the first few of a long text."""
        return self._walk(text) if len(text) <= _BLOCK else self._walk_blocks(text)

    def iterate_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the `sentence_spans` one at a time, for callers that need only the first few of a long text."""
        return spans(text, self.iterate_breaks(text))

    def _walk_blocks(self, text: str) -> Iterator[Break]:
        """Yield the results of `_walk` on a long text, which is taken block by block."""
        start, end = 0, _block_end(text, 0)
        while end < len(text):
            behind = _WORD_AFTER.match(text, end)
            block, length = text[start : behind.end() if behind else end], end - start
            block_breaks = self._walk_repetitive(block)
            # A stop in the word behind the block belongs to the next block, which begins with that word.
            if block_breaks is not None:
                yield from [(start + stop, start + following) for stop, following in block_breaks if stop <= length]
            else:
                for stop, following in self._walk(block):
                    if stop > length:
                        break
                    yield start + stop, start + following
            start, end = end, _block_end(text, end)
        for stop, following in self._walk(text[start:]):
            yield start + stop, start + following

    def _walk_repetitive(self, block: str) -> list[Break] | None:
        """Do as `_walk` for a block that is dense with stops in few different contexts; None for other blocks."""
        stops = block.count(".") + block.count("?") + block.count("!")
        if stops * 20 < len(block) or block[0] in _BLANKS or _OTHER_BLANK.search(block):
            return None
        parts = _BLANK_RUN.split(block)
        pairs = list(pairwise(parts[::2]))
        contexts = set(pairs)
        if len(contexts) * 8 > len(pairs) or not parts[-1]:
            return None
        # What follows is the next word, unless the break lies inside the word.
        breaks = {
            (word, behind): [
                (stop, following) for stop, following in self._walk(f"{word} {behind}") if stop <= len(word)
            ]
            for word, behind in contexts
        }
        starts = [0, *accumulate(map(len, parts))][::2]
        if all(
            len(inside) <= 1 and all(stop == len(word) for stop, _ in inside) for (word, _), inside in breaks.items()
        ):
            ends = map(add, starts, map(len, parts[::2]))
            return list(compress(zip(ends, starts[1:], strict=False), map(breaks.__getitem__, pairs)))
        return [
            (start + stop, following_start if stop == length else start + following)
            for start, length, following_start, pair in zip(
                starts, map(len, parts[::2]), starts[1:], pairs, strict=False
            )
            for stop, following in breaks[pair]
        ]

    def _walk(self, text: str) -> Iterator[Break]:  # noqa: C901, PLR0912, PLR0915 - one hot loop: a call a stop doubles its time
        """Yield (end of a sentence, start of the next) at every stop that ends one."""
        hard = self.model.hard
        rare_blanks = [blank for blank in _BLANKS[2:] if blank in text]
        start = 0  # of the stretch without blanks that the current candidate stands in
        previous = -1
        next_word = next_end = -1  # of the word after the candidate before
        pending: tuple[int, int, int, int] | None = None  # a candidate that counts if it is the last of its stretch
        for match in _CANDIDATE.finditer(text):
            if match.lastindex == 2:
                continue
            first, after = match.span()
            stop = after - 1
            following, end = match.span(1)
            is_last = following >= 0 and text[after] in _BLANKS
            if pending is None and is_last and first == stop:  # a shorter way for nearly all
                if text[stop] != ".":
                    yield after, following
                    previous = stop
                    continue
                blank = text.rfind(" ", previous + 1, stop)
                word = text[blank + 1 : stop] if blank > 0 else ""
                if len(word) > 1 and word.isalnum() and not word.isdecimal() and word.lower() not in hard:
                    yield after, following
                    previous = stop
                    continue
            if stop < next_end:
                blank = next_word - 1
            else:
                blank = text.rfind(" ", previous + 1, first)
                blank = max(blank, text.rfind("\n", blank if blank >= 0 else previous + 1, first))
                for rare in rare_blanks:
                    blank = max(blank, text.rfind(rare, previous + 1, first))
            previous = stop
            if blank > 0:  # NLTK takes a blank at 0, before the first word, for none
                start = blank + 1
                if pending is not None and self._is_break(text, *pending):
                    yield pending[1] + 1, pending[2]
            pending = None
            if first == start < stop and text[first + 1] in _CLOSING_MARKS:
                yield first + 1, first + 1  # NLTK keeps the first of a stretch that has no word before it
            if is_last:
                next_word, next_end = (following, end) if text[following - 1] in _BLANKS else (-1, -1)
                if self._is_break(text, start, stop, following, end):
                    yield after, following
                continue
            next_end = -1
            pending = (start, stop, following, end) if following >= 0 else (start, stop, after, after + 1)
            if first == start == stop:
                if self._is_break(text, *pending):
                    yield after, pending[2]
                pending = None
        if pending is not None and self._is_break(text, *pending):
            yield pending[1] + 1, pending[2]

    def _is_break(self, text: str, start: int, stop: int, following: int, end: int) -> bool:
        """Tell whether the stop ends a sentence; `start` bounds its stretch, `following` and `end` the next word."""
        if text[stop] != ".":
            return True
        if stop - start > _LONGEST_CACHED:
            return self._decision(text[start:end])
        word = text[start:stop]
        if self._ends_plainly(word):
            return True
        if word.isdecimal() and text[following:end].isalpha():
            return self._number_ends(text[following], text[following:end].lower())
        if word.isalnum():
            behind = text[following:end]
            core = behind[:-1] if behind[-1] in ".,;:?!" else behind
            if core.isalnum():  # both are one token, and what mark follows the second one does not matter
                return self._cached_ends_between(f"{word}.", behind if behind[-1] == "." else core)
        return (
            self._cached_decision(text[start:end])
            if end - start <= _LONGEST_CACHED
            else self._decision(text[start:end])
        )

    def _find_plain_end(self, stretch: str) -> bool:
        """Tell whether a full stop after `stretch` ends a sentence whatever follows.

        This is so after a mark, and after a word that is no number and unknown to Punkt.
        """
        word = stretch.lstrip(_NO_WORD_START)  # each of these is a token of its own
        if not word or word[-1] in _CLOSING_MARKS:
            return True
        joined = word.replace("-", "")
        if len(word) < 2 or not joined.isalnum() or joined.isdecimal() or "--" in word:
            return False
        word = word.lower()
        hard = self.model.hard
        return word not in hard and word.rpartition("-")[2] not in hard

    def _number_ends(self, first: str, next_kind: str) -> bool:
        """Tell whether the full stop after a number ends a sentence before a word of letters."""
        model = self.model
        if ("##number##", next_kind) in model.collocations:
            return False
        return not first.islower() or next_kind in model.lower_begins

    def _decision(self, context: str) -> bool:
        """Tell whether a stretch with its next word holds the end of a sentence before its last token."""
        tokens = (token for line in context.split("\n") for token in _TOKEN.findall(line))
        if len(context) <= _LONGEST_CACHED:
            return any(self._ends_between(*pair) for pair in pairwise(tokens))
        # A stretch of a million characters has few different pairs, and one that ends a sentence stands near its
        # beginning.
        tokens = (match[0] for line in context.split("\n") for match in _TOKEN.finditer(line))
        seen: set[tuple[str, str]] = set()
        for pair in pairwise(tokens):
            if pair not in seen:
                if self._ends_between(*pair):
                    return True
                seen.add(pair)
        return False

    def _ends_between(self, first: str, second: str) -> bool:
        if first[-1] != ".":
            return first in {"?", "!"}
        token = _Token(first, self.model)
        self._reconsider(token, _Token(second, self.model))
        return token.is_break

    def _reconsider(self, token: _Token, following: _Token) -> None:
        """Run Punkt's second pass: revise a token that ends in a full stop by the token after it."""
        model = self.model
        kind, next_kind = token.kind_without_period(), following.kind_in_sentence()
        is_initial = _INITIAL.match(token.text) is not None
        is_upper = following.text[0].isupper()
        if (kind, next_kind) in model.collocations:
            token.is_break = False
            return
        starts = self._starts_sentence(following, next_kind)
        begins = starts or (is_upper and next_kind in model.starters)
        if begins and not is_initial and (token.is_abbreviation or token.is_ellipsis):
            token.is_break = True
            return
        if is_initial or kind == "##number##":
            never_lower = next_kind not in model.lower
            if starts is False or (starts is None and is_initial and is_upper and never_lower):
                token.is_break = False

    def _starts_sentence(self, token: _Token, kind: str) -> bool | None:
        """Tell whether the spelling of a token shows that it begins a sentence; None if the spelling is no evidence."""
        if token.text in {";", ":", ",", ".", "!", "?"}:
            return False
        first = token.text[0]
        model = self.model
        if first.isupper() and kind in model.never_names:
            return True
        if first.islower() and kind not in model.lower_begins:
            return False
        return None


english = Punkt("english")
french = Punkt("french")
sentence_spans, iterate_spans = english.sentence_spans, english.iterate_spans
breaks, iterate_breaks, inherited_breaks = english.breaks, english.iterate_breaks, english.inherited_breaks


def forget() -> None:
    """Empty the caches of decisions of all languages, for measurements."""
    english.forget()
    french.forget()
