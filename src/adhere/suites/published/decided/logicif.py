"""LogicIFEval: functions told in words, to be carried out by hand on given inputs.

The result and its counters must be the function's. `logicif:FILE` reads `logic-if-eval.jsonl` or
`logic-if-eval-mini.jsonl`: `task_id`, `test_case_id`, `instruction` and `code_output` with `output` and `stats`. A
prompt has two constraints: the result, and the counters.

Official aggregation: case-level accuracy (result and counters of a case are right) and question-level accuracy (every
case of a function is right; `pipeline.official.logicif`). There is no loose view in the paper.

Known defects, kept: see `adhere.constraints.published.logicif.table`. The rules are those of September 2025, by
program; before, a model extracted the JSON.

Source: M. Zhang et al., arXiv 2508.09125; mianzhang/LogicIF, billmianz/LogicIFEval on the Hugging Face hub.
"""

from __future__ import annotations

import json
from typing import Any

from adhere.errors import SpecError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"task_id": str, "test_case_id": int, "instruction": str, "code_output": dict}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    path = need_path("logicif", argument)
    rows, sha256 = read_rows(path)
    prompts = tuple(_prompt(at, row) for at, row in rows)
    questions = len({prompt.tags["group"] for prompt in prompts})
    return make_suite(
        "logicif",
        argument,
        prompts,
        sha256=sha256,
        note=note({"questions": questions, "cases": len(prompts)}, {}),
        citation="M. Zhang et al., Complex Logical Instruction Generation, arXiv 2508.09125",
        sampling=Sampling(max_new_tokens=8192),
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    if not {"output", "stats"} <= set(row["code_output"]):
        raise SpecError(
            f"{at}: code_output must hold output and stats, holds {', '.join(row['code_output']) or 'nothing'}"
        )
    refs = tuple(
        checked_ref(ConstraintRef(f"logicif:{part}", {"expected": json.dumps(row["code_output"][part])}), at, "logicif")
        for part in ("output", "stats")
    )
    tags = {"group": row["task_id"], "case": str(row["test_case_id"]), "roles": "output,stats", "profile": "logicif"}
    return Prompt(
        f"{row['task_id']}-{row['test_case_id']}", (Turn(row["instruction"], refs),), source="logicif", tags=tags
    )
