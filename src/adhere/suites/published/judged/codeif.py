"""CodeIF: programming tasks with a list of instructions about the code, each judged by a model.

`codeif:FILE` reads a `data/question/*.jsonl`: `question_id`, `question`, `instruction_list` (texts with their type),
`meta_info`. The published runner wraps question and instructions into a prompt of its own, which is not shipped here;
ours asks the question and numbers the instructions under it.

Official aggregation: CSR, SSR, RSR and CCSR (`pipeline.official.codeif`).

Different from the published code: another prompt, and our question to the judge (`adhere judge`). Numbers are not those
of the paper.

Source: K. Yan et al., arXiv 2502.19166; `src/` in lin-rany/codeIF.
"""

from __future__ import annotations

import json
from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

PUBLISHED = {"final_release_1200.jsonl": {"tasks": 1200}}
LANGUAGES = {"en": "Keep to these instructions:", "zh": "请遵守以下指示："}  # noqa: RUF001 - Chinese
_COLUMNS = {
    "question_id": int,
    "question": str,
    "instruction_list": list,
    "instruction_dependence": dict,
    "meta_info": dict,
}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    path = need_path("codeif", argument)
    rows, sha256 = read_rows(path)
    prompts = tuple(_prompt(at, row) for at, row in rows)
    counts = {"tasks": len(prompts), "instructions": sum(len(prompt.constraints) for prompt in prompts)}
    return make_suite(
        "codeif",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note(counts, PUBLISHED.get(path.name, {}))}; a model judges all instructions (adhere judge)",
        citation="K. Yan et al., CodeIF, arXiv 2502.19166",
        sampling=Sampling(max_new_tokens=4096, temperature=0.5),
        slices=("easy", "hard"),
        version="2",
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    meta = row["meta_info"]
    if meta.get("language") not in LANGUAGES:
        raise SpecError(f"{at}: meta_info.language={meta.get('language')!r} must be one of {', '.join(LANGUAGES)}")
    instructions = [entry.get("instruction") if isinstance(entry, dict) else None for entry in row["instruction_list"]]
    if not instructions or not all(isinstance(instruction, str) and instruction for instruction in instructions):
        raise SpecError(f"{at}: instruction_list must be a list of objects with an instruction, and not empty")
    text = "\n".join(
        [
            row["question"],
            "",
            LANGUAGES[meta["language"]],
            *(f"{number}. {instruction}" for number, instruction in enumerate(instructions, start=1)),
        ]
    )
    refs = judged_refs(f"The code keeps this instruction: {instruction}" for instruction in instructions)
    tags = {
        "slice": str(meta.get("item_set", "")),
        "task": str(meta.get("programming_language", "")),
        "profile": "judged",
        "dependence": json.dumps(_dependence(at, row["instruction_dependence"], len(instructions)), sort_keys=True),
    }
    return Prompt(str(row["question_id"]), (Turn(text, refs),), source="codeif", tags=tags)


def _dependence(at: str, dependence: dict[str, Any], number: int) -> dict[str, list[int]]:
    """Return position of an instruction -> positions of those that it depends on.

    Raises:
        SpecError: A position is outside the task's instructions.
    """
    places = set(range(number))
    for name, needs in dependence.items():
        if not name.isdigit() or not isinstance(needs, list) or not {int(name), *needs} <= places:
            raise SpecError(
                f"{at}: instruction_dependence[{name!r}]={needs!r} must be positions from 0 to {number - 1}"
            )
    return dependence
