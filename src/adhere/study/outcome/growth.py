"""Tell whether the effect grows: what each budget of the two compared methods gained, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.study.design.budgets import budget_name
from adhere.study.design.spec import ContrastSpec, StudySpec
from adhere.study.outcome.contrast import Evaluations, contrast
from adhere.study.outcome.result import ArmCost, BudgetPoint, Growth


def growth(spec: StudySpec, evaluations: Evaluations, costs: Sequence[ArmCost]) -> Growth | None:
    """Return gains and costs of both methods at every budget; None if the study varies no budget.

    Gains are over the start if it is an arm, else over the first arm.
    """
    if not spec.budgets:
        return None
    rule = spec.verdict
    reference = spec.start_arm or spec.arms[0].name
    points, between = [], []
    for budget in sorted({1, *spec.budgets}):
        treatment, control = (budget_name(name, budget) for name in (rule.treatment, rule.control))
        between.append(contrast(ContrastSpec(treatment, control, rule.slice), evaluations, rule, role="secondary"))
        for method, arm in ((rule.treatment, treatment), (rule.control, control)):
            gain = contrast(ContrastSpec(arm, reference, rule.slice), evaluations, rule, role="secondary")
            seeds = {estimate.seed for estimate in gain.by_seed}
            of_arm = [cost for cost in costs if cost.arm == arm and cost.seed in seeds]
            points.append(
                BudgetPoint(
                    method,
                    budget,
                    arm,
                    _mean([cost.tokens_trained for cost in of_arm]),
                    _mean([cost.answers_generated for cost in of_arm]),
                    gain,
                )
            )
    return Growth(reference, points, between)


def _mean(values: Sequence[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None
