"""Read what another harness stored item by item, from its own files.

    imported = read_import(Path("samples_ifeval_2026-11-22T03-32-45.jsonl"))   # None: the file is none of these
    imported.answers[0].response, imported.answers[0].scores["prompt_level_strict_acc"]

`adhere verify` judges the texts; `adhere compare` pairs the scores, of any task. Layouts are told apart by what a file
holds, not by its name.

`adhere.integrations` reads each harness's files, in one folder a harness.

plain.py         reads what `adhere perplexity --out` wrote
lines.py         presents an import as a file for `verify`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.evalscope import read as evalscope
from adhere.integrations.inspect_ai import read as inspect_ai
from adhere.integrations.lm_eval import read as lm_eval
from adhere.integrations.opencompass import read as opencompass
from adhere.integrations.promptfoo import read as promptfoo
from adhere.integrations.shared.imported import MOST_BYTES, Harness, HarnessAnswers, ImportedAnswer
from adhere.lines.blocks import LineFile
from adhere.verify.imports import plain
from adhere.verify.imports.lines import ImportedFile

__all__ = ["Harness", "HarnessAnswers", "ImportedAnswer", "ImportedFile", "read_import", "read_imports"]

_BY_ROW: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Path], HarnessAnswers]], ...] = (
    (lm_eval.is_row, lm_eval.read),
    (evalscope.is_row, evalscope.read),
    (promptfoo.is_row, promptfoo.read),
    (plain.is_row, plain.read),
)
_ENDINGS = (".jsonl", ".json", ".eval", ".gz", ".zst")


def read_import(path: Path) -> HarnessAnswers | None:
    """Read a file of another harness; None for any other file and for the standard input.

    Raises:
        UsageError: The file is such a harness's, but without items; the message says which to give.
        SpecError: The file is damaged.
    """
    if str(path) == "-" or not path.is_file():
        return None
    with path.open("rb") as file:
        begins = file.read(4)
    if begins == b"PK\x03\x04":
        return inspect_ai.read_zip(path)
    if path.suffix == ".json":
        document = _document(path)
        return None if document is None else _of_document(path, document)
    first = _first_row(path)
    for is_row, reader in _BY_ROW:
        if first is not None and is_row(first):
            return reader(path)
    return None


def read_imports(paths: list[Path]) -> Iterator[tuple[Path, HarnessAnswers]]:
    """Yield (path, content) of every harness file among `paths` and in the folders among them, in order.

    Files in a folder without items (summaries, predictions without scores, anything else) are skipped; a file that is
    named itself must have some.

    Raises:
        UsageError: A path does not exist, or a named file has no items.
        SpecError: A file is damaged.
    """
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path)
            continue
        harness_answers = read_import(path) if path.is_file() else None
        if harness_answers is None:
            raise UsageError(
                f"{path}: {'no such file' if not path.exists() else 'no file of another harness'}. "
                "Wanted are lm-eval's samples_*.jsonl, inspect's .eval or .json, EvalScope's reviews/MODEL/*.jsonl, "
                "OpenCompass' results/MODEL/*.json, promptfoo's output, what `adhere perplexity --out` wrote, or a "
                "folder of these"
            )
        yield path, harness_answers


def _in_folder(folder: Path) -> Iterator[tuple[Path, HarnessAnswers]]:
    for file in sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS and path.is_file()):
        if file.suffix == ".json" and not _has_items(file):
            continue
        harness_answers = read_import(file)
        if harness_answers is not None and any(answer.scores for answer in harness_answers.answers):
            yield file, harness_answers


def _has_items(path: Path) -> bool:
    document = _document(path)
    return document is not None and (
        isinstance(document.get("samples"), list)
        or isinstance(document.get("details"), list | dict)
        or (isinstance(document.get("results"), dict) and "results" in document["results"])
    )


def _document(path: Path) -> dict[str, Any] | None:
    if path.stat().st_size > MOST_BYTES:
        return None
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _of_document(path: Path, document: dict[str, Any]) -> HarnessAnswers | None:
    lm_eval.refuse_summary(path, document)
    if isinstance(document.get("eval"), dict):
        return inspect_ai.read_document(path, document)
    return promptfoo.read_document(path, document) or opencompass.read(path, document)


def _first_row(path: Path) -> dict[str, Any] | None:
    for block in LineFile(path).blocks(1):
        for _, line in block.lines():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                return None
            return row if isinstance(row, dict) else None
    return None
