"""Write texts in one form.

The form has composed characters (NFC), one kind of line break, no blanks at line ends, at most one empty line.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import constraints, keeps, text_of, with_text


def normal(text: str) -> str:
    r"""Return the text in NFC, without blanks at line ends, and with at most one empty line in a row.

    Line breaks become `\n`; blanks at both ends of the text go.
    """
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    new_row = {**row, "prompt": with_text(row["prompt"], normal(text_of(row["prompt"])))}
    row_constraints = constraints(row)
    for side in ("completion", "chosen", "rejected"):
        if side in row:
            new_row[side] = with_text(row[side], normal(text_of(row[side])))
    answer = next((new_row[side] for side in ("completion", "chosen") if side in new_row), None)
    if answer is not None and row_constraints and not keeps(text_of(answer), row_constraints):
        raise UnfitRow("its answer no longer keeps its constraints in this form")
    if "chosen" in new_row and new_row["chosen"] == new_row["rejected"]:
        raise UnfitRow("its answers differ in their form only")
    return new_row


TRANSFORM = Transform(
    "normalise",
    1,
    "arXiv 2307.15504 (format consistency)",
    ("sft", "pairs", "rl"),
    "One form of characters, line breaks and blanks.",
    each(_change),
)
