"""GRPO: advantages and losses by hand, what is left out, and the whole stage on a tiny model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.batch.rollout import (  # noqa: E402
    Answer,
    Group,
    Rollout,
    Sampler,
)
from adhere.train.budget.cost import Shape  # noqa: E402
from adhere.train.methods.grpo import (  # noqa: E402
    GrpoSettings,
    WeightedAnswer,
    advantages_of,
    grpo,
    grpo_loss,
    grpo_work,
    overlong,
    select,
)
from adhere.train.methods.rloo import RlooSettings, rloo  # noqa: E402
from adhere.train.packed.pack import TokenRow  # noqa: E402

SMALL = GrpoSettings(steps=2, prompts_per_step=2, answers_per_prompt=4, max_new_tokens=8, learning_rate=1e-3)


def prompts(count: int = 4) -> list[RlRow]:
    return [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1 * i, (), ()) for i in range(count)]


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    """Varies with the text, so that groups have variance; deterministic."""
    return [(sum(map(ord, answer.text)) % 5) / 4 for answer in answers]


def group(name: str, scores: Sequence[float | None], length: int = 2) -> Group:
    return Group(
        name,
        tuple(
            Rollout(TokenRow((1, 2), (place + 3,) * (length + place)), Answer("x", truncated=False), value)
            for place, value in enumerate(scores)
        ),
    )


def test_advantages_by_hand() -> None:
    """Scores 1, 0, 0, 1: mean 1/2, unbiased variance 4 * (1/4) / 3 = 1/3."""
    scale = math.sqrt(1 / 3) + 1e-4
    expected = [0.5 / scale, -0.5 / scale, -0.5 / scale, 0.5 / scale]
    assert advantages_of([1, 0, 0, 1], GrpoSettings()) == pytest.approx(expected)
    assert advantages_of([1, 0, 0, 1], GrpoSettings(scale_rewards="none")) == [0.5, -0.5, -0.5, 0.5]


def test_an_answer_without_a_measurement_is_no_part_of_its_group() -> None:
    """(1, None, 0): the mean is 1/2, not 1/3; three of four tokens' worth of answers stay."""
    episode = select([group("p", [1.0, None, 0.0])], GrpoSettings(scale_rewards="none"))
    assert [answer.advantage for answer in episode.answers] == [0.5, -0.5]
    assert [answer.row.completion[0] for answer in episode.answers] == [3, 5]
    assert select([group("p", [1.0, None, None])], GrpoSettings()).answers == []


def test_groups_without_variance_are_skipped_but_count_in_the_divisor() -> None:
    """Two groups of two answers with 2 and 3 tokens: 10 tokens in all; only the first group is learned from."""
    groups = [group("a", [1.0, 0.0]), group("b", [0.3, 0.3])]
    episode = select(groups, GrpoSettings())
    assert episode.groups == 1
    assert [answer.weight for answer in episode.answers] == pytest.approx([1 / 10, 1 / 10])
    with_kl = select(groups, GrpoSettings(kl_beta=0.1))
    assert [answer.advantage for answer in with_kl.answers][2:] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("loss_type", "weights"),
    [("dapo", [1 / 5, 1 / 5]), ("grpo", [1 / (2 * 2), 1 / (3 * 2)]), ("dr_grpo", [1 / (2 * 7), 1 / (2 * 7)])],
)
def test_what_token_losses_are_divided_by(loss_type: Any, weights: list[float]) -> None:
    episode = select([group("a", [1.0, 0.0])], GrpoSettings(loss_type=loss_type, max_new_tokens=7))
    assert [answer.weight for answer in episode.answers] == pytest.approx(weights)


def test_at_most_so_many_groups_those_that_vary_most() -> None:
    groups = [group("a", [0.5, 0.4]), group("b", [1.0, 0.0]), group("c", [0.8, 0.2]), group("d", [0.1, 0.1])]
    episode = select(groups, GrpoSettings(max_trained_groups=2))
    assert (episode.groups, episode.left_out) == (2, 1)
    assert len(episode.answers) == 4
    assert episode.answers[0].weight == pytest.approx(1 / 15)  # a is as if not drawn; d counts


def test_a_budget_begins_groups_that_vary_most_until_it_is_spent() -> None:
    """Two answers of 2 and 3 tokens a group: 5 tokens. Room for 6 begins two groups, for 5 one, for none none."""
    groups = [group("little", [0.6, 0.5]), group("much", [1.0, 0.0]), group("some", [1.0, 0.5])]

    def learned(room: float | None, **settings: Any) -> list[str]:
        episode = select(groups, GrpoSettings(**settings), room=room)
        rows = {id(answer.row) for answer in episode.answers}
        names = ("little", "much", "some")
        return [name for name, one in zip(names, groups, strict=True) if rows & {id(each.row) for each in one.answers}]

    assert learned(None) == ["little", "much", "some"]
    assert learned(6) == ["much", "some"]
    assert learned(5) == ["much"]
    assert learned(10, updates_per_episode=2) == ["much"], "each update trains on the same tokens again"
    assert learned(0) == learned(-3) == []
    assert select(groups, GrpoSettings(), room=5).left_out == 2


def test_on_policy_the_ratio_is_one_and_the_gradient_is_the_policy_gradient() -> None:
    found = torch.tensor([-1.0, -2.0, -3.0], requires_grad=True)
    answers = [WeightedAnswer(TokenRow((1,), (2, 3)), 0.5, 0.1), WeightedAnswer(TokenRow((1,), (4,)), -2.0, 0.2)]
    loss, measured = grpo_loss(found, answers, drawn_log_probs=found.detach(), reference=None, settings=GrpoSettings())
    loss.backward()
    assert loss.item() == pytest.approx(-(0.5 * 0.1 * 2 - 2.0 * 0.2))
    assert found.grad.tolist() == pytest.approx([-0.05, -0.05, 0.4])
    assert measured.clipped == 0


def test_off_policy_the_ratio_is_clipped_on_the_side_that_would_go_too_far() -> None:
    """Ratios 1.5 and 0.5 with advantages +1 and -1 are clipped to 1.2 and 0.8: no gradient.

    The other way round they are not.
    """
    drawn = torch.zeros(2)
    settings = GrpoSettings(updates_per_episode=2)
    for signs, gradients, clipped in (((1.0, -1.0), [0.0, 0.0], 2), ((-1.0, 1.0), [1.5, -0.5], 0)):
        found = torch.tensor([math.log(1.5), math.log(0.5)], requires_grad=True)
        answers = [WeightedAnswer(TokenRow((1,), (2,)), sign, 1.0) for sign in signs]
        loss, measured = grpo_loss(found, answers, drawn_log_probs=drawn, reference=None, settings=settings)
        loss.backward()
        assert found.grad.tolist() == pytest.approx(gradients)
        assert measured.clipped == clipped


def test_the_kl_term_is_k3_and_zero_at_the_reference() -> None:
    """k3 of log-probs -1 against a reference of -2: exp(-1) + 1 - 1 = 0.3679."""
    found = torch.tensor([-1.0, -1.0])
    answers = [WeightedAnswer(TokenRow((1,), (2, 3)), 0.0, 1.0)]
    settings = GrpoSettings(kl_beta=0.5)
    _, same = grpo_loss(found, answers, drawn_log_probs=found, reference=found, settings=settings)
    loss, other = grpo_loss(
        found, answers, drawn_log_probs=found, reference=torch.tensor([-2.0, -1.0]), settings=settings
    )
    assert same.kl == 0.0
    assert other.kl == pytest.approx(math.exp(-1))
    assert loss.item() == pytest.approx(0.5 * math.exp(-1))


def test_the_stage_learns_what_is_rewarded(tiny: tuple[Any, Any]) -> None:
    """Letters are rewarded: their share among the characters rises well beyond what chance moves it."""
    model, tokenizer = tiny

    def letters(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        return [sum(c.isascii() and c.isalpha() for c in answer.text) / max(1, len(answer.text)) for answer in answers]

    settings = GrpoSettings(steps=12, prompts_per_step=2, answers_per_prompt=8, max_new_tokens=12, learning_rate=1e-2)
    rewards = [row["reward_mean"] for row in grpo(model, tokenizer, prompts(), settings, seed=0, score=letters).log]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.15, rewards


def test_log_and_ledger_of_the_stage(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    result = grpo(model, tokenizer, prompts(), SMALL, seed=0, score=score)
    assert [row["step"] for row in result.log] == [1, 2]
    for row in result.log:
        assert 0 <= row["reward_mean"] <= 1
        assert 1 <= row["mean_tokens"] <= 8
        assert row["unmeasured"] == 0
        assert row["clipped_share"] == 0.0
        assert row["mean_log_prob"] < 0
    ledger = result.ledger
    assert (ledger.steps, ledger.prompts, ledger.answers_generated) == (2, 4, 16)
    assert 16 <= ledger.tokens_generated <= 16 * 8
    assert ledger.tokens_trained <= ledger.tokens_generated
    assert ledger.seconds_generating > 0


def test_nothing_to_learn_is_a_step_without_update(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    result = grpo(model, tokenizer, prompts(), SMALL, seed=0, score=lambda _, answers: [1.0] * len(answers))
    assert [row["loss"] for row in result.log] == [None, None]
    assert [row["frac_zero_variance"] for row in result.log] == [1.0, 1.0]
    assert result.ledger.steps == 0
    assert all(torch.equal(before[name], parameter) for name, parameter in model.named_parameters())


def test_no_measurement_no_number(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    result = grpo(model, tokenizer, prompts(), SMALL, seed=0, score=lambda _, answers: [None] * len(answers))
    for row in result.log:
        assert row["unmeasured"] == 8
        assert row["reward_mean"] is None
        assert row["pass_rate"] is None
        assert row["frac_zero_variance"] is None
        assert row["loss"] is None


@pytest.mark.parametrize(
    "settings",
    [
        SMALL,
        GrpoSettings(
            **{f: getattr(SMALL, f) for f in SMALL.__struct_fields__} | {"updates_per_episode": 2, "kl_beta": 0.05}
        ),
    ],
    ids=["on-policy", "two updates and KL"],
)
def test_the_same_seed_gives_the_same_bits(tiny_llama_dir: Any, settings: GrpoSettings) -> None:
    transformers = pytest.importorskip("transformers")
    found = []
    for _ in range(2):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype=torch.float32)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
        result = grpo(model, tokenizer, prompts(), settings, seed=3, score=score)
        found.append((model.state_dict(), [row["loss"] for row in result.log]))
    assert found[0][1] == found[1][1]
    assert all(torch.equal(found[0][0][name], found[1][0][name]) for name in found[0][0])


def test_kl_is_zero_at_first_and_then_not(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    settings = GrpoSettings(
        steps=3, prompts_per_step=2, answers_per_prompt=4, max_new_tokens=8, learning_rate=1e-2, kl_beta=0.01
    )
    result = grpo(model, tokenizer, prompts(), settings, seed=0, score=score)
    assert result.log[0]["kl"] == pytest.approx(0.0, abs=1e-5)
    assert result.log[2]["kl"] > 1e-3
    assert result.ledger.tokens_scored == result.ledger.tokens_processed


def named(groups: Sequence[Group]) -> list[str]:
    return [one.prompt_id for one in groups]


class Drawing:
    """What a stage draws, round by round, while it runs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rounds: list[tuple[int, int, list[Group]]] = []
        draw = Sampler.draw

        def noted(sampler: Sampler, rows: Sequence[RlRow], *, step: int, again: int = 0) -> list[Group]:
            found = draw(sampler, rows, step=step, again=again)
            self.rounds.append((step, again, found))
            return found

        patch.setattr(Sampler, "draw", noted)


def only(*names: str) -> Any:
    """A scorer by which the answers to these prompts differ, and all others fail."""

    def by(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        return [float(place % 2) if prompt_id in names else 0.0 for place in range(len(answers))]

    return by


DYNAMIC = {"steps": 1, "prompts_per_step": 2, "answers_per_prompt": 2, "max_new_tokens": 4, "order": "ascending"}


@pytest.mark.parametrize(("stage", "kind"), [(grpo, GrpoSettings), (rloo, RlooSettings)], ids=["grpo", "rloo"])
def test_groups_without_variance_are_replaced_until_the_batch_is_full(
    tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, stage: Any, kind: Any
) -> None:
    """Six prompts by ascending variance; the answers to p2 and p5 differ.

    Rounds: p0 p1, p2 p3, p4 (one is missing), p5.
    """
    drawing = Drawing(monkeypatch)
    result = stage(*tiny, prompts(6), kind(rounds=9, **DYNAMIC), seed=0, score=only("p2", "p5"))
    assert [named(groups) for _, _, groups in drawing.rounds] == [["p0", "p1"], ["p2", "p3"], ["p4"], ["p5"]]
    (row,) = result.log
    assert (row["rounds"], row["groups_thrown_away"], row["groups_trained"]) == (4, 4, 2)
    assert row["frac_zero_variance"] == pytest.approx(4 / 6), "what is reported is of all that were drawn"
    ledger = result.ledger
    assert (ledger.prompts, ledger.answers_generated, ledger.groups_thrown_away, ledger.steps) == (6, 12, 4, 1)
    learned = sum(len(one.row.completion) for _, _, g in drawing.rounds for x in g if x.varies for one in x.answers)
    assert ledger.tokens_trained == learned


def test_at_the_limit_of_rounds_it_learns_from_what_there_is(tiny: tuple[Any, Any]) -> None:
    settings = GrpoSettings(rounds=2, **DYNAMIC)
    one = grpo(*tiny, prompts(6), settings, seed=0, score=only("p2", "p5"))
    assert (one.log[0]["rounds"], one.log[0]["groups_trained"], one.log[0]["groups_thrown_away"]) == (2, 1, 3)
    none = grpo(*tiny, prompts(6), settings, seed=0, score=only())
    assert none.log[0]["loss"] is None
    assert (none.ledger.steps, none.ledger.answers_generated, none.ledger.groups_thrown_away) == (0, 8, 4)


def test_a_prompt_that_comes_again_in_a_step_has_other_answers(
    tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = Drawing(monkeypatch)
    grpo(*tiny, prompts(2), GrpoSettings(rounds=3, **DYNAMIC), seed=0, score=only())
    texts = [tuple(one.answer.text for group in groups for one in group.answers) for _, _, groups in drawing.rounds]
    assert len(set(texts)) == 3


def test_the_next_episode_goes_on_after_the_replacements(
    tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = Drawing(monkeypatch)
    grpo(
        *tiny, prompts(6), GrpoSettings(rounds=2, **DYNAMIC | {"steps": 2}), seed=0, score=only("p1", "p2", "p4", "p5")
    )
    assert [(step, named(groups)) for step, _, groups in drawing.rounds] == [
        (1, ["p0", "p1"]),
        (1, ["p2"]),
        (2, ["p3", "p4"]),
        (2, ["p5"]),
    ]


def test_thrown_away_groups_do_not_count_in_the_divisor() -> None:
    """As the paper's batch, which holds only groups that vary: 5 tokens, not 10 (see the test of one round above)."""
    kept = [one for one in (group("a", [1.0, 0.0]), group("b", [0.3, 0.3])) if one.varies]
    assert [answer.weight for answer in select(kept, GrpoSettings(rounds=2)).answers] == pytest.approx([1 / 5, 1 / 5])


def test_an_overlong_answer_loses_reward_and_nothing_that_is_reported(tiny: tuple[Any, Any]) -> None:
    """Limit 8, cache 4, penalty 1: 4 tokens lose nothing, 6 a half, 8 all (2503.14476, eq. 13)."""
    settings = GrpoSettings(max_new_tokens=8, overlong_tokens=4, overlong_penalty=1.0, scale_rewards="none")
    assert [overlong(tokens, settings) for tokens in (1, 4, 5, 6, 8)] == [0.0, 0.0, 0.25, 0.5, 1.0]
    episode = select([group("p", [1.0, 1.0, 0.0], length=4)], settings)  # 4, 5, 6 tokens: rewards 1, 3/4, -1/2
    mean = (1 + 0.75 - 0.5) / 3
    assert [answer.advantage for answer in episode.answers] == pytest.approx([1 - mean, 0.75 - mean, -0.5 - mean])
    with pytest.raises(UsageError, match="overlong_tokens = 9"):
        grpo(*tiny, prompts(), GrpoSettings(max_new_tokens=8, overlong_tokens=9), seed=0, score=score)
    shaped, plain = (
        grpo(*tiny, prompts(), GrpoSettings(**DYNAMIC, overlong_tokens=tokens), seed=0, score=score).log[0]
        for tokens in (4, 0)
    )
    assert shaped["reward_mean"] == plain["reward_mean"]


def test_what_hit_the_limit_counts_in_the_mean_and_is_not_learned() -> None:
    """Scores 1, 0, 0, of which the last was cut: advantages from the mean 1/3, and the divisor without its 4 tokens."""
    answers = group("p", [1.0, 0.0, 0.0]).answers
    cut = answers[2]._replace(answer=Answer("x", truncated=True))
    settings = GrpoSettings(mask_truncated=True, scale_rewards="none")
    episode = select([Group("p", (*answers[:2], cut))], settings)
    assert [answer.advantage for answer in episode.answers] == pytest.approx([2 / 3, -1 / 3])
    assert [answer.weight for answer in episode.answers] == pytest.approx([1 / 5, 1 / 5])


def test_the_cost_of_replacing_is_foreseen() -> None:
    """Half of the groups vary.

    The first round fills 1/2 of the batch, three rounds 7/8, with 1 + 1/2 + 1/4 of its draws.
    """
    data = Shape(100, varied_share=0.5)
    one, three = (grpo_work(GrpoSettings(steps=10, rounds=rounds), data) for rounds in (1, 3))
    assert three.answers == pytest.approx(1.75 * one.answers)
    assert three.trained == pytest.approx(0.875 / 0.5 * one.trained)
