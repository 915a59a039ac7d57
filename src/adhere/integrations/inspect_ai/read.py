"""Reads inspect's logs: a zip with a file for each sample, or one JSON document.

Source: UKGovernmentBEIS/inspect_ai 0.3.285, `log/_log.py`, `log/_recorders/eval.py`.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from adhere.calls import calls_of
from adhere.errors import AdhereError, SpecError, UsageError
from adhere.integrations.shared.imported import (
    MOST_BYTES,
    HarnessAnswers,
    ImportedAnswer,
    a_key,
    a_mapping,
    a_text,
    an_object,
    hash_of_values,
)
from adhere.schema import Status

_ZSTANDARD = 93
MOST_GROWTH = 100
_DAMAGES = (zipfile.BadZipFile, struct.error, OSError, EOFError, ValueError, KeyError, RuntimeError)
"""Exceptions of zipfile for damaged files, apart from zlib's error.

NotImplementedError is a RuntimeError, UnicodeError a ValueError.
"""
_MARKS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Numbers for inspect's letters for correct, incorrect, partial and no answer."""


def read_zip(path: Path) -> HarnessAnswers | None:
    """Read the samples of an .eval log; None for another zip file.

    Raises:
        UsageError: The log was not finished.
        SpecError: The log is damaged.
    """
    try:
        with zipfile.ZipFile(path) as log, path.open("rb") as raw:
            names = log.namelist()
            if "header.json" not in names:
                if any(name.startswith("_journal/") for name in names):
                    raise UsageError(f"{path}: this inspect log was not finished. Run: inspect eval-retry {path.name}")
                return None
            header = an_object(_member(log, raw, "header.json"), f"{path}: header.json")
            samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            _check_total(path, sum(log.getinfo(name).file_size for name in samples))
            answers = [
                _inspect_sample(an_object(_member(log, raw, name), f"{path}: {name}"), f"{path}: {name}")
                for name in samples
            ]
    except AdhereError:
        raise
    except (*_DAMAGES, zlib.error) as error:
        raise SpecError(f"{path}: this inspect log cannot be read ({error}). Copy it again") from error
    return _inspect(header, answers)


def _check_total(path: Path, size: int) -> None:
    """Refuse a log that unpacks to far more than texts do.

    Raises:
        SpecError: It unpacks to more than the limit.
    """
    most = max(MOST_BYTES, MOST_GROWTH * path.stat().st_size)
    if size > most:
        raise SpecError(
            f"{path}: its samples have {size:,} bytes in all, more than the {most:,} that are read of such a log"
        )


def _member(log: zipfile.ZipFile, raw: BinaryIO, name: str) -> bytes:
    """Read one file of the zip; inspect uses Zstandard, which Python's zipfile supports only from 3.14.

    Raises:
        SpecError: The file is larger than MOST_BYTES.
    """
    info = log.getinfo(name)
    if info.file_size > MOST_BYTES:
        raise SpecError(
            f"{log.filename}: {name} has {info.file_size:,} bytes, more than the {MOST_BYTES:,} that are read"
        )
    if info.compress_type != _ZSTANDARD:
        with log.open(info) as file:  # `log.read` unfolds everything before it looks at the size
            return file.read(info.file_size + 1)
    import zstandard  # only whoever reads such a log pays for it

    raw.seek(info.header_offset)
    header = raw.read(30)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    raw.seek(name_length + extra_length, 1)
    reader = zstandard.ZstdDecompressor().stream_reader(raw.read(info.compress_size))
    try:
        data: bytes = reader.read(info.file_size + 1)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(f"{name}: {error}") from error
    if len(data) != info.file_size:
        raise zipfile.BadZipFile(f"{name} has another size than the log says")
    return data


def read_document(path: Path, document: Mapping[str, Any]) -> HarnessAnswers:
    """Read the samples of a .json log.

    Raises:
        UsageError: The log was written without samples.
        SpecError: A sample is damaged.
    """
    samples = document.get("samples")
    if not isinstance(samples, list):
        raise UsageError(f"{path}: this inspect log holds no samples. Write it again without --no-log-samples")
    where = [f"{path}: sample {number}" for number in range(1, len(samples) + 1)]
    return _inspect(document, [_inspect_sample(sample, at) for sample, at in zip(samples, where, strict=True)])


def _inspect(header: Mapping[str, Any], answers: list[ImportedAnswer]) -> HarnessAnswers:
    about = a_mapping(header.get("eval"))
    return HarnessAnswers("inspect", a_text(about.get("model")), a_text(about.get("task")), answers)


def _inspect_sample(sample: Any, where: str) -> ImportedAnswer:
    if not isinstance(sample, dict) or "id" not in sample or not isinstance(sample.get("output"), dict | None):
        raise SpecError(f"{where}: a sample needs `id` and `output`, as inspect writes them")
    resolve = _resolver(a_mapping(sample.get("attachments")))
    output = a_mapping(sample.get("output"))
    choices = output.get("choices")
    choice = a_mapping(choices[0] if isinstance(choices, list) and choices else None)
    message = a_mapping(choice.get("message"))
    text, reasoning = text_and_reasoning(message.get("content"), resolve)
    metadata = a_mapping(sample.get("metadata"))
    prompt = metadata.get("prompt", sample.get("input"))  # the prompt alone, where a solver put more around it
    failed = bool(sample.get("error")) or bool(output.get("error")) or not choice
    epoch = sample.get("epoch")
    return ImportedAnswer(
        item=str(sample["id"]),
        key=a_key(metadata.get("key", sample["id"])),
        prompt=resolve(prompt) if isinstance(prompt, str) else None,
        response=text,
        reasoning=reasoning,
        status="error" if failed else STOPS.get(choice.get("stop_reason"), "ok"),
        draw=epoch - 1 if isinstance(epoch, int) and epoch > 0 else 0,
        scores=_inspect_scores(sample.get("scores")),
        asked=hash_of_values(sample["input"], sample.get("target")) if "input" in sample else "",
        calls=calls_of(message),
    )


STOPS: dict[object, Status] = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}
"""Statuses for inspect's stop reasons, which EvalScope shares."""
ENDS = {"truncated": "max_tokens", "refused": "content_filter"}
"""inspect's stop reasons for statuses; any other status is `stop`."""


def _resolver(attachments: Mapping[str, Any]) -> Callable[[str], str]:
    """Return a function that replaces `attachment://HASH` by the long text stored under the hash."""

    def resolve(text: str) -> str:
        attachment = attachments.get(text.removeprefix("attachment://")) if text.startswith("attachment://") else None
        return attachment if isinstance(attachment, str) else text

    return resolve


def text_and_reasoning(content: Any, resolve: Callable[[str], str]) -> tuple[str, str | None]:
    """Return the visible text and the reasoning of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return resolve(content), None
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [resolve(a_text(part.get("text"))) for part in parts if part.get("type") == "text"]
    thoughts = [resolve(a_text(part.get("reasoning"))) for part in parts if part.get("type") == "reasoning"]
    return "\n".join(texts), "\n".join(thoughts) or None


def _inspect_scores(scores: Any) -> dict[str, float]:
    """Return `{scorer: number}`, or `{scorer.name: number}` for a scorer that gives several."""
    score_values: dict[str, Any] = {}
    for scorer, score in a_mapping(scores).items():
        value = a_mapping(score).get("value")
        if isinstance(value, dict):
            score_values |= {f"{scorer}.{name}": part for name, part in value.items()}
        else:
            score_values[scorer] = value
    return _numbers(score_values)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Keep the values that are numbers, truth values, inspect's letters for them, or lists of these (by their mean).

    All other values are left out.
    """
    numbers_by_name = {}
    for name, value in values.items():
        many = value if isinstance(value, list) else [value]
        numbers = [
            _MARKS.get(entry) if isinstance(entry, str) else float(entry) if isinstance(entry, int | float) else None
            for entry in many
        ]
        finite = [number for number in numbers if number is not None and abs(number) < float("inf")]
        if finite and len(finite) == len(many):
            numbers_by_name[str(name)] = sum(finite) / len(finite)
    return numbers_by_name
