"""Tell whether a row of training data repeats a test item: the step behind `adhere decontaminate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from adhere.errors import SpecError, UsageError, nearest
from adhere.lines.blocks import Block, parse_line
from adhere.lines.step import BrokenRow, SortedBlock, Step
from adhere.schema import Record, decoder_of
from adhere.shapes.rows import CONVERSATIONS, is_empty, texts_in
from adhere.suites.base import Suite
from adhere.text.repeats import NgramRule, SubsequenceRule
from adhere.text.spans import SpanRule

Rule = Literal["lcs", "ngram", "span"]
COLUMNS = (
    "text", *CONVERSATIONS, "prompt", "instruction", "query", "question", "problem", "input", "chosen",
)  # fmt: skip


class TestItem(NamedTuple):
    """Holds one test prompt: the suite's name as given, its key in that suite, and all that it asks."""

    against: str
    key: int | str
    text: str


class LcsDrop(Record, frozen=True):
    """A row that the rules `lcs` and `span` drop: `ratio` is `lcs` over the tokens of the shorter text."""

    line: int
    against: str
    item: int | str
    lcs: int
    ratio: float


class NgramDrop(Record, frozen=True):
    """A row that the n-gram rule drops: `ngram` is the first run of 13 tokens that it shares with the item."""

    line: int
    against: str
    item: int | str
    ngram: str


class Settings(Record, frozen=True):
    """Holds the settings that decide which rows are dropped."""

    items: tuple[tuple[str, int | str, str], ...]
    columns: tuple[str, ...]
    rule: Rule = "lcs"
    bad_rows: Literal["error", "skip"] = "error"
    name: str = "rows"


def items_of(suites: Sequence[tuple[str, Suite]]) -> list[TestItem]:
    """Return the test items of suites, each with the text of all its user turns.

    Raises:
        UsageError: A suite has no prompts.
    """
    items = []
    for name, suite in suites:
        if not suite.prompts:
            raise UsageError(f"--against {name}: the suite has no prompts, so nothing would be compared")
        items += [TestItem(name, prompt.key, prompt.everything) for prompt in suite.prompts]
    return items


class BlockMatches(Record, frozen=True):
    """Holds the places of the items that a block's rows repeat, and the number of drops for each suite."""

    items: tuple[int, ...]
    dropped: dict[str, int]


class Decontaminate(Step):
    """Drops rows that repeat a test item; each block's note (`SortedBlock.note`) is a BlockMatches."""

    kind = "decontaminate"

    def __init__(self, spec: Settings, side: str | None = None) -> None:
        super().__init__(spec, side)
        self.settings, self.file = spec, spec.name
        texts = [text for _, _, text in spec.items]
        self._nearest: SubsequenceRule | SpanRule | None = None
        if spec.rule != "ngram":
            self._nearest = SubsequenceRule(texts) if spec.rule == "lcs" else SpanRule(texts)
        self._ngram = NgramRule(texts) if spec.rule == "ngram" else None
        self._decoder = decoder_of(dict[str, Any])

    @property
    def reads(self) -> Sequence[str]:
        return self.settings.columns

    def sort(self, block: Block) -> SortedBlock:
        numbers, texts, broken_rows = [], [], []
        for number, line in block.lines():
            try:
                texts.append(text_of(parse_line(line, self._decoder), self.settings.columns))
                numbers.append(number)
            except SpecError as problem:
                if self.settings.bad_rows == "error":
                    raise SpecError(f"{self.file}:{number}: {problem}") from problem
                broken_rows.append(BrokenRow(number, str(problem)))
        drops, touched_items = self.drops(numbers, texts)
        dropped_lines = {drop.line for drop in drops}
        note = BlockMatches(tuple(sorted(touched_items)), dict(Counter(drop.against for drop in drops)))
        return SortedBlock(
            None, [number for number in numbers if number not in dropped_lines], drops, broken_rows, note
        )

    def drops(self, numbers: Sequence[int], texts: Sequence[str]) -> tuple[list[LcsDrop | NgramDrop], set[int]]:
        """Find the texts to drop, and the places in `settings.items` of the test items that they match.

        A drop's `line` is the number from `numbers` that belongs to its text.
        """
        drops: list[LcsDrop | NgramDrop] = []
        touched_items: set[int] = set()
        if self._nearest is not None:
            for number, match in zip(numbers, self._nearest.matches(texts), strict=True):
                if match is not None:
                    against, key, _ = self.settings.items[match.item]
                    drops.append(LcsDrop(number, against, key, match.common, round(match.ratio, 4)))
                    touched_items.add(match.item)
        if self._ngram is not None:
            for number, text in zip(numbers, texts, strict=True):
                first = self._ngram.first(text)
                if first is not None:
                    against, key, _ = self.settings.items[first.item]
                    drops.append(NgramDrop(number, against, key, first.ngram))
                    touched_items |= self._ngram.items(text)
        return drops, touched_items


def text_of(row: dict[str, Any], columns: Sequence[str]) -> str:
    """Return the text of a row: its columns, one below the other; for a conversation, all messages.

    Raises:
        SpecError: A column is missing, or holds neither a text nor messages.
    """
    return "\n".join(_text_in(row, column) for column in columns)


def _text_in(row: dict[str, Any], column: str) -> str:
    if column not in row:
        raise SpecError(f"no column {column!r}.{nearest(column, row)} Columns of this row: {', '.join(row) or 'none'}")
    value = row[column]
    if value is None:  # Arrow's, where a row has its text in another column
        value = next((row[name] for name in COLUMNS if row.get(name) is not None), None)
    try:
        return "\n".join(texts_in(value, column))
    except UsageError as problem:
        raise SpecError(str(problem)) from problem


def default_columns(row: dict[str, Any]) -> tuple[str, ...]:
    """Choose the column to compare: the first of `COLUMNS` with content in `row`, else the first present.

    Raises:
        SpecError: The row has none of `COLUMNS`.
    """
    present = [column for column in COLUMNS if column in row]
    if present:
        return (next((column for column in present if not is_empty(row[column])), present[0]),)
    raise SpecError(
        f"none of the usual columns ({', '.join(COLUMNS)}) is there; say which holds the text with --column. "
        f"Columns of this row: {', '.join(row) or 'none'}"
    )
