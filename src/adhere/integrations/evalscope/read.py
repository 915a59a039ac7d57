"""Reads EvalScope's reviews/MODEL/TASK_SUBSET.jsonl (scores, texts) and predictions/MODEL/TASK_SUBSET.jsonl (texts).

Source: modelscope/evalscope 1.14.1, `api/evaluator/cache.py` (ReviewResult, ModelResult), `api/metric/scorer.py`
(Score).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from adhere.calls import calls_of
from adhere.errors import SpecError
from adhere.integrations.inspect_ai.read import STOPS, text_and_reasoning
from adhere.integrations.shared.imported import (
    HarnessAnswers,
    ImportedAnswer,
    a_key,
    a_mapping,
    a_status,
    a_text,
    hash_of_values,
    is_null,
    number,
    rows,
)
from adhere.schema import ToolCall

_USABLE = {None, "success", "fallback", "degraded"}


def is_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a line is a review or a prediction of EvalScope."""
    return "sample_score" in row or ("model_output" in row and "messages" in row and "index" in row)


def read(path: Path) -> HarnessAnswers:
    """Read all items of a file; the model is the folder's name, the task the file's.

    Raises:
        SpecError: A row is not EvalScope's.
    """
    answers: list[ImportedAnswer] = []
    draws: dict[str, int] = {}
    reader = None
    for where, row in rows(path):
        reader = reader or (_review if "sample_score" in row else _prediction)
        try:
            answer = reader(row)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            kind = "review" if reader is _review else "prediction"
            raise SpecError(f"{where}: not a {kind} of EvalScope: {error!r}") from error
        draw = draws.get(answer.item, 0)
        draws[answer.item] = draw + 1
        answers.append(msgspec.structs.replace(answer, draw=draw))
    return HarnessAnswers("EvalScope", path.resolve().parent.name, path.name.partition(".json")[0], answers)


def _review(row: Mapping[str, Any]) -> ImportedAnswer:
    about = a_mapping(row["sample_score"])
    score = a_mapping(about.get("score"))
    usable = score.get("status") in _USABLE
    item = about.get("group_id")
    metadata, prompt = a_mapping(about.get("sample_metadata")), _question(row)
    text = score.get("prediction")
    is_failed = "prediction" in score and is_null(text)  # a call that failed; without the field, no text was kept
    return ImportedAnswer(
        item=str(row["index"] if item is None else item),
        key=a_key(metadata.get("key")),
        prompt=prompt,
        response="" if is_failed else text if isinstance(text, str) else None,
        status="error" if is_failed else a_status(a_mapping(score.get("metadata")).get("adhere_status")),
        scores=dict(_main_first(score.get("value") or {}, score.get("main_score_name"))) if usable else {},
        asked=hash_of_values(prompt, row.get("target")) if prompt is not None else "",
        calls=_calls(row),
    )


def _calls(row: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the tool calls of the answer, which is the last message."""
    messages = row.get("messages")
    last = a_mapping(messages[-1] if isinstance(messages, list) and messages else None)
    return calls_of(last) if last.get("role") == "assistant" else ()


def _main_first(values: Mapping[str, Any], main: Any) -> Iterator[tuple[str, float]]:
    """Yield (name, score), the main score first: the one named `main`, else the first by name; nulls are left out."""
    for name in sorted(values, key=lambda name: name != main):
        if is_null(values[name]):
            continue
        score = number(values[name])
        if score is None:
            raise ValueError(f"{name} is {values[name]!r}, no number")
        yield name, score


def _prediction(row: Mapping[str, Any]) -> ImportedAnswer:
    output = a_mapping(row.get("model_output"))
    choices = output.get("choices")
    choice = a_mapping(choices[0] if isinstance(choices, list) and choices else None)
    text, reasoning = text_and_reasoning(a_mapping(choice.get("message")).get("content"), lambda text: text)
    failed = bool(output.get("error")) or not choice
    return ImportedAnswer(
        item=str(row["index"]),
        key=a_key(a_mapping(row.get("metadata")).get("key")),
        prompt=_question(row),
        response=text,
        reasoning=reasoning,
        calls=calls_of(a_mapping(choice.get("message"))),
        status="error" if failed else STOPS.get(choice.get("stop_reason"), "ok"),
    )


def _question(row: Mapping[str, Any]) -> str | None:
    """Return the first user turn as one text; older files have it as `input`."""
    if isinstance(row.get("input"), str):
        return a_text(row["input"])
    messages = row.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if a_mapping(message).get("role") == "user":
            return text_and_reasoning(message.get("content"), lambda text: text)[0]
    return None
