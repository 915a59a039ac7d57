"""List the tasks of a study: draw a pool, train a cell, evaluate an arm. Each task names the tasks that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from adhere.schema import Json, content_hash
from adhere.study.design.plan import Cell, Evaluation, Plan, PoolPlan
from adhere.study.design.spec import StudySpec


class Task(NamedTuple):
    """Describes one piece of work. `needs` names the tasks that must be finished before it."""

    kind: Literal["pool", "cell", "evaluation"]
    name: str
    key: str
    seed: int | None
    needs: tuple[str, ...]
    item: PoolPlan | Cell | Evaluation


def tasks_of(spec: StudySpec, plan: Plan, *, start_sha256: str, suites: Mapping[str, str]) -> list[Task]:
    """Return all tasks, seed by seed, each after the tasks that it needs.

    `suites` maps a name to the hash of the suite's prompts and their judge ("": the study's own).
    """
    settings = spec.evaluation

    def evaluation_task(evaluation: Evaluation) -> Task:
        tokens = settings.suite_tokens.get(evaluation.suite or spec.asked.partition(":")[0])
        how: list[Json] = [
            tokens if evaluation.suite or spec.asked else settings.max_new_tokens,
            settings.precision,
            settings.seed,
        ]
        how += [] if (spec.draws, spec.temperature) == (1, 0.0) else [spec.draws, spec.temperature]
        how += ["vllm"] if spec.served_by == "vllm" and not evaluation.source else []
        key = content_hash(
            ["evaluation", evaluation.cell or evaluation.source or start_sha256, suites[evaluation.suite], *how]
        )
        seed, suite = evaluation.seed, evaluation.suite
        name = f"{evaluation.arm}{'' if seed is None else f'-s{seed}'}{suite and f'-{suite}'}"
        needs = () if evaluation.cell is None else (plan.cell(evaluation.cell).folder,)
        return Task("evaluation", f"{name}-{key[:10]}", key, evaluation.seed, needs, evaluation)

    tasks = [evaluation_task(evaluation) for evaluation in plan.evaluations if evaluation.cell is None]
    for seed in spec.seeds:  # those that others trained stand among the first tasks, for they need nothing
        pools = [pool for pool in plan.pools if pool.seed == seed]
        for pool in pools:
            if pool.cell is None:
                before = () if pool.like is None else (plan.pool(pool.like).folder,)
                tasks.append(Task("pool", pool.folder, pool.key, seed, before, pool))
        for cell in plan.cells:
            if cell.seed != seed:
                continue
            needs = [plan.pool(key).folder for key in cell.pools]
            needs += [plan.cell(key).folder for key in ([cell.parent] if cell.parent else []) + list(cell.matched)]
            tasks.append(Task("cell", cell.folder, cell.key, seed, tuple(needs), cell))
            tasks += [evaluation_task(evaluation) for evaluation in plan.evaluations if evaluation.cell == cell.key]
            tasks += [Task("pool", p.folder, p.key, seed, (cell.folder,), p) for p in pools if p.cell == cell.key]
    return tasks
