"""RULER: thirteen long-context tasks, read from the folder that its own `prepare.py` wrote for one length.

`ruler:FOLDER` takes every `FOLDER/TASK/*.jsonl` (rows with `input`, `outputs` and `answer_prefix`, with which the
prompt ends); the name of the folder is the task, and says which match decides: tasks that begin with `qa` need one
reference, all others every one. A row is numbered by its line: its `index` is a place in the text in some tasks, and
stands twice.

Each task has its published token limit (30 for `vt`, 128 for `niah`); `--max-new-tokens` above 128 lifts it for all,
for models that reason.

Official aggregation: the score of each task, and the mean of the tasks (`pipeline.official.ruler`). A longer context
than the model's is a failed call, never a score.

Known defects: see `adhere.constraints.published.ruler.table`.

Source: C.-P. Hsieh et al., arXiv 2404.06654; NVIDIA/RULER (Apache-2.0).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from adhere.constraints.resolve import resolve
from adhere.errors import SpecError, UsageError
from adhere.lines.blocks import LineFile
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn, packed
from adhere.suites.base import Suite
from adhere.suites.published.table import make_suite, where

TASKS = {"niah": 128, "vt": 30, "cwe": 120, "fwe": 50, "qa": 32}
"""Start of a task's name -> the number of tokens that the published code lets a model write."""
MOST_TOKENS = max(TASKS.values())


class Row(msgspec.Struct, gc=False):
    """Holds one line of a task's file; other columns are ignored."""

    input: str
    outputs: list[str]
    answer_prefix: str = ""


def load(argument: str | None) -> Suite:
    """Load the suite of a folder that has a folder for each task.

    Raises:
        UsageError: No folder was given, or it holds no `TASK/*.jsonl`.
        SpecError: A task is unknown, or a row cannot be used; the message names file and line.
    """
    if not argument:
        raise UsageError(f"Suite 'ruler' needs a folder: ruler:FOLDER. It is made by {where('ruler')}")
    files = sorted(Path(argument).glob("*/*.jsonl"))
    if not files:
        raise UsageError(f"ruler:{argument}: no TASK/*.jsonl there. It is made by {where('ruler')}")
    prompts: list[Prompt] = []
    hashes = {}
    for path in files:
        if path.parent.name.split("_")[0] not in TASKS:
            raise SpecError(
                f"{path}: unknown task {path.parent.name!r}; a task's folder begins with one of {', '.join(TASKS)}"
            )
        file = LineFile(path)
        prompts += _prompts(file, path.parent.name)
        hashes[f"{path.parent.name}/{path.name}"] = file.sha256
    tasks = Counter(path.parent.name for path in files)
    if len(tasks) < len(files):
        task = tasks.most_common(1)[0][0]
        raise SpecError(f"ruler:{argument}: {task} has several files. Give one file for each task")
    return make_suite(
        "ruler",
        argument,
        prompts,
        sha256=hashes,
        note=f"{len(prompts):,} prompts of {len(tasks)} of 13 tasks",
        citation="C.-P. Hsieh et al., RULER, arXiv 2404.06654",
        sampling=Sampling(max_new_tokens=MOST_TOKENS),
        version="3",
    )


def _prompts(file: LineFile, task: str) -> list[Prompt]:
    limit = f"{TASKS[task.split('_', maxsplit=1)[0]]} of {MOST_TOKENS}"
    tags = {"slice": task, "part": task, "profile": "ruler", "max_new_tokens": limit}
    prompts: list[Prompt] = []
    for number, row in file.rows(Row):
        if not row.outputs or not all(row.outputs):
            raise SpecError(f"{file.name}:{number}: outputs must hold at least one reference, and no empty one")
        refs = _refs(task, row.outputs)
        for ref in refs:
            resolve(ref, profile="ruler")
        turn = Turn(row.input + row.answer_prefix, refs)
        prompt = Prompt(f"{task}-{len(prompts)}", (turn,), source="ruler", tags=tags)
        prompts.append(packed(prompt))
    return prompts


def _refs(task: str, outputs: list[str]) -> tuple[ConstraintRef, ...]:
    if task.startswith("qa"):
        return (ConstraintRef("ruler:holds_any", {"texts": list(outputs)}),)
    return tuple(ConstraintRef("ruler:holds", {"text": output}) for output in outputs)
