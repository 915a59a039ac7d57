"""Split a page into parts that are read one after the other: its columns, tables over both, tables side by side."""

from __future__ import annotations

import re
from statistics import median

from adhere.evidence.claims.printed import number_of
from adhere.evidence.read.pdf.page import (
    CAPTION,
    LEAST_LINES,
    PageLine,
    PageTable,
    Rule,
    Word,
    find_numbers,
    lines_between,
    rules_by_width,
    to_lines,
)

_NUMBERED = re.compile(rf"{CAPTION.pattern}|\([a-h]\)")
MAX_BAND = 20.0


def split_beside(table: PageTable, lines: list[PageLine], rules: list[Rule]) -> list[list[Word]]:
    """Split two tables that stand side by side and were taken as one.

    Returns the words above, those of each table, and those below; empty if there is only one table.
    """
    size = median(word.size for line in table.lines for word in line.words)
    reach = None
    for left, right in sorted((word.left, word.right) for line in table.lines for word in line.words):
        if reach is not None and left - reach > 1.8 * size and _are_two(table, lines, (reach + left) / 2, rules):
            middle = (reach + left) / 2
            first, last = lines.index(table.lines[0]), lines.index(table.lines[-1])
            while first > 0 and _leaves_free(lines[first - 1], lines[first], middle, size):
                first -= 1
            while last < len(lines) - 1 and _leaves_free(lines[last + 1], lines[last], middle, size):
                last += 1
            inside = [word for line in lines[first : last + 1] for word in line.words]
            return [
                [word for line in lines[:first] for word in line.words],
                [word for word in inside if word.centre < middle],
                [word for word in inside if word.centre >= middle],
                [word for line in lines[last + 1 :] for word in line.words],
            ]
        reach = right if reach is None else max(reach, right)
    return []


def split_wrapped(words: list[Word], rules: list[Rule]) -> list[list[Word]]:
    """Split off a table that running text flows around on its left: the words above it, its own, and the others.

    Empty if there is none: three rules of one width must stand to the right of text with a straight right edge, and the
    table must have a caption of its own.
    """
    for group in (group for group in rules_by_width(rules) if len(group) >= 3):
        tops = [rule.top for rule in group]
        left, top, bottom = min(rule.left for rule in group), min(tops), max(tops)
        near = [word for word in words if top - 2 < (word.top + word.bottom) / 2 < bottom + 2]
        text = to_lines([word for word in near if word.right <= left])
        if len(text) < LEAST_LINES or not all(word.right <= left or word.left >= left - 3 for word in near):
            continue
        edge, size = max(line.words[-1].right for line in text), text[0].words[0].size
        flush = sum(line.words[-1].right > edge - 0.5 * size and len(line.words) > 2 for line in text)
        if 2 * flush < len(text) or any(
            top - 3 * size < rule.top < bottom + 3 * size and rule.left < edge and rule.right > left for rule in rules
        ):
            continue
        reach = edge + 0.3 * size  # a hyphen may stand out
        ends = [word for word in words if word.right <= reach]
        beside = [
            line
            for line in to_lines([word for word in words if word.right > reach])
            if line.words[0].left > edge and not _continues(line, ends)
        ]
        if band := _caption_band(beside, top, bottom):
            own = {id(word) for line in lines_between(beside, *band) for word in line.words}
            parts: list[list[Word]] = [[], [], []]
            for word in words:
                parts[1 if id(word) in own else 0 if word.bottom <= band[0] + 2 else 2].append(word)
            return parts
    return []


def _continues(line: PageLine, before: list[Word]) -> bool:
    """Tell whether a line continues words to its left."""
    first = line.words[0]
    return any(
        first.left - word.right < 0.55 * first.size and abs(word.bottom - first.bottom) < 0.35 * first.size
        for word in before
    )


def _caption_band(lines: list[PageLine], top: float, bottom: float) -> tuple[float, float] | None:
    """Return where a table with its caption begins and ends; None if no caption is found.

    `lines` are the lines on the table's side.
    """
    high, low = top, bottom
    for line in reversed([line for line in lines if line.bottom <= top + 2]):
        if high - line.bottom > 2 * line.height:
            break
        high = line.top
        if _NUMBERED.match(line.text):
            return high, bottom
    is_captioned = False
    for line in (line for line in lines if line.top >= bottom - 2):
        if line.top - low > 2 * line.height:
            break
        low = line.bottom
        is_captioned = is_captioned or bool(_NUMBERED.match(line.text))
    return (top, low) if is_captioned else None


def _leaves_free(line: PageLine, near: PageLine, middle: float, size: float) -> bool:
    """Tell whether a line near two tables leaves the gap between them free, as their captions do."""
    before = [word.right for word in line.words if word.centre < middle]
    behind = [word.left for word in line.words if word.centre >= middle]
    distance = max(line.top - near.bottom, near.top - line.bottom)
    return distance < 3 * line.height and (not before or not behind or min(behind) - max(before) > 1.2 * size)


def _are_two(table: PageTable, lines: list[PageLine], middle: float, rules: list[Rule]) -> bool:
    """Tell whether both sides of a table have their own labels and numbers, and separate rules, headers or captions."""
    rows = [line for line in table.body if find_numbers(line)]
    behind = [words for line in rows if (words := [word for word in line.words if word.centre >= middle])]
    n_labelled = sum(
        words[0] not in find_numbers(PageLine(words)) and bool(find_numbers(PageLine(words))) for words in behind
    )
    before = sum(any(word.centre < middle for word in find_numbers(line)) for line in rows)
    if n_labelled < max(LEAST_LINES, 0.6 * len(behind)) or before < LEAST_LINES:
        return False
    top, bottom = table.lines[0].top - 5, table.lines[-1].bottom + 5
    near = [rule for rule in rules if top <= rule.top <= bottom]
    if any(rule.left < middle < rule.right for rule in near):
        return False
    if any(rule.right < middle for rule in near) and any(rule.left > middle for rule in near):
        return True
    first, last = lines.index(table.lines[0]), lines.index(table.lines[-1])
    for line in lines[max(first - 3, 0) : last + 4]:
        sides: list[list[Word]] = [[], []]
        for word in line.words:
            sides[word.centre >= middle].append(word)
        heads = [" ".join(word.text for word in side[:2]) for side in sides if side]
        firsts = [head.split()[0] for head in heads]
        if len(heads) == 2 and (all(map(_NUMBERED.match, heads)) or (len({*firsts}) == 1 and not number_of(firsts[0]))):
            return True
    return False


def split_page(words: list[Word], rules: list[Rule], width: float) -> list[list[Word]]:
    """Return the words of a page in reading order: what is set over the whole width, then the two columns."""
    middle = width / 2
    tops = sorted(
        rule.top for rule in rules if rule.left < middle - 0.15 * width and rule.right > middle + 0.15 * width
    )
    lines = to_lines(words)
    bands: list[tuple[float, float]] = []
    for top in tops:
        # Between the rules of one table stand its rows; what lies further apart are two tables, or a page's head and
        # foot.
        if (
            bands
            and top - bands[-1][1] < MAX_BAND * len(lines)
            and all(map(_is_across, lines_between(lines, bands[-1][1], top), [middle] * len(lines)))
        ):
            bands[-1] = (bands[-1][0], top)
        else:
            bands.append((top, top))
    zones = [_with_caption(lines, top, bottom, middle) for top, bottom in bands if bottom - top > 2]
    inside = {id(word) for top, bottom in zones for line in lines_between(lines, top, bottom) for word in line.words}
    rest = [word for word in words if id(word) not in inside]
    halves = _halves(rest, width)
    if len(halves) == 1:
        return [words]
    above = [line for line in lines if id(line.words[0]) in inside]  # once, also where two zones meet
    return [*([[word for line in above for word in line.words]] if above else []), *halves]


def _is_across(line: PageLine, middle: float) -> bool:
    """Tell whether a line may be set over the whole width: it reads on across the middle, or is a row of a table."""
    before = [word for word in line.words if word.centre < middle]
    behind = [word for word in line.words if word.centre >= middle]
    if not before or not behind:
        return len(line.words) < 8
    return (
        behind[0].left - before[-1].right < 0.8 * before[-1].size
        or len(find_numbers(line)) >= 2
        or len(line.words) < 14
    )


def _with_caption(lines: list[PageLine], top: float, bottom: float, middle: float) -> tuple[float, float]:
    """Return the top and bottom of a band of the page, moved to include the lines next to it that cross the middle."""
    lowest = top
    for line in reversed([line for line in lines if line.bottom <= top + 2]):
        is_last = lowest == top and line.words[-1].right < middle  # of a caption, and short
        if lowest - line.bottom > 1.5 * line.height or not (is_last or _reads_on(line, middle)):
            break
        lowest = line.top
        top = top if is_last else line.top
    for line in (line for line in lines if line.top >= bottom - 2):
        if line.top - bottom > 2 * line.height or not _reads_on(line, middle):
            break
        bottom = line.bottom
    return top, bottom


def _reads_on(line: PageLine, middle: float) -> bool:
    before = [word for word in line.words if word.left < middle]
    behind = [word for word in line.words if word.left >= middle]
    if any(word.left < middle - 1 < middle + 1 < word.right for word in line.words):
        return True
    return bool(before and behind) and behind[0].left - before[-1].right < 0.6 * before[-1].size


def _halves(words: list[Word], width: float) -> list[list[Word]]:
    """Split the words of a page with two columns of text, left before right; any other page stays whole."""
    middle = width / 2
    gutter = [word for word in words if word.left < middle + 3 and word.right > middle - 3]
    left = [word for word in words if word.right <= middle]
    right = [word for word in words if word.left >= middle]
    if len(gutter) > 0.02 * len(words) or min(len(left), len(right)) < 0.25 * len(words):
        return [words]
    # Tables leave the middle of a page free, too: only text that ends at one edge and begins anew at the other is set
    # in columns.
    lines = to_lines(left)
    text = [line.words[-1].right for line in lines if len(line.words) >= 4 and number_of(line.words[-1].text) is None]
    full = sum(end > max(text) - 0.02 * width for end in text)
    return [left, right] if len(text) >= max(5, 0.3 * len(lines)) and full > 0.5 * len(text) else [words]
