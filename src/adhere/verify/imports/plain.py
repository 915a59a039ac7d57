"""Read what `adhere perplexity --out` wrote: one line a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adhere.errors import SpecError
from adhere.integrations.shared.imported import HarnessAnswers, ImportedAnswer, a_text, hash_of_values, rows

TOKENS, WORDS = "token_perplexity", "word_perplexity"


def is_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a line belongs to a perplexity file."""
    return "nats" in row and "ids_sha256" in row and "text_sha256" in row


def read(path: Path) -> HarnessAnswers:
    """Read all texts of a file, each with two scores: nats a token and nats a word.

    The first score's name identifies the tokens, so only models with one tokenizer share that score; all share the
    second.

    Raises:
        SpecError: A row is no measurement of a text, or rows are of several models.
    """
    texts: list[tuple[str, float, float]] = []
    models, ids = set(), []
    for where, row in rows(path):
        try:
            nats, tokens, words = float(row["nats"]), int(row["tokens"]), int(row["words"])
            texts.append((str(row["text_sha256"]), nats / tokens, nats / words))
            ids.append(str(row["ids_sha256"]))
            models.add(a_text(row["model"]))
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise SpecError(f"{where}: not a row of adhere perplexity: {error!r}") from error
    if len(models) > 1:
        raise SpecError(f"{path}: rows of several models ({', '.join(sorted(models))}). Write one file for each")
    by_token = f"{TOKENS} {hash_of_values(sorted(ids))[:8]}"
    answers = [
        ImportedAnswer(
            item=digest,
            key=None,
            prompt=None,
            response=None,
            scores={by_token: token, WORDS: word},
            asked=digest,
        )
        for digest, token, word in texts
    ]
    return HarnessAnswers("adhere", next(iter(models), ""), "plain text", answers, nats=frozenset({by_token, WORDS}))
