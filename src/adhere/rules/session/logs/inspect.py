"""Read inspect's logs: one document, or a zip with a file for each sample; each sample is a session."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adhere.errors import SpecError
from adhere.rules.session.logs.messages import Row, read_one
from adhere.rules.session.model import Session

MOST_BYTES = 200_000_000
"""Most bytes of one sample, unpacked."""


def is_inspect(document: Row) -> bool:
    """Tell whether a document is one of inspect's logs."""
    return isinstance(document.get("eval"), Mapping) and "version" in document


def read_inspect(document: Row, name: str) -> Iterator[Session]:
    """Yield a session for each sample of a log in one document."""
    samples = document.get("samples")
    for sample in samples if isinstance(samples, list) else ():
        if isinstance(sample, Mapping):
            yield _sample(sample, document["eval"], name)


def read_inspect_zip(path: Path) -> Iterator[Session]:
    """Yield a session for each sample of an `.eval` log.

    Raises:
        SpecError: The log is damaged, or a sample is larger than 200 MB.
    """
    try:
        with zipfile.ZipFile(path) as log:
            names = log.namelist()
            head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
            about: Any = json.loads(log.read(head)) if head is not None else {}
            evaluation = about.get("eval", {}) if isinstance(about, dict) else {}
            for member in sorted(name for name in names if name.startswith("samples/") and name.endswith(".json")):
                if log.getinfo(member).file_size > MOST_BYTES:
                    raise SpecError(f"{path}: {member} is larger than {MOST_BYTES // 10**6} MB unpacked")
                yield _sample(json.loads(log.read(member)), evaluation, str(path))
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(
            f"{path}: this log of inspect cannot be read: {error}. Write it again: inspect log convert --to json"
        ) from error


def _sample(sample: Row, evaluation: Any, name: str) -> Session:
    about = evaluation if isinstance(evaluation, Mapping) else {}
    mark = f"{sample.get('id')}" + (f"-{sample['epoch']}" if sample.get("epoch", 1) != 1 else "")
    session = Session(
        f"{name}#{mark}", "inspect", agent=str(about.get("task") or ""), model=str(about.get("model") or "")
    )
    session.started = str(about.get("created") or "")
    session.task_id = str(sample.get("id") or "")
    messages = sample.get("messages")
    return read_one(
        [message for message in messages if isinstance(message, Mapping)] if isinstance(messages, list) else [], session
    )
