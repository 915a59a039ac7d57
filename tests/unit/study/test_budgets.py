"""Budgets: the same recipe with more online steps and prompts; what has no budget is as it was."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")

from tests.unit.study.drawn import draw_from_somebody_who_can_write
from tests.unit.study.outcomes import known
from tests.unit.study.test_execute import TEXT
from tests.unit.study.test_plan import CODE, SPEC

from adhere.config import parse_toml
from adhere.errors import SpecError
from adhere.models.local.decoder.precision import Precisions
from adhere.report.study.html import study_html
from adhere.study.design.budgets import with_budgets
from adhere.study.design.check import validate
from adhere.study.design.inputs import _inputs
from adhere.study.design.plan import Inputs, Plan, make_plan
from adhere.study.design.spec import ArmSpec, EvaluationSpec, ResampleSpec, StudySpec, VerdictSpec
from adhere.study.outcome.growth import growth
from adhere.study.outcome.result import ArmCost
from adhere.study.prepared import prepare
from adhere.suites.generated.core.slices import Sizes

STAGES = {**SPEC.stages, "online": {"method": "online-dpo", "equal_compute_to": "sft+dpo+grpo"}}
ARMS = [
    ArmSpec("start"),
    ArmSpec("sft+dpo+grpo", ["sft", "dpo", "grpo"]),
    ArmSpec("sft+dpo+online", ["sft", "dpo", "online"]),
]
BASE = msgspec.structs.replace(
    SPEC,
    arms=ARMS,
    stages=STAGES,
    seeds=[0],
    verdict=VerdictSpec("?", "sft+dpo+grpo", "sft+dpo+online"),
    evaluation=EvaluationSpec(new_topic=Sizes(single=2)),
    resample=ResampleSpec("sft", prompts=20),
)
GROWN = with_budgets(msgspec.structs.replace(BASE, budgets=[1, 2, 4]))


def plan(spec: StudySpec) -> Plan:
    most = max(spec.stage(name).budget for name in spec.stages)
    inputs = Inputs("a", "b", tuple(f"further {share}" for share in range(2, most + 1)))
    return make_plan(spec, {0: inputs}, Precisions(), CODE)


def test_each_budget_is_an_arm_that_is_matched_to_its_like() -> None:
    validate(GROWN)
    assert [arm.name for arm in GROWN.arms[3:]] == [
        "sft+dpo+grpo-x2",
        "sft+dpo+online-x2",
        "sft+dpo+grpo-x4",
        "sft+dpo+online-x4",
    ]
    assert GROWN.arm("sft+dpo+online-x4").stages == ["sft", "dpo", "online-x4"]
    assert GROWN.stage("online-x4").equal_compute_to == "sft+dpo+grpo-x4"
    once, twice = (GROWN.stage(name).settings.steps for name in ("grpo", "grpo-x2"))  # type: ignore[attr-defined]
    assert twice == 2 * once
    assert with_budgets(GROWN) == GROWN, "what is there is not made again"
    assert with_budgets(BASE) == BASE


def test_what_has_no_budget_keeps_its_cells_and_pools() -> None:
    before, after = plan(BASE), plan(GROWN)
    assert {cell.key for cell in before.cells} < {cell.key for cell in after.cells}
    assert {pool.key for pool in before.pools} < {pool.key for pool in after.pools}
    shares = {cell.stage: [after.pool(key).share for key in cell.pools] for cell in after.cells}
    assert shares["grpo"] == shares["dpo"] == [1, 1]
    assert shares["online-x2"] == [1, 1, 2]
    assert shares["grpo-x4"] == [1, 1, 2, 3, 4]
    assert [pool.folder.partition("-")[0] for pool in after.pools] == [
        "data",
        "resampled",
        "resampled2",
        "resampled3",
        "resampled4",
    ]


def test_further_prompts_are_those_that_come_next() -> None:
    long = [_inputs(spec, 1, ()) for spec in (BASE, GROWN)]
    assert long[0].further == ()
    assert long[0].again == long[1].again
    parts = [long[1].again, *(prompts for prompts, _ in long[1].further)]
    assert [len(part) for part in parts] == [20] * 4
    assert len({prompt.text for part in parts for prompt in part}) == len({p.id for part in parts for p in part}) == 80


def test_gains_and_costs_stand_side_by_side() -> None:
    names = {
        f"{method}{at}": rate - 0.1 * (method == "sft+dpo+online")
        for at, rate in (("", 0.4), ("-x2", 0.6), ("-x4", 0.7))
        for method in ("sft+dpo+grpo", "sft+dpo+online")
    }
    found: dict[tuple[str, int | None], list[bool | None]] = {
        (arm, 0): [n % 10 < 10 * rate for n in range(60)] for arm, rate in names.items()
    }
    evaluations = known({**found, ("start", None): [False] * 60}, [0])
    costs = [ArmCost(arm, 0, 1, 10 * n, None, 100 * n, 0.0, 0.0, 0.0) for n, arm in enumerate(names, start=1)]
    grown = growth(GROWN, evaluations, costs)
    assert grown is not None
    assert growth(BASE, evaluations, costs) is None
    assert [(one.arm, one.budget, one.tokens_trained) for one in grown.points[:3]] == [
        ("sft+dpo+grpo", 1, 100),
        ("sft+dpo+online", 1, 200),
        ("sft+dpo+grpo-x2", 2, 300),
    ]
    gains = [one.gain.difference for one in grown.points if one.method == "sft+dpo+grpo"]
    assert gains == sorted(gains)
    assert [one.name for one in grown.between][1] == "sft+dpo+grpo-x2 − sft+dpo+online-x2"
    assert all(one.low is not None and one.low < one.difference < one.high for one in grown.between)


def test_budgets_are_checked() -> None:
    for changed, message in (
        ({"budgets": [0]}, "budgets: got"),
        ({"stages": {**STAGES, "dpo": {"method": "dpo", "budget": 2}}}, "stages.dpo.budget: 'dpo' is not online"),
        ({"stages": {**STAGES, "grpo": {"method": "grpo", "budget": 0}}}, "stages.grpo"),
        (
            {"stages": {**STAGES, "grpo": {"method": "grpo", "budget": 2}}, "resample": None},
            r"give the study a \[resample\]",
        ),
    ):
        with pytest.raises(SpecError, match=message):
            validate(msgspec.structs.replace(BASE, **changed))


@pytest.mark.slow
def test_a_study_with_budgets_is_done_and_drawn(tiny_llama_dir: Path, tmp_path: Path) -> None:
    text = TEXT.replace("START", str(tiny_llama_dir)).replace("seeds = [0, 1]", "seeds = [0]\nbudgets = [2]")
    spec = parse_toml(text, StudySpec, name="tiny.toml")
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        prepared = prepare(spec, tmp_path)
        result = prepared.run()
    assert result.failures == []
    stages = {cost.stage: cost for cost in result.stage_costs}
    assert stages["grpo-x2"].steps == 2 * stages["grpo"].steps
    assert stages["grpo-x2"].rows > stages["grpo"].rows, "its prompts are those of both resampled pools"
    assert result.growth is not None
    assert [(one.arm, one.budget) for one in result.growth.points] == [
        ("grpo", 1),
        ("online", 1),
        ("grpo-x2", 2),
        ("online-x2", 2),
    ]
    drawn = [one.answers_generated for one in result.growth.points]
    assert drawn[0] is not None
    assert drawn[2] is not None
    assert drawn[2] > drawn[0]
    assert "× 2" in study_html(result)
    assert prepare(spec, tmp_path).run() == result, "the same spec goes on, and has nothing to do"
