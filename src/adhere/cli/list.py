"""`adhere list WHAT`."""

from __future__ import annotations

import itertools
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from adhere.cli.offer import suite_names
from adhere.cli.options import PATH, flag, option
from adhere.errors import AdhereError, UsageError
from adhere.schema import encode
from adhere.terminal import columns, one_line, show

WHAT = ("constraints", "suites", "models", "stages", "transforms", "runs")
WIDEST, LEAST = 26, 24
COLUMNS = {"suites": ("name", "size", "tokens", "made", "paper", "answers")}
"""The columns that a table shows of rows with more; --json has all of them."""


@click.command("list")
@click.argument("what", type=click.Choice(WHAT))
@click.argument("pattern", required=False, metavar="[PATTERN]")
@option("--dir", "directory", type=PATH, default=Path("runs"), help="Where runs lie.")
@option(
    "--problems",
    "problems_of",
    metavar="SUITE[:PATH]",
    shell_complete=suite_names,
    help=(
        "With `suites`: what is wrong with the data of ifeval, ifbench or iftrain; "
        "with a PATH also what rules find there."
    ),
)
@flag("--json", "as_json", help="Print one JSON array.")
def command(what: str, pattern: str | None, directory: Path, problems_of: str | None, as_json: bool) -> None:
    """List what there is; with a PATTERN what has it in its name, or matches it (`length:*`).

    Into a file or a pipe each is one line, however long.
    """
    listings: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "constraints": _constraints,
        "suites": lambda: _suites(hashes=as_json),
        "models": _models,
        "stages": _stages,
        "transforms": _transforms,
        "runs": lambda: _runs(directory),
    }
    if problems_of is not None:
        if what != "suites":
            raise UsageError(f"--problems {problems_of} goes with `adhere list suites`, not with `adhere list {what}`")
        listings["suites"] = lambda: _problems(problems_of)
    rows = listings[what]()
    if pattern is not None:
        rows = _matching(rows, pattern)
    if as_json:
        show(encode(rows))
    elif rows:
        table_rows = (
            [{name: row[name] for name in COLUMNS.get(what, row)} for row in rows] if problems_of is None else rows
        )
        is_piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
        show(_lines(table_rows) if is_piped else _table(table_rows, columns()))
        if what in COLUMNS and problems_of is None:
            show(f"Everything known of them: adhere list {what} --json", err=True)
    else:
        subject = f"problems of {problems_of}" if problems_of else what
        subject += f" like {pattern!r}" if pattern is not None else ""
        show(f"No {subject}" + (f" in {directory}" if what == "runs" else ""), err=True)


def _matching(rows: list[dict[str, Any]], pattern: str) -> list[dict[str, Any]]:
    """Return the rows whose first column contains the pattern, or matches it as a glob, in any case."""
    from fnmatch import fnmatchcase

    text = pattern.lower()
    names = [str(next(iter(row.values()))).lower() for row in rows]
    return [row for row, name in zip(rows, names, strict=True) if text in name or fnmatchcase(name, text)]


def _lines(rows: list[dict[str, Any]]) -> str:
    """Write a line for each row, with aligned columns; the last column is not cut."""
    cells = [list(rows[0])] + [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]) - 1)] + [0]
    return "\n".join(
        "  ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _constraints() -> list[dict[str, Any]]:
    import dataclasses

    from adhere.constraints import registry

    kinds = [registry.get(name) for name in registry]
    ours = [
        {
            "id": cls.id,
            "part": cls.part,
            "params": ", ".join(field.name for field in dataclasses.fields(cls)) or "–",
            "says": cls(**cls.passing[0]).describe(),
        }
        for cls in kinds
    ]
    return ours + _list_published()


def _list_published() -> list[dict[str, Any]]:
    """List the kinds of published suites, each with the suites that have it."""
    from adhere.constraints.published.shared import registry as published

    rows: dict[str, dict[str, Any]] = {}
    for profile in published.PROFILES:
        for kind in published.kinds(profile):
            row = rows.setdefault(
                kind.id,
                {
                    "id": kind.id,
                    "part": "",
                    "params": ", ".join(kind.params) or "–",
                    "says": kind.describe({name: f"<{name}>" for name in kind.params}),
                },
            )
            row["part"] += f", {profile}" if row["part"] else f"published: {profile}"
    return list(rows.values())


def _suites(*, hashes: bool) -> list[dict[str, Any]]:
    from msgspec import to_builtins

    from adhere.suites import describe

    return [to_builtins(row) | {"made": row.made} for row in describe(hashes=hashes)]


def _problems(name: str) -> list[dict[str, Any]]:
    """List the known problems of a suite; with a path, only those of prompts in the file, and what rules find there."""
    from msgspec import to_builtins

    from adhere.suites import load
    from adhere.suites.published.problems import find_problems, problems

    suite, _, path = name.partition(":")
    all_problems = list(problems(suite))
    if path:
        prompts = load(name).prompts
        keys = {prompt.key for prompt in prompts}
        all_problems = [problem for problem in all_problems if problem.key in keys]
        places = {(problem.key, problem.index) for problem in all_problems}
        rule_problems = find_problems(prompts, suite=suite)
        all_problems += [problem for problem in rule_problems if (problem.key, problem.index) not in places]
    return [to_builtins(problem) for problem in all_problems]


def _models() -> list[dict[str, Any]]:
    from adhere.models.catalog import known_models

    return known_models()


def _stages() -> list[dict[str, Any]]:
    from adhere.train.stages import STAGES

    stages = [STAGES.get(name) for name in STAGES]
    return [{"stage": stage.name, "learns from": stage.data, "about": stage.summary} for stage in stages]


def _transforms() -> list[dict[str, Any]]:
    from adhere.build.transforms import TRANSFORMS

    transforms = [TRANSFORMS.get(name) for name in TRANSFORMS]
    return [
        {
            "transform": transform.name,
            "version": transform.version,
            "takes": ", ".join(transform.tables),
            "options": ", ".join(f"{name}={value}" for name, value in transform.options.items()),
            "paper": transform.paper,
            "about": transform.summary,
        }
        for transform in transforms
    ]


def _runs(directory: Path) -> list[dict[str, Any]]:
    from adhere.store.sharded import load_run
    from adhere.store.shelf import kind_of, run_folders

    rows = []
    for folder in run_folders(directory):
        if kind_of(folder) != "run":
            continue
        row: dict[str, Any] = {"run": str(folder), "model": "", "suite": "", "engine": ""}
        row |= {"asked": None, "failed": None, "missing": None}
        try:
            run = load_run(folder)
            engine = f"{run.spec.engine.name} {run.spec.engine.precision}"
            statuses = [answer.status for part in run.parts() for answer in part.responses()]
            row |= {"model": run.spec.model, "suite": run.spec.suite, "engine": engine, "asked": run.n_asked}
            row |= {"failed": statuses.count("error"), "missing": run.n_asked - len(statuses), "state": run.state}
        except AdhereError as error:  # one that is damaged hides no other
            row["state"] = f"damaged: {error}"
        rows.append(row)
    return rows


def _table(rows: list[dict[str, Any]], width: int) -> str:
    """Write a table no wider than `width`; no column is wider than its widest value.

    Cells wrap, and the last column takes the rest. A name is never broken: one that is longer than its column stands on
    a line of its own.
    """
    names = list(rows[0])
    cells = [names] + [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    widths = [min(size, WIDEST if column else max(width * 2 // 5, 24)) for column, size in enumerate(widths[:-1])]
    words = [max(len(word) for line in cells for word in line[column].split()) for column in range(len(names))]
    rest = width - sum(widths) - 2 * len(widths)
    for most in (16, 9):  # no word is broken where that can be had
        floors = [min(size, words[column], most if column else WIDEST) for column, size in enumerate(widths)]
        while (rest := width - sum(widths) - 2 * len(widths)) < LEAST // 2 and widths != floors:
            widths[max(range(len(widths)), key=lambda column: widths[column] - floors[column])] -= 1
    widths.append(max(rest, LEAST // 2))
    lines = []
    for line in cells:
        is_long = len(line[0]) > widths[0]
        if is_long:
            lines.append(line[0])
        cell_lines = [
            textwrap.wrap(cell, size, break_on_hyphens=False) or [""]
            for cell, size in zip(["", *line[1:]] if is_long else line, widths, strict=True)
        ]
        lines += [
            "  ".join(cell.ljust(size) for cell, size in zip(part, widths, strict=True)).rstrip()
            for part in itertools.zip_longest(*cell_lines, fillvalue="")
        ]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None or value == "":
        return "–"
    return one_line(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
