"""ComplexBench: Chinese instructions with constraints joined by and, chain, selection and nesting.

A model judges its scoring questions. `complexbench:FILE` reads `data_final.json`: `main_id`, `instruction`, `category`
and `scoring_questions` with `question`, `rule` and `dep`. `complexbench:FILE@en` asks the published English translation
instead. A question fails where one that it depends on fails.

Official aggregation: DRFR and the coherent tests of selections (`pipeline.official.complexbench`).

Different from the published code: the questions are judged in our question (`adhere judge`), not in the published
prompts by GPT-4. That holds for those with a `rule`, too: the published code lets a model extract the object first, and
then applies the rule to it.

Source: B. Wen et al., arXiv 2407.03978; README and `evaluation/` in thu-coai/ComplexBench.
"""

from __future__ import annotations

from typing import Any

from adhere.constraints.published.judged.table import JUDGED
from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"main_id": int, "category": str, "scoring_questions": list}
_NEEDED = "main_id, instruction, category, scoring_questions"


def load(argument: str | None) -> Suite:
    """Load the suite of the published file, in Chinese, or in English with `@en` behind the path.

    Raises:
        UsageError: No path was given, there is no such file, or it has no text of that language.
        SpecError: A row cannot be used; the message names file and row.
    """
    name, mark, language = (argument or "").rpartition("@")
    if not mark or language not in {"en", "zh"}:
        name, language = argument or "", "zh"
    path = need_path("complexbench", name)
    suffix = "_en" if language == "en" else ""
    rows, sha256 = read_rows(path)
    if rows and f"instruction{suffix}" not in rows[0][1]:
        raise UsageError(
            f"complexbench:{argument}: the file has no instruction{suffix}. Columns: "
            f"{', '.join(rows[0][1])}. Needed: {_NEEDED}"
        )
    prompts = tuple(_prompt(at, row, suffix) for at, row in rows)
    counts = {"instructions": len(prompts), "questions": sum(len(prompt.constraints) for prompt in prompts)}
    return make_suite(
        "complexbench",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note(counts, {'instructions': 1150})}; a model judges all questions (adhere judge)",
        citation="B. Wen et al., ComplexBench, arXiv 2407.03978",
        sampling=Sampling(max_new_tokens=2048),
        slices=tuple(sorted({prompt.tags["slice"] for prompt in prompts})),
        version="2",
    )


def _prompt(at: str, row: dict[str, Any], suffix: str) -> Prompt:
    need_columns(at, row, {**_COLUMNS, f"instruction{suffix}": str})
    refs = tuple(
        _ref(f"{at}: question {number}", question, suffix, len(row["scoring_questions"]))
        for number, question in enumerate(row["scoring_questions"])
    )
    if not refs:
        raise SpecError(f"{at}: scoring_questions is empty, so there is nothing to judge")
    tags = {"slice": row["category"], "profile": "judged"}
    if isinstance(row.get("group"), int | str) and row["group"] != "":
        selections = sum(
            "Selection" in (question.get("composition_types") or ()) for question in row["scoring_questions"]
        )
        tags |= {"group": str(row["group"]), "selections": str(selections)}
    return Prompt(str(row["main_id"]), (Turn(row[f"instruction{suffix}"], refs),), source="complexbench", tags=tags)


def _ref(at: str, question: object, suffix: str, number: int) -> ConstraintRef:
    if not isinstance(question, dict):
        raise SpecError(f"{at}: must be an object")
    need_columns(at, question, {f"question{suffix}": str, "dep": list})
    if not all(isinstance(place, int) and 0 <= place < number for place in question["dep"]):
        raise SpecError(f"{at}: dep={question['dep']!r} must be numbers of questions, 0 to {number - 1}")
    params: dict[str, Any] = {
        "statement": f"The answer to this question about it is yes: {question[f'question{suffix}']}"
    }
    if question["dep"]:
        params["needs"] = [str(place) for place in question["dep"]]
    return ConstraintRef(JUDGED, params)
