"""Run one call of `adhere claims --sources`: statements, their verdicts, and where the report contradicts itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from adhere.errors import UsageError
from adhere.evidence.check import read_all
from adhere.evidence.claims.names import benchmark_key
from adhere.evidence.read.document import Document
from adhere.evidence.reviewers import open_reviewers
from adhere.evidence.statements.assessments import (
    VERDICTS,
    Assessment,
    Contradiction,
    Quality,
    SourceUse,
    Statement,
    Statements,
)
from adhere.evidence.statements.calibration import with_confidence
from adhere.evidence.statements.contradictions import between_sentences, contradictions
from adhere.evidence.statements.extract import extract, given_statements
from adhere.evidence.statements.judge import Sources, judge
from adhere.evidence.statements.parts import split
from adhere.evidence.statements.reviews import review

MOST_STATEMENTS = 5_000
_LINK = re.compile(r"https?://[^\s<>)\]\"']+")


def examine_statements(
    reports: Sequence[Path], sources: Sequence[Path], *, statements_file: Path | None = None,
    reviewers: Sequence[str] = (), splitter: str | None = None,
) -> Statements:  # fmt: skip
    """Compare the statements of reports, or of a file, with sources.

    Args:
        reports: Documents whose statements are checked.
        sources: Documents that the statements are compared with.
        statements_file: A file of statements, in place of those of the reports.
        reviewers: Models that are asked about each statement.
        splitter: A model that splits compound statements first.

    Raises:
        UsageError: There are no statements or no sources, a document cannot be read, or there are more than
            5,000 statements.
    """
    if not sources:
        raise UsageError("Statements need sources: adhere claims REPORT.md --sources PAPER…")
    if not reports and statements_file is None:
        raise UsageError("Name a report, or a file of statements by --statements FILE.")
    documents = read_all(reports) if reports else []
    statements: list[Statement] = list(given_statements(statements_file)) if statements_file else []
    left_out: Counter[str] = Counter()
    for document in documents if statements_file is None else []:
        extraction = extract(document)
        statements += extraction.statements
        left_out.update(extraction.left_out)
    if len(statements) > MOST_STATEMENTS:
        raise UsageError(f"{len(statements)} statements; up to {MOST_STATEMENTS} are read at a time. Split the report.")
    splitting = None
    if splitter is not None:
        with open_reviewers([splitter]) as (model,):
            statements, splitting = split(statements, model)
    read_sources = Sources.of(read_all(sources))
    assessments = [with_confidence(judge(statement, read_sources)) for statement in statements]
    reviews = None
    if reviewers:
        with open_reviewers(reviewers) as models:
            assessments, reviews = review(assessments, read_sources, models)
    contradictions = [item for document in documents for item in _against_itself(document)]
    return Statements(
        tuple(assessments),
        _quality(assessments, left_out, documents, read_sources.documents),
        tuple(contradictions),
        reviews,
        splitting,
    )


def _against_itself(document: Document) -> list[Contradiction]:
    statements = [Statement(sentence.text, document.name, sentence.line) for sentence in document.sentences]
    own = Sources.of([document])
    return [*contradictions(document, statements, own.grids), *between_sentences(document, own)]


def _quality(
    assessments: Sequence[Assessment], left_out: Counter[str], reports: Sequence[Document], sources: Sequence[Document]
) -> Quality:
    verdict_counts = Counter(item.verdict for item in assessments)
    rests = Counter(
        file
        for item in assessments
        if item.verdict in {"supported", "denied", "partly"}
        for file in {q.file for q in item.evidence}
    )
    text = "\n".join(line for report in reports for line in report.lines)
    key_text = benchmark_key(text)
    uses = tuple(SourceUse(source.name, _is_cited(source, key_text), rests[source.name]) for source in sources)
    links = dict.fromkeys(link.rstrip(".,;") for link in _LINK.findall(text))
    inside = "\n".join(line for source in sources for line in source.lines[:200]) + " ".join(
        source.name for source in sources
    )
    absent = tuple(link for link in links if _number_of(link) and _number_of(link) not in inside)
    return Quality(
        len(assessments), {verdict: verdict_counts[verdict] for verdict in VERDICTS}, dict(left_out), uses, absent
    )


def _is_cited(source: Document, text: str) -> bool:
    """Tell whether a report names a source: by its title, or its file's name."""
    names = [benchmark_key(source.title), benchmark_key(source.name.rpartition(".")[0])]
    return any(len(name) >= 6 and name in text for name in names)


def _number_of(link: str) -> str:
    """Return what identifies a paper in its address: an arXiv number or a DOI; empty if it has neither."""
    match = re.search(r"\b\d{4}\.\d{4,5}\b|10\.\d{4,}/\S+", link)
    return match.group() if match else ""
