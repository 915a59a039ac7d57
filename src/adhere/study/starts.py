"""Do one study from several start models (`starts`), each in a folder of its own, and combine them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from adhere.schema import encode, write_atomic
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.result import StartsResult, StudyResult
from adhere.study.outcome.starts import FILE, FOLDER, starts_result


class Place(NamedTuple):
    """Says what a study from one start is, where it is stored and packed, and whether it is one of several."""

    spec: StudySpec
    directory: Path
    records: Path | None
    is_part: bool


def places_of(spec: StudySpec, directory: Path, records: Path | None) -> list[Place]:
    """Return the study from each of its starts; settings are tuned and data drawn from that start.

    A study with one start is returned alone. Records of several starts have the start's name in theirs.
    """
    if not spec.starts:
        return [Place(spec, directory, records, is_part=False)]
    places = []
    for start in spec.each_start:
        name = folder_of(start.model)
        packed = records and records.with_name(f"{records.name.removesuffix('.tar.xz')}-{name}.tar.xz")
        places.append(Place(spec.from_start(start.model), directory / FOLDER / name, packed, is_part=True))
    return places


def folder_of(model: str) -> str:
    """Return a start's name as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.") or "start"


def put_together(name: str, directory: Path, results: Sequence[tuple[StudyResult, Path]]) -> StartsResult:
    """Combine the results of several starts, and store the combination in DIR/starts.json."""
    together = starts_result(name, {result.start_model: (result, place) for result, place in results})
    write_atomic(directory / FILE, encode(together))
    return together
