"""Every registered stage through one suite on a tiny model, and what is particular to each."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.study.computed import methods_of_ours  # noqa: E402

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import PairRow, RlRow, SftRow  # noqa: E402
from adhere.train.batch.rollout import Answer  # noqa: E402
from adhere.train.budget.cost import Shape  # noqa: E402
from adhere.train.loop import learning  # noqa: E402
from adhere.train.methods import rft as rft_room  # noqa: E402
from adhere.train.methods.dpo import DpoSettings, dpo  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, WeightedAnswer, advantages_of, grpo_loss  # noqa: E402
from adhere.train.methods.kto import KtoSettings, kto  # noqa: E402
from adhere.train.methods.reward_model import RewardModelSettings, reward_model  # noqa: E402
from adhere.train.methods.rft import RftSettings, rft  # noqa: E402
from adhere.train.methods.rloo import RlooSettings  # noqa: E402
from adhere.train.packed.pack import TokenRow  # noqa: E402
from adhere.train.settings import OptimizerSettings  # noqa: E402
from adhere.train.stage.estimate import Speed, estimate  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

NAMES = methods_of_ours()
LOWER, UPPER = (("case:lower",), ({},)), (("case:upper",), ({},))


def pool(count: int = 8) -> SimpleNamespace:
    """Rows whose rules cross: half must be in small letters, half in capitals."""
    sft, pairs, rl = [], [], []
    for i in range(count):
        (ids, kwargs), good, bad = (
            (LOWER, "the sea is wide", "The Sea") if i % 2 else (UPPER, "THE SEA IS WIDE", "The Sea")
        )
        prompt = f"Write about thing {i}."
        sft.append(SftRow(f"p{i}", prompt, good, "sampled", ids, kwargs))
        pairs.append(PairRow(f"p{i}", prompt, good, bad, "sampled", ids, kwargs))
        rl.append(RlRow(f"p{i}", prompt, 8, 0.5, 0.01 * i, ids, kwargs))
    return SimpleNamespace(sft=sft, pairs=pairs, rl=rl)


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    """Right is an answer with an even number of letters: about half of a random model's."""
    return [float(len(answer.text) % 2 == 0) for answer in answers]


SMALL: dict[str, dict[str, Any]] = {
    name: {"steps": 2, "prompts_per_step": 2, "answers_per_prompt": 4, "max_new_tokens": 6}
    for name in ("online-dpo", "grpo", "rloo", "rft")
} | {
    "more-sft": {"equivalent_tokens": 300},
    "continue": {"text": (str(Path(__file__).parent / "plain.txt"),), "tokens": 300, "batch_tokens": 100, "share": 0.5},
}


def settings_of(name: str) -> Any:
    return STAGES.get(name).settings(**SMALL.get(name, {}))


def run(name: str, model: Any, tokenizer: Any, settings: Any = None, data: Any = None) -> Any:
    stage, settings = STAGES.get(name), settings or settings_of(name)
    online: dict[str, Any] = {"score": score} if stage.online else {}
    return stage.run(model, tokenizer, stage.rows(data or pool(), settings), settings, seed=3, **online)


def weights(model: Any) -> list[Any]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def test_every_file_of_methods_is_registered() -> None:
    """A file that `stages._MODULES` does not name is never imported, and nothing would complain."""
    files = {file.stem for file in Path(sys.modules[rft_room.__name__].__file__ or "").parent.glob("[a-z]*.py")}
    assert files == {STAGES.get(name).run.__module__.rpartition(".")[2] for name in NAMES}
    assert {"sft", "more-sft", "continue", "rft", "dpo", "kto", "online-dpo", "grpo", "rloo", "reward-model"} <= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_stage_trains_logs_and_counts(name: str, tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    before = weights(model)
    result = run(name, model, tokenizer)
    changed = any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert changed == (STAGES.get(name).yields == "weights")
    assert (result.artefact is not None) == (STAGES.get(name).yields != "weights")
    assert result.ledger.steps > 0
    assert result.ledger.tokens_trained > 0
    assert all(row["loss"] is None or math.isfinite(row["loss"]) for row in result.log)
    assert any(row["loss"] is not None for row in result.log)
    assert all(parameter.requires_grad for parameter in model.parameters()), "the model is put back"


@pytest.mark.parametrize("name", sorted(NAMES - {"reward-model"}))
def test_the_same_seed_gives_the_same_bits(name: str, tiny_llama_dir: Path) -> None:
    found = []
    for _ in range(2):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype="float32")
        run(name, model, transformers.AutoTokenizer.from_pretrained(tiny_llama_dir))
        found.append(weights(model))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_rows_are_refused(name: str, tiny: tuple[Any, Any]) -> None:
    with pytest.raises(UsageError, match=r"no (rows|pairs|prompts|answers)"):
        run(name, *tiny, data=SimpleNamespace(sft=[], pairs=[], rl=[]))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_stage_has_an_estimate_a_source_and_origins(name: str) -> None:
    stage, settings = STAGES.get(name), settings_of(name)
    cost = estimate(stage, settings, Shape(rows=100), Speed())
    assert cost.minutes > 0
    assert cost.tokens_trained > 0
    assert (cost.tokens_generated > 0) == stage.online
    assert stage.source.startswith("arXiv ")
    assert set(stage.provenance) - {"pairs"} <= {*settings.__struct_fields__}


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        (DpoSettings(), math.log(2)),
        (DpoSettings(loss="ipo", beta=0.5), 1.0),
        (DpoSettings(by_length=True, smoothing=0.1), math.log(2)),
    ],
)
def test_dpo_variants_start_where_the_policy_is_its_reference(
    settings: Any, first: float, tiny: tuple[Any, Any]
) -> None:
    assert dpo(*tiny, pool().pairs, settings, seed=0).log[0]["loss"] == pytest.approx(first, abs=1e-3)


def test_rpo_adds_the_likelihood_of_the_chosen_answers(tiny_llama_dir: Path) -> None:
    losses = []
    for weight in (0.0, 0.5, 1.0):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype="float32")
        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
        losses.append(dpo(model, tokenizer, pool().pairs, DpoSettings(sft_weight=weight), seed=0).log[0]["loss"])
    assert losses[1] - losses[0] == pytest.approx(losses[2] - losses[1], rel=1e-4)
    assert losses[1] > losses[0] + 1


def test_ipo_refuses_what_it_has_not(tiny: tuple[Any, Any]) -> None:
    with pytest.raises(UsageError, match="leave both settings out"):
        dpo(*tiny, pool().pairs, DpoSettings(loss="ipo", smoothing=0.1), seed=0)


def test_kto_starts_at_half_and_its_reference_point_at_zero(tiny: tuple[Any, Any]) -> None:
    """While the policy is its reference every ratio is 0: 1 - sigmoid(0) = 1/2, and so the mean."""
    row = kto(*tiny, pool().pairs, KtoSettings(), seed=0).log[0]
    assert row["loss"] == pytest.approx(0.5, abs=1e-4)
    assert row["reference_point"] == pytest.approx(0.0, abs=1e-4)


def test_the_leave_one_out_baseline_is_the_mean_of_the_others() -> None:
    scores = [1.0, 0.0, 0.5, 0.0]
    expected = [s - (sum(scores) - s) / 3 for s in scores]
    assert advantages_of(scores, RlooSettings()) == pytest.approx(expected)


def test_gspo_takes_one_ratio_a_sequence() -> None:
    """Two tokens whose log ratios are 0.2 and 0.4.

    The sequence's ratio is exp(0.3) at both, the gradient each token's own.
    """
    drawn = torch.tensor([-1.0, -1.0])
    found = (drawn + torch.tensor([0.2, 0.4])).requires_grad_()
    answers = [WeightedAnswer(TokenRow((5,), (6, 2)), 1.0, 0.5)]
    settings = GrpoSettings(importance="sequence", clip_high=10.0)
    loss, _ = grpo_loss(found, answers, drawn_log_probs=drawn, reference=None, settings=settings)
    loss.backward()
    assert loss.item() == pytest.approx(-math.exp(0.3))
    assert found.grad.tolist() == pytest.approx([-0.5 * math.exp(0.3)] * 2)


def test_rft_learns_only_what_passes_and_says_when_nothing_does(tiny: tuple[Any, Any]) -> None:
    result = run("rft", *tiny)
    assert 0 < result.log[0]["kept"] <= 2 * len(pool().rl)
    with pytest.raises(UsageError, match="none of 16 answers passed"):
        rft(*tiny, pool().rl, RftSettings(**SMALL["rft"]), seed=0, score=lambda _, answers: [0.0] * len(answers))


def test_rft_learns_with_all_settings_of_the_optimizer(tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The betas, the last rate, checkpointing and online merging of `rft` were those of `sft` once."""
    asked: list[Any] = []

    def learn(model: Any, settings: Any, **more: Any) -> Any:
        asked.append(settings)
        return learning(model, settings, **more)

    monkeypatch.setattr(rft_room, "learning", learn)
    own = {"betas": (0.8, 0.9), "final_share": 0.5, "gradient_checkpointing": True, "clip": 0.3}
    settings = RftSettings(**SMALL["rft"] | own)
    rft(*tiny, pool().rl, settings, seed=0, score=score)
    names = OptimizerSettings.__struct_fields__
    assert [getattr(asked[0], name) for name in names] == [getattr(settings, name) for name in names]


def test_every_method_says_its_source_and_how_ours_differs() -> None:
    for name in NAMES:
        said = " ".join((sys.modules[STAGES.get(name).run.__module__].__doc__ or "").split())
        assert "Source: " in said, name
        assert "How ours differs" in said, name


def test_a_reward_model_learns_what_is_preferred_and_is_read_back(tiny: tuple[Any, Any], tmp_path: Path) -> None:
    model, tokenizer = tiny
    settings = RewardModelSettings(epochs=12, learning_rate=3e-3, held_out_share=0.25)
    result = reward_model(model, tokenizer, pool(12).pairs, settings, seed=0)
    assert result.log[0]["loss"] == pytest.approx(math.log(2), abs=1e-5)
    assert result.log[-1]["held_out_pairs"] == 3
    assert result.log[-1]["held_out_accuracy"] == 1.0
    result.artefact.save(tmp_path)
    read = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path, dtype="float32").eval()
    asked = [("Write about thing 1.", "the sea is wide"), ("Write about thing 1.", "The Sea")]
    ours = result.artefact.scores(asked)
    from adhere.train.packed.rows import completion_ids, prompt_ids

    for (prompt, answer), expected in zip(asked, ours, strict=True):
        ids = [*prompt_ids(tokenizer, prompt), *completion_ids(tokenizer, answer, name="a")]
        with torch.no_grad():  # the tiny model pads with what ends a turn, which transformers would not read at
            found = read(input_ids=torch.tensor([ids, ids]), attention_mask=torch.ones(2, len(ids), dtype=torch.long))
        assert found.logits[:, 0].tolist() == pytest.approx([expected] * 2, abs=1e-4)
    assert tokenizer.pad_token == tokenizer.eos_token
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).pad_token != tokenizer.eos_token
