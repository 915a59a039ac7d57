"""Compare a statement with passages: they have its numbers and names together, or another number in their place."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from adhere.evidence.claims.names import benchmark_key
from adhere.evidence.statements.lexicon import pattern
from adhere.evidence.statements.passages import Passage
from adhere.evidence.statements.quantities import Quantity, agrees, is_counted, is_derived, is_specific
from adhere.evidence.statements.wording import (
    BEGINNING,
    Name,
    Wording,
    are_opposites,
    opposes,
    quantifiers,
    stem,
    wording,
)

Standing = Literal["supported", "denied", "near", "far"]
QUOTED = 0.6  # of a statement's words in their order, where the passage has each that tells: a quotation
COVERED = 0.4  # of its words, where its numbers and names are all there …
SPECIFIC = 0.25  # … and one of the numbers is a date or has three figures
OWN = 0.5  # of the words that stand there and around, in the passage itself
DENIED = 0.6  # of its words, where one number or one name is another
NAMELESS = 0.4  # … in their order, where no name says whereof
REPEATED = 0.7  # of its words in their order, where one name is another
RELATED = 0.3
UNKNOWN = 4.0  # the weight of a word that no source has
MOST_TIMES = 1000  # as large as another number that stands in its place; "1.4B" stands for no "3 layers"
_NEAR = 6  # words on each side of a number that say what it is of
_COMPARES = pattern("wording", "compares")
_LISTED = re.compile(r"\s*%?\s*,\s*(?:and\s+)?|\s*%?\s+and\s+")
_MEMBER = re.compile(r",\s*(?:and\s+|or\s+)?$")
_WORD_LIKE = re.compile(r"(?:ly|ing|ed|ion|ions|ers|ors|ity|ally|most|both|few)$", re.IGNORECASE)  # no name ends so
_FROM_TO = re.compile(r"\bfrom\b.{1,80}\bto\b", re.IGNORECASE)


Token = tuple[int, int, str]
"""A word with the places where it begins and ends."""


class Match(NamedTuple):
    """Holds how far one passage supports a statement.

    `kind` names what that rests on (`words`, `number`, `name`, `order`, `quotation`, …). `score` ranks passages of one
    standing: it grows with the words, numbers and names found. `related` is the share of the statement's words in the
    passage, `missing` are its numbers and names that the passage lacks, `instead` is what the passage prints in the
    place of the first of them.
    """

    passage: Passage
    standing: Standing
    kind: str
    score: float
    related: float
    missing: tuple[str, ...] = ()
    instead: str = ""


def match(sentence: Wording, passage: Passage, rarity: Mapping[str, float]) -> Match:
    """Compare a statement with a passage."""
    return _Comparison(sentence, passage, rarity).result()


class _Comparison:
    """Compares one statement with one passage."""

    def __init__(self, sentence: Wording, passage: Passage, rarity: Mapping[str, float]) -> None:
        self.sentence, self.passage = sentence, passage
        self.source, self.near, self.around = wording(passage.text), wording(passage.near), wording(passage.context)
        texts = ((self.source, 1.0), (self.near, 0.7), (self.around, 0.5))
        shares = {word: next((counts for text, counts in texts if _has(word, text)), 0.0) for word in sentence.stems}
        self.covered = _coverage(sentence.bare, shares, rarity)
        self.own = _coverage(sentence.bare, {word: float(share == 1.0) for word, share in shares.items()}, rarity)
        self.related = _coverage(sentence.stems, shares, rarity)
        self.ordered = _in_order(sentence, self.source)
        self.numbers = [number for number in sentence.numbers if not number.is_inner]
        self.names = [name for name in sentence.names if name.is_sure]
        self.lacking = [number for number in self.numbers if not self._stands(number)]
        self.absent = [name for name in self.names if not _is_named(name, self.source, self.near, self.around)]

    def result(self) -> Match:
        """Return the Match of the passage."""
        facts = len(self.numbers) + len(self.names)
        n_missing = len(self.lacking) + len(self.absent)
        score = self.covered + 0.5 * (facts - n_missing) / max(facts, 1) + (0.1 if not n_missing else 0.0)
        missing = tuple([number.text for number in self.lacking] + [name.text for name in self.absent])
        standing, kind, instead = self._standing()
        return Match(self.passage, standing, kind, score, self.related, missing, instead)

    def _standing(self) -> tuple[Standing, str, str]:
        if not self.lacking and not self.absent:
            return self._complete()
        stands = len(self.numbers) - len(self.lacking)
        least = COVERED if self._names_the_same() or (stands > 1 and len(self.lacking) == 1) else DENIED
        is_of_subject = self.names or self.ordered >= NAMELESS
        if self.covered >= least and not self.absent and is_of_subject and self._own_facts():
            instead = self._instead(self.lacking[0])
            if instead is not None:
                return "denied", "number", instead.text
        if len(self.absent) == 1 and not self.lacking:
            other = self._other_name(self.absent[0])
            if other:
                return "denied", "name", other
        return ("near" if self.related >= RELATED else "far"), "words", ""

    def _complete(self) -> tuple[Standing, str, str]:
        """Return standing, kind and what stands instead, for a passage that has all numbers and names."""
        sentence, source = self.sentence, self.source
        against = opposes(sentence, source)
        if self.ordered == 1.0 and against != "not" and not self._is_of_list():
            return "supported", "quotation", ""
        inversion = "them the other way round" if self._is_swapped() else self._turned()
        is_repeated = (self.numbers and self.covered >= DENIED) or self.ordered >= REPEATED
        is_named = all(_is_named(name, self.source) for name in self.names)
        if inversion or (against == "way" and is_repeated and is_named):
            return (
                "denied",
                "direction" if against or not self._is_swapped() else "pairing",
                inversion or "the opposite",
            )
        is_open = (
            against
            or self._is_of_list()
            or self._is_crossed()
            or self._is_strange()
            or quantifiers(sentence) - quantifiers(source)
        )
        is_whole = all(_has(word, source) for word in sentence.bare) and len(sentence.stems) >= 3
        if not is_open and is_whole and self.ordered >= QUOTED:
            return "supported", "quotation", ""
        least = SPECIFIC if any(is_specific(number) for number in self.numbers) else COVERED
        is_near = (
            self.covered >= least
            and self.own >= OWN * self.covered
            and self._own_facts(len(self.numbers) / 3)
            and not self._has_rival()
        )
        if not is_open and self.numbers and is_near:
            return "supported", "numbers and names", ""
        if is_open and self.ordered >= QUOTED and self.related >= RELATED:
            return "near", "order", ""
        return ("near" if self.related >= RELATED else "far"), "words", ""

    def _is_of_list(self) -> bool:
        """Tell whether a number is one of several that the passage gives to several things in their order."""
        if self.sentence.text.strip(" .") in self.source.text:
            return False
        for left, right in itertools.pairwise(self.source.numbers):
            own = [any(agrees(number, q) for number in self.numbers) for q in (left, right)]
            is_listed = _LISTED.fullmatch(self.source.text[left.end : right.start]) and left.unit == right.unit
            if is_listed and own[0] != own[1] and not left.is_inner:
                return True
        return self._is_of_names() or self._is_exchanged()

    def _is_of_names(self) -> bool:
        """Tell whether the passage says several things of several names in their order, and the statement names one."""
        names = [name for name in self.source.names if name.is_sure]
        listed_names = {
            name.key
            for left, right in itertools.pairwise(names)
            if _LISTED.fullmatch(self.source.text[left.end : right.start])
            for name in (left, right)
        }
        own = listed_names & {name.key for name in self.names}
        return len(listed_names) > 2 and len(own) == 1 and self.source.text.count(",") >= 2 * len(listed_names) - 2

    def _is_exchanged(self) -> bool:
        """Tell whether a list has another word than the passage's: `schools, health and …` for `schools, law and …`."""
        for own, theirs in self._changes():
            word = own[0][2]
            before, _, behind = self.sentence.text.partition(word)
            is_listed = _MEMBER.search(before) or _LISTED.match(behind)
            is_new = not any(_has(stem(word), text) for text in (self.source, self.near))
            if len(own) == len(theirs) == 1 and is_listed and is_new and not word[0].isdigit():
                return True
        return False

    def _is_strange(self) -> bool:
        """Tell whether a capitalised first word of the statement is nowhere around the passage: it may be a name."""
        unsure = [stem(n.text) for n in self.sentence.names if not n.is_sure and not _WORD_LIKE.search(n.text)]
        return any(all(word not in t.stems for t in (self.source, self.near, self.around)) for word in unsure)

    def _changes(self) -> Iterator[tuple[Sequence[Token], Sequence[Token]]]:
        """Yield up to three words of the statement, and those that the passage has in their place.

        Yields nothing unless the statement otherwise repeats the passage.
        """
        if self.ordered >= REPEATED:
            for tag, a, b, c, d in _matcher(self.sentence, self.source).get_opcodes():
                if tag == "replace" and b - a <= 3 and d - c <= 3:
                    yield self.sentence.tokens[a:b], self.source.tokens[c:d]

    def _turned(self) -> str:
        """Return the word for which a statement that repeats the passage has its opposite; empty if there is none."""
        for own, theirs in self._changes():
            for (_, _, word), (_, _, other) in itertools.product(own, theirs):
                if are_opposites(word, other):
                    return f"“{other}” instead of “{word}”"
        return ""

    def _is_crossed(self) -> bool:
        """Tell whether names stand in another order than in the passage, where order says which is which."""
        if self.ordered < REPEATED and not _COMPARES.search(self.sentence.text):
            return False
        theirs = [name.key for name in self.source.names]
        own = [name.key for name in self.sentence.names if name.key in theirs]
        rest = iter(theirs)
        return not all(key in rest for key in own)

    def _stands(self, number: Quantity) -> bool:
        """Tell whether the passage prints a number of the same thing, or two numbers that it follows from."""
        in_it, beside = (
            any(agrees(number, other) and _same_noun(number, other) for other in text.numbers)
            for text in (self.source, self.near)
        )
        if beside and not in_it and self._instead(number):
            return False  # "outperforms Bard by 15.1 %. It falls short of humans by 10.4 %."
        return in_it or beside or self._follows(number)

    def _follows(self, number: Quantity) -> bool:
        """Tell whether a number follows from two numbers of the passage."""
        source = self.source
        return is_derived(number, self.sentence.text, source.numbers, is_less=source.ways == {-1})

    def _own_facts(self, least: float = 1) -> bool:
        """Tell whether `least` of the numbers, or others in their place, are in the passage itself, not around it."""
        own = [
            number in self.lacking or any(agrees(number, o) for o in self.source.numbers) or self._follows(number)
            for number in self.numbers
        ]
        return sum(own) >= min(least, len(own))

    def _instead(self, number: Quantity) -> Quantity | None:
        """Return the number that the passage has in place of `number`: the same unit, similar words; None if none."""
        others = [own for own in self.numbers if own is not number]
        used_numbers = [o for o in self.source.numbers if any(agrees(own, o) for own in others)]
        own = _around(number, self.sentence)
        best: tuple[float, Quantity] | None = None
        for other in self.source.numbers:
            if other in used_numbers or not _is_alike(number, other):
                continue
            if number.unit in {"%", "share"} and agrees(number, other._replace(value=_whole(other) - other.value)):
                return None  # "fails on a third" where "68 %" succeed
            if not _same_noun(number, other) or (is_counted(number) and stem(other.noun) != stem(number.noun)):
                continue
            shared = len(own & _around(other, self.source)) / max(len(own), 1)
            if shared >= 0.4 and (best is None or shared > best[0]):
                best = shared, other
        return best[1] if best else None

    def _names_the_same(self) -> bool:
        """Tell whether the passage counts what the statement counts, by the same two words: `training pairs`."""
        behind = [_behind(number, self.sentence) for number in self.lacking]
        return any(len(own) == 2 and own == _behind(o, self.source) for own in behind for o in self.source.numbers)

    def _other_name(self, name: Name) -> str:
        """Return the passage's name in place of `name`, if the statement otherwise repeats the passage; else empty."""
        if _COMPARES.search(self.sentence.text) or not name.start:
            return ""
        first = next(token for token in self.sentence.tokens if token[0] >= name.start)
        for own, theirs in self._changes():
            begin, end = theirs[0][0], theirs[-1][1]
            if first in own and any(begin <= other.start < end and other.is_sure for other in self.source.names):
                return self.source.text[begin:end]
        return ""

    def _is_swapped(self) -> bool:
        """Tell whether two numbers, of two names or of a range, are in the opposite order in the passage."""
        places = [next((o.start for o in self.source.numbers if agrees(q, o)), -1) for q in self.numbers]
        if len(places) < 2 or -1 in places[:2] or len(set(places[:2])) < 2:
            return False
        if len(self.numbers) == 2 and _FROM_TO.search(self.sentence.text) and _FROM_TO.search(self.source.text):
            return places[0] > places[1]
        owners = [self._owner(number) for number in self.numbers[:2]]
        if None in owners or owners[0] == owners[1]:
            return False
        theirs = [_place_of(name, self.source) for name in owners if name]
        return -1 not in theirs and (theirs[0] < theirs[1]) != (places[0] < places[1])

    def _owner(self, number: Quantity) -> Name | None:
        """Return the name right after a number, else right before: `4.6 points on Multi-IF`; None if there is none."""
        behind = [name for name in self.names if 0 <= name.start - number.end <= 16]
        before = [name for name in self.names if 0 <= number.start - name.end <= 16]
        return behind[0] if behind else before[-1] if before else None

    def _has_rival(self) -> bool:
        """Tell whether another number of the passage counts the same thing, among as many words of the statement."""
        if self.ordered >= 0.8:
            return False
        for number in self.numbers:
            noun = stem(number.noun)
            alike = [o for o in self.source.numbers if noun and _is_alike(number, o) and stem(o.noun) == noun]
            own = [o for o in alike if agrees(number, o)]
            if len(alike) > 1 and own and len(self.numbers) < len(alike):
                words = self.sentence.stems
                near = [len(words & _around(other, self.source)) for other in alike if other is not own[0]]
                if max(near) + 2 > len(words & _around(own[0], self.source)):
                    return True
        return False


def _coverage(words: Iterable[str], shares: Mapping[str, float], rarity: Mapping[str, float]) -> float:
    """Return the weighted share of words that occur in texts; 1 if there are no words.

    Rare words weigh more. `shares` gives each word the weight of the text that has it, 0 to 1.
    """
    weights = {word: rarity.get(word, UNKNOWN) for word in words}
    total = sum(weights.values())
    return sum(weight * shares[word] for word, weight in weights.items()) / total if total else 1.0


def _has(word: str, text: Wording) -> bool:
    if word in text.stems or word in text.keys:
        return True
    return len(word) >= BEGINNING and word[:BEGINNING] in text.beginnings


def _in_order(sentence: Wording, source: Wording) -> float:
    """Return the share of a statement's words that a passage has in the same order."""
    if not sentence.tokens:
        return 0.0
    return sum(block.size for block in _matcher(sentence, source).get_matching_blocks()) / len(sentence.tokens)


def _matcher(sentence: Wording, source: Wording) -> difflib.SequenceMatcher[str]:
    stems, source_stems = ([stem(token) for _, _, token in text.tokens] for text in (sentence, source))
    return difflib.SequenceMatcher(None, stems, source_stems, autojunk=False)


def _same_noun(first: Quantity, second: Quantity) -> bool:
    if not first.noun or not second.noun or first.unit or second.unit:
        return True
    return stem(first.noun) == stem(second.noun) or not is_counted(first) or not is_counted(second)


def _whole(number: Quantity) -> float:
    return 100.0 if number.unit == "%" else 1.0


def _is_alike(first: Quantity, second: Quantity) -> bool:
    """Tell whether two numbers can be of one thing: alike in unit and size, and `second` is no part of a name."""
    units = {first.unit, second.unit}
    low, high = sorted(abs(number.value) for number in (first, second))
    return not second.is_inner and (len(units) == 1 or units == {"%", "share"}) and high <= MOST_TIMES * (low or high)


def _is_named(name: Name, *texts: Wording) -> bool:
    """Tell whether texts name something: as it is, or by its parts."""
    keys = {
        name.key,
        benchmark_key(name.text),
        *(benchmark_key(name.text.removesuffix(end)) for end in ("s", "'s", "’s")),
    }
    if any(keys & text.keys for text in texts):
        return True
    parts = [part for part in re.split(r"[\s\-/]", name.text) if part]
    has_digits = any(char.isdigit() for char in name.text)
    return not has_digits and all(any(stem(part) in text.stems for text in texts) for part in parts)


def _place_of(name: Name, source: Wording) -> int:
    place = source.text.lower().find(name.text.lower())
    return place if place >= 0 else next((other.start for other in source.names if other.key == name.key), -1)


def _behind(number: Quantity, text: Wording) -> list[str]:
    """Return the stems of the two words after a number."""
    return [stem(token) for start, _, token in text.tokens if start >= number.end and token[0].isalpha()][:2]


def _around(number: Quantity, text: Wording) -> set[str]:
    """Return the stems of the words around a number."""
    at = next((place for place, (start, _, _) in enumerate(text.tokens) if start >= number.start), len(text.tokens))
    near: Sequence[Token] = text.tokens[max(0, at - _NEAR) : at + _NEAR + 1]
    words: Iterable[str] = (part for _, _, token in near for part in re.split(r"[-/]", token))
    return {stem(word) for word in words if stem(word) in text.stems}
