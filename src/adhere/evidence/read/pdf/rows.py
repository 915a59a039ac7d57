"""Make the rows of a table from its lines: names at the middle of their groups, names over several lines, sections."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from adhere.evidence.claims.printed import CROSSES, TICKS
from adhere.evidence.read.grid import RawRow
from adhere.evidence.read.pdf.header import header_rows, join_words, place_of, width_of
from adhere.evidence.read.pdf.page import PageLine, PageTable, Word
from adhere.evidence.read.pdf.tables import is_section

MAX_NAME_LINES = 4


def rows_of(table: PageTable) -> tuple[list[RawRow], int]:
    """Return the rows of a table as texts of cells, and how many of the rows are headers."""
    headers = header_rows(table)
    line = table.header_line.number if table.header_line else table.body[0].number
    rows = [RawRow(line, texts) for texts in headers] + body_rows(table)
    if headers[-1][1:2] > [""] and not any(row.cells[0] for row in rows):
        rows = [RawRow(row.line, row.cells[1:]) for row in rows]  # the first column of numbers says what rows are
    return rows, len(headers)


def body_rows(table: PageTable) -> list[RawRow]:
    """Return the rows below the header, with line numbers; the name of a group stands in its first row."""
    rows: list[RawRow] = []
    labels = len(table.labels) + 1
    cell_texts = []
    sections = {at for at, line in enumerate(table.body) if is_section(line, table.columns, table.rules)}
    for at, line in enumerate(table.body):
        if at in sections:
            cell_texts.append([line.text, *[""] * (width_of(table) - 1)])
            continue
        cells: dict[int, list[Word]] = {}
        for word in line.words:
            cells.setdefault(place_of(word, table), []).append(word)
        cell_texts.append([_cell(cells.get(place, []), is_label=place < labels) for place in range(width_of(table))])
    used_lines = _join_labels(table.body, cell_texts, labels)
    _raise_groups(table, cell_texts, sections, used_lines)
    for at, (line, texts) in enumerate(zip(table.body, cell_texts, strict=True)):
        if at not in used_lines:
            rows.append(RawRow(line.number, texts))
    return rows


def _raise_groups(table: PageTable, cell_texts: list[list[str]], sections: set[int], used_lines: set[int]) -> None:
    """Move the label of a group into its first row; on the page it stands at the middle of the group's rows.

    Lines that hold nothing else are added to `used_lines`, the lines that are already part of another row.
    """
    body, labels = table.body, len(table.labels) + 1
    is_row = [any(texts[labels:]) for texts in cell_texts]
    numbers = [line for line, has_numbers in zip(body, is_row, strict=True) if has_numbers]
    rules = [  # but for the edges of coloured cells, which run through a row
        rule for rule in table.rules if not any(line.top + 2 < rule.top < line.bottom - 2 for line in numbers)
    ]
    for column in range(max(labels - 1, 1)):
        left = min((w.left for line in body for w in line.words if place_of(w, table) == column), default=0.0)
        tops = [rule.top for rule in rules if rule.left <= left + 3]
        for band in _bands(body, tops, sections, used_lines):
            rows = [at for at in band if is_row[at]]
            names = [at for at in band if cell_texts[at][column] not in TICKS | CROSSES]
            middle = {at: (body[at].top + body[at].bottom) / 2 for at in band}
            for first, name in _find_groups(rows, names, middle):
                group = _group_name(*(cell_texts[at][column] for at in name))
                for at in name:
                    cell_texts[at][column] = ""
                cell_texts[rows[first]][column] = group
            used_lines |= {at for at in band if not any(cell_texts[at])}


def _bands(body: list[PageLine], tops: list[float], sections: set[int], used_lines: set[int]) -> list[list[int]]:
    """Return the lines between rules and sections, as indices into `body`."""
    bands: list[list[int]] = [[]]
    for at, line in enumerate(body):
        if at in sections or (bands[-1] and any(body[bands[-1][-1]].top + 2 <= top < line.top + 2 for top in tops)):
            bands.append([])
        if at not in sections and at not in used_lines:
            bands[-1].append(at)
    return bands


def _find_groups(rows: list[int], names: list[int], middle: dict[int, float]) -> list[tuple[int, list[int]]]:
    """Find where each group of rows begins (an index into `rows`), and the lines of `names` that name it.

    `rows` and `names` are indices of lines, `middle` gives the lines' places on the page. A name, of one or more lines,
    is expected at the middle of its group. A single name belongs to all rows. Nothing is found where the names cannot
    be shared out so, or where names only stand in the first row of their groups.
    """
    if len(names) == 1 and len(rows) > 2:
        return [(0, names)]
    if len(rows) < 2 or not names or (rows[0] in names and set(names) <= set(rows)):
        return []
    pitch = median(middle[after] - middle[before] for before, after in pairwise(rows))
    gaps = [middle[after] - middle[before] for before, after in pairwise(names)]
    off = abs(middle[names[0]] + middle[names[-1]] - middle[rows[0]] - middle[rows[-1]]) / 2
    if len(names) < len(rows) and max(gaps, default=0.0) <= 1.3 * pitch and off < 0.75 * pitch:
        return [(0, names)]  # one name of several lines: two names are farther apart, but for rows of their own
    starts = _divide([middle[at] for at in rows], [middle[at] for at in names], pitch)
    return [(row, names[name:end]) for (row, name), (_, end) in pairwise([*starts, (len(rows), len(names))])]


def _divide(rows: list[float], names: list[float], pitch: float) -> list[tuple[int, int]]:
    """Return where groups of rows, and the lines of their names, begin, as pairs (row, name).

    As many groups as possible; empty if some rows or names cannot be shared out. Searches forwards from the first pair
    for all that can be reached, then backwards for the most groups; not by recursion, for a page may hold thousands of
    rows.
    """
    whole = len(rows), len(names)
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {whole: []}
    ahead = [(0, 0)]
    while ahead:
        place = ahead.pop()
        if place not in ways:
            ways[place] = [*_ends_of_group(rows, names, pitch, *place)]
            ahead += ways[place]
    most = {whole: (0, whole)}  # how many groups, and where the second one begins
    for place in sorted(ways, reverse=True):
        for behind in ways[place]:
            if behind in most and most[behind][0] + 1 > most.get(place, (0, whole))[0]:
                most[place] = most[behind][0] + 1, behind
    starts, place = [], (0, 0)
    while place in most and place != whole:
        starts.append(place)
        place = most[place][1]
    return starts


def _ends_of_group(
    rows: list[float], names: list[float], pitch: float, row: int, name: int
) -> Iterator[tuple[int, int]]:
    """Yield the places (row, name) where the next group may begin if a group begins at `row` and `name`.

    A group's name stands at the middle of its rows, and has no more lines than they.
    """
    for last in range(name, min(name + MAX_NAME_LINES, len(names))):
        if last > name and names[last] - names[last - 1] > 1.3 * pitch:
            break
        centre = (names[name] + names[last]) / 2
        for end in range(row, len(rows)):
            off = (rows[row] + rows[end]) / 2 - centre
            if off > 0.25 * pitch:
                break
            if off >= -0.25 * pitch and last - name <= end - row:
                yield end + 1, last + 1


def _group_name(*lines: str) -> str:
    """Join a name of several lines, with a last line on its values in parentheses: `MMSU (Reasoning | Overall)`."""
    *name, last = lines
    return f"{_join_lines(name)} ({last})" if name and " | " in last else _join_lines(lines)


def _join_lines(lines: Sequence[str]) -> str:
    return functools.reduce(_rejoin, lines)


def _join_labels(body: list[PageLine], cell_texts: list[list[str]], labels: int) -> set[int]:
    """Join labels of several lines; return the lines that became part of another row."""
    used_lines: set[int] = set()
    for at, (line, texts) in enumerate(zip(body, cell_texts, strict=True)):
        if not any(texts[labels:]):
            continue
        is_bare = not any(texts[:labels])
        for other in (at - 1, at + 1):
            if not 0 <= other < len(cell_texts) or other in used_lines or any(cell_texts[other][labels:]):
                continue
            # It stands half a line above and below its numbers, or begins beside them and is broken at a hyphen.
            is_beside = is_bare and abs(body[other].top - line.top) < 0.9 * line.height
            pairs = zip(texts[:labels], cell_texts[other], strict=False)
            is_broken = other > at and any(head.endswith("-") and more for head, more in pairs)
            if is_beside or is_broken:
                used_lines.add(other)
                texts[:labels] = map(_rejoin, texts[:labels], cell_texts[other][:labels])
    return used_lines


def _rejoin(head: str, tail: str) -> str:
    return head + tail if head.endswith("-") else f"{head} {tail}".strip()


def _cell(words: list[Word], *, is_label: bool) -> str:
    text = join_words(words) if is_label else " ".join(word.text for word in words)
    return f"**{text}**" if words and not is_label and all(word.bold for word in words) else text
