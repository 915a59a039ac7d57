"""MultiChallenge: the last turn of a realistic conversation, judged by one question about the answer.

`multichallenge:FILE` reads `benchmark_questions.jsonl`: `QUESTION_ID`, `AXIS`, `CONVERSATION`, `TARGET_QUESTION` and
`PASS_CRITERIA` (YES or NO, what a judge must answer).

Official aggregation: the mean over the four axes of the share of questions that any of the attempts passes
(`pipeline.official.multichallenge`). The question to the judge is ours, not the published prompt (adhere judge).

Source: V. Deshpande et al., arXiv 2501.17399; ekwinox117/multi-challenge on GitHub.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.published.judged.conversations import prompt_of_messages
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"QUESTION_ID": str, "AXIS": str, "CONVERSATION": list, "TARGET_QUESTION": str, "PASS_CRITERIA": str}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    rows, sha256 = read_rows(need_path("multichallenge", argument))
    prompts = tuple(_prompt(at, row) for at, row in rows)
    return make_suite(
        "multichallenge",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note({'questions': len(prompts)}, {'questions': 273})}; a model judges them all (adhere judge)",
        citation="V. Deshpande et al., MultiChallenge, arXiv 2501.17399",
        sampling=Sampling(max_new_tokens=4096),
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    if row["PASS_CRITERIA"] not in {"YES", "NO"}:
        raise SpecError(f"{at}: PASS_CRITERIA is YES or NO, got {row['PASS_CRITERIA']!r}")
    statement = f"Asked about the answer: {row['TARGET_QUESTION']} The right reply is {row['PASS_CRITERIA'].lower()}."
    tags = {"slice": row["AXIS"], "profile": "judged"}
    refs = judged_refs([statement])
    return prompt_of_messages(at, row["QUESTION_ID"], row["CONVERSATION"], refs, source="multichallenge", tags=tags)
