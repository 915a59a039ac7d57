"""Find tables among lines: rows of numbers one above the other in columns, and the header above them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from adhere.evidence.claims.printed import is_absent, number_of
from adhere.evidence.read.pdf.page import (
    CAPTION,
    LEAST_LINES,
    Bar,
    PageLine,
    PageTable,
    Rule,
    Word,
    find_numbers,
    is_prose,
    lines_between,
    middle_of,
    rules_by_width,
    without_doubles,
)

_SCORE = re.compile(r"^[\d,]*\.\d+%?$|%$")
_SCALED = re.compile(r"~?\d[\d.,]*\s?[KMBT]")
MAX_HEADER_LINES = 8
LEAST_AT_END = 4  # numbers in a row, which running text does not end with
_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,}")  # `Generation-Only`, not `8B`


def _is_row(line: PageLine) -> bool:
    """Tell whether a line reads as a row of numbers.

    It has two or more numbers, or one and dashes, set apart from other words.
    """
    numbers = find_numbers(line)
    values = len(numbers) + sum(is_absent(word.text) for word in line.words)
    if not numbers or values < 2:
        return False
    apart = sum(after.left - before.right > 0.6 * after.size for before, after in pairwise(line.words))
    last = line.words[-LEAST_AT_END:]
    if len(last) < len(line.words) and all(word in numbers or is_absent(word.text) for word in last):
        return True  # narrow columns behind the longest name
    return apart >= 1 and (values >= 0.4 * len(line.words) or apart >= values - 1)


def _find_bands(rules: list[Rule]) -> list[tuple[Rule, float]]:
    """Find sets of three or more rules of one width above one another.

    Returns, for each set, its second rule (under the header) and the height of its last.
    """
    bands = []
    for group in rules_by_width(rules):
        tops = without_doubles([rule.top for rule in group])
        if len(tops) >= 3:
            bands.append((Rule(group[0].left, group[0].right, tops[1]), tops[-1]))
    return bands


def _is_lone_value(line: PageLine, bands: list[tuple[Rule, float]]) -> bool:
    """Tell whether a line between the rules of a table is a label and one number: a table of one column."""
    numbers = find_numbers(line)
    if len(numbers) != 1 or numbers[0] is not line.words[-1] or not 2 <= len(line.words) <= 8:
        return False
    left, right = line.words[0].left, line.words[-1].right
    return line.words[-1].left - line.words[-2].right > line.words[-1].size and any(
        rule.left - 3 <= left and right <= rule.right + 3 and rule.top - 2 <= line.top and line.bottom <= last + 2
        for rule, last in bands
    )


def find_tables(lines: list[PageLine], rules: list[Rule], bars: Sequence[Bar] = ()) -> list[PageTable]:
    """Find tables: two or more rows of numbers, with no gap, caption or running text between them."""
    tables = []
    bands = _find_bands(rules)
    at = 0
    while at < len(lines):
        if not _is_row(lines[at]) and not _is_lone_value(lines[at], bands):
            at += 1
            continue
        end, rows = at, [at]
        left, right = lines[at].words[0].left, lines[at].words[-1].right
        for index in range(at + 1, len(lines)):
            gap = lines[index].top - lines[index - 1].bottom
            if gap > 2.5 * lines[at].height or index - rows[-1] > 3 or CAPTION.match(lines[index].text):
                break
            if _is_below_end(lines[index - 1], lines[index], left, right, rules):
                break
            left, right = min(left, lines[index].words[0].left), max(right, lines[index].words[-1].right)
            if _is_row(lines[index]) or _is_lone_value(lines[index], bands):
                rows.append(index)
                end = index
            elif is_prose(lines[index]):
                break
        if len(rows) >= LEAST_LINES:
            tables.append(_table(lines, rows, rules, bars))
        at = end + 1
    return [table for table in tables if table is not None]


def _begins_body(lines: list[PageLine], at: int, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> bool:
    """Tell whether a line right below a rule names the rows below: over the columns, or to the left of all numbers.

    To the left only below the header's own rule: below the first rule stands the header.
    """
    line, rule = lines[at], _rule_above(lines[at], columns, rules)
    if rule is None or is_section(line, columns, rules):
        return rule is not None
    is_left = line.words[-1].right < columns[0][0] and not find_numbers(line)
    return is_left and rule.left <= line.words[0].left + 2 and not _is_first(rule, lines, columns, rules)


def _is_below_end(above: PageLine, line: PageLine, left: float, right: float, rules: list[Rule]) -> bool:
    """Tell whether a rule from `left` to `right` ends the rows above a line, with a wide gap below the rule."""
    lowest = line.top - 1.2 * above.height
    return any(above.bottom - 2 <= rule.top < lowest for rule in _reaching(rules, left, right))


def _reaching(rules: list[Rule], left: float, right: float) -> list[Rule]:
    """Return the rules that reach from `left` to `right`, each end to 2 points."""
    return [rule for rule in rules if rule.left <= left + 2 and rule.right >= right - 2]


def _table(lines: list[PageLine], rows: list[int], rules: list[Rule], bars: Sequence[Bar]) -> PageTable | None:
    first_row, last = rows[0], rows[-1]
    first = _below_header(lines, first_row, last, rules)
    rows = [index for index in rows if index >= first]
    if len(rows) < LEAST_LINES:
        return None
    body = lines[first : last + 1]
    columns = _columns([lines[index] for index in rows])
    if not columns:
        return None
    first = first if first > first_row else _under_rule(lines, first, columns, rules)
    while first > 0 and _begins_body(lines, first - 1, columns, rules):
        first -= 1
    amounts = first
    while amounts > 0 and _prints_amounts(lines[amounts - 1], columns):
        amounts -= 1
    over = _rule_above(lines[amounts], columns, rules) if amounts < first else None
    if first - amounts > 1 or (over and not _is_first(over, lines, columns, rules)):
        first = amounts  # attributes of the columns; one line right below the names belongs to them
    body = lines[first : last + 1]
    header, start = _header(lines, first, columns, rules)
    labels = _label_edges([lines[index] for index in rows], columns[0][0], bars)
    labels = _edges_of_groups(body, [lines[index] for index in rows], columns[0][0]) + labels
    left, right = min(w.left for line in body for w in line.words), columns[-1][1]
    near = [rule for rule in rules if rule.right > left and rule.left < right]
    table = PageTable(header, lines[start] if start < first else None, body, columns, labels, near)
    table.lines = lines[start : last + 1]
    return table


def _below_header(lines: list[PageLine], first: int, last: int, rules: list[Rule]) -> int:
    """Return the first line below the header's rule, for headers that hold numbers themselves (`GPT-4o 0513`)."""
    left = min(line.words[0].left for line in lines[first : first + 3])
    right = max(w.right for w in lines[first].words)
    wide = without_doubles([rule.top for rule in _reaching(rules, left, right)])
    above = [top for top in wide if -2 <= lines[first].top - top < MAX_HEADER_LINES * 2 * lines[first].height]
    # Short rules at one height reach over the table together.
    ends = {round(rule.top): rule.right for rule in sorted(rules, key=lambda rule: rule.right)}
    whole = [r.top for r in rules if r.left <= left + 2 and ends[round(r.top)] >= right - 2]
    inside = [top for top in without_doubles(whole) if lines[first].bottom <= top + 2 and top < lines[last].top]
    between = lines_between(lines, above[-2], above[-1]) if len(above) > 1 else []
    is_headed = bool(between) and not any(is_prose(line) or CAPTION.match(line.text) for line in between)
    if not above or not inside or is_headed or not _is_top(above[-1], lines, first):
        return first
    # Between the rule over a table and the next one stands its header, at most one line of it with numbers of its own;
    # more lines where all are amounts (`360M`, `1.4T`).
    below = next(index for index in range(first, last + 1) if lines[index].top >= inside[0] - 2)
    rows = [[word.text for word in find_numbers(line)] for line in lines[first:below] if _is_row(line)]
    is_header = not any(_SCORE.search(text) for row in rows for text in row) and (
        sum(not all(text[-1].isalpha() for text in row) for row in rows) <= 1
    )
    return below if below - first <= MAX_HEADER_LINES and is_header else first


def _is_first(rule: Rule, lines: list[PageLine], columns: Sequence[tuple[float, float]], rules: list[Rule]) -> bool:
    """Tell whether a rule is the first of its table: a caption stands between it and the rule before."""
    over = _reaching(rules, columns[0][0], columns[-1][1])
    before = (other.top for other in over if other.top < rule.top - 4)
    between = lines_between(lines, max(before, default=rule.top), rule.top)
    return any(CAPTION.match(line.text) for line in between)


def _is_top(top: float, lines: list[PageLine], first: int) -> bool:
    """Tell whether a rule is the first of its table: above it is nothing near, running text, or a caption."""
    over = [line for line in lines[:first] if line.bottom <= top + 2]
    if not over:
        return True
    last = over[-1]
    return (
        top - last.bottom > 1.2 * last.height or is_prose(last) or any(CAPTION.match(line.text) for line in over[-4:])
    )


def _under_rule(lines: list[PageLine], first: int, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> int:
    """Return the first line below the rule that ends the header; `first` is the first row of numbers.

    Rows of words (`Architecture`) may stand above the rows of numbers.
    """
    over = _reaching(rules, columns[0][0], columns[-1][1])
    wide = without_doubles([rule.top for rule in over if rule.top <= lines[first].top + 2])
    reach = MAX_HEADER_LINES * 2 * lines[first].height
    near = [top for top in wide if lines[first].top - top < reach]
    while len(near) >= 2 and first > 0 and lines[first - 1].top >= near[-1] - 2:
        first -= 1
    return first


def is_section(line: PageLine, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> bool:
    """Tell whether a line is one text that stands over columns of numbers.

    `Closed-Source Models` between the header and the rows; centred under a rule also `~8B Models`.
    """
    words = line.words
    if CAPTION.match(line.text) or len(words) > 8:
        return False
    if max((b.left - a.right for a, b in pairwise(words)), default=0.0) >= 0.6 * words[0].size:
        return False
    rule = _rule_above(line, columns, rules)
    is_centred = rule is not None and abs(middle_of(words) - (rule.left + rule.right) / 2) < words[0].size
    if is_centred and (
        len(words) > 1
        or any(0 <= other.top - line.bottom < line.height and other.right >= columns[-1][1] - 2 for other in rules)
    ):
        return any(_LETTERS.search(word.text) for word in words)
    n_covered = sum(words[0].left < right and words[-1].right > left for left, right in columns)
    is_over = words[-1].right >= columns[0][0] - 2 and (n_covered >= 2 or len(columns) <= 2)
    return is_over and not find_numbers(line) and n_covered < len(columns)


def _rule_above(line: PageLine, columns: Sequence[tuple[float, float]], rules: list[Rule]) -> Rule | None:
    """Return the rule over all columns that a line stands right under; None if there is none."""
    over = _reaching(rules, columns[0][0], columns[-1][1])
    return next((rule for rule in over if 0 <= line.top - rule.top < 1.5 * line.height), None)


def _columns(rows: list[PageLine]) -> list[tuple[float, float]]:
    """Return the horizontal extents of the columns of numbers: numbers that overlap horizontally are one column."""
    numbers = _spans(rows)
    first = min(numbers, default=(0.0, 0.0))[0]
    dashes = [(w.left, w.right) for line in rows for w in line.words if w.left > first and is_absent(w.text)]
    spans = sorted([*numbers, *(dashes if len(dashes) > len(rows) / 2 else [])])
    extents: list[list[float]] = []
    counts: list[int] = []
    for left, right in spans:
        if extents and left < extents[-1][1] - 0.5:
            extents[-1][1] = max(extents[-1][1], right)
            counts[-1] += 1
        else:
            extents.append([left, right])
            counts.append(1)
    least = max(1, 0.2 * len(rows))
    columns = [(left, right) for (left, right), count in zip(extents, counts, strict=True) if count >= least]
    while len(columns) > 1 and _names_groups(columns[0], columns[1][0], rows):
        columns.pop(0)
    return columns


def _spans(rows: list[PageLine]) -> list[tuple[float, float]]:
    """Return the left and right ends of all numbers of rows.

    Numbers that a bar joins (`80.0 / 22.0`) count as one, unless another row has two numbers in that place.
    """
    joined_spans = [_join(line) for line in rows]
    spans: list[tuple[float, float]] = []
    for line, own in zip(rows, joined_spans, strict=True):
        plain = [(word.left, word.right) for word in find_numbers(line)]
        is_over = len(own) < len(plain) and any(
            sum(left < span[1] and right > span[0] for left, right in other) > 1
            for span in own
            for other in joined_spans
        )
        spans += plain if is_over else own
    return spans


def _join(line: PageLine) -> list[tuple[float, float]]:
    numbers = find_numbers(line)
    spans: list[tuple[float, float]] = []
    is_open = False
    for at, word in enumerate(line.words):
        before = line.words[at - 1]
        is_behind = at > 0 and before in numbers and word.text[0] in "([" and word.left - before.right < 2 * word.size
        if spans and (is_open or is_behind):  # `.995 (1.5)`, `84.2 [82.0, 85.7]`
            spans[-1] = (spans[-1][0], word.right)
            is_open = word.text[-1] not in ")]"
        elif word in numbers and at > 1 and line.words[at - 1].text in {"/", "|"} and line.words[at - 2] in numbers:
            spans[-1] = (spans[-1][0], word.right)
        elif word in numbers:
            spans.append((word.left, word.right))
    return spans


def _names_groups(column: tuple[float, float], end: float, rows: list[PageLine]) -> bool:
    """Tell whether a column of numbers only names rows or groups of rows, whose own names come after it: `1  BETO`."""
    numbers = sum(any(column[0] <= word.centre <= column[1] for word in line.words) for line in rows)
    inside = ([word for word in line.words if column[1] < word.centre < end] for line in rows)
    names = sum(any(number_of(word.text) is None and not is_absent(word.text) for word in words) for words in inside)
    first = sum(column[0] <= line.words[0].centre <= column[1] for line in rows)
    return (2 * numbers < len(rows) or 2 * first > len(rows)) and 2 * names > len(rows)


def _header(
    lines: list[PageLine], first: int, columns: Sequence[tuple[float, float]], rules: list[Rule]
) -> tuple[list[Word], int]:
    """Return the words above the first row of numbers that belong to the table, and the index of their first line."""
    over = _reaching(rules, columns[0][0], columns[-1][1])
    reaching = [rule for rule in over if rule.top <= lines[first].top + 2]
    # Short rules below the labels of groups that touch each other reach over all numbers, but not over the names.
    names = min(line.words[0].left for line in lines[first : first + 3]) + lines[first].height
    full = [rule for rule in reaching if rule.left <= names]
    above = without_doubles([rule.top for rule in (full if len(full) > 1 else reaching)])
    # The rows of a header may be ruled themselves; what stands over them is no row of numbers and no text.
    while len(above) > 2 and _goes_on_above(lines_between(lines, above[-3], above[-2])):
        above.pop(-2)
    # The rule over the rows, and the rule over the header; a table without rules ends at a gap or at running text.
    ceiling = (
        above[-2]
        if len(above) >= 2 and lines[first].top - above[-2] < MAX_HEADER_LINES * 2 * lines[first].height
        else None
    )
    start = first
    for index in range(first - 1, max(first - 2 * MAX_HEADER_LINES, -1), -1):
        line = lines[index]
        if (is_prose(line) and not _names_columns(line, columns)) or CAPTION.match(line.text):
            break
        if ceiling is not None:
            if line.bottom <= ceiling + 1 or lines[start].top - line.bottom > 2.2 * line.height:
                break
        elif lines[start].top - line.bottom > 1.2 * line.height or first - index > MAX_HEADER_LINES:
            break
        start = index
    if start > 0 and CAPTION.match(lines[start - 1].text):  # its other lines stand above the first rule
        top = min((rule.top for rule in reaching if rule.top >= lines[start - 1].bottom - 2), default=lines[first].top)
        start = next((at for at in range(start, first) if lines[at].top >= top - 2), start)
    return [word for line in lines[start:first] for word in line.words], start


def _names_columns(line: PageLine, columns: Sequence[tuple[float, float]]) -> bool:
    """Tell whether the last words of a line stand over one column each: a header set as closely as running text."""
    words = line.words[-len(columns) :]
    return len(words) == len(columns) > 1 and all(
        word.left < right and word.right > left for word, (left, right) in zip(words, columns, strict=True)
    )


def _goes_on_above(lines: list[PageLine]) -> bool:
    """Tell whether lines between two rules may be rows of a header."""
    is_dense = all(b.top - a.bottom < a.height for a, b in pairwise(lines))
    return (
        0 < len(lines) <= 3
        and is_dense
        and not any(is_prose(line) or CAPTION.match(line.text) or find_numbers(line) for line in lines)
    )


def _label_edges(rows: list[PageLine], end: float, bars: Sequence[Bar] = ()) -> list[float]:
    """Return where label columns end: gaps before the first number in every row, wider than a space.

    A gap may be narrower where a vertical rule stands, or where most rows begin and the text before it in other rows (a
    group) ends.
    """
    spans = sorted((word.left, word.right, word.size) for line in rows for word in line.words if word.right < end + 1)
    begin, count = Counter(round(line.words[0].left) for line in rows).most_common(1)[0]
    near = 0.35 * rows[0].words[0].size  # centred labels of nearly one width begin nearly at one place
    is_begun = 2 * count > len(rows) and all(
        any(abs(word.left - begin) <= near for word in line.words)
        or all(word.left > begin or word.right < begin for word in line.words)
        for line in rows
    )
    edges: list[float] = []
    reach = None
    for left, right, size in spans:
        if (
            reach is not None
            and left > reach
            and (left - reach > 0.7 * size or (is_begun and abs(left - begin) <= near))
        ):
            edges.append((reach + left) / 2)
        reach = right if reach is None else max(reach, right)
    bar_counts = Counter(
        round(bar.across) for bar in bars for line in rows if bar.top < (line.top + line.bottom) / 2 < bar.bottom
    )
    for x in (x for x, count in bar_counts.items() if 2 * count > len(rows)):
        sides = [sum(right < x + 1 for _, right, _ in spans), sum(left > x - 1 for left, _, _ in spans)]
        if min(sides) >= LEAST_LINES and all(abs(edge - x) > 5 for edge in edges):
            edges.append(x)
    return sorted(edges)


def _prints_amounts(line: PageLine, columns: Sequence[tuple[float, float]]) -> bool:
    """Tell whether a line names an amount and prints it for every column (`Trained tokens  1.4T  1.4T`)."""
    words = [word for word in line.words if word.right > columns[0][0]]
    is_named = len(words) == len(columns) < len(line.words)
    return is_named and all(_SCALED.fullmatch(word.text) for word in words)


def _edges_of_groups(body: list[PageLine], rows: list[PageLine], end: float) -> list[float]:
    """Return where columns of group names end, if no row has a word in them.

    The name of an even number of rows stands between two of them, to the left of every row's own label.
    """
    begin = min(line.words[0].left for line in rows)
    spans = sorted(
        (word.left, word.right, word.size) for line in body if line.words[-1].right < begin for word in line.words
    )
    if not spans or begin >= end:
        return []
    edges, reach = [], spans[0][1]
    for left, right, size in spans:
        if left - reach > 0.7 * size:
            edges.append((reach + left) / 2)
        reach = max(reach, right)
    return [*edges, (reach + begin) / 2]  # however near: no row has a word before it
