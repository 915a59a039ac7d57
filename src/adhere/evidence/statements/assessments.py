"""Records of what `adhere claims --sources` finds, as they are stored and printed."""

from __future__ import annotations

from typing import Literal

import msgspec

from adhere.schema import Json, Record

Verdict = Literal["supported", "denied", "partly", "not found", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = ("supported", "denied", "partly", "not found", "cannot tell")


class Statement(Record, frozen=True):
    """Holds a sentence that asserts something, and where it stands.

    If a model split a sentence, `text` is one part of it, `whole` is the sentence, and `part` says whether the text
    quotes it.
    """

    text: str
    file: str
    line: int
    part: Literal["", "quotation", "paraphrase"] = ""
    whole: str = ""


class Quote(Record, frozen=True):
    """Quotes a passage of a source."""

    file: str
    line: int
    quote: str


class Assessment(Record, frozen=True):
    """Holds a statement with its verdict.

    `kind` is how the verdict was found, `evidence` what it rests on, `reason` why, in words. `confidence` is how often
    verdicts of this kind were right on labelled statements; None if fewer than 30 were labelled.
    """

    statement: Statement
    verdict: Verdict
    kind: str
    evidence: tuple[Quote, ...]
    reason: str
    confidence: float | None = None


class Contradiction(Record, frozen=True):
    """Names a statement of a report that the report itself denies, and where."""

    statement: Statement
    place: Quote
    reason: str


class SourceUse(Record, frozen=True):
    """Names a source, whether the report cites it, and how many verdicts rest on it."""

    file: str
    is_cited: bool
    used: int


class Opinion(Record, frozen=True):
    """Holds a reviewer's verdict on one statement.

    `verdict` is None, with the reason, if an answer failed, could not be read, changed with the order of the
    passages, or quotes what no passage says.
    """

    statement: int
    reviewer: str
    verdict: Verdict | None
    quote: str
    reason: str


class Reviews(Record, frozen=True):
    """Holds all opinions.

    `kappa` is Cohen's kappa between reviewers on "supported or not"; None if fewer than two answered, or if chance
    alone gives full agreement. `pairs` counts the pairs of opinions behind it.
    """

    reviewers: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    asked: int
    valid: int
    kappa: float | None
    pairs: int


class Splitting(Record, frozen=True):
    """Counts the sentences that a model was asked about and split, and its refused replies by reason."""

    model: str
    asked: int
    split: int
    refused: dict[str, int]


class Quality(Record, frozen=True):
    """Counts a report's statements by verdict, the sentences left out by reason, and sources.

    `absent_sources` are links in the report that no given source matches.
    """

    statements: int
    verdicts: dict[str, int]
    left_out: dict[str, int]
    sources: tuple[SourceUse, ...]
    absent_sources: tuple[str, ...]


class Statements(Record, frozen=True):
    """Holds all findings about a report's statements."""

    assessments: tuple[Assessment, ...]
    quality: Quality
    contradictions: tuple[Contradiction, ...]
    reviews: Reviews | None = None
    splitting: Splitting | None = None

    @property
    def denied(self) -> int:
        """Number of statements that the sources deny."""
        return sum(item.verdict == "denied" for item in self.assessments)

    def as_json(self) -> dict[str, Json]:
        """Return what `--json` prints: `statements`, `quality`, `contradictions`, and what models did."""
        rest = {name: getattr(self, name) for name in ("quality", "contradictions", "reviews", "splitting")}
        parts = {name: msgspec.to_builtins(value) for name, value in rest.items() if value is not None}
        return {"statements": self._listed()} | parts

    def _listed(self) -> list[Json]:
        names = ("verdict", "kind", "reason", "confidence", "evidence")
        rows: list[Json] = []
        for item in self.assessments:
            own = item.statement
            row: dict[str, Json] = {"statement": own.text, "file": own.file, "line": own.line}
            row |= {"part": own.part, "whole": own.whole} if own.part else {}
            rows.append(row | {name: msgspec.to_builtins(getattr(item, name)) for name in names})
        return rows
