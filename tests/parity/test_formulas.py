"""Every stage on one batch against its paper's formula, transcribed here.

Row by row, without our trees, losses and weights.

At the first step the policy is its own reference, and most losses are constants. So each stage is run for one step and,
anew, for two: the weights after the first and those of the start are the policy and the reference of the second step,
whose loss and gradient norm are in its log row. What a stage draws is taken where it is drawn. Which papers state which
formula: docs/guide/stages.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import stdev
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.unit.study.computed import methods_of_ours  # noqa: E402

from adhere.schema import PairRow, RlRow, SftRow  # noqa: E402
from adhere.train.batch.rollout import Answer, Group, Sampler  # noqa: E402
from adhere.train.packed.pack import TokenRow  # noqa: E402
from adhere.train.packed.rows import shuffled_batches  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

RATE = {"learning_rate": 3e-3, "schedule": "constant", "warmup_share": 0.0}
ANSWERS = [
    ("the sea is wide", "The Sea"),
    ("THE SEA IS WIDE AND COLD", "The sea is"),
    ("foxes jump over dogs", "A Fox"),
]
LOWER, UPPER = (("case:lower",), ({},)), (("case:upper",), ({},))
SEED = 3

sigmoid, log_sigmoid = torch.sigmoid, torch.nn.functional.logsigmoid


def pool() -> SimpleNamespace:
    """Four prompts; the answers to small letters and those to capitals break each other's rules."""
    sft, pairs, rl = [], [], []
    for i in range(4):
        (good, bad), (ids, kwargs) = ANSWERS[i % 3], UPPER if i % 3 == 1 else LOWER
        prompt = f"Write about thing {i}."
        sft.append(SftRow(f"p{i}", prompt, good, "sampled", ids, kwargs))
        pairs.append(PairRow(f"p{i}", prompt, good, bad, "sampled", ids, kwargs))
        rl.append(RlRow(f"p{i}", prompt, 8, 0.5, 0.01 * i, ids, kwargs))
    return SimpleNamespace(sft=sft, pairs=pairs, rl=rl)


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    """A third of the answers get 0, a third 1/2, a third 1, by their length."""
    return [len(answer.text) % 3 / 2 for answer in answers]


def load(directory: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).train(mode=False)


class Ran:
    """A stage that has run: the model it left, its log, what it drew."""

    def __init__(self, name: str, directory: Path, **given: Any) -> None:
        stage = STAGES.get(name)
        self.settings = stage.settings(**RATE | given)
        self.model, tokenizer = load(directory), transformers.AutoTokenizer.from_pretrained(directory)
        self.drawn: list[list[Group]] = []
        online: dict[str, Any] = {"score": score} if stage.online else {}
        with pytest.MonkeyPatch.context() as patch:
            draw = Sampler.draw

            def noted(sampler: Sampler, rows: Sequence[RlRow], *, step: int, again: int = 0) -> list[Group]:
                self.drawn.append(draw(sampler, rows, step=step, again=again))
                return self.drawn[-1]

            patch.setattr(Sampler, "draw", noted)
            rows = stage.rows(pool(), self.settings)
            result = stage.run(self.model, tokenizer, rows, self.settings, seed=SEED, **online)
        self.log, self.artefact = result.log, result.artefact


def tokens(directory: Path, prompt: str, answer: str) -> TokenRow:
    """As the model is asked, and what it should say, with the end of its turn."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    turn = [{"role": "user", "content": prompt}]
    asked = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
    plain: Callable[[str], list[int]] = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    return TokenRow(tuple(plain(asked)), (*plain(answer), tokenizer.eos_token_id))


def log_p(model: Any, row: TokenRow) -> Any:
    """log p of each token of the completion, by a forward pass over this row alone."""
    logits = model(torch.tensor([[*row.prompt, *row.completion]])).logits[0, len(row.prompt) - 1 : -1].float()
    return logits.log_softmax(-1).gather(-1, torch.tensor(row.completion)[:, None])[:, 0]


class Policy:
    """Log-probs under the policy, and log ratios to the reference."""

    def __init__(self, model: Any, reference: Any) -> None:
        self.model, self.reference = model, reference

    def sum(self, row: TokenRow) -> Any:
        return log_p(self.model, row).sum()

    def mean(self, row: TokenRow) -> Any:
        return log_p(self.model, row).mean()

    def base(self, row: TokenRow) -> Any:
        with torch.no_grad():
            return log_p(self.reference, row)

    def ratio(self, row: TokenRow) -> Any:
        return self.sum(row) - self.base(row).sum()

    def mean_ratio(self, row: TokenRow) -> Any:
        return self.ratio(row) / len(row.completion)


def gradient_norm(model: Any, loss: Any) -> float:
    """Over the weights that a stage trains by default: all but the embedding and the head."""
    trained = [p for name, p in model.named_parameters() if "embed_tokens" not in name and "lm_head" not in name]
    return math.sqrt(
        sum(g.square().sum().item() for g in torch.autograd.grad(loss, trained, allow_unused=True) if g is not None)
    )


def check(row: dict[str, float | None], model: Any, loss: Any) -> None:
    assert row["loss"] == pytest.approx(loss.item(), rel=1e-4, abs=1e-6)
    assert row["grad_norm"] == pytest.approx(gradient_norm(model, loss), rel=1e-3)


def pairs_of(directory: Path) -> list[tuple[TokenRow, TokenRow]]:
    return [(tokens(directory, p.prompt, p.chosen), tokens(directory, p.prompt, p.rejected)) for p in pool().pairs]


def test_sft_is_the_mean_negative_log_likelihood_of_a_batch(tiny_llama_dir: Path) -> None:
    one, two = (Ran("sft", tiny_llama_dir, epochs=epochs) for epochs in (1, 2))
    rows = [tokens(tiny_llama_dir, row.prompt, row.completion) for row in pool().sft]
    loss = -sum(log_p(one.model, row).sum() for row in rows) / sum(len(row.completion) for row in rows)
    check(two.log[1], one.model, loss)


def dpo_loss(policy: Policy, good: TokenRow, bad: TokenRow) -> Any:
    return -log_sigmoid(0.3 * (policy.ratio(good) - policy.ratio(bad)))


PAIRED: dict[str, tuple[str, dict[str, Any], Callable[[Policy, TokenRow, TokenRow], Any]]] = {
    # 2305.18290, eq. 7
    "dpo": ("dpo", {"beta": 0.3}, dpo_loss),
    # its label flipped with probability 0.1 (conservative DPO)
    "dpo, smoothing": (
        "dpo", {"beta": 0.3, "smoothing": 0.1},
        lambda p, good, bad: 0.9 * dpo_loss(p, good, bad) + 0.1 * dpo_loss(p, bad, good),
    ),
    # 2411.15124, eq. 6
    "dpo, by length": (
        "dpo", {"beta": 0.3, "by_length": True},
        lambda p, good, bad: -log_sigmoid(0.3 * (p.mean_ratio(good) - p.mean_ratio(bad))),
    ),
    # 2310.12036, eq. 17, over the mean of tokens
    "ipo": (
        "dpo", {"beta": 0.3, "loss": "ipo"},
        lambda p, good, bad: (p.mean_ratio(good) - p.mean_ratio(bad) - 1 / (2 * 0.3)) ** 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRED)
def test_losses_of_pairs(name: str, tiny_llama_dir: Path) -> None:
    stage, settings, formula = PAIRED[name]
    one, two = (Ran(stage, tiny_llama_dir, epochs=epochs, **settings) for epochs in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))
    check(two.log[1], one.model, sum(formula(policy, *pair) for pair in pairs_of(tiny_llama_dir)) / 4)


def test_rpo_adds_the_mean_negative_log_likelihood_of_chosen_tokens(tiny_llama_dir: Path) -> None:
    """2404.19733, with the likelihood meaned over the tokens of the batch, as TRL's `sft` loss."""
    one, two = (Ran("dpo", tiny_llama_dir, epochs=epochs, beta=0.3, sft_weight=0.7) for epochs in (1, 2))
    policy, pairs = Policy(one.model, load(tiny_llama_dir)), pairs_of(tiny_llama_dir)
    likelihood = -sum(policy.sum(good) for good, _ in pairs) / sum(len(good.completion) for good, _ in pairs)
    check(two.log[1], one.model, sum(dpo_loss(policy, *pair) for pair in pairs) / 4 + 0.7 * likelihood)


def test_kto_weighs_answers_around_a_reference_point(tiny_llama_dir: Path) -> None:
    """2402.01306, eqs.

    7 and 8: z0 from the batch's answers, each put to the next prompt, without gradient, not below 0.
    """
    given = {"beta": 0.3, "weight_good": 1.0, "weight_bad": 1.5}
    one, two = (Ran("kto", tiny_llama_dir, epochs=epochs, **given) for epochs in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))
    rows = [(row, good) for pair in pairs_of(tiny_llama_dir) for row, good in zip(pair, (True, False), strict=True)]
    order = shuffled_batches(len(rows), size=16, epochs=2, stage="kto", seed=SEED)[1]
    asked = [rows[place][0] for place in order]
    crossed = [
        TokenRow(b.prompt, a.completion)
        for a, b in zip(asked, asked[1:] + asked[:1], strict=True)
        if a.prompt != b.prompt
    ]
    z0 = max(0.0, sum(policy.ratio(row).item() for row in crossed) / len(crossed))
    assert two.log[1]["reference_point"] == pytest.approx(z0, abs=1e-5)
    losses = [
        1.0 * (1 - sigmoid(0.3 * (policy.ratio(row) - z0)))
        if good
        else 1.5 * (1 - sigmoid(0.3 * (z0 - policy.ratio(row))))
        for row, good in rows
    ]
    check(two.log[1], one.model, sum(losses) / len(losses))


def test_a_reward_model_is_bradley_terry(tiny_llama_dir: Path) -> None:
    """2203.02155, eq. 1, and 2312.09244's centring; the reward is a linear head on the answer's last token."""
    given = {"held_out_share": 0.0, "centre": 0.2, "freeze_embeddings_and_head": False}
    one, two = (Ran("reward-model", tiny_llama_dir, epochs=epochs, **given) for epochs in (1, 2))
    judge = one.artefact

    def reward(row: TokenRow) -> Any:
        states = judge.backbone.base_model(torch.tensor([[*row.prompt, *row.completion]])).last_hidden_state
        return (states[0, -1] @ judge.head.weight.T)[0]

    losses = []
    for good, bad in pairs_of(tiny_llama_dir):
        chosen, rejected = reward(good), reward(bad)
        losses.append(-log_sigmoid(chosen - rejected) + 0.2 * (chosen + rejected) ** 2)
    loss = sum(losses) / len(losses)
    assert two.log[1]["loss"] == pytest.approx(loss.item(), rel=1e-4)
    trained = [*dict.fromkeys([*judge.backbone.parameters(), *judge.head.parameters()])]
    grads = torch.autograd.grad(loss, trained, allow_unused=True)
    assert two.log[1]["grad_norm"] == pytest.approx(
        math.sqrt(sum(g.square().sum().item() for g in grads if g is not None)), rel=1e-3
    )


ONLINE = {"prompts_per_step": 3, "answers_per_prompt": 4, "max_new_tokens": 7}


def scored(groups: Sequence[Group]) -> list[list[tuple[TokenRow, float]]]:
    found = [[(one.row, score("", [one.answer])[0] or 0.0) for one in group.answers] for group in groups]
    assert any(len({value for _, value in group}) > 1 for group in found), "or this would compare zeros"
    return found


def test_online_dpo_prefers_the_best_of_its_own_answers_to_the_worst(tiny_llama_dir: Path) -> None:
    """2402.04792: DPO on pairs of the policy's own answers.

    Two answers there, the best and the worst of a group here.
    """
    one, two = (Ran("online-dpo", tiny_llama_dir, steps=steps, beta=0.3, **ONLINE) for steps in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))
    losses = []
    for group in scored(two.drawn[1]):
        values = [value for _, value in group]
        if min(values) < max(values):
            losses.append(dpo_loss(policy, group[values.index(max(values))][0], group[values.index(min(values))][0]))
    check(two.log[1], one.model, sum(losses) / len(losses))


def advantages(values: Sequence[float]) -> list[float]:
    """2402.03300, section 4.1.2; 1e-4 keeps it finite, as in TRL."""
    mean = sum(values) / len(values)
    return [(value - mean) / (stdev(values) + 1e-4) for value in values]


def clipped(ratio: Any, advantage: float, low: float, high: float) -> Any:
    return torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)


GRPO: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo"},  # 2402.03300, eq. 3
    "dapo": {"loss_type": "dapo", "clip_high": 0.28},  # 2503.14476
    "dr_grpo": {"loss_type": "dr_grpo", "scale_rewards": "none"},  # 2503.20783
    "gspo": {"loss_type": "grpo", "importance": "sequence", "clip_low": 3e-2, "clip_high": 4e-2},  # 2507.18071
}


@pytest.mark.parametrize("name", GRPO)
def test_grpo_and_its_kin(name: str, tiny_llama_dir: Path) -> None:
    """The second update on the same answers.

    The ratio to the policy that drew them is not 1, and some of it is clipped.
    """
    settings = {"steps": 1, "kl_beta": 0.05, **ONLINE, **GRPO[name]}
    one, two = (Ran("grpo", tiny_llama_dir, updates_per_episode=updates, **settings) for updates in (1, 2))
    start = load(tiny_llama_dir)  # drew the answers, and is the reference of the KL term
    policy = Policy(one.model, start)
    groups, low, high = scored(two.drawn[0]), two.settings.clip_low, two.settings.clip_high
    answers = [row for group in groups for row, _ in group]
    total = 0.0
    for group in groups:
        values = [value for _, value in group]
        mean = sum(values) / len(values)
        gains = [value - mean for value in values] if name == "dr_grpo" else advantages(values)
        for (row, _), gain in zip(group, gains, strict=True):
            now, then = log_p(policy.model, row), policy.base(row)
            ratio = (now - then).exp()
            k3 = (then - now).exp() - (then - now) - 1
            if name == "gspo":  # one ratio a sequence, its geometric mean; the loss is the sequence's
                whole = (now - then).mean().exp()
                total -= clipped(whole, gain, low, high) / len(answers)
                total += 0.05 * (k3 * (whole.detach() * (now - now.detach()).exp())).mean() / len(answers)
                continue
            each = -clipped(ratio, gain, low, high) + 0.05 * k3 * ratio  # KL weighted by the ratio, as TRL does
            divisor = {
                "grpo": len(row.completion) * len(answers),
                "dapo": sum(len(other.completion) for other in answers),
                "dr_grpo": len(answers) * two.settings.max_new_tokens,
            }[name]
            total += each.sum() / divisor
    (row,) = two.log
    assert row["grad_norm"] == pytest.approx(gradient_norm(one.model, total), rel=1e-3)
    first = one.log[0]["loss"] or 0.0
    assert 2 * (row["loss"] or 0.0) - first == pytest.approx(total.item(), rel=1e-3, abs=1e-5)
    assert (row["clipped_share"] or 0) > 0


def test_dapo_whole(tiny_llama_dir: Path) -> None:
    """2503.14476, eqs.

    8 to 13: rewards of 1 and -1 less the length penalty, groups with 0 < passing answers < G alone, tokens' mean,
    clip-higher. Our rewards are theirs, halved and moved, so the advantages are the same but for the 1e-4 of the
    divisor.
    """
    limit, cache = ONLINE["max_new_tokens"], 4

    def passes(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        return [0.0 if prompt_id == "p3" else float(len(one.text) % 2) for one in answers]  # p3 is drawn first

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "score", passes)
        given = {"steps": 1, **ONLINE, "rounds": 9, "clip_high": 0.28, "overlong_tokens": cache}
        one, two = (Ran("grpo", tiny_llama_dir, updates_per_episode=updates, **given) for updates in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))

    def length_reward(row: TokenRow) -> float:
        size = len(row.completion)
        return 0.0 if size <= limit - cache else ((limit - cache) - size) / cache if size <= limit else -1.0

    batch = []
    for group in (group for round_ in two.drawn for group in round_):
        rewards = [1.0 if one_.score else -1.0 for one_ in group.answers]
        if 0 < sum(reward > 0 for reward in rewards) < len(rewards):
            shaped = [r + length_reward(one_.row) for r, one_ in zip(rewards, group.answers, strict=True)]
            mean, deviation = sum(shaped) / len(shaped), stdev(shaped)
            batch.append([(a.row, (r - mean) / deviation) for a, r in zip(group.answers, shaped, strict=True)])
    assert len(two.drawn) > 1, "or nothing was replaced"
    assert len(batch) == ONLINE["prompts_per_step"]
    assert any(length_reward(row) < 0 for group in batch for row, _ in group)
    tokens_of_all = sum(len(row.completion) for group in batch for row, _ in group)
    total = 0.0
    for row, gain in (pair for group in batch for pair in group):
        ratio = (log_p(policy.model, row) - policy.base(row)).exp()
        total -= clipped(ratio, gain, 0.2, 0.28).sum() / tokens_of_all
    (row,) = two.log
    assert row["groups_thrown_away"] >= 1
    assert row["grad_norm"] == pytest.approx(gradient_norm(one.model, total), rel=1e-3)
    assert 2 * row["loss"] - one.log[0]["loss"] == pytest.approx(total.item(), rel=1e-3, abs=1e-5)


def test_rloo_is_reinforce_with_the_others_mean(tiny_llama_dir: Path) -> None:
    """2402.14740, eq. 8: the gradient of (score - mean score of the others) log p(answer), meaned over all answers."""
    ran = Ran("rloo", tiny_llama_dir, steps=1, **ONLINE)
    start, total, count = load(tiny_llama_dir), 0.0, 0
    for group in scored(ran.drawn[0]):
        values = [value for _, value in group]
        for place, (row, value) in enumerate(group):
            others = values[:place] + values[place + 1 :]
            total -= (value - sum(others) / len(others)) * log_p(start, row).sum()
            count += 1
    assert ran.log[0]["grad_norm"] == pytest.approx(gradient_norm(start, total / count), rel=1e-3)


def test_rft_is_sft_on_different_passing_answers(tiny_llama_dir: Path) -> None:
    """2308.01825: what passes, each different answer once; here at most two a prompt."""
    ran = Ran("rft", tiny_llama_dir, steps=1, epochs=1, most_kept=2, **ONLINE | {"answers_per_prompt": 8})
    kept = []
    for group in scored(ran.drawn[0]):
        passing: list[TokenRow] = []
        for row, value in group:
            if value == 1.0 and row not in passing:
                passing.append(row)
        kept += passing[:2]
    start = load(tiny_llama_dir)
    loss = -sum(log_p(start, row).sum() for row in kept) / sum(len(row.completion) for row in kept)
    assert ran.log[0]["kept"] == len(kept)
    check(ran.log[1], start, loss)


def test_no_stage_is_left_out() -> None:
    """A new stage of ours must come with its formula. The control has SFT's."""
    named = Path(__file__).read_text(encoding="utf-8")
    ours = methods_of_ours() - {"more-sft", "continue"}
    assert [name for name in sorted(ours) if f'"{name}"' not in named] == []
