"""Read a person's corrections to tables that were misread: the file of `--corrections`.

A table is read right or wrong as a whole, mostly for one reason, so that one line corrects it. A field that is left
empty changes nothing, and every check sees the table as corrected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from adhere.config import load_toml
from adhere.errors import UsageError
from adhere.evidence.claims.names import clean_label
from adhere.evidence.read.document import Correction, Document, Table
from adhere.schema import Record

MAX_NAMED = 12


class Corrections(Record, frozen=True):
    """Holds a file of corrections."""

    table: tuple[Correction, ...]


def load_corrections(path: Path) -> tuple[Correction, ...]:
    """Return the corrections of a TOML file, in their order.

    Raises:
        SpecError: The file is no TOML, or has an unknown key or value.
        UsageError: A correction says two things that exclude each other, or nothing.
    """
    corrections = load_toml(path, Corrections).table
    twice = Counter(correction.at for correction in corrections)
    for correction in corrections:
        where = f"{path}: the correction of {correction.at!r}"
        if twice[correction.at] > 1:
            raise UsageError(f"{where} stands there {twice[correction.at]} times: put its keys into one [[table]]")
        if correction.model and correction.models:
            raise UsageError(
                f"{where} has `model` (all is about that one) and `models` (they stand on an axis): give one"
            )
        if correction.model in {"rows", "columns", "none"}:
            raise UsageError(
                f"{where} has `model = {correction.model!r}`, which is the name of a model; the axis is `models`"
            )
        if correction.benchmarks and not correction.model:
            raise UsageError(f"{where} has `benchmarks`, which only says where they stand in a table about one `model`")
        if correction == Correction(at=correction.at):
            raise UsageError(
                f"{where} says nothing: give {', '.join(Correction.__struct_fields__[1:])} or several of them"
            )
    return corrections


def correct(documents: Sequence[Document], corrections: Sequence[Correction]) -> None:
    """Attach each correction to its table.

    Raises:
        UsageError: No table begins where a correction says, or none of its columns has the label that `names` or
            `scores` give.
    """
    tables: dict[str, list[Table]] = {}
    for document in documents:
        for table in document.tables:
            tables.setdefault(f"{document.name}:{table.line}", []).append(table)
    for correction in corrections:
        if correction.at not in tables:
            places = [*tables][:MAX_NAMED] + ["…"] * (len(tables) > MAX_NAMED)
            raise UsageError(
                f"no table begins at {correction.at!r}; write the place as the report does. "
                f"Tables begin at: {', '.join(places) or 'no line of any document'}"
            )
        for table in tables[correction.at]:
            missing = [
                label for label in (correction.names, *correction.scores) if label and not table.columns_called(label)
            ]
            if missing:
                labels = dict.fromkeys(filter(None, (clean_label(text) for row in table.headers for text in row)))
                raise UsageError(
                    f"no column of the table at {correction.at} is called {missing[0]!r}; "
                    f"its columns: {', '.join(labels)}"
                )
            table.correction = correction
