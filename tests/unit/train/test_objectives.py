"""Each preference loss against its formula worked in plain floats, and against TRL's own function where it is one."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from adhere.train.batch import objectives  # noqa: E402
from adhere.train.batch.objectives import PairSums  # noqa: E402

C, R, CR, RR, CN, RN = -8.0, -9.0, -10.0, -6.0, 4.0, 5.0  # sums, reference sums, lengths of one pair
SUMS = PairSums(*(torch.tensor([value]) for value in (C, R, CN, RN, CR, RR)))


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x))


def one(loss: torch.Tensor) -> float:
    return loss.item()


def test_sigmoid_is_dpos_equation_7() -> None:
    assert one(objectives.sigmoid(SUMS, beta=0.3)) == pytest.approx(-log_sigmoid(0.3 * ((C - CR) - (R - RR))))


def test_smoothing_mixes_in_the_flipped_label() -> None:
    margin = 0.3 * ((C - CR) - (R - RR))
    expected = -0.9 * log_sigmoid(margin) - 0.1 * log_sigmoid(-margin)
    assert one(objectives.sigmoid(SUMS, beta=0.3, smoothing=0.1)) == pytest.approx(expected)


def test_length_normalised_dpo_divides_each_ratio() -> None:
    expected = -log_sigmoid(0.3 * ((C - CR) / CN - (R - RR) / RN))
    assert one(objectives.sigmoid(SUMS, beta=0.3, by_length=True)) == pytest.approx(expected)


def test_ipo_regresses_the_margin_to_its_target() -> None:
    assert one(objectives.ipo(SUMS, beta=0.25)) == pytest.approx(((C - CR) / CN - (R - RR) / RN - 2.0) ** 2)


def test_kto_weighs_good_and_bad_answers_around_the_reference_point() -> None:
    ratios, kl = torch.tensor([2.0, 2.0]), torch.tensor(0.5)
    losses = objectives.kto(
        ratios, desirable=torch.tensor([True, False]), kl=kl, beta=0.1, weight_good=1.0, weight_bad=1.5
    )
    good = 1 - 1 / (1 + math.exp(-0.1 * 1.5))
    bad = 1.5 * (1 - 1 / (1 + math.exp(0.1 * 1.5)))
    assert losses.tolist() == pytest.approx([good, bad])


def test_bradley_terry_and_its_centring() -> None:
    chosen, rejected = torch.tensor([1.0]), torch.tensor([-0.5])
    assert one(objectives.bradley_terry(chosen, rejected)) == pytest.approx(-log_sigmoid(1.5))
    assert one(objectives.bradley_terry(chosen, rejected, centre=0.1)) == pytest.approx(-log_sigmoid(1.5) + 0.1 * 0.25)
