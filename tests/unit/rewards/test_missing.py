"""Missing is not zero in other trainers.

The answer, or its group, is left out, counted, and too many of them stop the training.
"""

from __future__ import annotations

import logging
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adhere.constraints import Constraint, Finding, registry
from adhere.errors import UsageError
from adhere.integrations.verl.reward import compute_score, compute_score_batch
from adhere.rewards import judge_reward, openrlhf
from adhere.rewards.rows import TooFewMeasurements

TRUTH = {"instruction_id_list": ["length:at_least"], "kwargs": [{"least": 2}]}
TEXTS = ["one two", "fault here", "one", "a fault"]


@pytest.fixture(autouse=True)
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the answers break the verifier."""

    def check(self: Constraint, text: str) -> Finding:
        if "fault" in text:
            raise RuntimeError("injected")
        return Finding("pass" if " " in text else "fail", "looked")

    monkeypatch.setattr(registry.get("length:at_least"), "check", check)


def rewarded(texts: list[str], **settings: Any) -> list[float | None]:
    columns = {name: [value] * len(texts) for name, value in TRUTH.items()}
    logged: dict[str, float] = settings.pop("logged", {})
    return judge_reward("binary", **settings)(completions=texts, log_metric=logged.__setitem__, **columns)


def test_trl_gets_none_and_the_share() -> None:
    logged: dict[str, float] = {}
    assert rewarded(TEXTS, logged=logged) == [1.0, None, 0.0, None]
    assert logged == {"unmeasured_share": 0.5}


@pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing\\w*` is deprecated:FutureWarning")
def test_trl_gives_the_others_the_advantages_that_they_have_alone(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """One step of a real GRPOTrainer. What a row without a measurement keeps is its tokens in the loss's divisor."""
    torch, trl = pytest.importorskip("torch"), pytest.importorskip("trl")
    datasets, transformers = pytest.importorskip("datasets"), pytest.importorskip("transformers")
    logging.getLogger("trl").setLevel(logging.ERROR)
    given = torch.tensor([0.0, 9.0, 1.0, 9.0, 0.5, 9.0, 1.0, 9.0])

    def half(completions: Any, **columns: Any) -> list[float | None]:
        ids, texts = (
            TRUTH["instruction_id_list"],
            [f"fault {one}" if at % 2 else one for at, one in enumerate(completions)],
        )
        found = judge_reward()(completions=texts, instruction_id_list=[ids] * 8, kwargs=[TRUTH["kwargs"]] * 8)
        assert [one is None for one in found] == [False, True] * 4
        return [None if one is None else float(value) for one, value in zip(found, given, strict=True)]

    trainer = trl.GRPOTrainer(
        transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir),
        reward_funcs=half,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to="none",
            disable_tqdm=True,
            max_steps=1,
            per_device_train_batch_size=8,
            num_generations=8,
            max_completion_length=4,
            seed=0,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "the sea is"}]),
        processing_class=transformers.AutoTokenizer.from_pretrained(tiny_llama_dir),
    )
    trainer.train()
    advantages, alone = torch.tensor(list(trainer._logs["advantages"])), given[::2]
    assert advantages[1::2].tolist() == [0.0] * 4
    assert torch.equal(advantages[::2], (alone - alone.mean()) / (trl.trainer.utils.nanstd(alone) + 1e-4))


def test_too_many_stop_the_training() -> None:
    assert rewarded(TEXTS * 25).count(None) == 50
    with pytest.raises(
        TooFewMeasurements, match=r"50 of 100 answers could not be judged, more than most_unmeasured=0\.4"
    ):
        rewarded(TEXTS * 25, most_unmeasured=0.4)
    with pytest.raises(UsageError, match="must be a share"):
        judge_reward(most_unmeasured=40)


def test_verl_stops_or_masks() -> None:
    assert compute_score("x", "a fault", TRUTH) is None
    assert math.isnan(compute_score("x", "a fault", TRUTH, missing="mask") or 0)
    found = compute_score_batch([None] * 4, TEXTS, [TRUTH] * 4, missing="mask")
    assert [math.isnan(one or 0) for one in found] == [False, True, False, True]
    with pytest.raises(UsageError, match="'drop'"):
        compute_score("x", "one", TRUTH, missing="drop")  # type: ignore[arg-type]


def test_the_estimator_for_verl_gives_the_others_what_verl_gives_them_alone() -> None:
    pytest.importorskip("verl")
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    from verl.trainer.ppo import core_algos

    estimate = core_algos.get_adv_estimator_fn("adhere_grpo")
    scores = torch.tensor([1.0, math.nan, 0.0, 0.5, math.nan, 1.0, math.nan, math.nan])
    rewards = torch.zeros(8, 3)
    rewards[:, 2] = scores
    mask, index = torch.ones(8, 3), numpy.array(list("aaaabbbb"))
    advantages, _ = estimate(token_level_rewards=rewards, response_mask=mask, index=index, config={})
    kept = [0, 2, 3]
    alone, _ = core_algos.compute_grpo_outcome_advantage(rewards[kept], torch.ones(3, 3), index[kept])
    assert torch.equal(advantages[kept], alone)
    rest = [1, 4, 5, 6, 7]  # 5 is the only one of its group
    assert advantages[rest].abs().sum() == mask[rest].sum() == 0
    loss = torch.rand(8, 3, requires_grad=True)
    core_algos.agg_loss(loss * advantages, mask, "token-mean").backward()
    other = loss.detach()[kept].requires_grad_()
    core_algos.agg_loss(other * alone, torch.ones(3, 3), "token-mean").backward()
    assert torch.equal(loss.grad[kept], other.grad)


def test_openrlhf_drops_the_group_by_its_own_filter() -> None:
    """Its filter keeps a group where low < mean score < high, which no NaN is (0.11.2, samples_generator.py)."""
    pytest.importorskip("torch")
    queries = [f"Q {text}" for text in TEXTS]
    masking = partial(openrlhf.reward_func, missing="mask")
    scores = masking(queries, ["Q "] * 4, [TRUTH] * 4)["scores"].tolist()
    assert [math.isnan(one) for one in scores] == [False, True, False, True]
    mean = sum(scores) / len(scores)
    assert not 0 < mean < 1
    assert openrlhf.reward_func(queries, ["Q "] * 4, [TRUTH] * 4)["scores"] == [1.0, None, 0.0, None]
