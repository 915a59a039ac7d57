"""Inverse IFEval: instructions that go against what models are trained to do, in English and Chinese.

A model judges them all. `inverse-ifeval:FILE` reads `Inverse_IFEval_Dataset.json`: `instruction_types`, `prompt`,
`response_reference`, `language`. The rows' own judge prompts are not used: the question to the judge is ours (adhere
judge), with the row's reference as what must be true.

Official aggregation: the share judged right, by type of instruction (the slices).

Source: Q. Zhang et al., arXiv 2509.04292; m-a-p/Inverse_IFEval on the Hugging Face hub.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"instruction_types": str, "prompt": str, "response_reference": str, "language": str}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    rows, sha256 = read_rows(need_path("inverse-ifeval", argument))
    prompts = tuple(_prompt(at, row, number) for number, (at, row) in enumerate(rows, start=1))
    return make_suite(
        "inverse-ifeval",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note({'prompts': len(prompts)}, {'prompts': 1012})}; a model judges them all (adhere judge)",
        citation="Q. Zhang et al., Inverse IFEval, arXiv 2509.04292",
        sampling=Sampling(max_new_tokens=4096),
    )


def _prompt(at: str, row: dict[str, Any], number: int) -> Prompt:
    need_columns(at, row, _COLUMNS)
    if not row["prompt"].strip() or not row["response_reference"].strip():
        raise SpecError(f"{at}: prompt and response_reference must not be empty")
    statement = f"The answer is right by this reference of an expert: {row['response_reference']}"
    tags = {"slice": row["instruction_types"], "language": row["language"], "profile": "judged"}
    turn = Turn(row["prompt"], judged_refs([statement]))
    return Prompt(str(number), (turn,), source="inverse-ifeval", tags=tags)
