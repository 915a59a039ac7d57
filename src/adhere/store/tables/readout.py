"""Read a finished Run at once, for comparisons of hundreds of Runs.

A Readout holds what `store.run.Run` reads, without what only a writer needs, and is several times faster. The rows that
count are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.schema import Outcome, Prompt, Record, Response, View, decode, decoder_of, read_prompts
from adhere.store.files import MOST_PROMPT_BYTES, read_regular, sha256_of
from adhere.store.manifest import Manifest
from adhere.store.run import Key, answer_hash, replaces
from adhere.store.segments import Damage, read_segment
from adhere.store.summary import Summary

T = TypeVar("T", bound=Record)


class Mark(Record, frozen=True, forbid_unknown_fields=False, gc=False):
    """Holds the part of a stored Verdict that comparisons need; `answer` is the hash of the answer that was judged."""

    prompt_id: str
    turn: int
    draw: int
    index: int
    constraint_id: str
    view: View
    outcome: Outcome
    reason: str
    answer: str
    score: float | None = None


class Readout(NamedTuple):
    """Holds everything of a finished Run.

    Attributes:
        directory: The Run's directory.
        manifest: What the Run was made from.
        summary: The Run's numbers.
        prompts: The prompts that were asked.
        responses: The Response of each key that has one, failed calls included.
        strict: The last verdict in the strict view, by (prompt, turn, draw, index of the constraint).
        loose: The last verdict in the loose view, likewise.
    """

    directory: Path
    manifest: Manifest
    summary: Summary
    prompts: tuple[Prompt, ...]
    responses: dict[Key, Response]
    strict: dict[tuple[str, int, int, int], Mark]
    loose: dict[tuple[str, int, int, int], Mark]


class RunReader:
    """Reads Runs; Runs with the same prompts share them in memory."""

    def __init__(self) -> None:
        self._prompts: dict[str, tuple[tuple[Prompt, ...], frozenset[str]]] = {}
        self._responses: msgspec.json.Decoder[Response] = decoder_of(Response)
        self._marks: msgspec.json.Decoder[Mark] = decoder_of(Mark)

    def read(self, directory: Path) -> Readout:
        """Read the Run in `directory`.

        Raises:
            UsageError: There is no Run, or it is not finished.
            IntegrityError: The manifest, prompts or summary are damaged.
        """
        manifest = self._record(directory / "manifest.json", Manifest, "is no Run")
        summary = self._record(directory / "summary.json", Summary, "is an unfinished Run")
        prompts, known_ids = self._read_prompts(directory, manifest)
        responses: dict[Key, Response] = {}
        replaced_keys: set[Key] = set()
        for response in self._rows(directory / "responses", self._responses.decode_lines, Response):
            if response.prompt_id not in known_ids:
                continue
            key = (response.prompt_id, response.turn, response.draw)
            before = responses.get(key)
            if replaces(response.status, before.status if before is not None else None):
                responses[key] = response
                if before is not None and before.status != "error":
                    replaced_keys.add(key)
        hashes = {key: answer_hash(responses[key]) for key in replaced_keys}
        strict: dict[tuple[str, int, int, int], Mark] = {}
        loose: dict[tuple[str, int, int, int], Mark] = {}
        for mark in self._rows(directory / "verdicts", self._marks.decode_lines, Mark):
            key = (mark.prompt_id, mark.turn, mark.draw)
            # Only an answer that came twice can have verdicts about the other one; hashing all of them would cost a
            # third.
            if key in responses and (key not in hashes or hashes[key] == mark.answer):
                (strict if mark.view == "strict" else loose)[(*key, mark.index)] = mark
        return Readout(directory, manifest, summary, prompts, responses, strict, loose)

    def _record(self, file: Path, kind: type[T], otherwise: str) -> T:
        if not file.is_file():
            raise UsageError(
                f"{file.parent} {otherwise}: it has no {file.name} (adhere list runs; adhere rescore finishes)"
            )
        try:
            return decode(read_regular(file), kind)
        except IntegrityError as error:
            raise IntegrityError(f"{file}: {error}") from error

    def _read_prompts(self, directory: Path, manifest: Manifest) -> tuple[tuple[Prompt, ...], frozenset[str]]:
        file = directory / "prompts.jsonl"
        if not file.is_file() or sha256_of(file) != manifest.prompts_sha256:
            raise IntegrityError(f"{file} is not what this Run asked: it is missing, or its sha256 is another")
        if manifest.prompts_sha256 not in self._prompts:
            prompts = read_prompts(file)
            self._prompts[manifest.prompts_sha256] = (prompts, frozenset(prompt.id for prompt in prompts))
        return self._prompts[manifest.prompts_sha256]

    def _rows(self, folder: Path, decode_all: Callable[[bytes], list[T]], kind: type[T]) -> list[T]:
        """Return every readable row, oldest segment first. Damage is counted in the summary, so it is only left out."""
        all_rows: list[T] = []
        for path in sorted(folder.glob("*.jsonl")):
            try:
                data = read_regular(path, MOST_PROMPT_BYTES)
                whole = data.endswith(b"\n")
                rows = decode_all(data) if whole else list(read_segment(path, kind, Damage()))
            except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError, IntegrityError):
                rows = list(read_segment(path, kind, Damage()))
            all_rows += rows
        return all_rows
