"""Find the rows of a header: which column each word names, and which labels stand over several columns."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import groupby, pairwise

from adhere.evidence.read.pdf.page import PageTable, Rule, Word, middle_of, to_lines

MAX_SHARED = 40  # columns of one header that are shared out


def place_of(word: Word, table: PageTable) -> int:
    """Return the index of the column that a word of a table stands in, label columns included."""
    if id(word) in table.placed:
        return table.placed[id(word)]
    columns = table.columns
    if word.centre < table.edge and word.right < columns[0][0] + 2:
        return sum(word.centre > label for label in table.labels)
    nearest = min(range(len(columns)), key=lambda c: abs((columns[c][0] + columns[c][1]) / 2 - word.centre))
    return len(table.labels) + 1 + nearest


def join_words(words: list[Word]) -> str:
    """Return the text of words; a name broken after its hyphen is joined without a space."""
    text = ""
    for word in words:
        text += word.text if not text or text.endswith("-") or word.text.startswith(".") else f" {word.text}"
    return text


def width_of(table: PageTable) -> int:
    """Return the number of columns of a table, label columns included."""
    return len(table.labels) + 1 + len(table.columns)


def header_rows(table: PageTable) -> list[list[str]]:
    """Return the rows of labels over the columns; one row of blanks if there is no header."""
    if not table.header:
        return [[""] * width_of(table)]
    _place_texts(table)
    top, bottom = min(w.top for w in table.header), max(w.bottom for w in table.header)
    full = table.columns[-1][1] - table.columns[0][0]
    spanning = [
        rule
        for rule in table.rules
        if top + 2 < rule.top < bottom - 2
        and rule.right - rule.left < 0.98 * (full + table.columns[0][0] - min(w.left for w in table.header))
    ]
    spanning = [rule for rule in spanning if not _holds_several(rule, table)]
    upper: list[str] = [""] * width_of(table)
    across: dict[int, Sequence[int]] = {
        id(word): [c for c, (a, b) in enumerate(table.columns) if rule.left - 2 <= (a + b) / 2 <= rule.right + 2]
        for rule in reversed(spanning)
        for word in table.header
        if word.bottom <= rule.top + 2 and rule.left - 2 <= word.centre <= rule.right + 2
    }
    across |= _across([word for word in table.header if id(word) not in across], table)
    for word in table.header:
        for place in (len(table.labels) + 1 + c for c in across.get(id(word), ())):
            upper[place] = f"{upper[place]} {word.text}".strip()
    rest = [word for word in table.header if id(word) not in across]
    lower: list[list[str]] = []
    for layer in _layers(rest, table):
        by_column: dict[int, list[Word]] = {}
        for word in layer:
            by_column.setdefault(place_of(word, table), []).append(word)
        texts = [join_words(by_column.get(place, [])) for place in range(width_of(table))]
        if lower and not any(map(all, zip(lower[-1], texts, strict=True))):
            texts = [*map("".join, zip(lower.pop(), texts, strict=True))]  # `Model`, half a line above the others
        lower.append(texts)
    return [upper, *lower] if any(upper) else lower or [upper]


def _place_texts(table: PageTable) -> None:
    """Note in `table.placed` that a text which stands over one column belongs to it: `All AUROC` over narrow numbers.

    The words of such a text would each be placed in the column nearest to them.
    """
    for line in to_lines(table.header):
        for text in _close_words(line.words, 0.5):
            places = {place_of(word, table) for word in text}
            near = [c for c, column in enumerate(table.columns) if _offset(text, column) < 0.3 * text[0].size]
            below = [word for word in table.header if word.top > text[0].bottom - 0.3 * text[0].size]
            names = {place_of(w, table) for w in below if w.left < text[-1].right and w.right > text[0].left}
            # Over several names below it, it groups them; over three columns and more, it is several names.
            if len(places) == 2 and len(near) == 1 and len(names) < 2:
                table.placed |= {id(word): len(table.labels) + 1 + near[0] for word in text}


def _close_words(words: list[Word], reach: float) -> list[list[Word]]:
    """Group the words of a line that follow each other within `reach` times their size."""
    texts: list[list[Word]] = []
    for word in words:
        if texts and word.left - texts[-1][-1].right < reach * word.size:
            texts[-1].append(word)
        else:
            texts.append([word])
    return texts


def _offset(text: list[Word], column: tuple[float, float]) -> float:
    """Return the smallest distance between a text and a column, of their middles, left and right edges."""
    left, right = column
    return min(abs(middle_of(text) - (left + right) / 2), abs(text[0].left - left), abs(text[-1].right - right))


def _holds_several(rule: Rule, table: PageTable) -> bool:
    """Tell whether separate texts stand right above a rule of a header; the rule then places none of them."""
    above = [w for w in table.header if w.bottom <= rule.top + 2 and rule.left - 2 <= w.centre <= rule.right + 2]
    line = to_lines(above)[-1].words if above else []
    return any(after.left - before.right > 2 * before.size for before, after in pairwise(line))


def _across(words: list[Word], table: PageTable) -> dict[int, Sequence[int]]:
    """Return the columns that each word of a header groups, by the word's id; only words over several columns.

    For words without a rule below them. A text stands over the middle of the columns that it groups, so the columns
    with a name below a line are shared out among the texts of the line by their middles.
    """
    first = len(table.labels) + 1
    columns_by_word: dict[int, Sequence[int]] = {}
    for line in to_lines(words)[:-1]:
        below: dict[int, list[Word]] = {}
        for word in words:
            if word.top > line.bottom - 0.3 * word.size and (place := place_of(word, table)) >= first:
                below.setdefault(place - first, []).append(word)
        spans = {c: (min(w.left for w in own), max(w.right for w in own)) for c, own in sorted(below.items())}
        texts = _texts([word for word in line.words if place_of(word, table) - first in spans], table)
        if not texts or len(spans) > MAX_SHARED:
            continue
        shares = _shares([*map(middle_of, texts)], spans)
        if any(_is_off(text, spans, table) for text in texts) or _covers(texts, shares, spans, table):
            for text, own in zip(texts, shares, strict=True):
                columns_by_word |= dict.fromkeys(map(id, text), own) if len(own) > 1 else {}
    return columns_by_word


def _covers(
    texts: list[list[Word]], shares: list[range], names: dict[int, tuple[float, float]], table: PageTable
) -> bool:
    """Tell whether every text stands over the middle of several columns, and every column below one of the texts.

    `shares` are the columns of each text. A column is as wide as its name, or as its name and its numbers.
    """
    if [c for own in shares for c in own] != [*names] or any(len(own) < 2 for own in shares):
        return False
    wide = {c: (min(a, table.columns[c][0]), max(b, table.columns[c][1])) for c, (a, b) in names.items()}
    return all(
        any(abs(middle_of(text) - (of[own[0]][0] + of[own[-1]][1]) / 2) < 0.5 * text[0].size for of in (names, wide))
        for text, own in zip(texts, shares, strict=True)
    )


def _texts(words: list[Word], table: PageTable) -> list[list[Word]]:
    """Join the words of a header line that follow closely, except where each names a single column."""
    parts: list[list[Word]] = []
    for text in _close_words(words, 0.6):
        names = {place: [*own] for place, own in groupby(text, lambda word: place_of(word, table))}
        columns = ((own, table.columns[place - len(table.labels) - 1]) for place, own in names.items())
        is_apart = all(abs(middle_of(own) - (left + right) / 2) < 0.5 * text[0].size for own, (left, right) in columns)
        parts += names.values() if is_apart else [text]
    return parts


def _is_off(text: list[Word], spans: dict[int, tuple[float, float]], table: PageTable) -> bool:
    """Tell whether a text stands over several columns, or over no middle and no left edge of a name below it."""
    middle, size = middle_of(text), text[0].size
    return len({place_of(word, table) for word in text}) > 1 or all(
        abs((a + b) / 2 - middle) > 0.7 * size and abs(a - text[0].left) > 2 for a, b in spans.values()
    )


def _shares(middles: list[float], spans: dict[int, tuple[float, float]]) -> list[range]:
    """Return the columns of each text, given by its middle: a range of columns whose common middle is near.

    The ranges follow each other; a column that is left out costs a tenth of a column's width.
    """
    columns = list(spans)
    pitch = (spans[columns[-1]][1] - spans[columns[0]][0]) / len(columns)

    @functools.cache
    def best(text: int, at: int) -> tuple[float, tuple[range, ...]]:
        if text == len(middles):
            return 0.1 * pitch * (len(columns) - at), ()
        cheapest: tuple[float, tuple[range, ...]] = (float("inf"), ())
        for i in range(at, len(columns)):
            for j in range(i, len(columns)):
                off = abs((spans[columns[i]][0] + spans[columns[j]][1]) / 2 - middles[text])
                cost, rest = best(text + 1, j + 1)
                cost += off + 0.1 * pitch * (i - at)
                if columns[j] - columns[i] == j - i and cost < cheapest[0]:
                    cheapest = (cost, (range(columns[i], columns[j] + 1), *rest))
        return cheapest

    return list(best(0, 0)[1]) or [range(0)] * len(middles)


def _layers(words: list[Word], table: PageTable) -> list[list[Word]]:
    """Group the words of a header by its rows, from the top.

    Lines of one broken name follow each other closely; separate rows stand apart in their column.
    """
    chunks: list[list[Word]] = []
    latest: dict[int, list[Word]] = {}
    for word in (word for line in to_lines(words) for word in line.words):
        place = place_of(word, table)
        before = latest.get(place)
        if before and word.top - max(other.bottom for other in before) <= 0.45 * (word.bottom - word.top):
            before.append(word)
        else:
            latest[place] = [word]
            chunks.append(latest[place])
    layers: list[list[Word]] = []
    for chunk in sorted(chunks, key=lambda chunk: min(word.top for word in chunk)):
        top = min(word.top for word in chunk)
        places = {place_of(word, table) for layer in layers[-1:] for word in layer}
        if layers and top < max(word.bottom for word in layers[-1]) and place_of(chunk[0], table) not in places:
            layers[-1] += chunk
        else:
            layers.append(list(chunk))
    return layers
