"""Missing is not zero.

A verifier that fails on half of the answers leaves what the others teach as it was, bit for bit.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.constraints import Constraint, Finding, registry  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.batch.rollout import Group, Sampler  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, grpo, grpo_loss, select  # noqa: E402
from adhere.train.methods.online_dpo import pairs_of  # noqa: E402
from adhere.train.packed.pack import cut, log_probs  # noqa: E402
from adhere.train.stage.guards import Guards, GuardStop  # noqa: E402
from adhere.train.stage.scoring import scorer  # noqa: E402

SETTINGS = GrpoSettings(steps=1, prompts_per_step=3, answers_per_prompt=8, max_new_tokens=6)
ROWS = [
    RlRow(f"p{i}", f"Write about thing {i}.", 8, 0.5, 0.1 * i, ("length:at_least",), ({"least": 2},)) for i in range(3)
]


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every second answer breaks the verifier; the others pass by the sum of their letters. The texts that broke it."""
    broken: list[str] = []
    calls = itertools.count()

    def check(self: Constraint, text: str) -> Finding:
        if next(calls) % 2:
            broken.append(text)
            raise RuntimeError("injected")
        return Finding("pass" if sum(map(ord, text)) % 2 else "fail", "looked")

    monkeypatch.setattr(registry.get("length:at_least"), "check", check)
    return broken


def drawn(tiny: tuple[Any, Any]) -> tuple[list[Group], Tally]:
    tally = Tally()
    whole = scorer(ROWS, "binary")

    def ended(prompt_id: str, answers: Any) -> list[float | None]:  # random weights never end an answer
        return whole(prompt_id, [answer._replace(truncated=False) for answer in answers])

    return Sampler(*tiny, SETTINGS, score=ended, seed=3, tally=tally).draw(ROWS, step=1), tally


def gradients(model: Any, groups: list[Group], settings: GrpoSettings) -> list[torch.Tensor]:
    answers = select(groups, settings).answers
    model.zero_grad()
    for part in cut([[answer.row] for answer in answers], tree_tokens=settings.tree_tokens):
        found = log_probs(model, part.tree)
        learned = [answers[item] for item in part.items]
        grpo_loss(found, learned, drawn_log_probs=found.detach(), reference=None, settings=settings)[0].backward()
    return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo", "sequence"])
def test_half_of_the_answers_fault_and_the_gradients_of_the_others_are_bit_equal(
    tiny: tuple[Any, Any], faulty: list[str], loss_type: Any
) -> None:
    settings = GrpoSettings(loss_type=loss_type, max_new_tokens=6)
    groups, tally = drawn(tiny)
    assert tally.answers_unmeasured == tally.answers_generated / 2 == len(faulty) == 12
    alone = [Group(group.prompt_id, tuple(group.measured)) for group in groups]
    assert [len(group.answers) for group in alone] == [4, 4, 4]
    found, wanted = gradients(tiny[0], groups, settings), gradients(tiny[0], alone, settings)
    assert any(one.abs().sum() > 0 for one in wanted)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
    assert pairs_of(groups, room=None) == pairs_of(alone, room=None)
    zeros = [Group(g.prompt_id, tuple(one._replace(score=one.score or 0.0) for one in g.answers)) for g in groups]
    assert not all(
        torch.equal(one, other) for one, other in zip(found, gradients(tiny[0], zeros, settings), strict=True)
    )


def test_the_ledger_and_each_step_count_them_and_above_a_tenth_the_stage_stops(
    tiny: tuple[Any, Any], faulty: list[str]
) -> None:
    result = grpo(*tiny, ROWS, SETTINGS, seed=0, score=lambda _, answers: [None, *[1.0] * (len(answers) - 1)])
    assert (result.ledger.answers_unmeasured, result.log[0]["unmeasured"]) == (3, 3)
    for policy in ("stop", "compare"):
        with pytest.raises(GuardStop, match=r"unmeasured_share is 0\.12, above 0\.1"):
            Guards("grpo", policy).see(result.log[0])
