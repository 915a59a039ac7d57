"""Run a study whose seeds draw their own kinds (`[kinds]`), each in a folder of its own, and combine the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from adhere.errors import UsageError
from adhere.schema import encode, write_atomic
from adhere.study.design.frozen import FILE as STUDY
from adhere.study.design.spec import StudySpec
from adhere.study.design.tuned import load_tuning
from adhere.study.outcome.drawn import FILE, FOLDER, drawn_result
from adhere.study.outcome.result import DrawnResult, StudyResult
from adhere.study.starts import Place


def tuning_place(spec: StudySpec, directory: Path, records: Path | None) -> Place | None:
    """Return where settings are tuned, once for all seeds, on the kinds that the first seed of `[tune]` draws.

    None if the study draws no kinds.
    """
    if spec.kinds is msgspec.UNSET:
        return None
    seed = spec.tune.seeds[0] if spec.tune is not None else spec.seeds[0]
    return Place(spec.with_kinds_of(seed), directory, records, is_part=True)


def seed_places(spec: StudySpec, directory: Path, records: Path | None) -> list[Place]:
    """Return the study at each seed, for a spec with chosen settings. Records of a seed carry its number."""
    places = []
    for seed in spec.seeds:
        packed = records and records.with_name(f"{records.name.removesuffix('.tar.xz')}-seed{seed}.tar.xz")
        places.append(Place(spec.at_seed(seed), directory / FOLDER / str(seed), packed, is_part=True))
    return places


def begun_places(places: Sequence[Place], directory: Path) -> list[Place]:
    """Return the places of the seeds at which the study was begun.

    Raises:
        UsageError: The study was begun at no seed.
    """
    places = [place for place in places if (place.directory / STUDY).exists()]
    if not places:
        raise UsageError(f"{directory}: no seed was begun, so nothing is there to put together")
    return places


def with_stages_of(spec: StudySpec, tuned_spec: StudySpec) -> StudySpec:
    """Return the study with the settings that its tuning chose."""
    return msgspec.structs.replace(spec, stages=tuned_spec.stages)


def put_seeds_together(spec: StudySpec, directory: Path, results: Sequence[tuple[StudyResult, Path]]) -> DrawnResult:
    """Combine the results of all finished seeds, and store the combination in DIR/drawn.json."""
    tuning = load_tuning(directory) if spec.tune is not None else None
    by_seed = {result.seeds[0]: (result, place) for result, place in results}
    together = drawn_result(spec, by_seed, tuning=tuning)
    write_atomic(directory / FILE, encode(together))
    return together
