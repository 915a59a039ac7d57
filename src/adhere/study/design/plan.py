"""Plan a Study before it runs: pools to draw, cells to train, arms to evaluate, and what each needs.

At each seed:

    start ─▶ pool ─▶ sft ─▶ resampled pool ─▶ dpo ─▶ grpo
                      │                        └───▶ online-dpo
                      └─▶ more-sft (both pools)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.models.local.decoder.precision import Precisions
from adhere.schema import content_hash
from adhere.study.design.command import COMMAND
from adhere.study.design.spec import StudySpec
from adhere.train.settings import settle


class PoolPlan(NamedTuple):
    """Describes data to draw at one seed, from the start model (`cell` None) or from a trained one.

    With `like`, the data are the start model's answers to queries without constraints: as many as that pool's SFT rows
    and about as long. With `share` 2 they are as many further prompts, for online stages with a budget of 2 or more
    only; with 3, the prompts after those.
    """

    seed: int
    key: str
    cell: str | None  # key of the cell whose model draws
    like: str | None = None  # key of the pool that its rows are like, where they are plain
    share: int = 1
    after: str = ""  # name of that cell's stage

    @property
    def folder(self) -> str:
        """Name of the pool's directory."""
        kind = "plain" if self.like else "data" if self.cell is None else "resampled"
        return f"{kind}{'' if self.share == 1 else self.share}-s{self.seed}-{self.key[:10]}"


class Cell(NamedTuple):
    """Describes one training step of the study: a stage on top of a parent, at one seed.

    Arms that share a prefix share its cells.
    """

    path: tuple[str, ...]  # stages from the start model up to and including this one
    seed: int
    key: str
    parent: str | None  # key of the cell that it starts from; None: the start model
    matched: tuple[str, ...]  # keys of the cells whose compute this one is given; empty: its settings say how much
    arms: tuple[str, ...]
    pools: tuple[str, ...] = ()  # keys of the pools that it may learn from, in the order in which they are drawn

    @property
    def stage(self) -> str:
        """Name of the stage that this cell trains."""
        return self.path[-1]

    @property
    def folder(self) -> str:
        """Name of the cell's directory: readable first, unique by its key."""
        return f"{'+'.join(self.path)}-s{self.seed}-{self.key[:10]}"


class Evaluation(NamedTuple):
    """Describes one arm evaluated at one seed.

    The start model is the same at every seed and is evaluated once (`seed` None). `source` is the identity of a model
    or of answers that others made; empty: the start model, or a cell's model.
    """

    arm: str
    seed: int | None
    cell: str | None  # key of the trained cell; None: the start model, or what others made
    suite: str = ""  # name of a published suite; empty: the suite of the verdict
    source: str = ""


class Plan(NamedTuple):
    """Holds all pools, cells and evaluations, seed by seed; within a seed, in the order in which they are needed."""

    pools: tuple[PoolPlan, ...]
    cells: tuple[Cell, ...]
    evaluations: tuple[Evaluation, ...]

    def cell(self, key: str) -> Cell:
        """Return the cell with this key."""
        return next(cell for cell in self.cells if cell.key == key)

    def pool(self, key: str) -> PoolPlan:
        """Return the pool with this key."""
        return next(pool for pool in self.pools if pool.key == key)


class Inputs(NamedTuple):
    """Holds, for one seed, hashes of what its pools of training data depend on: start weights, settings, prompts, code.

    `data` is of the pool that the start model answers, `resample` of the pools that the model after a stage answers.
    """

    data: str
    resample: str = ""
    further: tuple[str, ...] = ()  # of the further prompts, share 2 first


def make_plan(
    spec: StudySpec,
    inputs: Mapping[int, Inputs],
    precisions: Precisions,
    code: Mapping[str, str],
    sources: Mapping[tuple[str, int | None], str] | None = None,
) -> Plan:
    """Plan the pools, cells and evaluations of a study.

    Args:
        spec: The study.
        inputs: By seed, what its pools depend on.
        precisions: The precisions of the study.
        code: By method, the hash of the code that trains by it (`identity`).
        sources: By arm and seed, the identity of the model or answers of every arm that others trained.
    """
    pools: dict[str, PoolPlan] = {}
    cells: dict[str, Cell] = {}
    evaluations = [Evaluation(arm.name, None, None) for arm in spec.arms if arm.is_start]
    evaluations += [Evaluation(arm, seed, None, source=identity) for (arm, seed), identity in (sources or {}).items()]
    for seed in spec.seeds if spec.trains else ():
        first = PoolPlan(seed, content_hash(["pool", seed, inputs[seed].data]), None)
        pools[first.key] = first
        keys_of_arm: dict[str, tuple[str, ...]] = {}
        for arm in spec.arms:
            if arm.source is not None or (arm.seeds is not None and seed not in arm.seeds):
                continue
            keys: tuple[str, ...] = ()
            known_pools: tuple[str, ...] = (first.key,)
            further: tuple[PoolPlan, ...] = ()
            for depth, name in enumerate(arm.stages, start=1):
                stage = spec.stage(name)
                others = keys_of_arm[stage.equal_compute_to] if stage.equal_compute_to else ()
                matched_keys = tuple(key for key in others if key not in keys)
                settings = msgspec.to_builtins(settle(stage.settings, precisions))
                parent = keys[-1] if keys else None
                pool_keys = known_pools
                if stage.answers != "verified":
                    plain = PoolPlan(seed, content_hash(["plain pool", first.key]), None, like=first.key)
                    pools[plain.key] = plain
                    pool_keys = (plain.key,) if stage.answers == "plain" else (*known_pools, plain.key)
                if stage.budget > 1:
                    pool_keys += tuple(pool.key for pool in further[: stage.budget - 1])
                    pools |= {pool.key: pool for pool in further[: stage.budget - 1]}
                if stage.stage is COMMAND and not stage.settings.needs_rows:
                    pool_keys = ()
                by = [stage.stage.name, code[stage.stage.name], settings]
                key = content_hash(["cell", parent, pool_keys, *by, matched_keys, seed, *stage.key])
                shared = cells.get(key)
                cells[key] = Cell(
                    path=tuple(arm.stages[:depth]),
                    seed=seed,
                    key=key,
                    parent=parent,
                    matched=matched_keys,
                    arms=(*shared.arms, arm.name) if shared else (arm.name,),
                    pools=pool_keys,
                )
                keys = (*keys, key)
                if spec.resample is not None and name in spec.resample.stages:
                    again = PoolPlan(seed, content_hash(["pool", seed, key, inputs[seed].resample]), key, after=name)
                    known_pools = (first.key, again.key)
                    further = tuple(
                        PoolPlan(seed, content_hash(["pool", seed, key, further_hash]), key, share=share, after=name)
                        for share, further_hash in enumerate(inputs[seed].further, start=2)
                    )
                    if depth < len(arm.stages):  # else nothing learns from it
                        pools[again.key] = again
            keys_of_arm[arm.name] = keys
            if keys:
                evaluations.append(Evaluation(arm.name, seed, keys[-1]))
    read_by = {key for cell in cells.values() for key in cell.pools}
    read_by |= {pools[key].like or "" for key in read_by}
    pools = {key: pool for key, pool in pools.items() if key in read_by}  # a command may name no rows
    evaluations += [evaluation._replace(suite=name) for name in spec.suite_names for evaluation in evaluations]
    return Plan(tuple(pools.values()), tuple(cells.values()), tuple(evaluations))


def cell_folder(directory: Path, cell: Cell) -> Path:
    """Return the directory of a cell."""
    return directory / "cells" / cell.folder


def pool_folder(directory: Path, pool: PoolPlan) -> Path:
    """Return the directory of a pool."""
    return directory / "data" / pool.folder


def who_draws(spec: StudySpec, pool: PoolPlan) -> str:
    """Say in words whose answers a pool holds."""
    if pool.like is not None:
        return "the start model without constraints"
    if pool.cell is None and spec.data.model is not msgspec.UNSET:
        return spec.data.model
    return "the start model" if pool.cell is None else f"the model after {pool.after}"


def compare_data(spec: StudySpec, plan: Plan) -> list[str]:
    """Return a warning for each contrast in which only one of two arms learns from answers drawn anew.

    Only arms that train on after a first stage are compared.
    """
    lines = []
    for contrast in (spec.verdict.primary, *spec.verdict.secondary):
        names = {}  # arm -> the stage after which its answers were drawn anew, "" for none
        for arm in (contrast.treatment, contrast.control):
            cells = [cell for cell in plan.cells if arm in cell.arms]
            if any(cell.parent for cell in cells):
                names[arm] = next(filter(None, (plan.pool(key).after for cell in cells for key in cell.pools)), "")
        if len(names) == 2 and len({bool(after) for after in names.values()}) == 2:
            anew, first = sorted(names, key=lambda arm: not names[arm])
            lines.append(
                f"{anew} learns from answers drawn after {names[anew]}, {first} only from the first ones: is that the "
                "question? [resample] after takes several stages"
            )
    return list(dict.fromkeys(lines))
