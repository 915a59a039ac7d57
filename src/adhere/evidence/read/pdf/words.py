"""Restore words as they are printed: join pieces, leave out marks and line numbers; find the rules of a page."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from statistics import median
from typing import Any

from adhere.evidence.claims.printed import number_of
from adhere.evidence.read.pdf.page import Rule, Word, to_lines

_RAISED_MARK = re.compile(r"[\d*\u2217†‡§¶,a-f]{1,4}")
_SPREAD = re.compile(r"[±˘](?:\d|\.\d|$)")
_ACCENTS = {"\u00a8": "\u0308", "\u00b4": "\u0301", "\u02c6": "\u0302", "\u02dc": "\u0303", "\u02c7": "\u030c"}
_ACCENTED = re.compile(rf"([A-Za-z])([{''.join(_ACCENTS)}])")
_BESIDE = re.compile(r"[()\[\]+\-\u2212–±˘↑↓%\d.]+")
LEAST_LINE_NUMBERS = 20  # a column of fewer numbers that count up may be a table's


def without_line_numbers(words: list[Word]) -> list[Word]:
    """Return the words of a page without the line numbers (1, 2, 3, …) of a copy for reviewers."""
    columns: dict[int, list[Word]] = {}
    for word in words:
        if word.text.isdecimal() and len(word.text) <= 4:
            columns.setdefault(round(word.right / 2), []).append(word)
    numbers: set[int] = set()
    for place, candidates in columns.items():
        column = sorted([*candidates, *columns.get(place + 1, [])], key=lambda word: word.top)
        counting_words = [b for a, b in pairwise(column) if int(b.text) - int(a.text) == 1]
        if len(counting_words) >= LEAST_LINE_NUMBERS and len(counting_words) >= 0.8 * len(column):
            numbers |= {id(word) for word in column}
    return [word for word in words if id(word) not in numbers]


def is_white(colour: Any) -> bool:
    """Tell whether a colour is white: white text aligns numbers of different length and is not seen."""
    parts = colour if isinstance(colour, tuple | list) else (colour,)
    return len(parts) in {1, 3} and all(part == 1 for part in parts)


def _bearer(word: Word, ends: dict[int, list[Word]]) -> Word | None:
    """Return the larger word that a small one is raised behind; None if there is none."""
    for other in (other for place in range(-4, 3) for other in ends.get(round(word.left) + place, ())):
        is_raised = other.top - 0.4 * other.size < word.top < word.bottom < other.bottom - 0.08 * other.size
        if is_raised and other.size > 1.15 * word.size:
            return other
    return None


def upright(pieces: list[Word]) -> list[Word]:
    """Join pieces that are turned to be read upwards into words, each set upright at the middle of its place.

    Turned words name a group of rows, or a column.
    """
    words: list[list[Word]] = []
    for piece in sorted(pieces, key=lambda piece: (round(piece.left / 2), -piece.bottom)):
        last = words[-1][-1] if words else None
        width = piece.right - piece.left
        if last and abs(last.left - piece.left) < 0.5 * width and -0.5 * width < last.top - piece.bottom < 0.5 * width:
            words[-1].append(piece)
        else:
            words.append([piece])
    upright_words = []
    for word in words:
        size = word[0].right - word[0].left
        gaps = ["", *(" " if before.top - after.bottom > 0.15 * size else "" for before, after in pairwise(word))]
        text = "".join(gap + piece.text for gap, piece in zip(gaps, word, strict=True))
        top = (word[-1].top + word[0].bottom - size) / 2
        upright_words.append(word[0]._replace(text=text, top=top, bottom=top + size, size=size))
    return upright_words


def _take_besides(pieces: list[Word]) -> list[Word]:
    """Return the pieces of a line without small ones right after a number.

    A spread among these (`±0.4`) joins the number. The others are differences from a number that only the text names.
    """
    main_pieces: list[Word] = []
    beside, end = "", 0.0
    for piece in pieces:
        last = main_pieces[-1] if main_pieces else piece
        is_near = -0.3 * last.size < piece.left - end < 0.4 * last.size
        if is_near and piece.size <= 0.85 * last.size and _BESIDE.fullmatch(piece.text) and number_of(last.text):
            beside += piece.text
            spread = beside.strip("()[]")
            if _SPREAD.match(spread) and spread[-1].isdigit():
                main_pieces[-1] = last._replace(text=f"{last.text.partition(' ')[0]} {spread}")
        else:
            main_pieces.append(piece)
            beside = ""
        end = piece.right
    return main_pieces


def join_pieces(pieces: list[Word]) -> list[Word]:
    """Join pieces into words as they are read.

    The library pdfplumber ends a word wherever its letters change font or size (small capitals, raised marks, ±).
    """
    usual = median([word.size for word in pieces] or [0.0])
    ends: dict[int, list[Word]] = {}
    for word in pieces:
        ends.setdefault(round(word.right), []).append(word)
    main_pieces: list[Word] = []
    marks: list[Word] = []
    for piece in pieces:
        other = _bearer(piece, ends) if piece.size <= 0.85 * usual else None
        goes_on = marks and abs(marks[-1].bottom - piece.bottom) < 1 and 0 <= piece.left - marks[-1].right < 4
        if other is None and not goes_on:
            main_pieces.append(piece)
        elif _RAISED_MARK.fullmatch(piece.text) or (other or marks[-1]).text.endswith((")", ",")):
            marks.append(piece)  # the + of MBPP+ is of the name; a number or sign is a footnote's
        else:
            main_pieces.append(piece._replace(top=other.top, bottom=other.bottom) if other else piece)
    words: list[Word] = []
    for piece in (word for line in to_lines(main_pieces) for word in _take_besides(line.words)):
        last = words[-1] if words else None
        gap = piece.left - last.right if last else usual
        reach = (2.5 if last and last.text.endswith(("±", "˘")) else 0.9) * usual
        if (
            last is None
            or abs(piece.bottom - last.bottom) > 0.35 * max(piece.size, last.size)
            or not -0.3 * usual < gap < reach
        ):
            words.append(piece)
        elif gap < 0.12 * max(piece.size, last.size):
            words[-1] = _grown(last, piece)
        elif (number_of(last.text) is not None and (_SPREAD.match(piece.text) or piece.text == "%")) or (
            last.text.endswith(("±", "˘")) and piece.text[:1].isdigit()
        ):
            words[-1] = last._replace(text=f"{last.text} {piece.text}")  # its column stays that of the number
        else:
            words.append(piece)
    return [word._replace(text=_ACCENTED.sub(_put_accents, word.text)) for word in words]


def _put_accents(match: re.Match[str]) -> str:
    """Join a letter and the accent that is printed over it (`a¨`) into one character."""
    return unicodedata.normalize("NFC", match[1] + _ACCENTS[match[2]])


def _grown(word: Word, piece: Word) -> Word:
    """Return a word with the piece that follows it; the longer of the two gives size and weight."""
    main = max(word, piece, key=lambda part: len(part.text))
    return main._replace(
        text=word.text + piece.text,
        left=word.left,
        right=piece.right,
        top=min(word.top, piece.top),
        bottom=max(word.bottom, piece.bottom),
    )


def find_rules(page: Any) -> list[Rule]:
    """Return horizontal rules; pieces that touch are one rule."""
    edges = [Rule(e["x0"], e["x1"], e["top"]) for e in page.edges if e["orientation"] == "h" and e["x1"] - e["x0"] > 2]
    edges.sort(key=lambda rule: (round(rule.top), rule.left))
    rules: list[Rule] = []
    for rule in edges:
        last = rules[-1] if rules else None
        if last and abs(last.top - rule.top) <= 1.5 and rule.left - last.right <= 1.5:
            rules[-1] = Rule(last.left, max(last.right, rule.right), last.top)
        else:
            rules.append(rule)
    return rules
