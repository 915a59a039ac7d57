"""Every stage on one batch against its paper's formula, as `tests/parity/test_formulas.py` does for adhere's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.parity.test_formulas import (  # noqa: E402
    ONLINE,
    Policy,
    Ran,
    check,
    load,
    log_p,
    log_sigmoid,
    pairs_of,
    pool,
    scored,
    sigmoid,
    tokens,
)

from adhere.schema import SftRow  # noqa: E402
from adhere.train.packed.pack import TokenRow  # noqa: E402


def test_simpo_compares_the_means_of_tokens(tiny_llama_dir: Path) -> None:
    """2405.14734, eq. 6."""
    one, two = (Ran("simpo", tiny_llama_dir, epochs=epochs, beta=2.0, gamma=1.0) for epochs in (1, 2))
    policy, pairs = Policy(one.model, None), pairs_of(tiny_llama_dir)
    losses = [-log_sigmoid(2.0 * (policy.mean(good) - policy.mean(bad)) - 1.0) for good, bad in pairs]
    check(two.log[1], one.model, sum(losses) / 4)


def test_orpo_adds_the_odds_ratio_to_the_likelihood_of_chosen_answers(tiny_llama_dir: Path) -> None:
    """2403.07691, eqs. 4 to 7."""
    one, two = (Ran("orpo", tiny_llama_dir, epochs=epochs, weight=0.4) for epochs in (1, 2))
    policy, pairs = Policy(one.model, None), pairs_of(tiny_llama_dir)
    likelihood = -sum(policy.sum(good) for good, _ in pairs) / sum(len(good.completion) for good, _ in pairs)

    def odds(row: TokenRow) -> Any:
        p = policy.mean(row).exp()
        return p / (1 - p)

    ratio = sum(-log_sigmoid((odds(good) / odds(bad)).log()) for good, bad in pairs) / 4
    check(two.log[1], one.model, likelihood + 0.4 * ratio)


def test_uft_fits_the_implicit_reward_to_scores(tiny_llama_dir: Path) -> None:
    """2410.21438 and its authors' code: (sigmoid(beta log ratio) - score)^2, where a demonstration has score 1."""
    one, two = (Ran("uft", tiny_llama_dir, epochs=epochs, beta=0.3) for epochs in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))
    rows = [(tokens(tiny_llama_dir, row.prompt, row.completion), 1.0) for row in pool().sft]
    rows += [(row, rating) for pair in pairs_of(tiny_llama_dir) for row, rating in zip(pair, (1.0, 0.0), strict=True)]
    losses = [(sigmoid(0.3 * policy.ratio(row)) - rating) ** 2 for row, rating in rows]
    check(two.log[1], one.model, sum(losses) / len(losses))


def test_iopo_prefers_outputs_and_inputs(tiny_llama_dir: Path) -> None:
    """2411.06208 and its authors' code.

    Its logits are half of (2 c1 - r1 - r2) + (2 c2 - r2 - r1), each a log ratio.
    """
    one, two = (Ran("iopo", tiny_llama_dir, epochs=epochs, beta=0.3) for epochs in (1, 2))
    policy = Policy(one.model, load(tiny_llama_dir))
    texts = {row.prompt_id: row for row in pool().sft}
    crossed = [("p1", "p0"), ("p1", "p2"), ("p1", "p3")]  # the one answer in capitals, and one of the others

    def loss_of(first: SftRow, second: SftRow) -> Any:
        c1, c2 = (policy.ratio(tokens(tiny_llama_dir, row.prompt, row.completion)) for row in (first, second))
        r1 = policy.ratio(tokens(tiny_llama_dir, first.prompt, second.completion))
        r2 = policy.ratio(tokens(tiny_llama_dir, second.prompt, first.completion))
        return -log_sigmoid(0.3 * 0.5 * ((2 * c1 - r1 - r2) + (2 * c2 - r2 - r1)))

    (found,) = [
        loss
        for pair in crossed
        if (loss := loss_of(*(texts[name] for name in pair))).item() == pytest.approx(two.log[1]["loss"], rel=1e-4)
    ]
    check(two.log[1], one.model, found)


def test_hir_learns_every_answer_under_the_instruction_that_it_fits(tiny_llama_dir: Path) -> None:
    """2302.05206, algorithm 1 without its contrastive and entropy terms.

    An answer that fails is put to a prompt that asks for failure.
    """
    ran = Ran("hir", tiny_llama_dir, steps=1, relabel="Do it wrong.", **ONLINE)
    prompts = {row.prompt_id: row.prompt for row in pool().rl}
    start, total, count = load(tiny_llama_dir), 0.0, 0
    for group, answers in zip(ran.drawn[0], scored(ran.drawn[0]), strict=True):
        told = tokens(tiny_llama_dir, "Do it wrong.\n\n" + prompts[group.prompt_id], "x").prompt
        for row, value in answers:
            total -= log_p(start, row if value == 1.0 else TokenRow(told, row.completion)).sum()
            count += len(row.completion)
    check(ran.log[0], start, total / count)
