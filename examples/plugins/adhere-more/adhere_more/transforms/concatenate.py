"""Several requests in one numbered prompt, answered by number (Mosaic)."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.build.transforms.base import Result, Row, Settings, Transform, pairs_of
from adhere.build.transforms.rows import bare, text_of, with_text


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    made, left_out = [], []
    for group in pairs_of(rows, settings, settings.options["count"]):
        if len(group) < 2:
            left_out.append((group[0][0], "no other row is left to go with it"))
            continue
        first = group[0][1]
        requests = [f"{place}. {text_of(row['prompt'])}" for place, (_, row) in enumerate(group, start=1)]
        answers = [f"{place}. {text_of(row['completion']).strip()}" for place, (_, row) in enumerate(group, start=1)]
        prompt = "\n".join(["Answer each of these requests under its number.", *requests])
        made.append(
            bare(
                {
                    **first,
                    "prompt": with_text(first["prompt"], prompt),
                    "completion": with_text(first["completion"], "\n".join(answers)),
                }
            )
        )
    return Result(made, left_out)


TRANSFORM = Transform(
    "concatenate",
    1,
    "arXiv 2405.13326 (Mosaic-IT)",
    ("sft",),
    "Several requests under numbers in one prompt; constraints go.",
    _apply,
    {"count": 3},
)
