"""One sentence with what it names, the tables that it is about, and how a number of it is held against cells."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from adhere.evidence.checks.checking import Check, Read, Source, show_number
from adhere.evidence.claims.mentions import BenchmarkMention, Index, Mentions, ModelMention, NumberMention, references
from adhere.evidence.claims.printed import Printed, agree
from adhere.evidence.claims.values import Sheet, Value
from adhere.evidence.read.document import Document, Sentence

_BOUNDS = {
    "least": re.compile(r"\b(?:at least|over|more than|above|exceeding|no less than)\s*$|[≥>]\s*$", re.IGNORECASE),
    "most": re.compile(
        r"\b(?:at most|up to|less than|under|below|no more than|nearly|almost)\s*$|[≤<]\s*$", re.IGNORECASE
    ),
    "about": re.compile(r"\b(?:about|around|approximately|roughly|some|close to|just)\s*$|[~≈]\s*$", re.IGNORECASE),
}


@dataclass(slots=True)
class ProseClaim:
    """A number that a sentence states for a model on a benchmark, and the cell that it was held against (None without one)."""

    id: str
    document: str
    line: int
    model: str
    benchmark: str
    printed: Printed
    sentence: str
    value: Value | None
    check: Check | None = None
    guesses: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Statement:
    """One sentence with everything needed to check it."""

    document: Document
    sentence: Sentence
    found: Mentions
    scope: list[Sheet]
    index: Index
    others: Index
    pronoun: ModelMention | None
    _cells: dict[tuple[str, str, BenchmarkMention], list[Value]] = field(default_factory=dict)
    _is_strict: bool | None = None

    @property
    def text(self) -> str:
        """The sentence."""
        return self.sentence.text

    @property
    def source(self) -> Source:
        """Where it stands."""
        return Source(self.document.name, self.sentence.line)

    @property
    def models(self) -> list[ModelMention]:
        """The models that it is about: the one that "it" stands for first."""
        return [self.pronoun, *self.found.models] if self.pronoun else self.found.models

    def cells(self, model: ModelMention, benchmark: BenchmarkMention) -> list[Value]:
        """The cells for a model and benchmark; only of the tables that the sentence names, if it names any."""
        known = self._cells.get((model.model.key, model.model.tuning, benchmark))
        if known is None:
            if self._is_strict is None:
                self._is_strict = bool(references(self.text))
            known = self.index.values(model.model, benchmark, self.scope, is_strict=self._is_strict)
            self._cells[model.model.key, model.model.tuning, benchmark] = known
        return known

    def quoted(self) -> str:
        """The sentence in quotation marks, cut at 240 characters."""
        text = self.text
        return f"“{text if len(text) <= 240 else text[:237] + '…'}”"


def nearest_benchmark(statement: Statement, start: int, end: int) -> BenchmarkMention | None:
    """The benchmark that a number belongs to: "77.6 on IFEval", "IFEval (77.6)", "IFEval: 77.6", else the nearest in its clause."""
    benchmarks = statement.found.benchmarks
    if not benchmarks:
        return None
    text = statement.text
    for benchmark in benchmarks:
        if benchmark.start >= end and re.fullmatch(
            r"\s*%?\s*(?:\([^()]*\)\s*)?(?:(?:percentage )?points?\s+)?(?:\w+er\s+)?(?:than\s+[\w.+-]+\s+)?(?:on|in|for|at)\s+(?:the\s+)?",
            text[end : benchmark.start],
        ):
            return benchmark
    for benchmark in reversed(benchmarks):
        if benchmark.end <= start and re.fullmatch(
            r"\s*(?:score|accuracy|result)?s?\s*(?:\(|:|=|of|at|is|are|was|reaches|with|to)?\s*",
            text[benchmark.end : start],
        ):
            return benchmark
    clause_start = max((text.rfind(mark, 0, start) for mark in (";", ". ")), default=-1)
    inside = [b for b in benchmarks if b.start > clause_start] or benchmarks
    return min(inside, key=lambda b: b.start - end if b.start >= end else (start - b.end) + 3)


def bound_of(before: str) -> str:
    """What the words before a number make of it: `least` ("at least", "over"), `most`, `about`, or exactly it."""
    return next((name for name, pattern in _BOUNDS.items() if pattern.search(before)), "")


def matches(
    statement: Statement,
    number: NumberMention,
    cells: Sequence[Value],
    models: Sequence[ModelMention | None],
    benchmark: BenchmarkMention,
    *,
    also: Sequence[Value] = (),
) -> Check:
    """A check that a stated number is that of one of the cells (or of `also`, which a looser reading allows)."""
    bound = bound_of(statement.text[: number.start])

    def fits(printed: Printed, cell: Printed) -> bool:
        if agree(printed, cell) or agree(
            printed._replace(value=printed.value * 100, decimals=max(printed.decimals - 2, 0)), cell
        ):
            return True
        if bound == "least":
            return cell.value >= printed.value
        if bound == "most":
            return cell.value <= printed.value
        return bound == "about" and abs(printed.value - cell.value) <= max(
            0.03 * abs(cell.value), 10.0**-printed.decimals
        )

    def holds(read: Read) -> bool:
        return any(fits(number.printed, read(cell)) for cell in (*cells, *also))

    def message(read: Read) -> str:
        cell = cells[0]
        names = " or ".join(dict.fromkeys(m.model.name for m in models if m))
        values = ", ".join(dict.fromkeys(f"{show_number(read(c))} ({c.table.name}, line {c.line})" for c in cells[:4]))
        return f"{statement.quoted()} states {show_number(number.printed)} for {names} on {cell.benchmark.name if cell.benchmark else benchmark.text}, but the table prints {values}"

    return Check("prose_table", tuple(cells[:1]), (), holds, message, "error", (statement.source,))
