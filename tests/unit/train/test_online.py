"""What both online stages share (order, drawing, scoring), and online DPO."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")

from adhere.errors import IntegrityError, UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.batch.rollout import (  # noqa: E402
    Answer,
    Group,
    Rollout,
    RolloutSettings,
    Sampler,
    episodes,
    in_order,
    insist_on_room,
    spread,
)
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, grpo  # noqa: E402
from adhere.train.methods.online_dpo import OnlineDpoSettings, best_against_worst, online_dpo, pairs_of, ranked_pairs  # noqa: E402
from adhere.train.packed.pack import TokenRow  # noqa: E402

SMALL = OnlineDpoSettings(steps=3, prompts_per_step=2, answers_per_prompt=4, max_new_tokens=8, learning_rate=1e-3)


def prompts(variances: Sequence[float] = (0.0, 0.1, 0.2, 0.3)) -> list[RlRow]:
    return [RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, value, (), ()) for i, value in enumerate(variances)]


def score(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
    return [(sum(map(ord, answer.text)) % 5) / 4 for answer in answers]


def names(rows: Sequence[RlRow]) -> list[str]:
    return [row.prompt_id for row in rows]


def test_highest_variance_first_and_the_controls() -> None:
    rows = prompts()
    assert names(in_order(rows, "variance", seed=0)) == ["p3", "p2", "p1", "p0"]
    assert names(in_order(rows, "ascending", seed=0)) == ["p0", "p1", "p2", "p3"]
    orders = {tuple(names(in_order(rows, "random", seed=seed))) for seed in range(20)}
    assert len(orders) > 5


def test_ties_are_broken_by_the_seed_alone() -> None:
    rows = prompts([0.5, 0.1, 0.1, 0.1, 0.1])
    first = names(in_order(rows, "variance", seed=1))
    assert first == names(in_order(rows, "variance", seed=1))
    assert first[0] == "p0"
    assert len({tuple(names(in_order(rows, "variance", seed=seed))) for seed in range(20)}) > 3


def test_episodes_pass_over_the_prompts_again_when_they_run_out() -> None:
    settings = RolloutSettings(steps=3, prompts_per_step=3)
    assert [names(batch) for batch in episodes(prompts(), settings, seed=0)] == [
        ["p3", "p2", "p1"],
        ["p0", "p3", "p2"],
        ["p1", "p0", "p3"],
    ]
    with pytest.raises(UsageError, match="no prompts"):
        list(episodes([], settings, seed=0))


def test_spread_is_exactly_zero_for_equal_scores() -> None:
    assert spread([0.1 + 0.2] * 3) == 0.0
    assert spread([1.0, 0.0]) == pytest.approx(math.sqrt(0.5))


def test_both_online_stages_draw_the_same_first_answers(tiny_llama_dir: Any) -> None:
    transformers = pytest.importorskip("transformers")
    seen: list[list[tuple[str, tuple[Answer, ...]]]] = []
    for stage, settings in (
        (grpo, GrpoSettings(steps=1, prompts_per_step=2, answers_per_prompt=4, max_new_tokens=8)),
        (online_dpo, OnlineDpoSettings(steps=1, prompts_per_step=2, answers_per_prompt=4, max_new_tokens=8)),
    ):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype=torch.float32)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
        calls: list[tuple[str, tuple[Answer, ...]]] = []
        seen.append(calls)

        def keep(prompt_id: str, answers: Sequence[Answer], calls: Any = calls) -> list[float | None]:
            calls.append((prompt_id, tuple(answers)))
            return score(prompt_id, answers)

        stage(model, tokenizer, prompts(), settings, seed=5, score=keep)
    assert seen[0] == seen[1]
    assert [prompt for prompt, _ in seen[0]] == ["p3", "p2"]
    assert len({answer.text for _, answers in seen[0] for answer in answers}) > 4


def test_truncated_answers_are_marked_and_carry_no_end_token(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny

    settings = RolloutSettings(answers_per_prompt=8, max_new_tokens=12)
    sampler = Sampler(model, tokenizer, settings, score=score, seed=0, tally=Tally())
    answers = [answer for group in sampler.draw(prompts(), step=1) for answer in group.answers]
    for answer in answers:
        end = answer.row.completion[-1] == tokenizer.eos_token_id
        assert end is not answer.answer.truncated
        assert len(answer.row.completion) == 12 or end
    assert any(answer.answer.truncated for answer in answers)


def test_a_decoder_that_reads_another_model_than_the_trained_one_is_told(tiny: tuple[Any, Any]) -> None:
    """As one did that knew nothing of how Gemma scales the rows that are trained: all answers were one token long."""
    model, tokenizer = tiny
    sampler = Sampler(*tiny, RolloutSettings(max_new_tokens=4), score=score, seed=0, tally=Tally())
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_input_embeddings().weight.mul_(25)
    sampler.generator = Decoder(other, end_ids=[tokenizer.eos_token_id])
    with pytest.raises(IntegrityError, match=r"disagree by .* nats a token"):
        sampler.draw(prompts(), step=1)


def test_a_prompt_that_stands_twice_in_a_step_has_other_answers(tiny: tuple[Any, Any]) -> None:
    """Fewer prompts than a step takes: each group is drawn for itself, the first as where the prompt stands alone."""
    settings = RolloutSettings(answers_per_prompt=2, max_new_tokens=4)

    def drawn(rows: list[RlRow]) -> list[tuple[Any, ...]]:
        sampler = Sampler(*tiny, settings, score=score, seed=0, tally=Tally())
        return [tuple(one.row.completion for one in group.answers) for group in sampler.draw(rows, step=1)]

    one, other = prompts([0.5, 0.1])
    first, second, again = drawn([one, other, one])
    assert [first, second] == drawn([one, other])
    assert len({*first, *again}) == 4


def test_a_prompt_without_room_for_an_answer_is_refused_by_name(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    rows = [*prompts([0.5]), RlRow("long", "word " * 600, 8, 0.5, 0.1, (), ())]
    insist_on_room(rows[:1], RolloutSettings(), *tiny)
    with pytest.raises(UsageError, match=r"Prompt 'long' has \d+ tokens; with max_new_tokens = 64 .* at most 448"):
        insist_on_room(rows, RolloutSettings(), model, tokenizer)


def test_best_against_worst() -> None:
    def group(scores: Sequence[float | None]) -> Group:
        rows = [Rollout(TokenRow((1,), (place,)), Answer("", truncated=False), s) for place, s in enumerate(scores)]
        return Group("p", tuple(rows))

    pair = best_against_worst(group([None, 0.5, 1.0, 0.2, 1.0, 0.2]))
    assert pair is not None
    assert (pair.chosen.completion, pair.rejected.completion) == ((2,), (3,))
    assert best_against_worst(group([0.5, None, 0.5])) is None
    assert best_against_worst(group([None, None])) is None


def test_a_budget_is_spent_on_further_pairs_and_met_within_one_pair() -> None:
    def group(name: str, scores: Sequence[float], length: int) -> Group:
        return Group(
            name,
            tuple(
                Rollout(TokenRow((1,), (2,) * (length + i)), Answer("x", truncated=False), s)
                for i, s in enumerate(scores)
            ),
        )

    groups = [group("a", [1, 0, 1, 0], 10), group("b", [1, 1, 1, 0], 20), group("c", [1, 1, 1, 1], 30)]
    assert pairs_of(groups, room=None) == [best_against_worst(groups[0]), best_against_worst(groups[1])]
    assert pairs_of(groups, room=0) == []
    every = pairs_of(groups, room=10_000)
    assert len(every) == len(set(every)) == 4 + 3, "every better answer against every worse one, once"
    assert every[:2] == pairs_of(groups, room=None)
    for room in (30, 60, 100):
        chosen = pairs_of(groups, room=room)
        spent = [sum(len(row.completion) for row in pair) for pair in chosen]
        assert sum(spent[:-1]) < room <= sum(spent)
    first, second = ranked_pairs(groups[0])[:2]
    assert not {first.chosen, first.rejected} & {second.chosen, second.rejected}, (
        "no answer twice while others are left"
    )


def test_online_dpo_trains_on_as_many_tokens_as_it_is_given(tiny: tuple[Any, Any]) -> None:
    """Equal compute by construction: within 10 % of the budget, from equally many answers."""
    model, tokenizer = tiny
    settings = msgspec.structs.replace(SMALL, trained_tokens=200)
    ledger = online_dpo(model, tokenizer, prompts(), settings, seed=0, score=score).ledger
    assert abs(ledger.tokens_trained / 200 - 1) <= 0.1
    assert ledger.answers_generated == 24


def test_online_dpo_starts_at_ln_2_and_leaves_its_reference_behind(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    result = online_dpo(model, tokenizer, prompts(), SMALL, seed=0, score=score)
    assert result.log[0]["loss"] == pytest.approx(math.log(2), abs=1e-4)
    assert result.log[1]["loss"] != pytest.approx(math.log(2), abs=1e-5)
    assert [row["step"] for row in result.log] == [1, 2, 3]
    assert all(1 <= row["pairs"] <= 2 for row in result.log)
    assert result.ledger.answers_generated == 24
    assert result.ledger.tokens_scored > 0


def test_the_same_seed_gives_the_same_bits(tiny_llama_dir: Any) -> None:
    transformers = pytest.importorskip("transformers")
    found = []
    for _ in range(2):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype=torch.float32)
        tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
        online_dpo(model, tokenizer, prompts(), SMALL, seed=3, score=score)
        found.append(model.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_equal_scores_teach_nothing(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    result = online_dpo(model, tokenizer, prompts(), SMALL, seed=0, score=lambda _, a: [0.5] * len(a))
    assert [(row["loss"], row["pairs"]) for row in result.log] == [(None, 0)] * 3
    assert result.ledger.steps == 0
    assert all(torch.equal(before[name], parameter) for name, parameter in model.named_parameters())


def test_a_scorer_that_miscounts_is_named(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    with pytest.raises(UsageError, match="gave 1 scores for the 4 answers to prompt 'p3'"):
        online_dpo(model, tokenizer, prompts(), SMALL, seed=0, score=lambda _, answers: [1.0])


def test_an_interrupt_passes_through_and_the_model_is_put_back(tiny: tuple[Any, Any]) -> None:
    model, tokenizer = tiny
    model.train()

    def interrupted(prompt_id: str, answers: Sequence[Answer]) -> list[float | None]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        online_dpo(model, tokenizer, prompts(), SMALL, seed=0, score=interrupted)
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
