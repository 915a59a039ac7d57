"""Tokens are drawn from the distribution that the logits say, and from no other."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import Divergence  # noqa: E402
from adhere.models.local.decoder.pick import pick_tokens, uniforms  # noqa: E402


def pick(logits, draws, **options):  # type: ignore[no-untyped-def]
    return pick_tokens(logits, draws, **options).tokens


@pytest.mark.parametrize("vocabulary", [1, 5, 256, 257, 1000])
def test_greedy_is_argmax(vocabulary: int) -> None:
    logits = torch.randn(vocabulary, 33, generator=torch.Generator().manual_seed(vocabulary))
    assert pick(logits.clone(), [], temperature=0.0, top_p=1.0).tolist() == logits.argmax(0).tolist()


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_sampling_inverts_the_cumulative_distribution(temperature: float) -> None:
    """Where draw u falls in the cumulative distribution, computed here in float64, is the token."""
    logits = torch.randn(700, 40, generator=torch.Generator().manual_seed(1)) * 3
    draws = uniforms(9, 40).tolist()
    cumulative = (logits.double() / temperature).softmax(0).cumsum(0)
    for row, token in enumerate(pick(logits.clone(), draws, temperature=temperature, top_p=1.0).tolist()):
        below = cumulative[token - 1, row].item() if token else 0.0
        assert below - 1e-6 <= draws[row] <= cumulative[token, row].item() + 1e-6


def test_nucleus_keeps_the_smallest_set_that_holds_top_p() -> None:
    chances = torch.tensor([0.05, 0.4, 0.3, 0.2, 0.05])
    draws = torch.linspace(0, 0.999, 200).tolist()

    def seen(top_p: float) -> set[int]:
        return set(pick(chances.log()[:, None].repeat(1, 200), draws, temperature=1.0, top_p=top_p).tolist())

    assert seen(0.3) == {1}
    assert seen(0.69) == {1, 2}
    assert seen(0.71) == {1, 2, 3}
    assert seen(1.0) == {0, 1, 2, 3, 4}


def test_a_nucleus_wider_than_the_candidates_is_sorted_in_full() -> None:
    flat, peaked = torch.zeros(4000), torch.zeros(4000)
    peaked[17] = 20.0
    logits = torch.stack((flat, peaked), 1).repeat(1, 50)
    tokens = pick(logits, torch.linspace(0, 0.99, 100).tolist(), temperature=1.0, top_p=0.9).tolist()
    assert set(tokens[1::2]) == {17}
    assert len(set(tokens[::2])) > 45


@pytest.mark.parametrize("draw", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("top_p", [1.0, 0.5])
def test_the_ends_of_the_interval_draw_tokens_that_have_weight(draw: float, top_p: float) -> None:
    logits = torch.full((600, 3), float("-inf"))
    logits[300:310] = 0.0
    tokens = pick(logits, [draw] * 3, temperature=1.0, top_p=top_p)
    assert ((tokens >= 300) & (tokens < 310)).all()


@pytest.mark.parametrize("top_p", [1.0, 0.5])
@pytest.mark.parametrize("behind", [-18.0, -19.0, -40.0, float("-inf")])  # e^-90 and e^-95 would be subnormal numbers
def test_a_weight_too_small_for_the_processor_is_none(behind: float, top_p: float) -> None:
    """Subnormal numbers are a hundred times slower, and no draw of 53 bits falls on them."""
    logits = torch.full((600, 2), behind)
    logits[599] = 0.0
    assert pick(logits, [0.0, 1 - 2**-53], temperature=0.2, top_p=top_p).tolist() == [599, 599]


def test_not_finite_is_an_error() -> None:
    for bad in (float("nan"), float("inf")):
        logits = torch.zeros(10, 2)
        logits[3, 1] = bad
        with pytest.raises(Divergence):
            pick(logits, [0.5, 0.5], temperature=1.0, top_p=1.0)


def test_uniforms_are_a_function_of_the_seed() -> None:
    assert uniforms(5, 8).tolist() == uniforms(5, 8).tolist()
    assert uniforms(5, 8).tolist() == uniforms(5, 80).tolist()[:8]
    assert uniforms(5, 8).tolist() != uniforms(6, 8).tolist()
