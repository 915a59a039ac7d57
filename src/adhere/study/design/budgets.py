"""Train the compared arms at several budgets, to see whether the effect grows.

A stage with `budget = 2` takes twice its steps, on twice as many resampled prompts. `budgets` gives both compared arms
an arm for each budget.
"""

from __future__ import annotations

import msgspec

from adhere.schema import Json
from adhere.study.design.spec import ArmSpec, StudySpec


def budget_name(name: str, budget: int) -> str:
    """Return the name of an arm or a stage at a budget."""
    return name if budget == 1 else f"{name}-x{budget}"


def with_budgets(spec: StudySpec) -> StudySpec:
    """Return the spec with an arm for each further budget of the two arms that the verdict compares.

    An arm that the spec has already is kept as it is. Where a stage has the compute of a compared arm, the same stage
    at another budget has the compute of that arm at that budget.
    """
    verdict_arms = [arm for arm in spec.arms if arm.name in {spec.verdict.treatment, spec.verdict.control}]
    stages, arms = dict(spec.stages), list(spec.arms)
    names = {arm.name for arm in arms}
    for budget in (factor for factor in spec.budgets if factor != 1):
        for arm in verdict_arms:
            if budget_name(arm.name, budget) in names:
                continue
            online = [name for name in arm.stages if spec.stage(name).stage.online]
            for name in online:
                table: dict[str, Json] = {**spec.stages[name], "budget": budget}
                equal_compute_to = table.get("equal_compute_to")
                if equal_compute_to in [verdict_arm.name for verdict_arm in verdict_arms]:
                    table["equal_compute_to"] = budget_name(str(equal_compute_to), budget)
                stages[budget_name(name, budget)] = table
            grown = [budget_name(name, budget) if name in online else name for name in arm.stages]
            arms.append(ArmSpec(budget_name(arm.name, budget), grown, f"{budget} times the online steps and prompts"))
    return msgspec.structs.replace(spec, stages=stages, arms=arms)
