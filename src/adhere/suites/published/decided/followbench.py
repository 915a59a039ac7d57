"""FollowBench: groups of one instruction with one to five constraints.

This suite has the 350 (of 820) English rows that the published code decides by program. These are the rows of the
`*_constraints.json` files whose source has a rule, and all of `example_constraints.json`. The other rows are judged by
GPT-4 in the paper; they are left out here, and the suite says how many. Level 0 (no constraint) is never asked, as
published.

Official aggregation: HSR and SSR by level, and CSL, as means over categories (`pipeline.official.followbench`). A rule
decides a level as a whole, so HSR equals SSR where no model judges.

`followbench-judged` also has the other rows, with one statement for each constraint up to the level, for `adhere
judge`. The published judge finds the constraints itself in the row of instructions, in its own prompt; here it is told
which two instructions to compare.

Known defects, kept: see `adhere.constraints.published.followbench.table`.

Source: Y. Jiang et al., arXiv 2310.20410; YJiangcm/FollowBench at 0bbc4d7 (Apache-2.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from adhere.constraints.published.followbench.table import ANSWERS, SUMMARIES, choices
from adhere.constraints.resolve import resolve
from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import Row, make_suite, need_columns, read_rows, where

FILES = ("content", "example", "format", "mixed", "situation", "style")
_ADDED = (
    "The answer satisfies what this instruction asks for beyond the one before it.\nBefore: {before}\nThis: {after}"
)
_CHINESE = re.compile("[\u4e00-\u9fff]")
_FORMATS = {22: "format 22", 30: "format 30"}
_COLUMNS = {"example_id": int, "category": str, "source": str, "level": int, "instruction": str, "target": str}


def load_all(argument: str | None) -> Suite:
    """Load as `load` does, and add the rows that a model judges.

    Such a row has one statement for each constraint up to its level.
    """
    return load(argument, with_judged=True)


def load(argument: str | None, *, with_judged: bool = False) -> Suite:
    """Load the rows that a program decides, from a folder of `*_constraints.json` files or one such file.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError: A file is not a list of such rows; the message names file and row.
    """
    if not argument:
        raise UsageError(
            f"Suite 'followbench' needs its files: followbench:FOLDER. They are published as {where('followbench')}"
        )
    path = Path(argument)
    files = [path] if path.is_file() else [path / f"{name}_constraints.json" for name in FILES]
    present = [file for file in files if file.is_file()]
    if not present:
        raise UsageError(
            f"followbench:{argument}: no *_constraints.json there. They are published as {where('followbench')}"
        )
    instruction_count = left_out = by_judge = 0
    prompts: list[Prompt] = []
    hashes = {}
    for file in present:
        rows, hashes[file.name] = read_rows(file)
        _check(file, rows)
        file_prompts = [prompt for at, row in rows if (prompt := _prompt(file, at, row)) is not None]
        if with_judged:
            decided_ids = {prompt.id for prompt in file_prompts}
            judged_prompts = list(_judged_prompts(file, rows, decided_ids))
            by_judge += len(judged_prompts)
            file_prompts += judged_prompts
        constrained_count = sum(row["level"] > 0 for _, row in rows)
        instruction_count += constrained_count
        left_out += constrained_count - len(file_prompts)
        prompts += file_prompts
    others = f"a model judges {by_judge} (adhere judge)" if with_judged else f"{left_out} need a judge and are left out"
    return make_suite(
        f"followbench{'-judged' if with_judged else ''}",
        argument,
        prompts,
        sha256=hashes,
        note=f"{len(prompts) - by_judge} of {instruction_count} rows are decided by program; {others}",
        citation="Y. Jiang et al., FollowBench, arXiv 2310.20410",
        sampling=Sampling(max_new_tokens=1024),
        slices=tuple(f"level {level}" for level in range(1, 6)),
        nothing="no row that a program decides",
    )


def _check(file: Path, rows: list[tuple[str, Row]]) -> None:
    if sum(_is_chinese(row.get("instruction")) for _, row in rows) > len(rows) / 2:
        raise SpecError(
            f"{file}: the rows are in Chinese. The published rules are for its English files: "
            "give the folder data, not data_zh"
        )
    for at, row in rows:
        need_columns(at, row, _COLUMNS)
        if not 0 <= row["level"] <= 5:
            raise SpecError(f"{at}: level={row['level']} must be 0 to 5")


def _is_chinese(text: object) -> bool:
    return isinstance(text, str) and len(_CHINESE.findall(text)) > len(text) / 4


def _prompt(file: Path, at: str, row: Row) -> Prompt | None:
    """Return the row's prompt; None if it has no constraint, or none that a program decides."""
    ref = next(_refs(file, row), None)
    if row["level"] == 0 or ref is None:
        return None
    resolve(ref, profile="followbench")
    if row["source"] == "CONLL2003" and choices(row["target"]) is None:
        raise SpecError(f"{at}: target={row['target'][:80]!r} must be a list in Python's notation")
    group = f"{file.stem.removesuffix('_constraints')}-{row['example_id']}"
    return _make_prompt(group, row, (ref,))


def _make_prompt(group: str, row: Row, refs: tuple[ConstraintRef, ...]) -> Prompt:
    tags = {
        "slice": f"level {row['level']}",
        "level": str(row["level"]),
        "group": group,
        "family": "followbench",
        "profile": "followbench",
    }
    return Prompt(f"{group}-{row['level']}", (Turn(row["instruction"], refs),), source="followbench", tags=tags)


def _judged_prompts(file: Path, rows: list[tuple[str, Row]], decided_ids: set[str]) -> Iterator[Prompt]:
    """Yield prompts of the other rows; each constraint is what one level asks beyond the level below."""
    texts = {(row["example_id"], row["level"]): row["instruction"] for _, row in rows}
    for at, row in rows:
        number, level = row["example_id"], row["level"]
        path = [texts.get((number, step)) for step in range(level + 1)]
        group = f"{file.stem.removesuffix('_constraints')}-{number}"
        if level == 0 or f"{group}-{level}" in decided_ids:
            continue
        if None in path:
            raise SpecError(f"{at}: example {number} lacks the level {path.index(None)} below it")
        refs = judged_refs(_ADDED.format(before=before, after=after) for before, after in pairwise(path))
        yield _make_prompt(group, row, refs)


def _refs(file: Path, row: Row) -> Iterator[ConstraintRef]:
    if file.name == "example_constraints.json":
        yield ConstraintRef("followbench:template", {"target": row["target"]})
    elif row["source"] in SUMMARIES:
        yield ConstraintRef("followbench:summary", {"source": row["source"], "level": str(row["level"])})
    elif row["source"] in ANSWERS:
        yield ConstraintRef("followbench:answer", {"source": row["source"], "target": row["target"]})
    elif row["category"] == "format" and row["example_id"] in _FORMATS:
        yield ConstraintRef("followbench:summary", {"source": _FORMATS[row["example_id"]], "level": str(row["level"])})
