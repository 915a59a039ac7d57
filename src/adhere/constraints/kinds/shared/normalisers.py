r"""Normalise an answer before it is compared with the expected one; nothing else is forgiven.

bare            line ends become "\n"; white space around the whole goes; one code fence around the whole goes
verbatim        bare
text            bare; then one pair of quotes or backticks around the whole, and one full stop at its end, go
number          text; then "+" before the number, a typographic minus, and commas between groups of three digits
lines           bare; then white space around every line, and blank lines, go
items           text; then divided at commas; white space around every item goes
words           bare; then divided at every single space: two spaces have an empty word between them
json            bare; then read as JSON: white space between tokens and the order of keys mean nothing, numbers have a
                value
csv             bare; then read as CSV: quotes that a cell does not need, white space around cells and blank lines go
markdown-table  bare; then read as one table: widths, alignment, outer bars and white space around cells go

All take linear time; an answer longer than LONGEST_ANSWER is not read at all.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

from adhere.constraints.kinds.shared.json_shape import depth, parse
from adhere.text.markdown import cells

LONGEST_ANSWER = 20_000
"""The most characters of an answer that are read; five times the longest expected one."""
LONGEST_EXPECTED = 4_000
DEEPEST = 20
"""The most levels of nested objects and arrays."""

Table = list[tuple[str, ...]]

_OPENING = re.compile(r"(`{3,}|~{3,})[^`\n]*\n")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DASHES = re.compile(r":?-+:?")


def bare(answer: str) -> str:
    """Return the answer with plain line ends, without white space or one code fence around all of it."""
    plain = answer.strip().replace("\r\n", "\n").replace("\r", "\n")
    if len(plain) > LONGEST_ANSWER or not plain.startswith(("```", "~~~")):
        return plain
    opening = _OPENING.match(plain)
    if opening is None:
        return plain
    body, line_break, closing = plain[opening.end() - 1 :].rpartition("\n")
    fence = opening[1]
    if not line_break or closing.strip() != fence or any(line.strip() == fence for line in body.split("\n")):
        return plain
    return body.strip()


def text(answer: str) -> str:
    """Return `bare` without one pair of quotes around the whole and one full stop at its end, in either order."""
    plain = bare(answer)
    outside = _without_stop(plain)
    quoted = _without_quotes(outside)
    if quoted == outside:
        return outside
    return quoted if outside != plain else _without_stop(quoted)


def _without_stop(plain: str) -> str:
    return plain[:-1].rstrip() if plain.endswith(".") and not plain.endswith("..") else plain


def _without_quotes(plain: str) -> str:
    if len(plain) > 2 and _QUOTES.get(plain[0]) == plain[-1] and not {plain[0], plain[-1]} & set(plain[1:-1]):
        return plain[1:-1].strip()
    return plain


def number(answer: str) -> str:
    """Return `text` as a program writes a number: no "+", a plain minus, no commas between groups of three digits."""
    plain = text(answer).replace("\N{MINUS SIGN}", "-").removeprefix("+")
    return plain.replace(",", "") if _GROUPED.fullmatch(plain) else plain


def lines(answer: str) -> list[str]:
    """Return the lines of `bare` without white space around them; blank lines are dropped."""
    return [line.strip() for line in bare(answer).split("\n") if line.strip()]


def items(answer: str) -> list[str]:
    """Return `text`, divided at commas, without white space around the items."""
    return [item.strip() for item in text(answer).split(",")]


def words(answer: str) -> list[str]:
    """Return `bare`, divided at every single space, so that any other separator is found in a word."""
    return bare(answer).split(" ")


def json(answer: str) -> tuple[Any, str | None]:
    """Read `bare` as JSON; return (value, None), or (None, what is wrong)."""
    value, problem = parse(bare(answer))
    if problem is None and depth(value, most=DEEPEST) > DEEPEST:
        return None, f"not readable as JSON: nested more than {DEEPEST} deep"
    return value, problem


def csv_table(answer: str) -> tuple[Table, str | None]:
    """Read `bare` as CSV; return (rows of cells with the header first, None), or ([], what is wrong)."""
    try:
        rows = list(csv.reader(io.StringIO(bare(answer), newline=""), strict=True))
    except csv.Error as error:
        return [], f"not readable as CSV: {error}"
    stripped = (tuple(cell.strip() for cell in row) for row in rows)
    return [row for row in stripped if any(row)], None


def markdown_table(answer: str) -> tuple[Table, str | None]:
    """Read `bare` as a Markdown table; return (rows of cells with the header first, what is wrong or None).

    The second line must be a ruler as wide as the header, and no text may surround the table; the rows that were found
    are returned in any case.
    """
    every = lines(answer)
    rows = [cells(line) for line in every if "|" in line]
    rulers = [number for number, row in enumerate(rows) if all(_DASHES.fullmatch(cell) for cell in row)]
    table = [row for number, row in enumerate(rows) if number not in rulers[:1]]
    if not rulers or rulers[0] != 1 or len(rows[0]) != len(rows[1]):
        return table, "no Markdown table: its second line must be a row of dashes, with a cell for each column"
    if len(rows) < len(every):
        return table, "there is text around the table"
    return table, None


TEXTS: dict[str, Callable[[str], str]] = {"verbatim": bare, "text": text}
PIECES: dict[str, Callable[[str], list[str]]] = {"lines": lines, "items": items, "words": words}
TABLES: dict[str, Callable[[str], tuple[Table, str | None]]] = {"csv": csv_table, "markdown-table": markdown_table}
