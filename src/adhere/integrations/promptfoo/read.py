"""Reads promptfoo's output: one document (`promptfoo eval -o results.json`) or JSON lines (`-o results.jsonl`).

Source: promptfoo 0.121.20, as it wrote both files on this machine; `src/types/index.ts` (EvaluateResult) and
`src/types/results.ts` (ResultFailureReason: 2 is an error of a call or of a grader, no verdict).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import SpecError, UsageError
from adhere.integrations.shared.imported import (
    HarnessAnswers,
    ImportedAnswer,
    a_mapping,
    a_text,
    hash_of_values,
    number,
    rows,
)

_ERROR = 2
"""The failure reason of a call, or a grader, that failed: nothing was measured."""


def is_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a line is a result of promptfoo."""
    return "success" in row and "promptIdx" in row and "testIdx" in row


def read(path: Path) -> HarnessAnswers:
    """Read the results of a file of JSON lines.

    Raises:
        UsageError, SpecError: `read_document` would raise it.
    """
    return _of_results(path, rows(path))


def read_document(path: Path, document: Mapping[str, Any]) -> HarnessAnswers | None:
    """Read the results of one document; None if it is not promptfoo's.

    Raises:
        UsageError: It holds several columns (a prompt with a provider), which a comparison cannot tell apart.
        SpecError: A result is not promptfoo's.
    """
    results = a_mapping(document.get("results")).get("results")
    if not isinstance(results, list) or not all(isinstance(row, dict) and is_row(row) for row in results):
        return None
    return _of_results(path, ((f"{path}: result {place}", row) for place, row in enumerate(results)))


def _of_results(path: Path, results: Iterable[tuple[str, Mapping[str, Any]]]) -> HarnessAnswers:
    answers: list[ImportedAnswer] = []
    columns: dict[tuple[str, int], str] = {}
    draws: dict[str, int] = {}
    for where, row in results:
        try:
            provider = row["provider"]
            model = str(provider.get("label") or provider["id"])
            columns[model, row["promptIdx"]] = f"{model} with {str(a_mapping(row.get('prompt')).get('label'))[:60]!r}"
            answer = _answer(row)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise SpecError(f"{where}: not a result of promptfoo: {error!r}") from error
        draw = draws[answer.item] = draws.get(answer.item, -1) + 1
        answers.append(msgspec.structs.replace(answer, draw=draw))
    if len(columns) > 1:
        raise UsageError(
            f"{path}: holds {len(columns)} columns ({'; '.join(columns.values())}), and one side of a comparison is "
            "one. Write a file each: promptfoo eval --filter-providers NAME, with one prompt"
        )
    return HarnessAnswers("promptfoo", next(iter(columns), ("", 0))[0], path.name.partition(".json")[0], answers)


def _answer(row: Mapping[str, Any]) -> ImportedAnswer:
    """Convert one result. Its item is a hash of variables and assertions, so that repetitions of a test share it."""
    test = a_mapping(row.get("testCase"))
    test_hash = hash_of_values(row["vars"], test.get("assert"))
    output, grading = a_mapping(row.get("response")).get("output"), row.get("gradingResult")
    is_failed = row.get("failureReason", _ERROR if row.get("error") and grading is None else 0) == _ERROR
    if not isinstance(row["success"], bool):
        raise ValueError(f"success is {row['success']!r}, neither true nor false")  # noqa: TRY004 - the file is wrong
    return ImportedAnswer(
        item=test_hash,
        key=None,
        prompt=a_text(a_mapping(row.get("prompt")).get("raw")) or None,
        response=output if isinstance(output, str) else None,
        status="error" if is_failed else "ok",
        scores={} if is_failed else dict(_scores(row)),
        asked=test_hash,
    )


def _scores(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield (name, score), `success` first; the user's own metrics are marked `(named)`."""
    named_scores = {f"{name} (named)": value for name, value in a_mapping(row.get("namedScores")).items()}
    for name, value in {"success": row["success"], "score": row.get("score"), **named_scores}.items():
        score = number(value)
        if score is not None:
            yield name, score
