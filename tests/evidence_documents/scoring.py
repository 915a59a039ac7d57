"""What `adhere claims … --json` found of the planted errors, and what it reported beside them.

A plant is found by a conflict of its own type that names one of its lines. A conflict of severity ``error`` is a false
alarm when it names no planted line, unless it is of another type and names a line that a plant drags along (a broken
average under a swap).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from .planted import Case, Plant
from .slips import TYPES

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Conflict:
    """One reported conflict and the (document name, line) pairs it names."""

    type: str
    severity: str
    lines: frozenset[tuple[str, int]]
    message: str


def conflicts_of(report: Mapping[str, Any]) -> list[Conflict]:
    """Reads the conflicts of one ``--json`` report.

    As many documents as lines are read as pairs; otherwise every line counts for every document named.

    Raises:
        ValueError: the report does not keep the contract.
    """
    found = []
    for entry in report["conflicts"]:
        missing = {"type", "severity", "claims", "message", "documents", "lines"} - set(entry)
        if missing:
            raise ValueError(f"A conflict lacks {sorted(missing)}: {entry}")
        if entry["severity"] not in SEVERITIES:
            raise ValueError(f"Unknown severity in {entry}; severities are {SEVERITIES}")
        names = [PurePath(name).name for name in entry["documents"]]
        lines = [int(line) for line in entry["lines"]]
        paired = (
            zip(names, lines, strict=True)
            if len(names) == len(lines)
            else ((name, line) for name in names for line in lines)
        )
        found.append(Conflict(entry["type"], entry["severity"], frozenset(paired), entry["message"]))
    return found


@dataclass
class Outcome:
    """One case: its report judged against the ground truth.

    Attributes:
        found: plants met by a conflict of any severity; as_errors: plants met by one of severity error.
    """

    case: Case
    found: list[Plant] = field(default_factory=list)
    as_errors: list[Plant] = field(default_factory=list)
    missed: list[Plant] = field(default_factory=list)
    false_alarms: list[Conflict] = field(default_factory=list)
    false_warnings: list[Conflict] = field(default_factory=list)


def judge(case: Case, conflicts: Iterable[Conflict]) -> Outcome:
    """Compares reported conflicts with what was planted."""
    outcome = Outcome(case)
    reported = list(conflicts)
    for plant in case.plants:
        hits = [conflict for conflict in reported if conflict.type == plant.type and conflict.lines & plant.lines]
        (outcome.found if hits else outcome.missed).append(plant)
        if any(hit.severity == "error" for hit in hits):
            outcome.as_errors.append(plant)
    for conflict in reported:
        if conflict.severity == "info" or any(conflict.lines & plant.lines for plant in case.plants):
            continue
        if any(conflict.type != plant.type and conflict.lines & plant.consequences for plant in case.plants):
            continue
        (outcome.false_alarms if conflict.severity == "error" else outcome.false_warnings).append(conflict)
    return outcome


@dataclass(frozen=True)
class Score:
    """Recall and precision of one conflict type; None where nothing was planted or nothing reported."""

    type: str
    planted: int
    found: int
    as_errors: int
    false_alarms: int
    false_warnings: int

    @property
    def recall(self) -> float | None:
        return self.found / self.planted if self.planted else None

    @property
    def precision(self) -> float | None:
        """Found plants over found plants and false alarms: a plant reported twice does not raise it."""
        return self.found / (self.found + self.false_alarms) if self.found + self.false_alarms else None


def score(outcomes: Sequence[Outcome], kind: str) -> Score:
    """The score of one type over all cases."""

    def count(plants: list[list[Plant]]) -> int:
        return sum(plant.type == kind for group in plants for plant in group)

    return Score(
        kind,
        count([list(outcome.case.plants) for outcome in outcomes]),
        count([outcome.found for outcome in outcomes]),
        count([outcome.as_errors for outcome in outcomes]),
        sum(conflict.type == kind for outcome in outcomes for conflict in outcome.false_alarms),
        sum(conflict.type == kind for outcome in outcomes for conflict in outcome.false_warnings),
    )


def score_table(outcomes: Sequence[Outcome]) -> str:
    """All scores, one type a line, as text."""

    def shown(rate: float | None) -> str:
        return "–" if rate is None else f"{rate:.2f}"

    lines = [
        f"{'type':<24}{'planted':>8}{'found':>7}{'errors':>8}{'recall':>8}{'precision':>11}{'false':>7}{'warned':>8}"
    ]
    rows: list[tuple[str, Score]] = [(kind, score(outcomes, kind)) for kind in TYPES]
    others = {alarm.type for outcome in outcomes for alarm in (*outcome.false_alarms, *outcome.false_warnings)}
    rows += [(kind, score(outcomes, kind)) for kind in sorted(others - set(TYPES))]
    for name, row in rows:
        lines.append(
            f"{name:<24}{row.planted:>8}{row.found:>7}{row.as_errors:>8}{shown(row.recall):>8}{shown(row.precision):>11}"
            f"{row.false_alarms:>7}{row.false_warnings:>8}"
        )
    return "\n".join(lines)


def write(case: Case, directory: Path, *, clean: bool = False) -> list[Path]:
    """Writes a case's documents (or their clean twins) and returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for document in case.clean if clean else case.documents:
        path = directory / document.name
        path.write_text(document.text, encoding="utf-8")
        paths.append(path)
    return paths


def report_of(paths: Sequence[Path]) -> dict[str, Any]:
    """Runs `adhere claims DOC… --json` in this process.

    Raises:
        AssertionError: the command failed, printed no JSON, or its exit status contradicts its conflicts.
    """
    from click.testing import CliRunner

    from adhere.cli import adhere

    result = CliRunner().invoke(adhere, ["claims", *map(str, paths), "--json"], catch_exceptions=False)
    assert result.exit_code in {0, 1}, f"exit {result.exit_code}: {result.output[:2000]}"
    report: dict[str, Any] = json.loads(result.stdout)
    errors = any(conflict["severity"] == "error" for conflict in report["conflicts"])
    assert result.exit_code == int(errors), f"exit {result.exit_code} with errors={errors}"
    return report


def examine(case: Case, directory: Path) -> Outcome:
    """Writes a case, runs the command on it and judges the report."""
    return judge(case, conflicts_of(report_of(write(case, directory / case.name))))
