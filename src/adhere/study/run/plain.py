"""Measure how well a model still predicts plain text, which no stage trains on.

This guards against training that only breaks the model.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from typing import Any

from adhere.pipeline.compare.perplexity import text_nats
from adhere.schema import Record


class PlainText(Record, frozen=True):
    """Holds the summed negative log-likelihood of each text in nats, and its number of scored tokens."""

    nats: list[float]
    tokens: list[int]

    @property
    def perplexity(self) -> float:
        """Exp of the mean nats a token, over all tokens."""
        return math.exp(sum(self.nats) / sum(self.tokens))


@cache
def plain_texts() -> tuple[str, ...]:
    """Return short paragraphs of plain English, written for this purpose (`plain.txt`)."""
    text = resources.files(__package__).joinpath("plain.txt").read_text(encoding="utf-8")
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def read_plain(model: Any, tokenizer: Any) -> PlainText:
    """Score the texts with a transformers model as it is (fp32, no chat template), one by one."""
    scores = [text_nats(model, tokenizer(text, add_special_tokens=False)["input_ids"]) for text in plain_texts()]
    return PlainText([nats for nats, _ in scores], [tokens for _, tokens in scores])
