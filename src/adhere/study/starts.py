"""`starts`: one study from several start models, each in a folder of its own, and what they say together."""

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
    """A study from one start: what it is, where it is stored and packed, and whether there are others."""

    spec: StudySpec
    directory: Path
    records: Path | None
    is_part: bool


def places_of(spec: StudySpec, directory: Path, records: Path | None) -> list[Place]:
    """The study from each of its starts, whose settings are tuned and data drawn from that start.

    Itself where it has one. Records of several starts are FILE with the start's name.
    """
    if not spec.starts:
        return [Place(spec, directory, records, is_part=False)]
    places = []
    for one in spec.each_start:
        name = folder_of(one.model)
        packed = records and records.with_name(f"{records.name.removesuffix('.tar.xz')}-{name}.tar.xz")
        places.append(Place(spec.from_start(one.model), directory / FOLDER / name, packed, is_part=True))
    return places


def folder_of(model: str) -> str:
    """A start's name as that of a folder."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.") or "start"


def put_together(name: str, directory: Path, results: Sequence[tuple[StudyResult, Path]]) -> StartsResult:
    """Put the results of several starts together, and store them in DIR/starts.json."""
    together = starts_result(name, {one.start_model: (one, place) for one, place in results})
    write_atomic(directory / FILE, encode(together))
    return together
