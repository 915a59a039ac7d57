"""Define the pieces of Markdown that a program can count: fenced code, headings, bullets, tables.

Everything is found line by line. Text in a closed fence is code and nothing else; a fence that is never closed is text.
A heading has one to six `#` and a blank behind them. A table is a header row, a row of dashes with as many cells, and
the rows below it up to the first line without a `|`.

At most MOST_PIECES headings, bullets or rows are found: only a hostile text has more.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from adhere.text import parts
from adhere.text.words import has_words, lines

MOST_PIECES = 1000
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]++(.*)\Z", re.DOTALL)
_DASHES = re.compile(r":?-+:?\Z")


class CodeBlock(NamedTuple):
    """Holds a closed fence: the first word behind the opening marks, in lower case, and the lines between."""

    language: str
    body: str


class Heading(NamedTuple):
    """Holds a heading: its level from 1 to 6 and its text without marks around it."""

    level: int
    text: str


class Bullet(NamedTuple):
    """Holds a bullet point with a word; `indent` is the width of the blanks before it (a tab is four)."""

    indent: int
    marker: str
    text: str


class Table(NamedTuple):
    """Holds the cells of a table's header and of each row below the dashes, without blanks around them."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def code_blocks(text: str) -> list[CodeBlock]:
    """Return the closed fences, in order."""
    return [
        CodeBlock(block.info.split()[0].lower() if block.info else "", "\n".join(lines(text[slice(*block.span)])[:-1]))
        for block in parts.code_blocks(text)
    ]


def prose_lines(text: str) -> list[str]:
    """Return the lines outside closed fences, without the fences themselves."""
    prose: list[str] = []
    at = 0
    for block in parts.code_blocks(text):
        prose += lines(text[at : block.outer[0]])[:-1]
        at = block.outer[1]
    return prose if at and at == len(text) and text[-1] not in "\r\n" else prose + lines(text[at:])


def headings(text: str) -> list[Heading]:
    """Return the headings outside code, in order; a heading without a word does not count."""
    hits = (_HEADING.match(line) for line in prose_lines(text) if "#" in line)
    every = (Heading(len(hit[1]), hit[2].rstrip().rstrip("#").strip().strip("*_")) for hit in hits if hit)
    return list(itertools.islice((heading for heading in every if has_words(heading.text)), MOST_PIECES))


def bullets(text: str) -> list[Bullet]:
    """Return the bullets outside code, in order."""
    every = (Bullet(len(hit[1].expandtabs(4)), hit[2], text[slice(*span)]) for hit, span in parts.bullets(text))
    return list(itertools.islice(every, MOST_PIECES))


def tables(text: str) -> list[Table]:
    """Return the tables outside code, in order."""
    all_tables: list[Table] = []
    every = prose_lines(text)
    if "|" not in text:
        return all_tables
    at = pieces = 0
    while at + 1 < len(every) and pieces < MOST_PIECES:
        if "|" not in every[at] or not _is_ruler(every[at + 1]):
            at += 1
            continue
        header, ruler = cells(every[at]), cells(every[at + 1])
        if len(header) != len(ruler):
            at += 1
            continue
        at += 2
        rows: list[tuple[str, ...]] = []
        while at < len(every) and "|" in every[at] and len(rows) < MOST_PIECES:
            rows.append(cells(every[at]))
            at += 1
        all_tables.append(Table(header, tuple(rows)))
        pieces += 1 + len(rows)
    return all_tables


def cells(line: str) -> tuple[str, ...]:
    r"""Return the cells of one row of a table; a `\|` does not divide."""
    bare = line.strip().replace(r"\|", "\0").removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\0", "|") for cell in bare.split("|"))


def _is_ruler(line: str) -> bool:
    return "-" in line and all(_DASHES.match(cell) for cell in cells(line))
