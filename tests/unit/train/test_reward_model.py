"""A reward model's labels by criteria, its way to disk and back, and itself as the reward of a recipe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.train.conftest import load  # noqa: E402
from tests.unit.train.devices import fake_device  # noqa: E402

import adhere.train.stage.train as stage_room  # noqa: E402
from adhere.errors import MissingModel, SpecError  # noqa: E402
from adhere.schema import PairRow, RlRow, decode, encode  # noqa: E402
from adhere.train.batch.objectives import bradley_terry  # noqa: E402
from adhere.train.batch.rollout import Answer  # noqa: E402
from adhere.train.methods.reward_model import RewardModel, RewardModelSettings, reward_model  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.run import run_recipe  # noqa: E402
from adhere.train.stage import scoring  # noqa: E402
from adhere.train.stage.scoring import learned_scorer  # noqa: E402
from adhere.train.stage.settings import RewardTerm  # noqa: E402
from adhere.train.stage.train import Training  # noqa: E402

ROOT = Path(__file__).parents[3]
RATED = {"truthfulness": (1.0, 0.5), "helpfulness": (1.0, 0.0), "conciseness": (0.25, 0.75), "relevance": (0.5, 0.5)}


def rows(count: int, criteria: dict[str, tuple[float, float]]) -> list[PairRow]:
    return [
        PairRow(f"p{i}", f"Write about thing {i}.", "the sea is wide", "The Sea", "rated", (), (), criteria)
        for i in range(count)
    ]


def test_a_pair_without_ratings_is_stored_as_before() -> None:
    assert "criteria" not in encode(rows(1, {})[0]).decode()
    assert decode(encode(rows(1, RATED)[0]), PairRow).criteria == RATED


def test_the_label_is_the_share_of_criteria_that_prefer_the_chosen_answer(tiny_llama_dir: Path) -> None:
    """Two prefer it, one does not, one rates alike: 2.5 of 4. Trained long, the margin becomes log(0.625 / 0.375)."""
    share = torch.tensor([0.625])
    margin = torch.tensor([math.log(0.625 / 0.375)], requires_grad=True)
    bradley_terry(margin, torch.zeros(1), share=share).sum().backward()
    assert margin.grad.item() == pytest.approx(0.0, abs=1e-6)
    settings = RewardModelSettings(epochs=60, learning_rate=3e-3, held_out_share=0.0, centre=0.0, labels="criteria")
    judge = reward_model(*load(tiny_llama_dir), rows(4, RATED), settings, seed=0).artefact
    good, bad = judge.scores([("Write about thing 1.", "the sea is wide"), ("Write about thing 1.", "The Sea")])
    assert good - bad == pytest.approx(math.log(0.625 / 0.375), abs=0.1)


def test_accuracy_is_told_by_each_criterion_that_does_not_rate_alike(tiny_llama_dir: Path) -> None:
    settings = RewardModelSettings(epochs=20, learning_rate=3e-3, held_out_share=0.25)
    log = reward_model(*load(tiny_llama_dir), rows(12, RATED), settings, seed=0).log
    last = {name: value for name, value in log[-1].items() if name.startswith("held_out_")}
    assert last == {
        "held_out_accuracy": 1.0, "held_out_pairs": 3,
        "held_out_truthfulness": 1.0, "held_out_helpfulness": 1.0, "held_out_conciseness": 0.0,
    }  # fmt: skip


def test_what_was_saved_gives_the_same_numbers(tiny_llama_dir: Path, tmp_path: Path) -> None:
    settings = RewardModelSettings(epochs=3, learning_rate=3e-3)
    judge = reward_model(*load(tiny_llama_dir), rows(8, {}), settings, seed=0).artefact
    judge.save(tmp_path)
    asked = [("Write about thing 1.", "the sea is wide"), ("Write.", "The Sea")]
    assert RewardModel.load(tmp_path).scores(asked) == pytest.approx(judge.scores(asked), abs=1e-5)
    with pytest.raises(MissingModel, match="no reward model there"):
        RewardModel.load(tmp_path / "none")
    score = learned_scorer([RlRow("p", "Write about thing 1.", 2, 0.5, 0.1, (), ())], tmp_path)
    answers = [
        Answer("the sea is wide", truncated=False),
        Answer("the sea", truncated=True),
        Answer(" ", truncated=False),
    ]
    assert score("p", answers) == pytest.approx([1 / (1 + math.exp(-judge.scores(asked)[0])), 0.0, 0.0], abs=1e-5)


def test_a_reward_model_scores_on_the_device_of_training(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device that refuses tensors of the CPU it gives the same scores; and a stage opens it where it trains."""
    judge = reward_model(*load(tiny_llama_dir), rows(8, {}), RewardModelSettings(epochs=1), seed=0).artefact
    judge.save(tmp_path)
    prompts = [RlRow("p", "Write about thing 1.", 2, 0.5, 0.1, (), ())]
    answers = [Answer("the sea is wide", truncated=False), Answer("The Sea", truncated=False)]
    home = learned_scorer(prompts, tmp_path)("p", answers)
    with fake_device():
        there = RewardModel.load(tmp_path, "meta:1")
        assert {parameter.device for parameter in there.backbone.parameters()} == {torch.device("meta:1")}
        assert learned_scorer(prompts, tmp_path, device="meta:1")("p", answers) == pytest.approx(home, abs=1e-6)
    devices = []
    monkeypatch.setattr(RewardModel, "load", classmethod(lambda _, __, device: devices.append(device)))
    grpo = StageSpec("grpo")
    training = Training(
        grpo.kind, grpo.resolved(), prompts, tmp_path, tmp_path, tmp_path, 0, "k", device="cuda", reward="model"
    )
    for reward in ("model", (RewardTerm("model"), RewardTerm("too-long", -0.1))):
        stage_room._scorer(training._replace(reward=reward, judge=tmp_path))
    assert devices == ["cuda", "cuda"]


def test_a_recipe_s_reward_can_be_the_model_that_it_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def recipe(*stages: StageSpec) -> Recipe:
        data = str(ROOT / "examples" / "smoke-data")
        return Recipe("r", stages, start="random/2m", data=data, precision="fp32", guards="warn", reward="model")

    judge = StageSpec("reward-model", {"epochs": 1, "learning_rate": 1e-3})
    online = StageSpec("grpo", {"steps": 1, "prompts_per_step": 2, "answers_per_prompt": 2, "max_new_tokens": 4})
    with pytest.raises(SpecError, match="stage 1: reward = 'model', and no stage before 'grpo' leaves a reward model"):
        recipe(online, judge).resolved()
    asked: list[Path] = []
    made = scoring.learned_scorer

    def noted(rows: Any, directory: Path, **more: Any) -> Any:
        asked.append(directory)
        return made(rows, directory, **more)

    monkeypatch.setattr(scoring, "learned_scorer", noted)
    done = run_recipe(recipe(judge, online), tmp_path, base=ROOT)
    assert asked == [tmp_path / "01-reward-model" / "reward-model"]
    assert [one.stage for one in done] == ["reward-model", "grpo"]
