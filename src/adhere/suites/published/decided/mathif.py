r"""MathIF: mathematical problems with one to three constraints on the answer, judged by IFEval's checks.

`mathif:FOLDER` reads its `SOURCE_LEVEL.jsonl` (five sources × single, double, triple: 420 rows), `mathif:FILE` one of
them. A prompt is the problem, the request to think step by step with the answer in `\boxed{}`, and the constraints, put
together as its runner does.

A row's id is unique in its file only (those of `gsm8k_double` are those of `gsm8k_single`), so the file's name stands
before it.

Official aggregation: HAcc and SAcc (`pipeline.official.mathif`). There is no loose view in the paper. Whether the
solution is right is not measured here: the published code grades it with a mathematics library that is no part of this
package.

Known defects, kept: see `adhere.constraints.published.mathif.table`; no blank stands between the problem and what
follows it.

Source: T. Fu et al., arXiv 2505.14810; TingchenFu/MathIF at 0f92ee5. The data are on the hub: those in the repository
are logs of a download.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adhere.constraints.published.mathif.table import IDS
from adhere.errors import SpecError, UnknownName, UsageError, nearest
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows, where

STEPS = "Let's think step by step and output the final answer within \\boxed{}."
LEVELS = {1: "single", 2: "double", 3: "triple"}
SOURCES = ("aime", "gsm8k", "math500", "minerva", "olympiad")
_COLUMNS = {"id": str, "question": str, "constraint_desc": list, "constraint_name": list, "constraint_args": list}


def load(argument: str | None) -> Suite:
    """Load the suite of a folder with the published files, or of one file.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file and line.
    """
    path = need_path("mathif", argument)
    names = [f"{source}_{level}.jsonl" for source in SOURCES for level in LEVELS.values()]
    files = [path] if path.is_file() else [path / name for name in names if (path / name).is_file()]
    if not files:
        raise UsageError(f"mathif:{argument}: no SOURCE_LEVEL.jsonl there. They are published as {where('mathif')}")
    prompts: list[Prompt] = []
    hashes = {}
    for file in files:
        rows, hashes[file.name] = read_rows(file)
        prompts += [_prompt(at, row, file) for at, row in rows]
    counts = {"prompts": len(prompts), "constraints": sum(len(prompt.constraints) for prompt in prompts)}
    return make_suite(
        "mathif",
        argument,
        prompts,
        sha256=hashes,
        note=note(counts, {"prompts": 420} if path.is_dir() else {}),
        citation="T. Fu et al., Scaling Reasoning, Losing Control (MathIF), arXiv 2505.14810",
        sampling=Sampling(max_new_tokens=16384, temperature=1.0, top_p=0.95),
        slices=tuple(LEVELS.values()),
        version="2",
    )


def _prompt(at: str, row: dict[str, Any], file: Path) -> Prompt:
    need_columns(at, row, _COLUMNS)
    names, kwargs, descriptions = row["constraint_name"], row["constraint_args"], row["constraint_desc"]
    if not 1 <= len(names) <= len(LEVELS) or not len(names) == len(kwargs) == len(descriptions):
        raise SpecError(
            f"{at}: {len(names)} constraint_name, {len(kwargs)} constraint_args, {len(descriptions)} constraint_desc: "
            "must be one to three, and as many"
        )
    refs = []
    for name, arguments in zip(names, kwargs, strict=True):
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise SpecError(f"{at}: {name!r:.60} with {arguments!r:.60}: must be an id and an object or null")
        if name not in IDS:
            raise UnknownName(
                f"{at}: {name!r} is none of MathIF's 15 kinds.{nearest(name, IDS)} They are: {', '.join(IDS)}"
            )
        # What is false is dropped, as published.
        params = {key: value for key, value in (arguments or {}).items() if value}
        refs.append(checked_ref(ConstraintRef(name, params), at, "mathif"))
    text = row["question"] + STEPS + " ".join(map(str, descriptions))
    source = file.name.partition("_")[0]
    tags = {"slice": LEVELS[len(names)], "level": str(len(names)), "profile": "mathif", "subset": source}
    return Prompt(f"{file.stem}-{row['id']}", (Turn(text, tuple(refs)),), source="mathif", tags=tags)
