"""Find a verdict for each statement, from the tables and passages of the sources together."""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from adhere.evidence.claims.printed import EPSILON
from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.read.document import Document
from adhere.evidence.statements.assessments import Assessment, Quote, Statement, Verdict
from adhere.evidence.statements.cells import Reading, names_a_cell, readings
from adhere.evidence.statements.grids import Grids
from adhere.evidence.statements.lexicon import pattern
from adhere.evidence.statements.passages import Passage, Search, passages_of
from adhere.evidence.statements.prose import RELATED, Match, match
from adhere.evidence.statements.quantities import ABOUT, Quantity, agrees, quantities
from adhere.evidence.statements.wording import Wording, is_latin, search_words, wording

MOST_QUOTES = 3
MEASURED = frozenset({"s", "bytes", "money"})  # a number with such a unit is another one without it
# A passage that has this share of the words speaks of the statement, be a name or a number absent from all sources.
TOLD, NUMBERED = 0.7, 0.55
MAX_QUOTED = 600
_ORDER = {"supported": 0, "denied": 1, "near": 2, "far": 3}


@dataclass(slots=True)
class Sources:
    """Holds the documents that statements are compared with, ready to be searched.

    `rarity` is the inverse document frequency of each word over passages. `numbers` are all quantities in passages,
    sorted by value. `scripts` has True if a document is in Latin script, False if one is not.
    """

    documents: Sequence[Document]
    passages: list[Passage]
    search: Search
    grids: Grids
    rarity: dict[str, float]
    numbers: list[Quantity]
    scripts: frozenset[bool]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Sources:
        """Read passages and tables of documents."""
        passages = [passage for document in documents for passage in passages_of(document)]
        word_counts: Counter[str] = Counter()
        for passage in passages:
            word_counts.update(search_words(passage.text))
        total = len(passages)
        rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in word_counts.items()}
        grids = Grids(sheet for document in documents for sheet in sheets_of(document))
        numbers = {(q.value, q.unit, q.noun): q for passage in passages for q in quantities(passage.text)}
        sorted_numbers = sorted(numbers.values(), key=lambda q: q.value)
        scripts = frozenset(is_latin(" ".join(s.text for s in document.sentences)) for document in documents)
        return cls(documents, passages, Search(passages), grids, rarity, sorted_numbers, scripts)

    def is_read_in(self, text: str) -> bool:
        """Tell whether all sources are written in the script of a text, so that its words can be found in them."""
        return self.scripts <= {is_latin(text)}

    def absent(self, sentence: Wording) -> tuple[str, bool]:
        """Return the first name or number of a statement that no source has, and whether it is a name.

        Empty if there is none. Not counted are numbers that may follow from others (a difference, a share, a count in
        words), and names that another script writes otherwise or that are part of a list.
        """
        is_read = self.is_read_in(sentence.text)
        pairs = itertools.pairwise(sentence.names)
        listed_names = {
            name for pair in pairs if _LISTED.fullmatch(sentence.text[pair[0].end : pair[1].start]) for name in pair
        }
        for name in sentence.names:
            words = [word for word in search_words(name.text) if word]
            is_had = name.key in self.rarity or all(word in self.rarity for word in words)
            can_tell = name not in listed_names and (is_read or _SPELT_ALIKE.search(name.text))
            if name.is_sure and not is_had and can_tell and not self._spells(name.key):
                return name.text, True
        for number in sentence.numbers:
            is_word = not number.unit and number.text.isalpha()
            if not (number.is_inner or _may_follow(number) or is_word or self._has(number)):
                return number.text, False
        return "", False

    def _spells(self, key: str) -> bool:
        """Tell whether a passage has a name under its key, however the name is spelled."""
        near = (passage for passage in self.passages if key[:3] in passage.text.lower())
        return any(key in wording(passage.text).keys for passage in near)

    def _has(self, number: Quantity) -> bool:
        """Tell whether any source prints a number, of whatever."""
        if number.unit == "date":
            return any(agrees(number, other) for other in self.numbers)
        half = max(number.half, ABOUT * abs(number.value) if number.bound else 0.0)
        for scale in (1.0, 100.0, 0.01):
            low, high = ((number.value + sign * half) * scale + sign * EPSILON for sign in (-1, 1))
            first, last = (bisect.bisect_left(self.numbers, end, key=lambda q: q.value) for end in (low, high))
            same = (q for q in self.numbers[first:last] if number.unit not in MEASURED or q.unit == number.unit)
            if any(agrees(number, other) for other in same):
                return True
        return False

    def quote(self, name: str, line: int) -> Quote:
        """Quote a line of a source, cut to `MAX_QUOTED` characters."""
        document = next(document for document in self.documents if document.name == name)
        text = document.line(line).strip()
        return Quote(name, line, text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…")


def judge(statement: Statement, sources: Sources) -> Assessment:
    """Return the verdict that programs come to on one statement.

    If nothing can be said of the whole, and it has two parts that each say something, the parts are judged.
    """
    assessment = _judge(statement, statement.text, sources)
    if assessment.verdict in {"supported", "denied"} or assessment.kind == "order":
        return assessment  # what one passage does not say in this order its parts do not prove either
    parts = clauses(statement.text)
    part_assessments = [_judge(statement, part, sources) for part in parts]
    verdicts = [part.verdict for part in part_assessments]
    quotes = tuple(dict.fromkeys(quote for part in part_assessments for quote in part.evidence))[:MOST_QUOTES]
    if "denied" in verdicts and set(verdicts) <= {"denied", "supported"}:
        return next(part for part in part_assessments if part.verdict == "denied")
    if set(verdicts) == {"supported"}:
        return Assessment(statement, "supported", "parts", quotes, "each of its parts stands in the sources")
    if set(verdicts) == {"supported", "not found"}:
        missing_part = next(part for part, verdict in zip(parts, verdicts, strict=True) if verdict == "not found")
        return Assessment(statement, "partly", "parts", quotes, f"nothing in the sources says: {missing_part}")
    return assessment


_JOINT = pattern("statements", "joint")


def _may_follow(number: Quantity) -> bool:
    """Tell whether a number may follow from other numbers: a bound, a share, a ratio, a difference in points."""
    return number.bound in {"least", "most"} or number.unit in {"share", "times"} or "point" in number.text


_LISTED = re.compile(r"\+?,\s+(?:and\s+)?|\+?\s+and\s+")
_SPELT_ALIKE = re.compile(r"\d|[^\W\d_][A-Z]")  # a name that is written so in every language: `Foo-2`, `PPO`


def clauses(text: str) -> list[str]:
    """Return the two parts of a statement that each say something; empty if it is one.

    A second part that begins with its verb gets the first one's subject.
    """
    joint = _JOINT.search(text)
    if joint is None:
        return []
    head, tail = text[: joint.start()], text[joint.end() :]
    if min(len(head.split()), len(tail.split())) < 3:
        return []
    names = [name for name in wording(head).names if name.is_sure]
    has_subject = any(name.is_sure for name in wording(tail).names) and not tail[0].isdigit()
    return [head, tail if not names or has_subject else f"{names[0].text} {tail}"]


def _judge(statement: Statement, text: str, sources: Sources) -> Assessment:
    sentence = wording(text)
    table_readings = sorted(readings(sentence, sources.grids), key=lambda reading: -reading.exactness)
    matches = [match(sentence, passage, sources.rarity) for passage in sources.search.best(text)]
    # Of the many numbers of a table's row only the labels tell which is meant, and `cells` reads these.
    matches = [
        m._replace(standing="near", kind="words") if m.passage.kind == "row" and m.kind != "words" else m
        for m in matches
    ]
    matches.sort(key=lambda passage_match: (_ORDER[passage_match.standing], -passage_match.score))
    return _verdict(statement, sentence, table_readings, matches, sources)


def _verdict(
    statement: Statement,
    sentence: Wording,
    table_readings: Sequence[Reading],
    matches: Sequence[Match],
    sources: Sources,
) -> Assessment:
    first = matches[0] if matches else None
    if first and first.standing == "supported":
        return _from_passage("supported", statement, first)
    # A table that is named in full goes before one that is named in part; two that differ leave an order open.
    table_readings = [reading for reading in table_readings if reading.exactness == table_readings[0].exactness]
    findings = {reading.finding for reading in table_readings}
    is_open = len(findings) > 1 and table_readings[0].kind == "order"
    for finding in ("supported", "denied"):
        if finding in findings and not is_open:
            reading = next(reading for reading in table_readings if reading.finding == finding)
            return _from_table(reading.finding, statement, reading, sources)
    has_all = any(
        passage_match.standing == "near" and passage_match.related >= TOLD and not passage_match.missing
        for passage_match in matches
    )
    if first and first.standing == "denied" and not (first.kind == "number" and sentence.names and has_all):
        return _from_passage("denied", statement, first)
    absent, is_name = sources.absent(sentence)
    is_told = any(passage_match.related >= (TOLD if is_name else NUMBERED) for passage_match in matches) or (
        not is_name and names_a_cell(sentence, sources.grids)
    )
    subject = next((name for name in sentence.names if name.is_sure), None)
    if absent and (not is_told or (subject and subject.is_model and subject.text == absent)):
        return Assessment(statement, "not found", "names", _quotes(matches[:1]), f"no source has {absent}")
    is_far = max((passage_match.related for passage_match in matches), default=0.0) < RELATED
    may_follow = any(map(_may_follow, sentence.numbers))
    if is_far and not (is_told or may_follow) and sources.is_read_in(sentence.text):
        return Assessment(statement, "not found", "nothing", (), "no passage of the sources speaks of it")
    kind, reason = "words", "the nearest passage shares words with it; a program cannot compare the two"
    if order_match := next((passage_match for passage_match in matches if passage_match.kind == "order"), None):
        kind, reason = "order", "its numbers and names stand in this passage, which may say another thing of each"
        matches = [order_match]
    if is_far:
        reason = "a program cannot compare it with the sources: one is in another language, or only a table names it"
    return Assessment(statement, "cannot tell", kind, _quotes(matches[:1]), reason)


def _from_passage(verdict: Verdict, statement: Statement, passage_match: Match) -> Assessment:
    missing = f" instead of {passage_match.missing[0]}" if passage_match.missing else ""
    reason = {
        "supported": "its numbers and names stand together in this passage",
        "denied": f"this passage prints {passage_match.instead}{missing}",
    }[verdict]
    return Assessment(statement, verdict, passage_match.kind, _quotes([passage_match]), reason)


def _quotes(matches: Sequence[Match]) -> tuple[Quote, ...]:
    return tuple(Quote(m.passage.file, m.passage.line, m.passage.text[:MAX_QUOTED]) for m in matches[:MOST_QUOTES])


def _from_table(verdict: Verdict, statement: Statement, reading: Reading, sources: Sources) -> Assessment:
    places = dict.fromkeys((value.document, value.line) for value in reading.cells)
    quotes = tuple(sources.quote(*place) for place in list(places)[:MOST_QUOTES])
    return Assessment(statement, verdict, f"table {reading.kind}", quotes, reading.reason)
