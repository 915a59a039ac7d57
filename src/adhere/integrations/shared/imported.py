"""The answers that every reader of another harness's files returns, and functions that read their fields."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from adhere.errors import SpecError
from adhere.lines.blocks import LineFile
from adhere.schema import STATUSES, Record, Status, ToolCall

Harness = Literal["lm-eval", "inspect", "EvalScope", "OpenCompass", "promptfoo", "adhere"]
MOST_BYTES = 1 << 30
"""Most bytes of one JSON document, uncompressed; a larger file is refused."""


class ImportedAnswer(Record, frozen=True):
    """Holds one answer from another harness.

    Attributes:
        item: The item's name there: lm-eval's `doc_id`, inspect's sample id, EvalScope's group id, OpenCompass'
            `example_abbr`, a hash of promptfoo's test.
        key: The prompt's key if the harness kept IFEval's column; inspect's sample id otherwise.
        prompt: The prompt's text if it is one text; None for conversations.
        response: The answer as it was stored, including reasoning inside the text; None if no text was stored
            (likelihoods of choices, verdicts alone).
        reasoning: Reasoning that was stored apart.
        status: `error` if the harness noted a failed call, `truncated` if it noted the token limit.
        draw: Number of the draw, from 0; inspect's epoch less one.
        scores: The harness's scores, numbers only, the main score first.
        asked: A hash of what the item asks and expects; "" if the file does not say. Items of two models are paired
            only if their hashes are equal.
        calls: The tools that the answer calls.
    """

    item: str
    key: int | str | None
    prompt: str | None
    response: str | None
    reasoning: str | None = None
    status: Status = "ok"
    draw: int = 0
    scores: dict[str, float] = {}
    asked: str = ""
    calls: tuple[ToolCall, ...] = ()


class HarnessAnswers(NamedTuple):
    """Holds the answers in a file of another harness.

    Attributes:
        harness: The harness that wrote the file.
        model: The model's name there; empty if none is stored.
        task: The task's name there.
        answers: The answers; an item occurs several times if several answers were drawn.
        group: The group that the harness itself pools the task into (lm-eval's `mmlu`); empty: none.
        lower_is_better: Scores of which less is better, as far as the harness says so.
        nats: Scores that are negative log-likelihoods for a unit of text, whose exp is the perplexity.
    """

    harness: Harness
    model: str
    task: str
    answers: list[ImportedAnswer]
    group: str = ""
    lower_is_better: frozenset[str] = frozenset()
    nats: frozenset[str] = frozenset()


def rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a file of JSON lines with its place, `FILE:LINE`.

    Raises:
        SpecError: A line is no object.
    """
    for block in LineFile(path).blocks():
        for number, line in block.lines():
            yield f"{path}:{number}", an_object(line, f"{path}:{number}")


def an_object(data: bytes, where: str) -> dict[str, Any]:
    """Decode a JSON object.

    Raises:
        SpecError: `data` is no JSON object.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{where}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise SpecError(f"{where}: found a {type(value).__name__} where an object stands")
    return value


def number(value: Any) -> float | None:
    """Return a finite number or truth value as a float; None for anything else."""
    return float(value) if isinstance(value, int | float) and abs(value) < float("inf") else None


def is_null(value: Any) -> bool:
    """Tell whether a value is null, or the NaN that tables write for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def hash_of_values(*parts: Any) -> str:
    """Return a short hash of JSON values; other values count by their text."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def a_key(value: Any) -> int | str | None:
    """Return a prompt's key, or None for a value that is none."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def a_text(value: Any) -> str:
    """Return a text, or the empty one for any other value."""
    return value if isinstance(value, str) else ""


def a_status(value: Any) -> Status:
    """Return the status of an answer in our own exports; `ok` if there is none."""
    return next((status for status in STATUSES if status == value), "ok")


def a_mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or the empty one for any other value."""
    return value if isinstance(value, dict) else {}
