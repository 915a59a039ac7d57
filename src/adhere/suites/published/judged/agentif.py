"""AgentIF: long instructions of real agents; code decides some constraints, a model the others.

`agentif:FILE` reads `eval.json`: rows with `input` (messages) and `constraints`, each with `desc`, `dimension` and
`evaluation`, a list of steps of type `code`, `llm` or `llm_conditional_check`. A constraint whose only step is code is
`agentif:code`, which runs in the sandbox; all others are statements for `adhere judge`: where a condition stands first,
the statement is that it does not apply or is kept; where a model extracts what code then checks, the whole of `desc`.

Official aggregation: CSR, the share of constraints, and ISR, the share of instructions with all of them (both in every
run's rates); by dimension (`pipeline.official.agentif`).

Different here: a condition that does not apply counts as kept, where the published code leaves the constraint out; the
question to the judge is ours.

Source: Y. Qi et al., arXiv 2505.16944; THU-KEG/AgentIF on GitHub and the Hugging Face hub.
"""

from __future__ import annotations

from typing import Any

from adhere.constraints.published.judged.table import JUDGED
from adhere.errors import SpecError
from adhere.schema import ConstraintRef, Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.published.judged.conversations import prompt_of_messages
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"input": list, "constraints": list}
_STEPS = {"code", "llm", "llm_conditional_check"}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    rows, sha256 = read_rows(need_path("agentif", argument))
    prompts = tuple(_prompt(at, row, number) for number, (at, row) in enumerate(rows))
    refs = [ref.id for prompt in prompts for ref in prompt.constraints]
    counts = {"instructions": len(prompts), "constraints": len(refs)}
    judge_note = f"; code decides {sum(ref != JUDGED for ref in refs):,} of them, a model the others (adhere judge)"
    return make_suite(
        "agentif",
        argument,
        prompts,
        sha256=sha256,
        note=note(counts, {}) + judge_note,
        citation="Y. Qi et al., AgentIF, arXiv 2505.16944",
        sampling=Sampling(max_new_tokens=4096),
    )


def _prompt(at: str, row: dict[str, Any], number: int) -> Prompt:
    need_columns(at, row, _COLUMNS)
    refs = tuple(checked_ref(_ref(at, constraint), at, "agentif") for constraint in row["constraints"])
    if not refs:
        raise SpecError(f"{at}: no constraints")
    # A judge never sees these; they are what the numbers by dimension need.
    roles = ",".join(
        str(constraint.get("dimension") or "unknown").replace(",", " ") for constraint in row["constraints"]
    )
    return prompt_of_messages(
        at,
        str(row.get("id", number)),
        row["input"],
        refs,
        source="agentif",
        tags={"profile": "agentif", "roles": roles},
    )


def _ref(at: str, constraint: Any) -> ConstraintRef:
    steps = constraint.get("evaluation") if isinstance(constraint, dict) else None
    if not isinstance(steps, list) or not steps or not isinstance(constraint.get("desc"), str):
        raise SpecError(f"{at}: a constraint has no desc or no evaluation. Is this another version of the file?")
    types = [step.get("type") for step in steps if isinstance(step, dict) and isinstance(step.get("exec"), str)]
    if len(types) < len(steps) or not set(types) <= _STEPS:
        raise SpecError(f"{at}: the steps of an evaluation must be of type {', '.join(sorted(_STEPS))}, each with exec")
    rule = constraint["desc"]
    if types == ["code"]:
        return ConstraintRef("agentif:code", {"source": steps[0]["exec"], "rule": rule})
    if types[0] == "llm_conditional_check":
        condition = steps[0]["exec"].split("{response}")[0].strip()
        statement = f"Either the condition does not apply, or the rule is kept. Condition: {condition}\nRule: {rule}"
        return ConstraintRef(JUDGED, {"statement": statement})
    return ConstraintRef(JUDGED, {"statement": f"The answer keeps this rule: {rule}"})
