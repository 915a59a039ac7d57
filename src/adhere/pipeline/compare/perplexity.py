"""Measure how well a model predicts plain text, which training must not break; no answers are needed.

found = measure("local/smollm2-135m", model, tokenizer, read_texts(Path("page.txt")))
found.perplexity, found.bits_per_byte
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import SpecError, UsageError
from adhere.extras import need
from adhere.pipeline.compare.sides import PERPLEXITY_MARGIN, Measure, SideTest, side_test
from adhere.schema import Record


class TextScore(Record, frozen=True):
    """Holds one text's score under one model; it is a line of `adhere perplexity --out`.

    `nats` is the negative log-likelihood of all tokens but the first, which has no context. `tokens` counts these
    tokens, `bytes` their UTF-8 bytes, and `words` all words between white space. `ids_sha256` tells one tokenizer from
    another.
    """

    model: str
    text: str
    text_sha256: str
    nats: float
    tokens: int
    words: int
    bytes: int
    ids_sha256: str


class Perplexity(NamedTuple):
    """Holds the scores of some texts under one model."""

    model: str
    scores: list[TextScore]

    @property
    def perplexity(self) -> float:
        """Exp of the mean nats a token, over all tokens. Compare it within one tokenizer only; else `bits_per_byte`."""
        return math.exp(sum(score.nats for score in self.scores) / sum(score.tokens for score in self.scores))

    @property
    def bits_per_byte(self) -> float:
        """Mean bits a byte, over all bytes."""
        return sum(score.nats for score in self.scores) / sum(score.bytes for score in self.scores) / math.log(2)


def read_texts(path: Path) -> tuple[str, ...]:
    """Return the texts of a file: paragraphs between empty lines, or the column `text` of JSON lines (`.jsonl`).

    Raises:
        UsageError: The file cannot be read as UTF-8, or holds no text.
        SpecError: A line of JSON lines is no object with `text`.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    texts = _lines(path, content) if path.suffix == ".jsonl" else _paragraphs(content)
    if not texts:
        raise UsageError(f"{path}: holds no text. Paragraphs stand between empty lines; .jsonl has a column `text`")
    return tuple(dict.fromkeys(texts))  # a text that stands twice is one measurement


def _paragraphs(content: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in content.split("\n\n") if part.strip())


def _lines(path: Path, content: str) -> tuple[str, ...]:
    texts = []
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            texts.append(str(json.loads(line)["text"]))
        except (ValueError, KeyError, TypeError) as error:
            raise SpecError(f"{path}:{number}: wanted an object with a column `text` ({error!r})") from error
    return tuple(texts)


def measure(name: str, model: Any, tokenizer: Any, texts: Sequence[str]) -> Perplexity:
    """Score texts with a transformers model as it is, without a chat template.

    Args:
        name: Name of the model, for the results.
        model: A causal language model.
        tokenizer: Its tokenizer.
        texts: Each of at least two tokens and within the model's context.

    Raises:
        UsageError: A text is too short or too long.
    """
    longest = getattr(model.config, "max_position_embeddings", None)
    scores = []
    for number, text in enumerate(texts, start=1):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) < 2 or (longest is not None and len(ids) > longest):
            raise UsageError(
                f"Text {number} ({text[:40]!r}…) has {len(ids)} tokens; {name} scores texts of 2 to "
                f"{longest or 'any number of'} tokens. Split it with an empty line, or leave it out"
            )
        nats, tokens = text_nats(model, ids)
        unscored_bytes = len(tokenizer.decode(ids[:1]).encode())
        scores.append(
            TextScore(
                name,
                text,
                _sha256(text),
                nats,
                tokens,
                max(1, len(text.split())),
                len(text.encode()) - unscored_bytes,
                _sha256(" ".join(map(str, ids))),
            )
        )
    return Perplexity(name, scores)


def text_nats(model: Any, ids: Sequence[int]) -> tuple[float, int]:
    """Return the summed negative log-likelihood (nats) of a text's tokens after the first, and their number."""
    torch = need("torch", extra="train")
    with torch.inference_mode():
        row = torch.tensor([list(ids)], device=model.device)  # (1, T)
        scores = model(row[:, :-1]).logits.float().log_softmax(-1)  # (1, T - 1, V)
        log_likelihood = scores.gather(-1, row[:, 1:, None]).sum()
    return -float(log_likelihood), len(ids) - 1


def compare(a: Perplexity, b: Perplexity, *, margin: float = PERPLEXITY_MARGIN) -> SideTest:
    """Test that the perplexity of `a` exceeds that of `b` by at most the share `margin`, paired by text.

    If both have the same tokenizer, it is the perplexity of a token, as in a study's guard; otherwise that of a word.
    One margin could not serve for a perplexity of bytes: a fifth more a token is a twentieth more a byte.
    """
    ids = [{score.text_sha256: score.ids_sha256 for score in side.scores} for side in (a, b)]
    unit = "token" if ids[0] == ids[1] else "word"
    values = [
        {score.text_sha256: score.nats / (score.tokens if unit == "token" else score.words) for score in side.scores}
        for side in (a, b)
    ]
    perplexity_measure = Measure("plain text", "adhere", f"{unit}_perplexity", "perplexity")
    return side_test(perplexity_measure, [values[0]], [values[1]], margin=margin)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
