"""ReasonIF: 300 questions of five sources, each with one rule about the reasoning.

`reasonif:FILE` reads `reasonIF_dataset.json`: a list of rows with `source`, `prompt`, `constraint_name` and
`constraint_args`. The rule is judged on the model's reasoning, however it is handed over (`<think>` or a field of the
endpoint). Where no reasoning is shown the verdict is undecided; the published code takes the whole answer for the
reasoning then. An empty answer fails.

Official aggregation: the share of prompts whose rule holds (`prompt_strict`), overall, by rule (the slices) and by
source.

Known defects, kept: the word limits are those of the file, made for GPT-OSS-120B; the published runner replaces them by
limits of the model at hand where its `number_of_words_reference.json` has some. Languages: see
`adhere.constraints.published.reasonif.table`.

Source: Y. Kwon et al., arXiv 2510.15211; ykwon0407/reasonIF at 7363ea5, ykwon-hf/reasonIF on the Hugging Face hub.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

RULES = (
    "language:reasoning_language", "length_constraint_checkers:number_words", "change_case:english_capital",
    "startend:end_checker", "detectable_format:json_format", "punctuation:no_comma",
)  # fmt: skip
SOURCES = ("gsm8k", "amc", "aime", "arc", "gpqa")
_COLUMNS = {"source": str, "prompt": str, "constraint_name": list, "constraint_args": list}


def load(argument: str | None) -> Suite:
    """Load the suite of the published file; errors as in `published.table`."""
    path = need_path("reasonif", argument)
    rows, sha256 = read_rows(path)
    prompts = tuple(_prompt(at, row, number) for number, (at, row) in enumerate(rows))
    return make_suite(
        "reasonif",
        argument,
        prompts,
        sha256=sha256,
        note=note({"prompts": len(prompts)}, {"prompts": 300}),
        citation="Y. Kwon et al., ReasonIF, arXiv 2510.15211",
        sampling=Sampling(max_new_tokens=16384, temperature=1.0, top_p=0.95),
        slices=RULES,
    )


def _prompt(at: str, row: dict[str, Any], number: int) -> Prompt:
    need_columns(at, row, _COLUMNS)
    names, kwargs = row["constraint_name"], row["constraint_args"]
    if len(names) != 1 or len(kwargs) != 1 or names[0] not in RULES or not isinstance(kwargs[0], dict | None):
        raise SpecError(
            f"{at}: constraint_name={names!r:.80} with constraint_args={kwargs!r:.80}: "
            f"must be one of {', '.join(RULES)}"
        )
    if row["source"] not in SOURCES:
        raise SpecError(f"{at}: source={row['source']!r} must be one of {', '.join(SOURCES)}")
    params = {key: value for key, value in (kwargs[0] or {}).items() if value}
    inner = checked_ref(ConstraintRef(names[0], params), at, "reasonif")
    ref = ConstraintRef("scope:within", {"constraint": {"id": inner.id, "params": inner.params}, "place": "reasoning"})
    tags = {"slice": names[0], "profile": "reasonif", "task": row["source"]}
    return Prompt(str(number), (Turn(row["prompt"], (ref,)),), source="reasonif", tags=tags)
