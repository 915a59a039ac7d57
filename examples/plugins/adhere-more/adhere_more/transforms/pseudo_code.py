"""The request again as pseudo-code before it is answered."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import constraints, sentence_in, text_of, with_text, without


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    prompt, asked = text_of(row["prompt"]), constraints(row)
    if not asked:
        raise UnfitRow("it has no constraints")
    request = prompt
    for one in asked:
        request = without(request, sentence_in(prompt, one))
    params = [(one.id, one.ref().params) for one in asked]
    lines = [f"answer = write({json.dumps(request, ensure_ascii=False)})"]
    lines += [
        f"assert follows(answer, {json.dumps(name)}, {json.dumps(values, ensure_ascii=False, sort_keys=True)})"
        for name, values in params
    ]
    text = "\n".join([prompt, "", "The same as code:", *lines, "return answer"])
    return {**row, "prompt": with_text(row["prompt"], text)}


TRANSFORM = Transform(
    "pseudo_code",
    1,
    "arXiv 2505.18011 (training with pseudo-code)",
    ("sft", "pairs", "rl"),
    "Says the request and its rules again as pseudo-code.",
    each(_change),
)
