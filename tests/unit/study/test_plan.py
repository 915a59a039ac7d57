"""Shared prefixes are trained once, and what a cell depends on is in its key."""

from __future__ import annotations

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")

from adhere.config import parse_toml
from adhere.errors import SpecError
from adhere.models.local.decoder.precision import Precisions
from adhere.study.design.check import validate
from adhere.study.design.plan import Inputs, Plan, compare_data, make_plan, who_draws
from adhere.study.design.spec import ArmSpec, EvaluationSpec, StudySpec
from adhere.study.design.tasks import tasks_of
from adhere.suites.generated.core.slices import Sizes

SPEC = parse_toml(
    """
name = "small"
start = "x"
seeds = [0, 1]
arms = [
  { name = "start" },
  { name = "sft", stages = ["sft"] },
  { name = "sft+dpo", stages = ["sft", "dpo"] },
  { name = "sft+dpo+grpo", stages = ["sft", "dpo", "grpo"] },
  { name = "sft+more", stages = ["sft", "more"] },
]
[resample]
after = "sft"
[stages]
sft = { method = "sft" }
dpo = { method = "dpo" }
grpo = { method = "grpo" }
more = { method = "more-sft", equal_compute_to = "sft+dpo+grpo" }
[verdict]
question = "?"
treatment = "sft+dpo"
control = "sft"
""",
    StudySpec,
    name="small.toml",
)

CODE = dict.fromkeys(("sft", "dpo", "grpo", "more-sft", "online-dpo"), "")  # hashes of the methods' code


def plan(spec: StudySpec = SPEC, inputs: str = "a") -> Plan:
    return make_plan(spec, {seed: Inputs(inputs, inputs + "again") for seed in spec.seeds}, Precisions(), CODE)


def test_shared_prefixes_are_one_cell() -> None:
    cells = plan().cells
    assert [cell.path for cell in cells if cell.seed == 0] == [
        ("sft",),
        ("sft", "dpo"),
        ("sft", "dpo", "grpo"),
        ("sft", "more"),
    ]
    assert len(cells) == 8
    assert cells[0].arms == ("sft", "sft+dpo", "sft+dpo+grpo", "sft+more")
    assert len({cell.folder for cell in cells}) == 8


def test_parents_come_first_and_the_start_is_evaluated_once() -> None:
    made = plan()
    seen: set[str] = set()
    for cell in made.cells:
        assert cell.parent is None or cell.parent in seen
        assert set(cell.matched) <= seen
        seen.add(cell.key)
    assert [(e.arm, e.seed) for e in made.evaluations if e.cell is None] == [("start", None)]
    assert len(made.evaluations) == 1 + 2 * 4


def test_the_control_is_matched_to_what_it_does_not_share() -> None:
    by_path = {cell.path: cell for cell in plan().cells if cell.seed == 0}
    assert by_path["sft", "more"].matched == (by_path["sft", "dpo"].key, by_path["sft", "dpo", "grpo"].key)


@pytest.mark.parametrize("changed", ["inputs", "settings of sft", "settings of dpo", "code of dpo"])
def test_a_change_makes_other_cells_of_itself_and_what_follows_only(changed: str) -> None:
    before = {cell.path: cell.key for cell in plan().cells if cell.seed == 0}
    match changed:
        case "inputs":
            after_plan, same = plan(inputs="b"), set()
        case "settings of sft":
            stages = {**SPEC.stages, "sft": {"method": "sft", "learning_rate": 1e-6}}
            after_plan, same = plan(msgspec.structs.replace(SPEC, stages=stages)), set()
        case "code of dpo":
            inputs = {seed: Inputs("a", "aagain") for seed in SPEC.seeds}
            after_plan = make_plan(SPEC, inputs, Precisions(), {**CODE, "dpo": "edited"})
            same = {("sft",)}
        case _:
            stages = {**SPEC.stages, "dpo": {"method": "dpo", "beta": 0.3}}
            after_plan, same = plan(msgspec.structs.replace(SPEC, stages=stages)), {("sft",)}
    after = {cell.path: cell.key for cell in after_plan.cells if cell.seed == 0}
    assert {path for path in before if before[path] == after[path]} == same


def test_every_seed_draws_its_own_data_and_again_from_its_sft_model() -> None:
    made = plan()
    assert [(pool.seed, pool.cell is None) for pool in made.pools] == [(0, True), (0, False), (1, True), (1, False)]
    assert len({pool.key for pool in made.pools}) == 4
    for cell in made.cells:
        pools = [made.pool(key) for key in cell.pools]
        assert {pool.seed for pool in pools} == {cell.seed}
        assert [pool.cell is None for pool in pools] == [True] if cell.path == ("sft",) else [True, False]
        if len(pools) == 2:
            assert made.cell(pools[1].cell).path == ("sft",)


TWO_TRAINERS = parse_toml(
    """
name = "two"
start = "x"
seeds = [0]
arms = [
  { name = "ours", stages = ["sft", "dpo"] },
  { name = "theirs", stages = ["trl-sft", "trl-dpo"] },
]
[resample]
after = "sft"
[stages]
sft = { method = "sft" }
dpo = { method = "dpo" }
trl-sft = { method = "sft", learning_rate = 2e-4 }
trl-dpo = { method = "dpo" }
[verdict]
question = "?"
treatment = "theirs"
control = "ours"
""",
    StudySpec,
    name="two.toml",
)


def test_arms_with_an_sft_stage_each_draw_anew_from_their_own() -> None:
    assert TWO_TRAINERS.resample is not None
    one = plan(TWO_TRAINERS)
    assert [who_draws(TWO_TRAINERS, pool) for pool in one.pools] == ["the start model", "the model after sft"]
    [line] = compare_data(TWO_TRAINERS, one)
    assert line.startswith("ours learns from answers drawn after sft, theirs only from the first ones")
    again = msgspec.structs.replace(TWO_TRAINERS.resample, after=["sft", "trl-sft"])
    both = msgspec.structs.replace(TWO_TRAINERS, resample=again)
    pools = plan(both).pools
    assert [who_draws(both, pool) for pool in pools][1:] == ["the model after sft", "the model after trl-sft"]
    assert pools[:2] == one.pools, "naming another stage draws nothing anew"
    assert compare_data(both, plan(both)) == []


def test_a_pool_that_nothing_learns_from_is_not_drawn() -> None:
    arms = [arm for arm in SPEC.arms if arm.name in {"start", "sft"}]
    assert len(plan(msgspec.structs.replace(SPEC, arms=arms)).pools) == 2


def test_names_and_questions_do_not_retrain() -> None:
    other = msgspec.structs.replace(SPEC, name="other", shown_prompts=2)
    assert [cell.key for cell in plan(other).cells] == [cell.key for cell in plan().cells]


def test_the_control_of_ending_learns_from_plain_answers_like_those_of_sft() -> None:
    stages = {**SPEC.stages, "sft-plain": {"method": "sft", "answers": "plain"}}
    arms = [*SPEC.arms, ArmSpec("sft-plain", ["sft-plain"])]
    evaluation = EvaluationSpec(new_topic=Sizes(single=4))
    spec = msgspec.structs.replace(SPEC, stages=stages, arms=arms, evaluation=evaluation)
    validate(spec)
    made = plan(spec)
    for seed in spec.seeds:
        cell = next(cell for cell in made.cells if cell.path == ("sft-plain",) and cell.seed == seed)
        (pool,) = (made.pool(key) for key in cell.pools)
        first = next(pool for pool in made.pools if pool.seed == seed and pool.cell is None and pool.like is None)
        assert pool.like == first.key
        assert who_draws(spec, pool) == "the start model without constraints"
        tasks = {task.name: task for task in tasks_of(spec, made, start_sha256="w", suites={"": "s"})}
        assert tasks[pool.folder].needs == (first.folder,)
        assert tasks[cell.folder].needs == (pool.folder,)
    others = {cell.path: cell.key for cell in made.cells if cell.path != ("sft-plain",)}
    assert others == {cell.path: cell.key for cell in plan().cells}
    wrong = {**SPEC.stages, "sft-plain": {"method": "dpo", "answers": "plain"}}
    with pytest.raises(SpecError, match="only SFT learns from them"):
        validate(msgspec.structs.replace(spec, stages=wrong))
