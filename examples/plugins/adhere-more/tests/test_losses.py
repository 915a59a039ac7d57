"""Each loss against its formula worked in plain floats, and the moving average."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from adhere_more import losses  # noqa: E402
from adhere_more.average import MovingAverage  # noqa: E402
from tests.unit.train.test_objectives import CN, RN, SUMS, C, R, log_sigmoid, one  # noqa: E402

from adhere.errors import UsageError  # noqa: E402


def test_simpo_needs_no_reference() -> None:
    bare = SUMS._replace(chosen_ref=None, rejected_ref=None)
    assert one(losses.simpo(bare, beta=2.0, gamma=0.5)) == pytest.approx(-log_sigmoid(2.0 * (C / CN - R / RN) - 0.5))


def test_orpo_compares_odds() -> None:
    p, q = math.exp(C / CN), math.exp(R / RN)
    expected = -log_sigmoid(math.log(p / (1 - p)) - math.log(q / (1 - q)))
    assert one(losses.orpo(SUMS)) == pytest.approx(expected)


def test_orpo_is_finite_where_an_answer_is_certain() -> None:
    sure = SUMS._replace(chosen=torch.tensor([0.0], requires_grad=True))
    loss = losses.orpo(sure).sum()
    loss.backward()
    assert math.isfinite(loss.item())
    assert math.isfinite(sure.chosen.grad.item())


def test_uft_fits_the_implicit_reward_to_the_score() -> None:
    found = losses.uft(torch.tensor([3.0, 3.0]), scores=torch.tensor([1.0, 0.0]), beta=0.5)
    p = 1 / (1 + math.exp(-1.5))
    assert found.tolist() == pytest.approx([(p - 1) ** 2, p**2])


def test_iopo_is_the_mean_of_its_two_preferences() -> None:
    r11, r22, r12, r21 = 2.0, 1.0, -0.5, 0.25
    outputs = (r11 - r21) + (r22 - r12)  # the better answer to each prompt
    inputs = (r11 - r12) + (r22 - r21)  # the better prompt to each answer
    loss = losses.iopo(torch.tensor([[r11, r22]]), torch.tensor([[r12, r21]]), beta=0.4)
    assert one(loss) == pytest.approx(-log_sigmoid(0.4 * (outputs + inputs) / 2))


def test_the_average_follows_at_its_distance() -> None:
    parameter = torch.nn.Parameter(torch.zeros(2))
    average = MovingAverage([parameter], decay=0.75)
    parameter.data.fill_(4.0)
    average.update()
    average.write()
    assert parameter.tolist() == [1.0, 1.0]
    with pytest.raises(UsageError, match=r"\[0, 1\)"):
        MovingAverage([parameter], decay=1.0)
