"""Tuning: as many trials for each stage, at other seeds, on other prompts.

What is chosen is what the study then has.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write
from tests.unit.study.outcomes import evaluation
from tests.unit.study.test_execute import TEXT

from adhere.config import parse_toml
from adhere.errors import Incomplete, SpecError
from adhere.progress import Silent
from adhere.schema import Json
from adhere.study import tune as tune_room
from adhere.study.design.plan import Evaluation
from adhere.study.design.spec import FinalsSpec, StudySpec, TuneSpec
from adhere.study.design.tuned import FILE, FOLDER, Trial, TunedStage, load_tuning
from adhere.study.design.tuning import choose, finalists, grid_of, tuning_spec, validate_tuning, widen_grids
from adhere.study.prepared import prepare
from adhere.study.run import work
from adhere.study.run.records import pack, unpack
from adhere.study.tune import prepared_tuning, tune, with_choice
from adhere.suites.generated.core.slices import Sizes

GRID: dict[str, dict[str, list[Json]]] = {
    "grpo": {"learning_rate": [1e-3, 1e-2], "kl_beta": [0.0], "steps": [1, 2]},
    "online": {"learning_rate": [1e-3, 1e-2], "beta": [0.1], "steps": [1, 2]},
}


def spec_of(start: str = "x", **changed: object) -> StudySpec:
    spec = parse_toml(TEXT.replace("START", start), StudySpec, name="tiny.toml")
    tune = TuneSpec(grid=GRID, seeds=[7], dev=Sizes(single=4, multiple=2))
    return msgspec.structs.replace(spec, tune=msgspec.structs.replace(tune, **changed))


def trial(settings: dict[str, Json], rate: float | None, tokens: int = 1) -> Trial:
    return Trial(settings, [] if rate is None else [rate], tokens, 0.0)


def test_every_combination_is_a_trial_and_all_stages_have_as_many() -> None:
    spec = spec_of()
    validate_tuning(spec)
    assert grid_of(spec, "grpo")[1] == {"learning_rate": 1e-3, "kl_beta": 0.0, "steps": 2}
    assert len(grid_of(spec, "grpo")) == len(grid_of(spec, "online")) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seeds": [1]}, r"tune.seeds: got \[1\], must be seeds that the study does not use"),
        ({"grid": {**GRID, "online": {"learning_rate": [1e-3]}}}, "same number of trials.*grpo 4, online 1"),
        ({"grid": {"gpro": GRID["grpo"]}}, "tune.grid.gpro: no arm has such a stage"),
        ({"grid": {"grpo": {"rate": [1.0]}}}, "rate"),
        ({"dev": Sizes()}, "tune.dev: needs prompts"),
        ({"finals": FinalsSpec(1, [8])}, "tune.finals: needs tune.tokens"),
        ({"tokens": 50, "finals": FinalsSpec(1, [7])}, r"tune.finals.seeds: got \[7\], must be seeds that neither"),
    ],
)
def test_what_cannot_be_tuned_is_said(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        validate_tuning(spec_of(**changed))


def test_a_trial_is_its_arm_with_other_settings_and_is_matched_to_the_trial_of_its_number() -> None:
    made = tuning_spec(spec_of())
    assert made.seeds == [7]
    assert [arm.name for arm in made.arms] == [*(f"grpo@{i}" for i in range(4)), *(f"online@{i}" for i in range(4))]
    assert made.arm("online@3").stages == ["sft", "online@3"]
    assert made.stage("online@3").equal_compute_to == "grpo@3"
    assert made.stage("grpo@3").settings.learning_rate == 1e-2
    assert made.evaluation.dev == Sizes(single=4, multiple=2)
    assert made.evaluation.prompts == 6


def test_with_a_budget_every_trial_of_every_method_has_it_and_is_matched_to_none() -> None:
    made = tuning_spec(spec_of(tokens=500))
    assert {made.stage(arm.name).settings.trained_tokens for arm in made.arms} == {500}
    assert {made.stage(arm.name).equal_compute_to for arm in made.arms} == {None}


def test_a_choice_at_the_edge_widens_the_grids_of_all_stages_alike() -> None:
    """The rate 1e-2 is GRPO's highest: both stages get 1e-1. KL 0 is an edge that cannot be passed."""
    grid: dict[str, dict[str, list[Json]]] = {
        "grpo": {"learning_rate": [1e-3, 1e-2], "kl_beta": [0.0, 0.1]},
        "online": {"learning_rate": [2e-3, 1e-2], "beta": [0.1, 0.2]},
    }
    spec = spec_of(grid=grid)
    at = {"learning_rate": 1e-2, "kl_beta": 0.0}
    inside = {"learning_rate": 5e-3, "beta": 0.15}  # at no edge
    stages = [TunedStage("grpo", [trial(at, 0.5)], 0), TunedStage("online", [trial(inside, 0.5)], 0)]
    wide = widen_grids(spec, stages)
    assert wide is not None
    assert wide.tune is not None
    assert wide.tune.grid["grpo"] == {"learning_rate": [1e-3, 1e-2, 0.1], "kl_beta": [0.0, 0.1]}
    assert wide.tune.grid["online"] == {"learning_rate": [2e-3, 1e-2, 0.05], "beta": [0.1, 0.2]}
    assert {len(grid_of(wide, name)) for name in grid} == {6}
    assert widen_grids(spec, [TunedStage("online", [trial(inside, 0.5)], 0)]) is None


def test_one_of_those_with_most_seeds_is_chosen() -> None:
    first = Trial({"learning_rate": 1.0}, [0.9], 1, 0.0)
    final = Trial({"learning_rate": 2.0}, [0.8, 0.4, 0.5], 1, 0.0)
    spec = spec_of(grid={"grpo": {"learning_rate": [1.0, 2.0]}}, tokens=5)
    assert choose(spec, {"grpo": [first, final]})[0].chosen == 1
    assert finalists([trial({}, 0.2), trial({}, None), trial({}, 0.5), trial({}, 0.5, tokens=9)], 2) == [2, 3]


def test_the_best_is_chosen_and_of_equal_ones_the_cheapest() -> None:
    spec = spec_of(grid={"grpo": {"learning_rate": [1e-3, 1e-2, 1e-1, 1.0]}})
    trials = {"grpo": [trial({}, None), trial({}, 0.5, 9), trial({}, 0.5, 3), trial({}, 0.2)]}
    (found,) = choose(spec, trials)
    assert found.chosen == 2


def test_matched_stages_take_equally_many_steps() -> None:
    """GRPO alone would take one step and online DPO two; together they take what is best for both."""
    spec = spec_of()
    rates = {"grpo": [0.50, 0.48, 0.1, 0.1], "online": [0.1, 0.6, 0.2, 0.1]}
    trials = {
        name: [trial(settings, rate) for settings, rate in zip(grid_of(spec, name), found, strict=True)]
        for name, found in rates.items()
    }
    assert {one.stage: one.trials[one.chosen].settings["steps"] for one in choose(spec, trials)} == {
        "grpo": 2,
        "online": 2,
    }


def refuse(*_: object) -> None:
    raise AssertionError("nothing was left to do")


def test_a_study_tunes_first_stores_what_it_tried_and_goes_on_with_the_choice(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_from_somebody_who_can_write(monkeypatch)
    one_rate: dict[str, dict[str, list[Json]]] = {
        "grpo": {"learning_rate": [1e-3, 1e-2]},
        "online": {"learning_rate": [1e-3, 1e-2]},
    }
    spec = spec_of(str(tiny_llama_dir), grid=one_rate)
    open_ = prepared_tuning(spec, tmp_path, jobs=1)
    assert open_ is not None
    assert {prompt.tags["slice"] for prompt in open_.suite.prompts} == {"dev/single", "dev/multiple"}
    chosen = tune(spec, tmp_path, jobs=1, progress=Silent())
    found = load_tuning(tmp_path)
    assert found is not None
    assert [(one.stage, len(one.trials)) for one in found.stages] == [("grpo", 2), ("online", 2)]
    assert all(one.rate is not None and one.minutes > 0 for stage in found.stages for one in stage.trials)
    for stage in found.stages:
        assert chosen.stages[stage.stage]["learning_rate"] == stage.trials[stage.chosen].settings["learning_rate"]
    prepared = prepare(chosen, tmp_path)
    assert found.apart is not None
    assert found.apart.test == len(prepared.suite.prompts)
    assert found.apart.training == sum(len(seed.prompts) + len(seed.again) for seed in prepared.inputs.values())
    assert set(found.apart.shared.values()) == {0}
    dev = {prompt.tags["query"] for prompt in open_.suite.prompts}
    ours = [*prepared.suite.prompts, *(p for seed in prepared.inputs.values() for p in (*seed.prompts, *seed.again))]
    assert dev.isdisjoint(prompt.tags["query"] for prompt in ours)
    prepared.begin()
    assert b'"grid"' in (tmp_path / "study.json").read_bytes(), "the frozen spec has the grid and the choice"

    pack(tmp_path, tmp_path / "records.tar.xz")
    unpack(tmp_path / "records.tar.xz", tmp_path / "there")
    assert (tmp_path / "there" / FOLDER / "study.json").exists()
    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, refuse))
    assert tune(spec, tmp_path / "there", jobs=1, progress=Silent()) == chosen == with_choice(spec, tmp_path / "there")
    (tmp_path / "there" / FILE).unlink()
    assert tune(spec, tmp_path / "there", jobs=1, progress=Silent()) == chosen, "the trials are recorded one by one"


@pytest.mark.slow  # six small studies
def test_rounds_widen_the_grid_then_give_the_best_further_seeds_and_resume(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rates are both edges, so one round of widening adds a third trial; then one finalist a stage has three seeds."""
    draw_from_somebody_who_can_write(monkeypatch)
    rates: dict[str, dict[str, list[Json]]] = {name: {"learning_rate": [1e-3, 1e-2]} for name in ("grpo", "online")}
    spec = spec_of(str(tiny_llama_dir), grid=rates, tokens=60, widen=1, finals=FinalsSpec(1, [8, 9]))
    chosen = tune(spec, tmp_path, jobs=1, progress=Silent())
    found = load_tuning(tmp_path)
    assert found is not None
    assert (found.tokens, found.final_seeds) == (60, [8, 9])
    for stage in found.stages:
        tried = [one.settings["learning_rate"] for one in stage.trials]
        assert tried[:2] == [1e-3, 1e-2]
        assert tried[2:] in ([1e-4], [0.1], [1e-4, 0.1], [0.1, 1e-4])
        assert sorted({len(one.rates) for one in stage.trials}) == [1, 3]
        assert len(stage.trials[stage.chosen].rates) == 3
        assert chosen.stages[stage.stage]["learning_rate"] == stage.trials[stage.chosen].settings["learning_rate"]
    assert len({len(stage.trials) for stage in found.stages}) == 1, "as many trials for each"
    assert "trained_tokens" not in chosen.stages["online"], "the budget is the tuning's, the study keeps its own match"
    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, refuse))
    (tmp_path / FILE).unlink()
    assert tune(spec, tmp_path, jobs=1, progress=Silent()) == chosen
    again = load_tuning(tmp_path)
    assert again is not None
    assert again == found


def test_where_sound_answers_count_a_trial_is_measured_by_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rate at which answers are form alone is not chosen for passing more often."""
    bare = msgspec.structs.replace(evaluation([True] * 10), empty_form=[True] * 8 + [False] * 2)
    monkeypatch.setattr(tune_room, "load_measured", lambda *_: bare)
    spent = SimpleNamespace(tokens_trained=5, seconds=60.0)
    monkeypatch.setattr(tune_room, "load_cell", lambda *_: SimpleNamespace(ledger=spent))
    item = Evaluation("grpo@0", 0, "cell")
    task = SimpleNamespace(item=item, name="e", key="k")
    for counts, rate in ((msgspec.UNSET, 1.0), ("sound", 0.2)):
        verdict = SimpleNamespace(counts=counts)
        done = SimpleNamespace(
            tasks=[task], spec=SimpleNamespace(verdict=verdict), directory=tmp_path, plan=SimpleNamespace(cell=str)
        )
        assert tune_room._trial(done, "grpo@0", {}).rate == rate


def test_a_stage_none_of_whose_trials_ended_stops_the_study(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, fail))
    monkeypatch.setattr(tune_room.PreparedStudy, "probed", lambda self, **_: self)
    with pytest.raises(Incomplete, match="No trial of grpo, online could be measured"):
        tune(spec_of(str(tiny_llama_dir)), tmp_path, jobs=1, progress=Silent())
