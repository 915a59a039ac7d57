"""Rows with few constraints before rows with many."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.build.transforms.base import Result, Row, Settings, Transform


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    order = list(rows)
    settings.rng("order").shuffle(order)
    return Result(sorted(order, key=lambda row: len(row.get("instruction_id_list") or ())), [])


TRANSFORM = Transform(
    "curriculum",
    1,
    "arXiv 2404.15846 (from complex to simple, turned around)",
    ("sft", "pairs", "rl"),
    "Orders rows by their number of constraints, few first; equal ones by lot.",
    _apply,
)
