"""Our losses against TRL's trainers, on the same rows and the same tiny model.

The trainers are built but not run: each gives the loss of one batch (`compute_loss`, for GRPO `_compute_loss`), in
evaluation mode, in which TRL does not divide by accumulation steps. The DPO reference is passed explicitly: left out,
TRL reloads it from where the model's config says it came from, which need not be the model that training starts from.
"""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
trl = pytest.importorskip("trl")
trl_rewards = pytest.importorskip("trl.rewards")  # no name of trl itself until somebody imports it
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")

from adhere.schema import PairRow, SftRow  # noqa: E402
from adhere.train.batch import objectives  # noqa: E402
from adhere.train.batch.answers import Item, _shift_answers, _sums  # noqa: E402
from adhere.train.batch.pairs import reference_sums, update_on_pairs  # noqa: E402
from adhere.train.batch.rollout import Answer, Group, Rollout  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.loop import learning  # noqa: E402
from adhere.train.methods.dpo import DpoSettings  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, WeightedAnswer, advantages_of, grpo_loss, overlong, select  # noqa: E402
from adhere.train.methods.kto import KtoSettings  # noqa: E402
from adhere.train.methods.reward_model import RewardModel  # noqa: E402
from adhere.train.methods.rloo import RlooSettings  # noqa: E402
from adhere.train.methods.sft import sft_loss  # noqa: E402
from adhere.train.packed.pack import TokenRow, cut, log_probs, row_sums  # noqa: E402
from adhere.train.packed.rows import pair_rows, sft_rows  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

# TRL itself still uses the names that transformers replaced.
pytestmark = pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing` is deprecated:FutureWarning")

TEXTS = ["the sea is wide", "no commas here", "the sea is deep and cold", "foxes jump", "lazy dogs sleep all day long"]


def load(directory: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).train(mode=False)


def shaken(model: Any, seed: int) -> Any:
    """The model with a little noise on its weights: another policy, near enough that ratios stay near 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.01)
    return model


@pytest.fixture(params=["tiny_llama_dir", "tiny_qwen_dir"])
def directory(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def common(tmp_path: Path) -> dict[str, Any]:
    logging.getLogger("trl").setLevel(logging.ERROR)
    return {
        "output_dir": str(tmp_path),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "disable_tqdm": True,
    }


def first_batch(trainer: Any) -> Any:
    trainer.model.train(mode=False)
    return trainer._prepare_inputs(next(iter(trainer.get_train_dataloader())))


def test_sft_loss_and_gradient_equal_trls(directory: Path, common: dict[str, Any]) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    rows = sft_rows(
        tokenizer,
        [SftRow(f"p{i}", f"Write about thing {i}.", text, "sampled", (), ()) for i, text in enumerate(TEXTS)],
    )
    data = [
        {"prompt": tokenizer.decode(row.prompt), "completion": tokenizer.decode(row.completion[:-1])} for row in rows
    ]
    trainer = trl.SFTTrainer(
        load(directory),
        args=trl.SFTConfig(per_device_train_batch_size=len(rows), max_length=None, **common),
        train_dataset=datasets.Dataset.from_list(data),
        processing_class=tokenizer,
    )
    theirs = trainer.compute_loss(trainer.model, first_batch(trainer))
    theirs.backward()
    model = load(directory)
    tokens = sum(len(row.completion) for row in rows)
    ours = 0.0
    for part in cut([[row] for row in rows], tree_tokens=80):
        loss = sft_loss(model, part, tokens=tokens)
        loss.backward()
        ours += loss.item()
    assert ours == pytest.approx(theirs.item(), rel=1e-5)
    for (name, mine), (_, other) in zip(model.named_parameters(), trainer.model.named_parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, atol=2e-5, rtol=1e-3, msg=name)


def neighbours(tokenizer: Any) -> list[Any]:
    """Pairs of texts that follow each other in TEXTS."""
    texts = enumerate(itertools.pairwise(TEXTS))
    rows = [
        PairRow(f"p{i}", f"Write about thing {i}.", chosen, rejected, "repaired", (), ())
        for i, (chosen, rejected) in texts
    ]
    return pair_rows(tokenizer, rows)


def as_trl(tokenizer: Any, pairs: list[Any]) -> list[dict[str, str]]:
    """Pairs as TRL's DPO reads them; it adds the end itself."""
    return [
        {
            "prompt": tokenizer.decode(pair.chosen.prompt),
            "chosen": tokenizer.decode(pair.chosen.completion[:-1]),
            "rejected": tokenizer.decode(pair.rejected.completion[:-1]),
        }
        for pair in pairs
    ]


def test_dpo_loss_equals_trls(directory: Path, common: dict[str, Any]) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    pairs = neighbours(tokenizer)
    data = as_trl(tokenizer, pairs)
    trainer = trl.DPOTrainer(
        load(directory),
        ref_model=shaken(load(directory), 1),
        args=trl.DPOConfig(per_device_train_batch_size=len(pairs), beta=0.3, **common),
        train_dataset=datasets.Dataset.from_list(data),
        processing_class=tokenizer,
    )
    theirs = trainer.compute_loss(trainer.model, first_batch(trainer)).item()
    model = load(directory)
    reference = reference_sums(shaken(load(directory), 1), pairs, tree_tokens=10_000, tally=Tally())
    with learning(model, DpoSettings(), stage="dpo", steps=1) as learner:
        ours = update_on_pairs(model, learner, pairs, reference, beta=0.3, tally=Tally(), starts_at=None)["loss"]
    assert abs(theirs - 0.6931) > 0.01  # the reference is another model, or this would compare constants
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"loss_type": "ipo", "beta": 0.3}, lambda sums: objectives.ipo(sums, beta=0.3)),
        ({"loss_type": "sigmoid_norm", "beta": 0.3}, lambda sums: objectives.sigmoid(sums, beta=0.3, by_length=True)),
        (
            {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.7], "beta": 0.3},
            lambda sums: objectives.sigmoid(sums, beta=0.3) - 0.7 * sums.chosen.sum() / sums.chosen_tokens.sum(),
        ),
    ],
    ids=["ipo", "by-length", "rpo"],
)  # fmt: skip
def test_dpo_variants_equal_trls(
    tiny_llama_dir: Path, common: dict[str, Any], theirs: dict[str, Any], ours: Any
) -> None:
    """IPO, length-normalised DPO and RPO on one batch, with a reference that is another model."""
    directory = tiny_llama_dir
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    pairs = neighbours(tokenizer)
    data = as_trl(tokenizer, pairs)
    trainer = trl.DPOTrainer(
        load(directory),
        ref_model=shaken(load(directory), 1),
        args=trl.DPOConfig(per_device_train_batch_size=len(pairs), **theirs, **common),
        train_dataset=datasets.Dataset.from_list(data),
        processing_class=tokenizer,
    )
    wanted = trainer.compute_loss(trainer.model, first_batch(trainer)).item()
    model = load(directory)
    reference = reference_sums(shaken(load(directory), 1), pairs, tree_tokens=10_000, tally=Tally())
    (part,) = cut(pairs, tree_tokens=10_000)
    with torch.no_grad():
        sums = row_sums(log_probs(model, part.tree), part.tree).view(-1, 2)
    lengths = torch.tensor(part.tree.lengths, dtype=torch.float32).view(-1, 2)
    base = torch.tensor([reference[item] for item in part.items])
    found = objectives.PairSums(sums[:, 0], sums[:, 1], lengths[:, 0], lengths[:, 1], base[:, 0], base[:, 1])
    assert ours(found).mean().item() == pytest.approx(wanted, rel=1e-4)


def test_kto_loss_equals_trls(tiny_llama_dir: Path, common: dict[str, Any]) -> None:
    """With TRL's reference point: in both, each answer of the batch is put to the prompt of the next one."""
    directory = tiny_llama_dir
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    rows = sft_rows(
        tokenizer,
        [SftRow(f"p{i}", f"Write about thing {i}.", text, "sampled", (), ()) for i, text in enumerate(TEXTS)],
    )
    labels = [True, False, True, True, False]
    data = [
        {"prompt": tokenizer.decode(row.prompt), "completion": tokenizer.decode(row.completion[:-1]), "label": label}
        for row, label in zip(rows, labels, strict=True)
    ]
    trainer = trl.KTOTrainer(
        load(directory),
        ref_model=shaken(load(directory), 1),
        args=trl.KTOConfig(
            per_device_train_batch_size=len(rows), beta=0.3, desirable_weight=1.0, undesirable_weight=1.5, **common
        ),
        train_dataset=datasets.Dataset.from_list(data),
        processing_class=tokenizer,
    )
    wanted = trainer.compute_loss(trainer.model, first_batch(trainer)).item()
    model, reference, settings = load(directory), shaken(load(directory), 1), KtoSettings(beta=0.3)
    # TRL puts answers to other prompts before it shuffles, so its pairs are those of our rows in their own order.
    by_source = _shift_answers([Item((row,)) for row in rows])  # mapped before it was shuffled
    ratios, crossed = (
        [
            now[0] - then[0]
            for now, then in zip(
                *(_sums(one, [(row,) for row in asked], settings, Tally()) for one in (model, reference)), strict=True
            )
        ]
        for asked in (rows, by_source)
    )
    point = sum(crossed) / len(crossed)
    assert point > 0.01, "or any rule for the reference point would do"
    losses = objectives.kto(
        torch.tensor(ratios), desirable=torch.tensor(labels), kl=torch.tensor(point), beta=0.3, weight_good=1.0, weight_bad=1.5,
    )  # fmt: skip
    assert losses.mean().item() == pytest.approx(wanted, rel=1e-4)


def test_reward_model_loss_equals_trls(tiny_llama_dir: Path, common: dict[str, Any]) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    tokenizer.pad_token = "<|endoftext|>"  # where it is the end of turn, TRL's model reads the token before it
    pairs = neighbours(tokenizer)
    judge = RewardModel(load(tiny_llama_dir), tokenizer)
    torch.nn.init.normal_(judge.head.weight, generator=torch.Generator().manual_seed(5))
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(
        tiny_llama_dir, num_labels=1, dtype=torch.float32
    )
    theirs.score.weight.data.copy_(judge.head.weight.data)
    data = [
        {name: tokenizer.decode([*row.prompt, *row.completion]) for name, row in zip(("chosen", "rejected"), pair, strict=True)}
        for pair in pairs
    ]  # fmt: skip
    trainer = trl.RewardTrainer(
        theirs,
        args=trl.RewardConfig(per_device_train_batch_size=len(pairs), center_rewards_coefficient=0.2, **common),
        train_dataset=datasets.Dataset.from_list(data),
        processing_class=tokenizer,
    )
    wanted = trainer.compute_loss(trainer.model, first_batch(trainer))
    wanted.backward()
    (part,) = cut(pairs, tree_tokens=10_000)
    rewards = judge.rewards(part).view(-1, 2)
    ours = objectives.bradley_terry(rewards[:, 0], rewards[:, 1], centre=0.2).mean()
    ours.backward()
    assert ours.item() == pytest.approx(wanted.item(), rel=1e-4)
    torch.testing.assert_close(judge.head.weight.grad, theirs.score.weight.grad, atol=2e-5, rtol=1e-3)


def grpo_answers() -> tuple[list[TokenRow], list[list[float]]]:
    """Two prompts with four answers each, of 1 to 8 tokens; token 2 ends a turn."""
    rows, scores = [], [[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 1.0, 0.25]]
    for place in range(2):
        prompt = (*range(5, 20), 30 + place)
        for answer in range(4):
            length = 1 + (3 * answer + 4 * place) % 8
            rows.append(TokenRow(prompt, (*(40 + (7 * answer + k) % 90 for k in range(length - 1)), 2)))
    return rows, scores


def padded(rows: list[TokenRow], advantages: list[float]) -> dict[str, Any]:
    """The tensors that TRL's `_compute_loss` takes; prompts here have one length."""
    longest = max(len(row.completion) for row in rows)
    return {
        "prompt_ids": torch.tensor([row.prompt for row in rows]),
        "prompt_mask": torch.ones(len(rows), len(rows[0].prompt), dtype=torch.long),
        "completion_ids": torch.tensor([row.completion + (2,) * (longest - len(row.completion)) for row in rows]),
        "completion_mask": torch.tensor(
            [[1] * len(row.completion) + [0] * (longest - len(row.completion)) for row in rows]
        ),
        "advantages": torch.tensor(advantages),
        "num_items_in_batch": torch.tensor(sum(len(row.completion) for row in rows)),
    }


def in_rows(values: Any, rows: list[TokenRow], longest: int) -> Any:
    """Flat values (K) padded with zeros to (R, longest)."""
    parts = torch.split(values, [len(row.completion) for row in rows])
    return torch.stack([torch.nn.functional.pad(part, (0, longest - len(part))) for part in parts])


@pytest.mark.parametrize("kl_beta", [0.0, 0.04])
@pytest.mark.parametrize("on_policy", [True, False])
@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo"])
@pytest.mark.parametrize("same_sampler", [True, False])
def test_grpo_loss_and_gradient_equal_trls(
    tiny_llama_dir: Path, common: dict[str, Any], loss_type: Any, *, on_policy: bool, kl_beta: float, same_sampler: bool
) -> None:
    """`same_sampler` False: the answers were drawn by an engine whose log-probs differ from the trainer's."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    rows, scores = grpo_answers()
    settings = GrpoSettings(loss_type=loss_type, kl_beta=kl_beta, clip_low=0.05, clip_high=0.1, max_new_tokens=16)
    advantages = [value for group in scores for value in advantages_of(group, settings)]
    config = trl.GRPOConfig(
        per_device_train_batch_size=8, num_generations=4, max_completion_length=16, loss_type=loss_type,
        beta=kl_beta, epsilon=0.05, epsilon_high=0.1, temperature=1.0, **common,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        load(tiny_llama_dir),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=config,
        train_dataset=datasets.Dataset.from_list([{"prompt": "unused"}] * 8),
        processing_class=tokenizer,
    )
    trainer.model.train(mode=False)
    inputs = padded(rows, advantages)
    longest = inputs["completion_ids"].shape[1]
    (part,) = cut([[row] for row in rows], tree_tokens=10_000)
    laid = [rows[item] for item in part.items]
    back = [part.items.index(row) for row in range(len(rows))]
    with torch.no_grad():
        drawn = log_probs(shaken(load(tiny_llama_dir), 2), part.tree)
        reference = log_probs(shaken(load(tiny_llama_dir), 3), part.tree)
    if not on_policy:
        inputs["old_per_token_logps"] = in_rows(drawn, laid, longest)[back]
    if kl_beta:
        inputs["ref_per_token_logps"] = in_rows(reference, laid, longest)[back]
    sampled = None
    if not same_sampler:
        with torch.no_grad():
            own = log_probs(load(tiny_llama_dir), part.tree) if on_policy else drawn
            sampled = own - torch.randn(own.shape, generator=torch.Generator().manual_seed(4))
        trainer.use_vllm, trainer.vllm_importance_sampling_correction = True, True
        cap = settings.importance_cap
        inputs["importance_sampling_ratio"] = in_rows((own - sampled).exp().clamp(max=cap), laid, longest)[back]
    theirs = trainer._compute_loss(trainer.model, inputs)
    theirs.backward()

    model = load(tiny_llama_dir)
    groups = [
        Group(
            str(place), tuple(Rollout(row, Answer("", truncated=False), s) for row, s in zip(some, scored, strict=True))
        )
        for place, (some, scored) in enumerate(zip((rows[:4], rows[4:]), scores, strict=True))
    ]
    by_row = {answer.row: answer for answer in select(groups, settings).answers}
    answers: list[WeightedAnswer] = [by_row[row] for row in laid]
    if sampled is not None:
        pieces = torch.split(sampled, [len(row.completion) for row in laid])
        answers = [a._replace(log_probs=tuple(piece.tolist())) for a, piece in zip(answers, pieces, strict=True)]
    found = log_probs(model, part.tree)
    ours, measured = grpo_loss(
        found,
        answers,
        drawn_log_probs=found.detach() if on_policy else drawn,
        reference=reference if kl_beta else None,
        settings=settings,
    )
    ours.backward()
    assert (measured.clipped > 0) is not on_policy
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-4, abs=1e-6)
    grads = {name: p.grad for name, p in trainer.model.named_parameters() if p.grad is not None}
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, grads[name], atol=2e-5, rtol=1e-3, msg=name)


@pytest.mark.parametrize(("limit", "cache"), [(16, 5), (16, 16), (7, 1)])
def test_the_overlong_punishment_is_trls(limit: int, cache: int) -> None:
    theirs = trl_rewards.get_soft_overlong_punishment(limit, cache)(
        completion_ids=[[1] * n for n in range(1, limit + 1)]
    )
    settings = GrpoSettings(max_new_tokens=limit, overlong_tokens=cache, overlong_penalty=1.0)
    assert [-overlong(tokens, settings) for tokens in range(1, limit + 1)] == pytest.approx(theirs)


def test_gspo_loss_and_gradient_equal_trls(tiny_llama_dir: Path, common: dict[str, Any]) -> None:
    """One ratio a sequence (its geometric mean), off-policy, some of it clipped."""
    rows, scores = grpo_answers()
    settings = GrpoSettings(loss_type="grpo", importance="sequence", clip_low=3e-3, clip_high=4e-3, max_new_tokens=16)
    advantages = [value for group in scores for value in advantages_of(group, settings)]
    trainer = trl.GRPOTrainer(
        load(tiny_llama_dir),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=trl.GRPOConfig(
            per_device_train_batch_size=8, num_generations=4, max_completion_length=16, loss_type="grpo",
            importance_sampling_level="sequence", epsilon=3e-3, epsilon_high=4e-3, temperature=1.0, **common,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "unused"}] * 8),
        processing_class=transformers.AutoTokenizer.from_pretrained(tiny_llama_dir),
    )  # fmt: skip
    trainer.model.train(mode=False)
    inputs = padded(rows, advantages)
    (part,) = cut([[row] for row in rows], tree_tokens=10_000)
    laid = [rows[item] for item in part.items]
    with torch.no_grad():
        drawn = log_probs(shaken(load(tiny_llama_dir), 2), part.tree)
    back = [part.items.index(row) for row in range(len(rows))]
    inputs["old_per_token_logps"] = in_rows(drawn, laid, inputs["completion_ids"].shape[1])[back]
    theirs = trainer._compute_loss(trainer.model, inputs)
    theirs.backward()
    model = load(tiny_llama_dir)
    weighted = [WeightedAnswer(row, advantages[rows.index(row)], 1 / (len(row.completion) * len(rows))) for row in laid]
    ours, measured = grpo_loss(
        log_probs(model, part.tree), weighted, drawn_log_probs=drawn, reference=None, settings=settings
    )
    ours.backward()
    assert 0 < measured.clipped < measured.tokens
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-4, abs=1e-6)
    grads = {name: p.grad for name, p in trainer.model.named_parameters() if p.grad is not None}
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, grads[name], atol=2e-5, rtol=1e-3, msg=name)


def test_rloo_gradient_equals_trls_on_policy(tiny_llama_dir: Path, common: dict[str, Any]) -> None:
    """At one update an episode. Off policy TRL clips the ratio of the whole answer, ours that of each token."""
    rows, scores = grpo_answers()
    settings = RlooSettings(max_new_tokens=16)
    advantages = [value for group in scores for value in advantages_of(group, settings)]
    trainer = trl.RLOOTrainer(
        load(tiny_llama_dir),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=trl.RLOOConfig(
            per_device_train_batch_size=8, num_generations=4, max_completion_length=16, beta=0.0, temperature=1.0, **common
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "unused"}] * 8),
        processing_class=transformers.AutoTokenizer.from_pretrained(tiny_llama_dir),
    )  # fmt: skip
    trainer.model.train(mode=False)
    (part,) = cut([[row] for row in rows], tree_tokens=10_000)
    laid = [rows[item] for item in part.items]
    model = load(tiny_llama_dir)
    found = log_probs(model, part.tree)
    own = in_rows(found.detach(), laid, max(len(row.completion) for row in rows))
    back = [part.items.index(row) for row in range(len(rows))]
    theirs = trainer._compute_loss(trainer.model, padded(rows, advantages) | {"old_logps": own[back].sum(1)})
    theirs.backward()
    weighted = [WeightedAnswer(row, advantages[rows.index(row)], 1 / len(rows)) for row in laid]
    loss, _ = grpo_loss(found, weighted, drawn_log_probs=found.detach(), reference=None, settings=settings)
    loss.backward()
    grads = {name: p.grad for name, p in trainer.model.named_parameters() if p.grad is not None}
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, grads[name], atol=2e-5, rtol=1e-3, msg=name)


# What docs/guide/stages.md says of defaults: our setting, TRL's, and both values; one value where they are equal.
DEFAULTS: dict[str, tuple[str, dict[tuple[str, str], tuple[Any, ...]]]] = {
    "sft": ("SFTConfig", {
        ("learning_rate", "learning_rate"): (2e-5,),
        ("schedule", "lr_scheduler_type"): ("linear",),
        ("clip", "max_grad_norm"): (1.0,),
        ("epochs", "num_train_epochs"): (2, 3),
        ("batch_rows", "per_device_train_batch_size"): (16, 8),
        ("weight_decay", "weight_decay"): (0.1, 0.0),
        ("warmup_share", "warmup_steps"): (0.05, 0),
    }),
    "dpo": ("DPOConfig", {
        ("beta", "beta"): (0.1,),
        ("loss", "loss_type"): ("sigmoid", ["sigmoid"]),
        ("clip", "max_grad_norm"): (1.0,),
        ("batch_pairs", "per_device_train_batch_size"): (8,),
        ("learning_rate", "learning_rate"): (2e-6, 1e-6),
        ("epochs", "num_train_epochs"): (1, 3),
    }),
    "kto": ("KTOConfig", {
        ("beta", "beta"): (0.1,),
        ("weight_good", "desirable_weight"): (1.0,),
        ("weight_bad", "undesirable_weight"): (1.0,),
        ("clip", "max_grad_norm"): (1.0,),
        ("learning_rate", "learning_rate"): (2e-6, 1e-6),
        ("batch_items", "per_device_train_batch_size"): (16, 8),
        ("epochs", "num_train_epochs"): (1, 3),
    }),
    "reward-model": ("RewardConfig", {
        ("batch_pairs", "per_device_train_batch_size"): (8,),
        ("clip", "max_grad_norm"): (1.0,),
        ("learning_rate", "learning_rate"): (1e-5, 1e-4),
        ("centre", "center_rewards_coefficient"): (0.01, None),
        ("epochs", "num_train_epochs"): (2, 3),
    }),
    "grpo": ("GRPOConfig", {
        ("loss_type", "loss_type"): ("dapo",),
        ("answers_per_prompt", "num_generations"): (8,),
        ("clip_low", "epsilon"): (0.2,),
        ("kl_beta", "beta"): (0.0,),
        ("temperature", "temperature"): (1.0,),
        ("updates_per_episode", "num_iterations"): (1,),
        ("scale_rewards", "scale_rewards"): ("group",),
        ("clip", "max_grad_norm"): (1.0,),
        ("learning_rate", "learning_rate"): (3e-6, 1e-6),
        ("max_new_tokens", "max_completion_length"): (64, 512),
    }),
    "rloo": ("RLOOConfig", {
        ("clip_low", "epsilon"): (0.2,),
        ("temperature", "temperature"): (1.0,),
        ("updates_per_episode", "num_iterations"): (1,),
        ("learning_rate", "learning_rate"): (3e-6, 1e-6),
        ("answers_per_prompt", "num_generations"): (8, 2),
        ("kl_beta", "beta"): (0.0, 0.05),
        ("max_new_tokens", "max_completion_length"): (64, 512),
    }),
}  # fmt: skip


@pytest.mark.parametrize("stage", DEFAULTS)
def test_defaults_are_those_of_the_guides_table(stage: str, tmp_path: Path) -> None:
    name, values = DEFAULTS[stage]
    ours = STAGES.get(stage).settings()
    theirs = getattr(trl, name)(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    for (mine, other), wanted in values.items():
        assert (getattr(ours, mine), getattr(theirs, other)) == (wanted[0], wanted[-1]), (mine, other)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_gdpo_advantages_of_equal_scores(tiny_llama_dir: Path, common: dict[str, Any]) -> None:
    """Two rewards, each normalised in its group: TRL's `normalize_then_sum` on the scores that ours gets.

    One answer lacks a component, a whole group lacks the other.
    """
    from adhere.train.methods.grpo import over_episode, sum_of_parts

    scores: dict[str, list[float | None]] = {
        "first": [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "second": [0.5, 0.25, None, 1.0, None, None, None, None],
    }

    def reward(name: str) -> Any:
        def part(completions: list[str], **_: Any) -> list[float | None]:
            return scores[name][: len(completions)]

        part.__name__ = name
        return part

    trainer = trl.GRPOTrainer(
        load(tiny_llama_dir),
        reward_funcs=[reward(name) for name in scores],
        args=trl.GRPOConfig(
            per_device_train_batch_size=8, num_generations=4, max_completion_length=4, max_steps=1,
            multi_objective_aggregation="normalize_then_sum", **common,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "a"}, {"prompt": "b"}] * 4),
        processing_class=transformers.AutoTokenizer.from_pretrained(tiny_llama_dir),
    )  # fmt: skip
    trainer.train()
    theirs = list(trainer._logs["advantages"])[:8]
    parts = [{name: values[at] for name, values in scores.items()} for at in range(8)]
    ours = over_episode([value for group in (parts[:4], parts[4:]) for value in sum_of_parts(group)])
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert len(set(ours)) > 4
