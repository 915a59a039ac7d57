"""Reads OpenCompass' verdicts and texts.

They are in results/MODEL/DATASET.json (with --dump-eval-details) and predictions/MODEL/DATASET.json.

Source: open-compass/opencompass 0.5.4, `tasks/openicl_eval.py` (_save_results, format_details),
`openicl/icl_evaluator/icl_base_evaluator.py` (evaluate: one entry an item, each field a list over replicas),
`openicl/icl_inferencer/icl_base_inferencer.py` (predictions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adhere.errors import SpecError, UsageError
from adhere.integrations.shared.imported import (
    HarnessAnswers,
    ImportedAnswer,
    a_key,
    a_mapping,
    hash_of_values,
    is_null,
    number,
)

_VERDICTS = ("correct", "is_correct", "cascade_correct")
"""The fields that OpenCompass itself takes as the verdict of an item, in its order of preference."""
_GOLD = ("answer", "answers", "references", "reference", "refr", "refer", "gold")
_OWN = frozenset({"predictions", "example_abbr", "prompt", "pred", "origin_prediction", *_GOLD})


def read(path: Path, document: Mapping[str, Any]) -> HarnessAnswers | None:
    """Read the items of a file; None if it is not OpenCompass'. Folder and file name the model and the dataset.

    Raises:
        UsageError: The file holds results without details.
        SpecError: An entry is not OpenCompass'.
    """
    model, dataset = path.resolve().parent.name, path.stem
    details = document.get("details")
    if isinstance(details, list | dict):
        return HarnessAnswers("OpenCompass", model, dataset, list(_details(path, details)))
    if _is_predictions(document):
        return HarnessAnswers("OpenCompass", model, dataset, list(_predictions(path, document)))
    if _has_predictions(path) and all(number(value) is not None for value in document.values()):
        raise UsageError(
            f"{path}: OpenCompass' summary of {dataset} without its items. Run the evaluation again with "
            "--dump-eval-details (opencompass -r latest -m eval --dump-eval-details)"
        )
    return None


def _details(path: Path, details: list[Any] | dict[str, Any]) -> Iterator[ImportedAnswer]:
    entries = details.items() if isinstance(details, dict) else enumerate(details)
    for name, entry in entries:
        if name == "type":  # of the whole file: GEN or PPL
            continue
        if not isinstance(entry, dict):
            raise SpecError(f"{path}: details, {name}: found a {type(entry).__name__} where an object stands")
        gold = next((entry[field] for field in _GOLD if field in entry), None)
        yield ImportedAnswer(
            item=str(entry.get("example_abbr", name)),
            key=a_key(a_mapping(_alone(gold)).get("key")),
            prompt=None,
            response=None,
            scores=_scores(entry),
            asked=hash_of_values(gold) if gold is not None else "",
        )


def _scores(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores, verdicts first; a list over replicas counts by its mean if each replica was measured."""
    scores = {}
    for name in [*_VERDICTS, *(name for name in entry if name not in _OWN)]:
        value = entry.get(name)
        many = value if isinstance(value, list) else [value]
        numbers = [score for replica in many if (score := number(replica)) is not None]
        if numbers and len(numbers) == len(many):
            scores[name] = sum(numbers) / len(numbers)
    return scores


def _alone(gold: Any) -> Any:
    return gold[0] if isinstance(gold, list) and gold else gold


def _is_predictions(document: Mapping[str, Any]) -> bool:
    first = document.get("0")
    return isinstance(first, dict) and "prediction" in first and ("origin_prompt" in first or "prompt" in first)


def _predictions(path: Path, document: Mapping[str, Any]) -> Iterator[ImportedAnswer]:
    for name, entry in document.items():
        if not isinstance(entry, dict):
            raise SpecError(f"{path}: entry {name!r} is no object")
        text, gold = entry.get("prediction"), a_mapping(entry.get("gold"))
        yield ImportedAnswer(
            item=name,
            key=a_key(gold.get("key")),
            prompt=gold["prompt"] if isinstance(gold.get("prompt"), str) else _prompt_text(entry.get("origin_prompt")),
            response="" if is_null(text) else text if isinstance(text, str) else None,
            status="error" if is_null(text) else "ok",
        )


def _prompt_text(prompt: Any) -> str | None:
    """Return a text, or the one human turn of a conversation; None if there are examples before it."""
    if isinstance(prompt, str):
        return prompt
    turns = prompt if isinstance(prompt, list) else []
    human_turns = [turn["prompt"] for turn in turns if a_mapping(turn).get("role") == "HUMAN"]
    return human_turns[0] if len(human_turns) == 1 and isinstance(human_turns[0], str) else None


def _has_predictions(path: Path) -> bool:
    folder = path.resolve().parent
    beside = folder.parent.parent / "predictions" / folder.name
    return folder.parent.name == "results" and any(
        (beside / name).exists() for name in (path.name, f"{path.stem}_0{path.suffix}")
    )
