"""Compute the floors of a suite once, and keep them beside the fetched files.

    $ADHERE_CACHE/floors/<hash>.json

The hash is of the prompts, of the versions that judge them and of the answerers' own answers, so that another judge
or another catalogue makes another file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from adhere.errors import AdhereError
from adhere.pipeline.floors.bots import ANSWERERS
from adhere.pipeline.floors.measure import AnswererRates, measure_floors
from adhere.pipeline.judge import PROBE, verifier_version
from adhere.schema import (
    CutAnswers,
    Mode,
    Prompt,
    Record,
    cache_root,
    content_hash_of_list,
    decode,
    encode,
    write_atomic,
)
from adhere.store.summary import Floor

VERSION = 1
MOST_PROMPTS = 1000
"""Prompts (evenly spread) of which a floor beside a rate is measured, at most; `adhere floors` asks all."""


class _File(Record, frozen=True):
    """Describes a file of stored floors."""

    version: int
    rows: list[AnswererRates]


def floors_of(
    prompts: Sequence[Prompt], *, mode: Mode = "reference", cut_answers: CutAnswers = "judge", most: int | None = None
) -> list[AnswererRates]:
    """Return what `measure_floors` returns, from the cache if it was measured before.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    key = _key(prompts, mode, cut_answers, most)
    rows = _memory(key)
    if not rows:
        rows.extend(_read(_path(key)) or ())
    if not rows:
        rows.extend(measure_floors(prompts, mode=mode, cut_answers=cut_answers, most=most))
        _write(_path(key), rows)
    return list(rows)


def tallies_of(rows: Sequence[AnswererRates], places: Iterable[int]) -> dict[str, tuple[int, int]]:
    """Return by answerer how many prompts at some places (a slice) pass, and of how many."""
    chosen = list(places)
    tallies = {}
    for row in rows:
        signs = [row.passed[place] for place in chosen]
        tallies[row.answerer] = (signs.count("1"), len(signs) - signs.count("-"))
    return tallies


def floor_of(tallies: Mapping[str, tuple[int, int]]) -> Floor | None:
    """Return the best answerer's floor (ties: the first of the catalogue); None if no prompt was answered."""
    pass_counts = [(answerer.name, tallies.get(answerer.name, (0, 0))) for answerer in ANSWERERS]
    floors = [Floor(name, passed / n, n) for name, (passed, n) in pass_counts if n]
    return max(floors, key=lambda floor: floor.rate, default=None)


@lru_cache(maxsize=32)
def _memory(_key: str) -> list[AnswererRates]:
    return []  # the one list of this key, which `floors_of` fills


def _key(prompts: Sequence[Prompt], mode: Mode, cut_answers: CutAnswers, most: int | None) -> str:
    refs = {
        (ref.id, prompt.tags.get("profile")) for prompt in prompts for turn in prompt.turns for ref in turn.constraints
    }
    versions = sorted(f"{name} {verifier_version(name, mode=mode, profile=profile)}" for name, profile in refs)
    answers = [f"{answerer.name} {answerer.answer(PROBE)}" for answerer in ANSWERERS]
    head = [str(VERSION), mode, cut_answers, str(most), *versions, *answers]
    return content_hash_of_list(head, prompts)


def _path(key: str) -> Path:
    return cache_root() / "floors" / f"{key[:32]}.json"


def _read(path: Path) -> list[AnswererRates] | None:
    try:
        rates_file = decode(path.read_bytes(), _File)
    except (OSError, AdhereError, msgspec.MsgspecError):  # not there, or of another version: measured again
        return None
    return rates_file.rows if rates_file.version == VERSION else None


def _write(path: Path, rows: Sequence[AnswererRates]) -> None:
    with contextlib.suppress(OSError):  # a cache that cannot be written costs a second, and no number
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, encode(_File(VERSION, list(rows))))
