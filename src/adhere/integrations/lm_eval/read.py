"""Reads lm-eval's samples: one line for each document and filter.

Source: EleutherAI/lm-evaluation-harness 0.4.13, `evaluator.py` (logged samples), `loggers/evaluation_tracker.py` (file
names), `api/task.py` (what a task stores for each metric).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adhere.errors import SpecError, UsageError
from adhere.integrations.shared.imported import (
    HarnessAnswers,
    ImportedAnswer,
    a_key,
    a_mapping,
    a_status,
    a_text,
    is_null,
    number,
    rows,
)

_PER_UNIT = ("word_perplexity", "byte_perplexity", "bits_per_byte")
"""Metrics stored for each text as [log-likelihood, words or bytes]."""
_LOG_LIKELIHOOD = "perplexity"
"""The metric stored for each text as its log-likelihood."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a line is lm-eval's."""
    return "doc" in row and "resps" in row


def read(path: Path) -> HarnessAnswers:
    """Read all documents of a file.

    A score is named `METRIC`, or `METRIC,FILTER` if the task has filters, as lm-eval prints it.

    Raises:
        SpecError: A row is not lm-eval's.
    """
    texts: dict[str, list[str | None]] = {}
    documents: dict[str, tuple[Mapping[str, Any], dict[str, float]]] = {}
    first_filter = None
    for where, row in rows(path):
        item = str(row.get("doc_id"))
        first_filter = row.get("filter") if first_filter is None else first_filter
        if item not in documents:
            texts[item] = _texts(row, where)
            documents[item] = row, {}
        elif row.get("filter") == first_filter:
            raise SpecError(f"{where}: document {item} stands twice with the filter {first_filter!r}")
        documents[item][1].update(_scores(row))
    answers = [
        answer for item, (row, scores) in documents.items() for answer in _answers(item, row, texts[item], scores)
    ]
    summary = _summary(path)
    task = _task(path)
    better = a_mapping(a_mapping(summary.get("higher_is_better")).get(task))
    names = {name for answer in answers for name in answer.scores}
    return HarnessAnswers(
        "lm-eval",
        _model(path, summary),
        task,
        answers,
        group=_group(task, a_mapping(summary.get("group_subtasks"))),
        lower_is_better=frozenset(name for name in names if better.get(name.partition(",")[0]) is False),
        nats=frozenset(name for name in names if name.partition(",")[0] in {*_PER_UNIT, _LOG_LIKELIHOOD}),
    )


def refuse_summary(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse a summary, which holds no items.

    Raises:
        UsageError: The document is a summary; the message says which file to give.
    """
    if "results" in document and "configs" in document and "samples" not in document:
        raise UsageError(
            f"{path}: this is lm-eval's summary, which holds no answers. Give the samples_*.jsonl beside it; "
            "lm-eval writes it with --log_samples"
        )


def _texts(row: Mapping[str, Any], where: str) -> list[str | None]:
    """Return the answers; [None] for a document of which only likelihoods were asked.

    A null among the answers, or no answer at all, is a failed call, and becomes the empty text.
    """
    doc, groups = row.get("doc"), row.get("resps", "absent")
    if not isinstance(doc, dict) or not isinstance(groups, list | None):
        raise SpecError(f"{where}: `doc` must be an object and `resps` a list of answers, as lm-eval writes them")
    arguments = a_mapping(a_mapping(row.get("arguments")).get("gen_args_0"))
    if set(arguments) == {"arg_0"}:
        # The likelihood of a whole text: there are no settings of generation, and the answer is a number in quotes.
        return [None]
    texts = _stored_answers(row)
    is_answered = all(isinstance(text, str) or is_null(text) for text in texts)
    return ["" if is_null(text) else text for text in texts] if is_answered else [None]


def _stored_answers(row: Mapping[str, Any]) -> list[Any]:
    """Return the answers to the first request as they were stored; [None] if there are none."""
    groups = row["resps"] or [None]
    return (groups[0] or [None]) if isinstance(groups[0], list) else groups


def _is_failed(row: Mapping[str, Any], draw: int) -> bool:
    """Tell whether an answer was stored as null."""
    texts = _stored_answers(row)
    return draw < len(texts) and is_null(texts[draw])


def _answers(
    item: str, row: Mapping[str, Any], texts: list[str | None], scores: dict[str, float]
) -> Iterator[ImportedAnswer]:
    doc = row["doc"]
    for draw, text in enumerate(texts):
        yield ImportedAnswer(
            item=item,
            key=a_key(doc.get("key")),
            prompt=doc["prompt"] if isinstance(doc.get("prompt"), str) else _prompt_text(row),
            response=text,
            status="error" if text == "" and _is_failed(row, draw) else a_status(row.get("adhere_status")),
            draw=draw,
            scores=scores,
            asked=a_text(row.get("doc_hash")),
        )


def _scores(row: Mapping[str, Any]) -> dict[str, float]:
    """Return, for each metric, the number of this document alone.

    A list of truth values counts by its mean (IFEval's instructions). Other lists are parts of a number over all
    documents (the gold label and the predicted one, of which F1 is made) and are left out.
    """
    names = row.get("metrics")
    suffix = "" if row.get("filter") in {None, "none"} else f",{row['filter']}"
    scores = {}
    for name in names if isinstance(names, list) else ():
        value = row.get(name)
        score = number(value)
        if name == _LOG_LIKELIHOOD and score is not None:
            score = -score
        elif isinstance(value, list) and value and all(isinstance(entry, bool) for entry in value):
            score = sum(value) / len(value)
        elif name in _PER_UNIT:
            score = _per_unit(value)
        if score is not None:
            scores[f"{name}{suffix}"] = score
    return scores


def _per_unit(value: Any) -> float | None:
    match value:
        case [int() | float() as likelihood, int() | float() as units] if units > 0:
            return -likelihood / units
    return None


def _prompt_text(row: Mapping[str, Any]) -> str | None:
    """Return the first argument of the request, which is the prompt if no chat template was applied."""
    text = a_mapping(a_mapping(row.get("arguments")).get("gen_args_0")).get("arg_0")
    return text if isinstance(text, str) else None


def _task(path: Path) -> str:
    """Return the task from `samples_TASK_2026-11-22T03-32-45.512429.jsonl`."""
    stem = path.name.removeprefix("samples_").partition(".json")[0]
    head, _, tail = stem.rpartition("_")
    return head if head and tail[:4].isdigit() else stem


def _summary(path: Path) -> Mapping[str, Any]:
    """Read the results file of the same run; {} if it is not next to the samples."""
    time = path.name.partition(".json")[0].rpartition("_")[2]
    try:
        return a_mapping(json.loads(path.with_name(f"results_{time}.json").read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


def _model(path: Path, summary: Mapping[str, Any]) -> str:
    """Return the model's name in the summary, else the name of the folder, which lm-eval makes from the model's."""
    name = summary.get("model_name")
    return name if isinstance(name, str) and name else path.resolve().parent.name


def _group(task: str, subtasks: Mapping[str, Any]) -> str:
    """Return the outermost group that contains the task; "" if there is none."""
    parents = {child: group for group, children in subtasks.items() if isinstance(children, list) for child in children}
    groups: list[str] = []
    while task in parents and task not in groups:
        groups.append(task)
        task = parents[task]
    return task if groups else ""
