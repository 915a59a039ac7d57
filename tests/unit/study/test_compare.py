"""Contrasts and verdicts from known outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from adhere.config import parse_toml
from adhere.schema import Prompt, Turn
from adhere.stats import mcnemar_exact, mde_paired
from adhere.study.compare import Passes, contrasts, verdict
from adhere.study.spec import ContrastSpec, StudySpec

TEXT = """
name = "small"
start = "local/x"
arms = [{ name = "start" }, { name = "a", stages = ["sft"] }, { name = "b", stages = ["dpo"] }]
[stages]
sft = { method = "sft" }
dpo = { method = "dpo" }
[verdict]
question = "Is a better than b?"
treatment = "a"
control = "b"
smallest_effect = 0.05
[[verdict.secondary]]
treatment = "a"
control = "start"
[[verdict.secondary]]
treatment = "b"
control = "start"
slice = "new-family"
"""
SPEC = parse_toml(TEXT, StudySpec, name="small.toml")


class Known(Passes):
    """Passes given as arrays instead of Runs."""

    def __init__(
        self, rates: dict[tuple[str, int | None], list[float | None]], seeds: list[int], shared: int = 1
    ) -> None:
        n = len(next(iter(rates.values())))
        self.prompts = [
            Prompt(
                f"p{i}",
                (Turn("x"),),
                tags={"slice": "in-family" if i % 2 else "new-family", "query": f"q{i // shared}"},
            )
            for i in range(n)
        ]
        self.seeds = tuple(seeds)
        self._rates = {key: {f"p{i}": value for i, value in enumerate(values)} for key, values in rates.items()}


def made(a: list[float | None], b: list[float | None], *, shared: int = 1):
    start: list[float | None] = [0.0] * len(a)
    return contrasts(SPEC, Known({("start", None): start, ("a", 0): a, ("b", 0): b}, [0], shared))


def test_one_seed_counts_and_tests() -> None:
    a = [1.0] * 30 + [0.0] * 10 + [1.0] * 60
    b = [0.0] * 30 + [1.0] * 10 + [1.0] * 60
    primary, first, _ = made(a, b)
    assert (primary.gained, primary.lost, primary.n_prompts) == (30, 10, 100)
    assert primary.difference == pytest.approx(0.2)
    assert primary.p_value == mcnemar_exact(30, 10)
    assert primary.minimum_detectable == mde_paired(100, 0.4)
    assert primary.low < 0.2 < primary.high
    assert primary.bootstrap_low < 0.2 < primary.bootstrap_high
    assert first.role == "secondary"
    assert first.p_adjusted >= first.p_value
    found = verdict(SPEC, primary)
    assert found.answer == "YES"
    assert "One training seed" in found.scope


def test_no_when_an_effect_worth_having_is_excluded() -> None:
    primary = made([0.0, 1.0] * 500, [0.0, 1.0] * 500)[0]
    assert primary.high < 0.05
    assert primary.low < 0 < primary.high, "agreement is not certainty"
    assert verdict(SPEC, primary).answer == "NO"


def test_inconclusive_when_neither_is_excluded() -> None:
    primary = made([1.0] * 6 + [0.0] * 4 + [1.0] * 30, [0.0] * 6 + [1.0] * 4 + [1.0] * 30)[0]
    assert verdict(SPEC, primary).answer == "INCONCLUSIVE"


def test_unmeasured_prompts_are_left_out_not_failed() -> None:
    primary = made([1.0, None, 1.0, 1.0], [0.0, 1.0, None, 0.0])[0]
    assert primary.n_prompts == 2
    assert primary.difference == 1.0


def test_nothing_measured_is_inconclusive_with_a_reason() -> None:
    primary = made([None, None], [1.0, 1.0])[0]
    assert primary.difference is None
    assert primary.n_prompts == 0
    found = verdict(SPEC, primary)
    assert found.answer == "INCONCLUSIVE"
    assert "no prompt was measured" in found.because


def test_slices_are_kept_apart() -> None:
    third = made([1.0] * 40, [1.0, 0.0] * 20)[2]
    assert third.slice == "new-family"
    assert third.n_prompts == 20
    assert third.rate_treatment == 1.0


def test_shared_queries_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    per_query = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=50)
    d = np.repeat(per_query, 4)
    a, b = [float(x > 0) for x in d], [float(x < 0) for x in d]
    alone, shared = made(a, b)[0], made(a, b, shared=4)[0]
    assert "queries" in shared.method
    assert shared.high - shared.low > 1.5 * (alone.high - alone.low)


def test_several_seeds_speak_of_methods() -> None:
    rng = np.random.default_rng(1)
    seeds = [0, 1, 2]
    rates = {("start", None): [0.0] * 200}
    for seed in seeds:
        rates["a", seed] = (rng.random(200) < 0.6).astype(float).tolist()
        rates["b", seed] = (rng.random(200) < 0.3).astype(float).tolist()
    spec = parse_toml(TEXT.replace('name = "small"', 'name = "small"\nseeds = [0, 1, 2]'), StudySpec, name="x")
    primary, first, _ = contrasts(spec, Known(rates, seeds))
    assert primary.n_seeds == 3
    assert primary.low < primary.difference < primary.high
    assert primary.difference == pytest.approx(0.3, abs=0.1)
    assert 0 < primary.p_value < 0.05
    assert first.rate_control == 0.0
    assert "about the methods" in verdict(spec, primary).scope


def test_a_seed_that_swings_makes_the_interval_honest() -> None:
    n, seeds = 300, [0, 1, 2]
    rng = np.random.default_rng(2)
    steady, swinging = {}, {}
    for seed, share in zip(seeds, (0.50, 0.50, 0.50), strict=True):
        steady["a", seed] = (rng.random(n) < share).astype(float).tolist()
    for seed, share in zip(seeds, (0.35, 0.50, 0.65), strict=True):
        swinging["a", seed] = (rng.random(n) < share).astype(float).tolist()
    widths = []
    for rates in (steady, swinging):
        for seed in seeds:
            rates["b", seed] = (rng.random(n) < 0.3).astype(float).tolist()
        rates["start", None] = [0.0] * n
        spec = parse_toml(TEXT.replace('name = "small"', 'name = "small"\nseeds = [0, 1, 2]'), StudySpec, name="x")
        primary = contrasts(spec, Known(rates, seeds))[0]
        widths.append(primary.high - primary.low)
    assert widths[1] > 2 * widths[0]


def test_contrast_spec_defaults_to_all() -> None:
    assert ContrastSpec("a", "b").slice == "all"
