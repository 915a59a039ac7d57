"""AdvancedIF: rubrics by experts for complex requests, carried context and steering by a system message.

A model judges all rubrics. `advancedif:FILE` reads JSON lines or CSV with `conversation_history`, `prompt_metadata`
(both may be JSON text) and `benchmark_name`; a `response` in the row is not read.

Official aggregation: the share of conversations with every rubric, and of rubrics (both in every run's rates), by
`benchmark_name` (the slices). The question to the judge is ours, not the published prompts, which ask about all rubrics
at once (adhere judge).

Source: Y. He et al., arXiv 2511.10507; facebookresearch/AdvancedIF.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.published.judged.conversations import prompt_of_messages
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import loaded_json, make_suite, need_columns, need_path, note, read_rows


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    rows, sha256 = read_rows(need_path("advancedif", argument))
    prompts = tuple(_prompt(at, row, number) for number, (at, row) in enumerate(rows, start=1))
    counts = {"conversations": len(prompts), "rubrics": sum(len(prompt.constraints) for prompt in prompts)}
    return make_suite(
        "advancedif",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note(counts, {})}; a model judges all rubrics (adhere judge)",
        citation="Y. He et al., AdvancedIF, arXiv 2511.10507",
        sampling=Sampling(max_new_tokens=4096),
    )


def _prompt(at: str, row: dict[str, Any], number: int) -> Prompt:
    messages = _load_cell(at, row, "conversation_history", list)
    rubrics = _load_cell(at, _load_cell(at, row, "prompt_metadata", dict), "rubrics", list)
    if not rubrics or not all(isinstance(rubric, str) and rubric.strip() for rubric in rubrics):
        raise SpecError(f"{at}: rubrics must be texts, and not empty")
    refs = judged_refs(f"The reply to this question is yes: {rubric}" for rubric in rubrics)
    tags = {"slice": str(row.get("benchmark_name") or "unnamed"), "profile": "judged"}
    return prompt_of_messages(at, str(number), messages, refs, source="advancedif", tags=tags)


def _load_cell(at: str, row: dict[str, Any], name: str, kind: type) -> Any:
    """Return a cell of type `kind`, read as JSON if it is text."""
    value = row.get(name)
    if isinstance(value, str):
        return loaded_json(at, name, value, kind)
    need_columns(at, row, {name: kind})
    return value
