"""Offline merges and the moving average against numbers worked by hand."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import UsageError  # noqa: E402
from adhere.train.optim import merge_dare, merge_linear, merge_ties  # noqa: E402

BASE = {"w": torch.tensor([1.0, 1.0, 1.0, 1.0])}
ONE = {"w": torch.tensor([2.0, 1.0, 0.0, 1.5])}  # changes: +1, 0, -1, +0.5
TWO = {"w": torch.tensor([4.0, 3.0, 1.5, 0.0])}  # changes: +3, +2, +0.5, -1


def test_linear_is_the_weighted_sum_of_changes() -> None:
    assert merge_linear(BASE, [ONE, TWO], [0.5, 0.5])["w"].tolist() == [3.0, 2.0, 0.75, 0.75]


def test_ties_elects_signs_and_averages_who_agrees() -> None:
    """Whole changes: sums +4, +2, -0.5, -0.5; means of those that agree: (1+3)/2, 2, -1, -1."""
    assert merge_ties(BASE, [ONE, TWO], [1.0, 1.0], p=1.0)["w"].tolist() == [3.0, 3.0, 0.0, 0.0]


def test_ties_drops_the_smallest_first() -> None:
    """Half is kept: ONE +1, -1; TWO +3, +2. Third: -1 alone; fourth: nobody."""
    assert merge_ties(BASE, [ONE, TWO], [1.0, 1.0], p=0.5)["w"].tolist() == [3.0, 3.0, 0.0, 1.0]


def test_dare_keeps_the_mean() -> None:
    base = {"w": torch.zeros(20_000)}
    merged = merge_dare(base, [{"w": torch.ones(20_000)}], [1.0], p=0.2, seed=0)["w"]
    assert set(merged.tolist()) == {0.0, 5.0}
    assert merged.mean().item() == pytest.approx(1.0, abs=0.05)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="one weight a model"):
        merge_linear(BASE, [ONE], [])
    with pytest.raises(UsageError, match="Model 0 does not fit"):
        merge_linear(BASE, [{"v": torch.zeros(4)}], [1.0])
    with pytest.raises(UsageError, match="share of coordinates"):
        merge_ties(BASE, [ONE], [1.0], p=0.0)
