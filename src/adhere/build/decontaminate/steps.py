"""The same decision inside other engines, for data that outgrows one machine. Neither engine is imported here.

Keep(items, rule, columns)   a picklable function: rows in, whether each is kept and why not
for_ray(keep)                for Ray Data: `ds.map_batches(for_ray(keep), batch_format="pyarrow")`
examples/decontaminate_ray.py, examples/decontaminate_datatrove.py   pipeline files that run as they are
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adhere.build.decontaminate.files import Desk, LcsDrop, NgramDrop, Rule, Settings, TestItem, text_of


class Keep:
    """Whether rows are kept; made once, then sent to every worker, which builds its index when it is first asked.

    Args:
        items: The test items (`files.items_of`).
        rule: See `rules.py`.
        columns: The columns that make a row's text.
    """

    def __init__(self, items: Sequence[TestItem], *, rule: Rule = "lcs", columns: Sequence[str] = ("text",)) -> None:
        self.settings = Settings(tuple(map(tuple, items)), tuple(columns), rule, "error", "rows")  # type: ignore[arg-type]
        self._desk: Desk | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "_desk": None}

    def drops(self, texts: Sequence[str]) -> list[LcsDrop | NgramDrop | None]:
        """For each text its drop, whose `line` is the text's place from 1, or None where it is kept."""
        if self._desk is None:
            self._desk = Desk(self.settings)
        found: list[LcsDrop | NgramDrop | None] = [None] * len(texts)
        for drop in self._desk.drops(range(1, len(texts) + 1), texts)[0]:
            found[drop.line - 1] = drop
        return found

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> list[LcsDrop | NgramDrop | None]:
        """As `drops`, of rows.

        Raises:
            SpecError: A row lacks a column.
        """
        return self.drops([text_of(dict(row), self.settings.columns) for row in rows])


def for_ray(keep: Keep) -> Callable[[Any], Any]:
    """A function from an Arrow table to the table without its dropped rows."""

    def kept(table: Any) -> Any:
        drops = keep.rows(table.select(list(keep.settings.columns)).to_pylist())
        return table.take([place for place, drop in enumerate(drops) if drop is None])

    return kept
