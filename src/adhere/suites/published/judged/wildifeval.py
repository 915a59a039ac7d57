"""WildIFEval: what people really asked, each request taken apart into a list of constraints.

A model judges all constraints. `wildifeval:FILE` reads rows with `conversation_id`, `task` and `decomposition`. The
published data have no `task`: it is the first message of a conversation of LMSYS-Chat-1M, which has terms of its own;
the README of the official repository joins the two.

Official aggregation: the mean over tasks of the share of constraints kept (`pipeline.official.wildifeval`).

Different from the published code: there a constraint is kept where the judge's probability of "yes" is at least 0.5;
here the judge says yes or no, or abstains, in our question (`adhere judge`). Tasks with more than eight constraints are
left out, as in the paper.

Source: G. Lior et al., arXiv 2503.06573; gililior/wild-if-eval-code (Apache-2.0), gililior/wild-if-eval on the Hugging
Face hub.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows, where

MOST_CONSTRAINTS = 8
_COLUMNS = {"conversation_id": str, "task": str, "decomposition": list}


def load(argument: str | None) -> Suite:
    """Load the suite of a file that joins the two data sets.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError: A row cannot be used; the message names file and line.
    """
    path = need_path("wildifeval", argument)
    rows, sha256 = read_rows(path)
    all_prompts = [_prompt(at, row) for at, row in rows]
    prompts = tuple(prompt for prompt in all_prompts if len(prompt.constraints) <= MOST_CONSTRAINTS)
    counts = {"tasks": len(prompts), "constraints": sum(len(prompt.constraints) for prompt in prompts)}
    left_out = (
        f"; {len(all_prompts) - len(prompts)} with more than {MOST_CONSTRAINTS} constraints are left out"
        if len(all_prompts) > len(prompts)
        else ""
    )
    return make_suite(
        "wildifeval",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note(counts, {'tasks': 7523})}{left_out}; a model judges all constraints (adhere judge)",
        citation="G. Lior et al., WildIFEval, arXiv 2503.06573",
        sampling=Sampling(max_new_tokens=1000),
        slices=tuple(f"{number} constraints" for number in range(1, MOST_CONSTRAINTS + 1)),
        nothing=f"no tasks with one to {MOST_CONSTRAINTS} constraints",
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    if "task" not in row and {"conversation_id", "decomposition"} <= set(row):
        raise SpecError(
            f"{at}: no task. The published rows must be joined with the requests of LMSYS-Chat-1M first: "
            f"see {where('wildifeval')}"
        )
    need_columns(at, row, _COLUMNS)
    statements = row["decomposition"]
    if (
        not row["task"].strip()
        or not statements
        or not all(isinstance(statement, str) and statement.strip() for statement in statements)
    ):
        raise SpecError(f"{at}: task and decomposition must be texts, and not empty")
    refs = judged_refs(f"The answer satisfies this constraint: {statement}" for statement in statements)
    tags = {"slice": f"{len(statements)} constraints", "profile": "judged"}
    return Prompt(row["conversation_id"], (Turn(row["task"], refs),), source="wildifeval", tags=tags)
