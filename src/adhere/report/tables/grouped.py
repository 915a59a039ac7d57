"""Write counts by model as `adhere compact --groups` prints them."""

from __future__ import annotations

from adhere.report.pieces.numbers import count, percent
from adhere.report.pieces.text_table import paragraph, text_table
from adhere.store.tables.grouped import Group, GroupedCounts

_HEADING = (
    "model", "suite", "ok", "cut", "empty", "refused", "failed", "missing", "prompts, strict", "loose",
    "constraints, strict", "loose",
)  # fmt: skip


def grouped_text(counts: GroupedCounts, *, width: int = 160) -> str:
    """Return a line for each model, suite and run; rates leave out failed calls and missing answers."""
    table = text_table([_HEADING, *map(_cells, counts.groups)], width=width, left=2)
    origin = "Counted from the Parquet." if not counts.reason else f"Counted from the segments: {counts.reason}."
    return f"{table}\n\n{paragraph(origin, width=width)}"


def _cells(group: Group) -> list[str]:
    shares = (group.prompt_strict, group.prompt_loose, group.instruction_strict, group.instruction_loose)
    numbers = (group.ok, group.truncated, group.empty, group.refused, group.error, group.missing)
    return [group.model, group.suite, *map(count, numbers), *(percent(share.rate) for share in shares)]
