"""The answers that every reader of another harness's files returns, and how their fields are read."""

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
"""Of one JSON document, uncompressed: beyond it the file is refused, not read."""


class ImportedAnswer(Record, frozen=True):
    """One answer of another harness.

    Attributes:
        item: Its name there: lm-eval's `doc_id`, inspect's sample id, EvalScope's group id, OpenCompass'
            `example_abbr`, a hash of what promptfoo's test says.
        key: The prompt's key where the harness kept IFEval's column; inspect's sample id otherwise.
        prompt: The prompt's text where it is one text; None for conversations.
        response: The answer as it was stored, reasoning included where it stands in the text; None where no text was
            stored (likelihoods of choices, verdicts alone).
        reasoning: What was stored apart as reasoning.
        status: `error` where the harness noted a failed call, `truncated` where it noted the token limit.
        draw: From 0; inspect's epoch less one.
        scores: What the harness made of it, numbers only, the harness's main score first.
        asked: A hash of what the item asks and expects; "" where the file does not say. Two models' items are paired
            only where it is the same.
        calls: The tools that the answer calls.
    """

    item: str
    key: int | str | None
    prompt: str | None
    response: str | None
    reasoning: str | None
    status: Status
    draw: int
    scores: dict[str, float]
    asked: str = ""
    calls: tuple[ToolCall, ...] = ()


class HarnessAnswers(NamedTuple):
    """The answers in a file of another harness.

    Attributes:
        harness: Who wrote it.
        model: Its name there; empty where none is kept.
        task: Its name there.
        answers: Each item, several times where several answers were drawn.
        group: What the harness itself pools the task into (lm-eval's `mmlu`); empty where nothing.
        lower_is_better: Scores of which less is better, where the harness says so.
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
    """Each row of a file of JSON lines with its place, `FILE:LINE`.

    Raises:
        SpecError: A line is no object.
    """
    for block in LineFile(path).blocks():
        for number, line in block.lines():
            yield f"{path}:{number}", an_object(line, f"{path}:{number}")


def an_object(data: bytes, where: str) -> dict[str, Any]:
    """Decode a JSON object.

    Raises:
        SpecError: It is none.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{where}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise SpecError(f"{where}: found a {type(value).__name__} where an object stands")
    return value


def number(value: Any) -> float | None:
    """A finite number or truth value as a float; None for anything else."""
    return float(value) if isinstance(value, int | float) and abs(value) < float("inf") else None


def is_null(value: Any) -> bool:
    """Whether a value is null, or the NaN that tables write for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def hash_of_values(*parts: Any) -> str:
    """A short hash of JSON values; what JSON cannot hold counts by its words."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def a_key(value: Any) -> int | str | None:
    """A prompt's key, or None."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def a_text(value: Any) -> str:
    """A text, or the empty one."""
    return value if isinstance(value, str) else ""


def a_status(value: Any) -> Status:
    """Return what our own exports say became of an answer; `ok` where nothing is said."""
    return next((status for status in STATUSES if status == value), "ok")


def a_mapping(value: Any) -> Mapping[str, Any]:
    """An object, or the empty one."""
    return value if isinstance(value, dict) else {}
