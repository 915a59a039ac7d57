"""Lay out plain text in columns: no colour, no box characters, no markup that a terminal or a library could act on."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from adhere.terminal import columns, one_line, plain

_LEAST = 8
"""Least columns that a shortened name keeps."""


def text_table(rows: Sequence[Sequence[str]], *, width: int, left: int = 1, indent: int = 2) -> str:
    """Align rows (the first is the heading) in columns.

    The first `left` columns are aligned left, the others right. If the table is wider than `width`, columns are one
    space apart instead of two. If that is not enough, the first column is cut in its middle, and then the last columns
    are left out and named below: a terminal that breaks lines in the middle of a number is worse.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(cells[0]))]
    gap = "  " if indent + sum(widths) + 2 * (len(widths) - 1) <= width else " "
    column_count = len(widths)
    while (
        column_count > left + 1
        and indent + min(widths[0], _LEAST) + sum(widths[1:column_count]) + len(gap) * (column_count - 1) > width
    ):
        column_count -= 1
    left_out = cells[0][column_count:]
    cells, widths = [row[:column_count] for row in cells], widths[:column_count]
    if indent + sum(widths) + 2 * (column_count - 1) <= width:
        gap = "  "
    excess = indent + sum(widths) + len(gap) * (column_count - 1) - width
    if excess > 0:
        widths[0] = max(min(widths[0], _LEAST), widths[0] - excess)
    lines = []
    for row in cells:
        row_cells = [_cut(row[0], widths[0]), *row[1:]]
        padded = [
            cell + " " * (size - _width(cell)) if column < left else " " * (size - _width(cell)) + cell
            for column, (cell, size) in enumerate(zip(row_cells, widths, strict=True))
        ]
        lines.append((" " * indent + gap.join(padded)).rstrip())
    if left_out:
        lines.append(paragraph(f"Left out in {width} columns: {', '.join(left_out)}", width=width, indent=indent))
    return "\n".join(lines)


def paragraph(text: str, *, width: int, indent: int = 2, label: str = "", hang: int = 0) -> str:
    """Put an untrusted text on one line and wrap it to `width` columns, at least 40.

    `label`, padded to `hang` columns, comes first; later lines are indented by `indent` and `hang`.
    """
    first = " " * indent + label.ljust(hang)
    return textwrap.fill(
        one_line(text),
        width=max(width, 40),
        initial_indent=first,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
        break_long_words=False,
    )


def heading(text: str) -> str:
    """Return a heading with a line under it."""
    lines = textwrap.wrap(plain(text), columns(), break_on_hyphens=False, break_long_words=False)
    return "\n".join([*lines, "─" * max(map(_width, lines), default=0)])


def _width(text: str) -> int:
    """Return the columns that a terminal gives the text: wide East Asian characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _cut(text: str, size: int) -> str:
    """Shorten a name in its middle, because its beginning and its end tell it from others."""
    if _width(text) <= size:
        return text
    back = _beginning(text[::-1], (size - 1) // 2)[::-1]
    return _beginning(text, size - 1 - _width(back)) + "…" + back


def _beginning(text: str, size: int) -> str:
    beginning = ""
    for char in text:
        if _width(beginning) + _width(char) > size:
            break
        beginning += char
    return beginning
