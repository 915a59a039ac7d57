"""What a Study will do, before it does it: the cells to train and evaluate, which of them exist, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.schema import content_hash
from adhere.study.spec import StudySpec


class Cell(NamedTuple):
    """One training step of the study: a stage on top of a parent, at one seed. Arms that share a prefix share its cells."""

    path: tuple[str, ...]  # stages from the start model up to and including this one
    seed: int
    key: str
    parent: str | None  # key of the cell that it starts from; None: the start model
    matched: tuple[str, ...]  # keys of the cells whose compute this one is given; empty: its settings say how much
    arms: tuple[str, ...]

    @property
    def stage(self) -> str:
        """The stage that this cell trains."""
        return self.path[-1]

    @property
    def folder(self) -> str:
        """Name of its directory: readable first, unique by its key."""
        return f"{'+'.join(self.path)}-s{self.seed}-{self.key[:10]}"


class Evaluation(NamedTuple):
    """One arm evaluated at one seed. The start model is the same at every seed and is evaluated once (`seed` None)."""

    arm: str
    seed: int | None
    cell: str | None  # key of the trained cell; None: the start model


class Plan(NamedTuple):
    """Cells in an order in which parents come first, each followed by what it makes possible to evaluate."""

    inputs_sha256: str
    cells: tuple[Cell, ...]
    evaluations: tuple[Evaluation, ...]


def make_plan(spec: StudySpec, *, inputs_sha256: str) -> Plan:
    """The cells and evaluations of a study.

    Args:
        spec: The study.
        inputs_sha256: Hash of what every cell depends on besides its stages: start weights, data, code version.
    """
    cells: dict[str, Cell] = {}
    evaluations = [Evaluation(arm.name, None, None) for arm in spec.arms if not arm.stages]
    for seed in spec.seeds:
        keys_of_arm: dict[str, tuple[str, ...]] = {}
        for arm in spec.arms:
            keys: tuple[str, ...] = ()
            for depth, name in enumerate(arm.stages, start=1):
                stage = spec.stage(name)
                others = keys_of_arm[stage.equal_compute_to] if stage.equal_compute_to else ()
                matched = tuple(key for key in others if key not in keys)
                key = content_hash(
                    [
                        "cell",
                        keys[-1] if keys else inputs_sha256,
                        stage.stage.name,
                        msgspec.to_builtins(stage.settings),
                        matched,
                        seed,
                    ]
                )
                known = cells.get(key)
                cells[key] = Cell(
                    path=tuple(arm.stages[:depth]), seed=seed, key=key, parent=keys[-1] if keys else None, matched=matched,
                    arms=(*known.arms, arm.name) if known else (arm.name,),
                )  # fmt: skip
                keys = (*keys, key)
            keys_of_arm[arm.name] = keys
            if keys:
                evaluations.append(Evaluation(arm.name, seed, keys[-1]))
    return Plan(inputs_sha256, tuple(cells.values()), tuple(evaluations))


def cell_folder(directory: Path, cell: Cell) -> Path:
    """Where a cell is stored."""
    return directory / "cells" / cell.folder
