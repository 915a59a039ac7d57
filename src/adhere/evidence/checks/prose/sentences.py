"""Sentences about models on benchmarks, against the tables that they speak of.

A sentence is read by what stands in it: models, benchmarks, numbers, and a few turns of phrase ("8 of 13", "on all tasks except
Y"). What is not understood is left alone: differences, ranges and extremes are. A number is a conflict only if it fits no cell of any
model and benchmark that its sentence names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from adhere.evidence.checks.checking import Check
from adhere.evidence.checks.prose.order import order_checks
from adhere.evidence.checks.prose.values import plain_values
from adhere.evidence.claims.mentions import Index, Mentions, ModelMention, mentions_in, references
from adhere.evidence.claims.statement import ProseClaim, Statement
from adhere.evidence.claims.values import Sheet
from adhere.evidence.read.document import Document, Sentence

_NOT_IN_TABLES = re.compile(
    r"\b\d+-shot prompting\b|\bnot (?:tabulate|show|report|list|include)(?:d|n)?\b|\bdo not (?:tabulate|show|report|list)\b|\b(?:reports?|reported) (?:in|by) (?:their|its|the) (?:own|original)\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\d|outperform|surpass|exceed|outshine|outcompete|superior|better|worse|behind|best|lead|highest|lowest|strongest|improve|beat|match|"
    r"advantage|inferior|lag|trail|excel",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\W*(?:(?:Notably|In particular|Moreover|Specifically|Furthermore|Additionally),\s+it|It|This model|The model|Its)\b"
)


@dataclass(slots=True)
class ProseReading:
    """What the prose of a document says."""

    checks: list[Check] = field(default_factory=list)
    claims: list[ProseClaim] = field(default_factory=list)
    sentences_read: int = 0


def read_prose(document: Document, sheets: Sequence[Sheet], elsewhere: Sequence[Sheet] = ()) -> ProseReading:
    """Every statement of the prose that names models and can be held against a table.

    `elsewhere` are the sheets of all documents: names are known from them, and a number that no table of this document prints
    is held against theirs.
    """
    reading = ProseReading()
    index = Index(document, sheets, elsewhere)
    if not index.model_keys:
        return reading
    others = Index(document, [sheet for sheet in elsewhere if sheet.document is not document])
    referred: dict[int, set[str]] = defaultdict(set)
    for sentence in document.sentences:
        if "Tab" in sentence.text:
            referred[sentence.paragraph] |= references(sentence.text)
    spoken = _Spoken()
    for sentence in document.sentences:
        if len(sentence.text) > 2000 or not _CUE.search(sentence.text):
            continue
        found = mentions_in(sentence.text, index)
        before = spoken.before(sentence, found)
        if not found.models and not found.benchmarks:
            continue
        reading.sentences_read += 1
        if _NOT_IN_TABLES.search(sentence.text):
            continue
        scope = index.scope(sentence, referred.get(sentence.paragraph, set()))
        if not scope and references(sentence.text):
            continue
        subject = before if _PRONOUN.match(sentence.text) else None
        _read_sentence(Statement(document, sentence, found, scope, index, others, subject), reading)
    return reading


@dataclass(slots=True)
class _Spoken:
    """The model that was last spoken of in a paragraph: what "it" stands for in the next sentence."""

    paragraph: int = -1
    model: ModelMention | None = None

    def before(self, sentence: Sentence, found: Mentions) -> ModelMention | None:
        """The first model of the last sentence that names any, in the same paragraph; then takes this sentence in."""
        known = self.model if sentence.paragraph == self.paragraph else None
        self.paragraph = sentence.paragraph
        self.model = found.models[0] if found.models else known
        return known


def _read_sentence(statement: Statement, reading: ProseReading) -> None:
    for claim in plain_values(statement):
        claim.id = f"{claim.document}:line{claim.line}:{len(reading.claims) + 1}"
        reading.claims.append(claim)
        if claim.check:
            reading.checks.append(claim.check)
    reading.checks += order_checks(
        statement.text,
        statement.found,
        statement.scope,
        statement.index,
        statement.source,
        statement.quoted(),
        statement.pronoun,
    )
