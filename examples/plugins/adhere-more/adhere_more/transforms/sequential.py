"""Two requests in one prompt, to be answered one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.build.transforms.base import Result, Row, Settings, Transform, pairs_of
from adhere.build.transforms.rows import bare, text_of, with_text


def _apply(rows: Sequence[Row], settings: Settings) -> Result:
    made, left_out = [], []
    for group in pairs_of(rows, settings, 2):
        if len(group) < 2:
            left_out.append((group[0][0], "no other row is left to go with it"))
            continue
        (_, first), (_, second) = group
        prompt = (
            f"First do this: {text_of(first['prompt'])}\nThen do this: {text_of(second['prompt'])}\n"
            "Put a blank line between the two answers."
        )
        answer = f"{text_of(first['completion']).strip()}\n\n{text_of(second['completion']).strip()}"
        made.append(
            bare(
                {
                    **first,
                    "prompt": with_text(first["prompt"], prompt),
                    "completion": with_text(first["completion"], answer),
                }
            )
        )
    return Result(made, left_out)


TRANSFORM = Transform(
    "sequential",
    1,
    "arXiv 2403.07794 (SIT)",
    ("sft",),
    "Two requests in one prompt, answered in order; constraints go.",
    _apply,
)
