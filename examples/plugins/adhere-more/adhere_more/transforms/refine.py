"""Tree search of refinements: a model mends the rejected answer, step by step, until the judge passes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from adhere.build.transforms.base import Result, Row, Settings, Transform, UnfitRow
from adhere.build.transforms.rows import constraints, keeps, text_of, with_text
from adhere.constraints.base import Constraint
from adhere.pipeline.judge import judge_text


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    ask = settings.model("refine")
    new_rows, left_out = [], []
    for number, row in enumerate(rows, start=1):
        try:
            row_constraints = constraints(row)
            refined_text = _search(text_of(row["prompt"]), text_of(row["rejected"]), row_constraints, settings, ask)
            new_rows.append({**row, "chosen": with_text(row["chosen"], refined_text), "origin": "refined"})
        except UnfitRow as reason:
            left_out.append((number, str(reason)))
    return Result(new_rows, left_out)


def _search(
    prompt: str,
    answer: str,
    row_constraints: Sequence[Constraint],
    settings: Settings,
    ask: Callable[[Sequence[str]], Sequence[str]],
) -> str:
    """Breadth first: every refinement of every answer of a level is judged; the best ones are refined again."""
    level = [answer]
    seen = {answer}
    for _ in range(settings.options["depth"]):
        requests = [
            _request(prompt, text, row_constraints, wording)
            for text in level
            for wording in range(settings.options["width"])
        ]
        texts = [text.strip() for text in dict.fromkeys(ask(requests)) if text.strip() and text.strip() not in seen]
        passing = [text for text in texts if keeps(text, row_constraints)]
        if passing:
            return passing[0]
        seen.update(texts)
        level = sorted(texts, key=lambda text: -_count_kept(text, row_constraints))[: settings.options["width"]]
        if not level:
            break
    raise UnfitRow("no refinement keeps all constraints")


def _count_kept(text: str, row_constraints: Sequence[Constraint]) -> int:
    return sum(
        verdict.outcome == "pass" for verdict in judge_text(text, [one.ref() for one in row_constraints], ("strict",))
    )


def _request(prompt: str, answer: str, row_constraints: Sequence[Constraint], wording: int) -> str:
    verdicts = judge_text(answer, [one.ref() for one in row_constraints], ("strict",))
    wrong = "; ".join(
        f"{one.describe(0)} ({verdict.reason})"
        for one, verdict in zip(row_constraints, verdicts, strict=True)
        if verdict.outcome != "pass"
    )
    data = json.dumps({"request": prompt, "answer": answer}, ensure_ascii=False)
    how = (
        "Change as little as you can.",
        "Keep its content and mend only this.",
        "Write it again, almost the same, without the mistake.",
    )
    return (
        f"A request and an answer, as data:\n{data}\n\nThe answer does not keep this: {wrong}\n"
        f"{how[wording % len(how)]} Write only the mended answer."
    )


TRANSFORM = Transform(
    "refine",
    1,
    "arXiv 2412.11605 (SPaR)",
    ("pairs",),
    "A model mends the rejected answer by tree search until the judge passes it.",
    _apply,
    {"depth": 2, "width": 3},
)
