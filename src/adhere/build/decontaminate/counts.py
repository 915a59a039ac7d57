"""Counts from comparing a file with suites: rows dropped, and the test items that they repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from adhere.build.decontaminate.rows import Rule, Settings
from adhere.schema import Json, Record


class Against(Record, frozen=True):
    """Counts, for one suite, the rows that were dropped because they repeat one of its items, and these items.

    A row counts in `dropped` for the suite of its nearest item only. `touched` counts the items that cost a row; with
    the n-gram rule, every item that shares 13 tokens in a row with any row.
    """

    suite: str
    items: int
    dropped: int
    touched: int
    touched_share: float


class FileResult(Record, frozen=True):
    """Holds the result for one file: rows = kept + dropped + skipped.

    `sha256` is of the rows as read, uncompressed. `contaminated` gives suite -> keys of touched items (n-gram rule
    only).
    """

    rows: int
    kept: int
    dropped: int
    skipped: int
    rule: Rule
    columns: tuple[str, ...]
    against: tuple[Against, ...]
    sha256: str
    skipped_lines: tuple[str, ...]
    contaminated: dict[str, tuple[int | str, ...]]

    def as_json(self) -> dict[str, Json]:
        """Return the result as plain values for `--json`."""
        plain: dict[str, Json] = msgspec.to_builtins(self)
        return plain


def count_up(
    settings: Settings,
    *,
    rows: int,
    drop_counts: dict[str, int],
    touched_items: Sequence[int],
    sha256: str,
    skipped: int = 0,
    skipped_lines: Sequence[str] = (),
) -> FileResult:
    """Return the result of one file, or of several, from its counts; `touched_items` are places in `settings.items`."""
    names = list(dict.fromkeys(against for against, _, _ in settings.items))
    sizes = Counter(against for against, _, _ in settings.items)
    touching: dict[str, list[int | str]] = {name: [] for name in names}
    for place in sorted(touched_items):
        against, key, _ = settings.items[place]
        touching[against].append(key)
    n_dropped = sum(drop_counts.values())
    return FileResult(
        rows=rows,
        kept=rows - n_dropped - skipped,
        dropped=n_dropped,
        skipped=skipped,
        rule=settings.rule,
        columns=settings.columns,
        against=tuple(
            Against(name, sizes[name], drop_counts.get(name, 0), len(touching[name]), len(touching[name]) / sizes[name])
            for name in names
        ),
        sha256=sha256,
        skipped_lines=tuple(skipped_lines[:20]),
        contaminated={name: tuple(keys) for name, keys in touching.items()} if settings.rule == "ngram" else {},
    )
