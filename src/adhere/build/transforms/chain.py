"""Add a second step that works on the first answer.

A program does this step, so its result is right by computation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.build.transforms.rows import bare, text_of, with_text
from adhere.text.scripts import ends_sentences, writes_words
from adhere.text.words import sentences, words

_STEPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("Then, below a blank line, write only the number of words of that answer.", lambda text: str(len(words(text)))),
    (
        "Then, below a blank line, write the first sentence of that answer again in capital letters.",
        lambda text: sentences(text)[0].upper(),
    ),
    ("Then, below a blank line, write the last word of that answer backwards.", lambda text: words(text)[-1][::-1]),
    (
        "Then, below a blank line, list the first three words of that answer, separated by semicolons.",
        lambda text: "; ".join(words(text)[:3]),
    ),
)


def _change(row: Row, rng: random.Random, options: Mapping[str, Any]) -> Row:
    answer = text_of(row["completion"]).strip()
    if not sentences(answer) or len(words(answer)) < 3:
        raise UnfitRow("its answer has fewer than three words")
    if not writes_words(answer) or not ends_sentences(answer):
        raise UnfitRow("words or sentences cannot be counted in its answer's script")
    step, done = rng.choice(_STEPS)
    prompt = f"{text_of(row['prompt'])} {step}"
    return bare(
        {
            **row,
            "prompt": with_text(row["prompt"], prompt),
            "completion": with_text(row["completion"], f"{answer}\n\n{done(answer)}"),
        }
    )


TRANSFORM = Transform(
    "chain",
    2,
    "arXiv 2402.11532 (chain of instructions)",
    ("sft",),
    "A second step on the first answer, computed; constraints go.",
    each(_change),
)
