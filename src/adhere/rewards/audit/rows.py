"""The prompts of an audit, each with answers that deserve their reward."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import UsageError
from adhere.shapes.files import read_rows
from adhere.shapes.labels import COLUMNS, Refs, refs_of
from adhere.shapes.messages import answer_of, asked_in

HONEST = ("honest", "completion", "response", "chosen", "output")


class AuditRow(NamedTuple):
    """Holds one prompt with honest answers.

    Attributes:
        prompt: The prompt as the reward gets it: a text or messages.
        honest: Answers that deserve their reward; at least one.
        columns: Everything else of the row, for rewards that read columns.
    """

    prompt: Any
    honest: tuple[str, ...]
    columns: Mapping[str, Any]

    @property
    def asked(self) -> str:
        """The text of the prompt."""
        return asked_in(self.prompt)

    @property
    def refs(self) -> Refs:
        """The row's adhere constraints; empty without any."""
        return refs_of(*(self.columns.get(name) for name in COLUMNS)) if self.columns.get(COLUMNS[0]) else ()


def read_audit_rows(path: Path) -> list[AuditRow]:
    """Read the rows of a file of JSON lines: `prompt`, `honest` (a text or a list; or `completion`, …), and columns.

    Raises:
        UsageError: A row has no prompt or no honest answer (the message names file and line), or there are no rows.
    """
    rows = list(read_rows(path, _row))
    if not rows:
        raise UsageError(f"{path} has no rows")
    return rows


def _row(row: dict[str, Any]) -> AuditRow:
    name = next((name for name in HONEST if row.get(name) is not None), None)
    if row.get("prompt") is None or name is None:
        raise UsageError(
            f"an audit needs `prompt` and an honest answer to measure others by ({', '.join(HONEST)}). Its columns: "
            f"{', '.join(row)}"
        )
    answer_column = row[name]
    answers = answer_column if name == "honest" and isinstance(answer_column, list) else [answer_column]
    honest = tuple(text for answer in answers if (text := answer_of(answer)))
    if not honest:
        raise UsageError(f"{name} holds no answer: {answer_column!r:.60}")
    return AuditRow(row["prompt"], honest, {key: value for key, value in row.items() if key not in {"prompt", name}})


def own_rows() -> list[AuditRow]:
    """Return ten prompts of ours with two honest answers each and IFEval's columns."""
    return read_audit_rows(Path(__file__).parent / "rows.jsonl")
