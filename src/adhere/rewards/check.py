"""Checks the rows of a trainer's data before training: can each be judged, and can any answer decide it?

checked = adhere.check_rows(dataset)        # raises, and names the rows, if one cannot be judged
trainer = GRPOTrainer(..., train_dataset=checked.dataset)
print(checked.dropped)                      # [(3, "no answer decides keywords:letter_frequency"), …]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adhere.errors import AdhereError, UsageError
from adhere.pipeline.judge import judge_of
from adhere.rewards.rows import insist_on_words
from adhere.schema import Mode
from adhere.shapes.files import read_rows
from adhere.shapes.labels import COLUMNS, Refs, label_of, names_constraints, refs_in, refs_of
from adhere.shapes.messages import asked_in, is_listed

LABELS = ("ground_truth", "label", "info", "answer", "verifier_info")
MOST_SHOWN = 5


class CheckedRows(NamedTuple):
    """Holds the result of checking a data set.

    Attributes:
        dataset: The rows that can be trained on, in the type given; the same object if all can.
        checked: Number of rows checked.
        dropped: (index from 0, reason) of the rows left out because no answer could earn anything.
    """

    dataset: Any
    checked: int
    dropped: tuple[tuple[int, str], ...]

    @property
    def kept(self) -> int:
        """Number of rows that are left."""
        return self.checked - len(self.dropped)

    def __str__(self) -> str:
        lines = [f"{self.checked:,} rows: {self.kept:,} kept, {len(self.dropped):,} dropped"]
        return "\n".join([*lines, *(f"  row {place}: {why}" for place, why in self.dropped[:MOST_SHOWN])])


def check_rows(
    dataset: Any, *, mode: Mode = "reference", profile: str | None = None, traps: bool = False
) -> CheckedRows:
    """Check every row of a trainer's data as its reward will read it.

    Constraints are read from `instruction_id_list` and `kwargs`, or in a label: `ground_truth`, `label`, `info`,
    `answer`, or verl's `reward_model`.

    Args:
        dataset: A `datasets.Dataset`, a data frame, rows (mappings), or a file of JSON lines.
        mode: The reward's `mode`.
        profile: The reward's `profile`.
        traps: Whether the reward has `traps=True`: each row then needs its prompt.

    Returns:
        The rows, without those that no answer can decide or that name no constraint.

    Raises:
        UsageError: Rows are of another shape, name an unknown kind, or have wrong parameters. The message lists the
            first of them by index (from 0) and their number. Or there are no rows.
    """
    insist_on_words("dense", mode, profile)
    rows = _rows_of(dataset)
    problems: list[str] = []
    drops: list[tuple[int, str]] = []
    reasons: dict[bytes, str] = {}
    wrong = total = 0
    for place, row in enumerate(rows):
        total += 1
        try:
            refs = _refs_of(row)
            if traps:
                _insist_on_prompt(row)
            key = msgspec.json.encode(refs)
            if key not in reasons:
                reasons[key] = _undecidable(refs, mode, profile)
        except AdhereError as problem:
            wrong += 1
            if len(problems) < MOST_SHOWN:
                problems.append(f"row {place}: {problem}")
            continue
        if reasons[key]:
            drops.append((place, reasons[key]))
    if not total:
        raise UsageError("check_rows: there are no rows")
    if problems:
        more = f"\n… and {wrong - len(problems):,} more" if wrong > len(problems) else ""
        raise UsageError(f"{wrong:,} of {total:,} rows cannot be judged:\n" + "\n".join(problems) + more)
    drop_places = {place for place, _ in drops}
    remaining_rows = (
        dataset
        if not drop_places
        else _select(dataset, rows, [place for place in range(total) if place not in drop_places])
    )
    return CheckedRows(remaining_rows, total, tuple(drops))


def refs_of_rows(dataset: Any) -> list[Refs]:
    """Return the constraints of every row of a data set; errors are those of `check_rows`, without the index."""
    return [_refs_of(row) for row in _rows_of(dataset)]


def _rows_of(dataset: Any) -> Sequence[Any]:
    if isinstance(dataset, str | Path):
        return list(read_rows(Path(dataset), lambda row: row))
    if hasattr(dataset, "to_dict") and hasattr(dataset, "iloc"):
        records: list[Any] = dataset.to_dict("records")
        return records
    if hasattr(dataset, "to_pylist"):
        pylist: list[Any] = dataset.to_pylist()
        return pylist
    if is_listed(dataset):
        return dataset  # type: ignore[no-any-return]
    if isinstance(dataset, Iterable) and not isinstance(dataset, Mapping):
        return list(dataset)
    splits = f" Take one of its splits: {', '.join(map(str, dataset))}" if isinstance(dataset, Mapping) else ""
    raise UsageError(
        f"check_rows takes a data set, rows or a file of JSON lines, got {type(dataset).__name__}.{splits}"
    )


def _select(dataset: Any, rows: Sequence[Any], places: list[int]) -> Any:
    if hasattr(dataset, "select") and hasattr(dataset, "column_names"):
        return dataset.select(places)
    if hasattr(dataset, "iloc"):
        return dataset.iloc[places]
    if hasattr(dataset, "to_pylist"):
        return dataset.take(places)
    return [rows[place] for place in places]


def _refs_of(row: Any) -> Refs:
    if not isinstance(row, Mapping):
        raise UsageError(f"it is no mapping of columns: {row!r:.80}")
    if row.get(COLUMNS[0]) is not None:
        if COLUMNS[1] not in row:
            raise UsageError(f"it has {COLUMNS[0]} and no {COLUMNS[1]}. Its columns: {', '.join(map(str, row))}")
        return refs_of(row[COLUMNS[0]], row[COLUMNS[1]])
    model = row.get("reward_model")
    labels = {name: row.get(name) for name in LABELS}
    if isinstance(model, Mapping):
        labels["reward_model.ground_truth"] = model.get("ground_truth")
    for name, label in labels.items():
        if label is not None and names_constraints(_read_label(label)):
            return refs_in(label, where=name)
    raise UsageError(
        f"it names no constraints: there is no {COLUMNS[0]} with {COLUMNS[1]}, nor a label that has them. Its columns: "
        f"{', '.join(map(str, row))}"
    )


def _read_label(label: Any) -> Any:
    try:
        return label_of(label, "it")
    except UsageError:
        return None


def _insist_on_prompt(row: Mapping[str, Any]) -> None:
    prompt = row.get("prompt")
    if prompt is None or not asked_in(prompt).strip():
        raise UsageError(f"it has no prompt, which traps=True needs. Its columns: {', '.join(map(str, row))}")


def _undecidable(refs: Refs, mode: Mode, profile: str | None) -> str:
    """Return why no answer could earn anything; empty if one could.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    if not refs:
        return "it names no constraint, so there is nothing to reward"
    places = judge_of(refs, mode=mode, profile=profile).undecidable
    return f"no answer decides {', '.join(refs[place].id for place in sorted(places))}" if places else ""
