"""A verdict says what it hangs on: single seeds and kinds of constraint."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.unit.study.outcomes import known
from tests.unit.study.test_compare import SPEC, rule

from adhere.study.design.spec import StudySpec
from adhere.study.outcome.contrast import Evaluations
from adhere.study.outcome.fragile import fragility
from adhere.study.outcome.result import Fragility

PROMPTS, KINDS = 400, 20


def with_seeds(seeds: int) -> StudySpec:
    return msgspec.structs.replace(SPEC, seeds=list(range(seeds)))


def study(gains: np.ndarray, *, kinds: int = KINDS) -> Evaluations:
    """Both arms pass half of the prompts.

    (seed, prompt) in `gains` gives what the treatment does otherwise: 1, 0 or -1.
    """
    found: dict[tuple[str, int | None], list[bool]] = {("start", None): [False] * PROMPTS}
    base = np.arange(PROMPTS) // kinds % 2 == 0  # every kind is half of each
    for seed, gain in enumerate(gains):
        found["b", seed] = base.tolist()
        found["a", seed] = np.where(gain == 0, base, gain > 0).tolist()
    return known(found, list(range(len(gains))), kinds=kinds)  # type: ignore[arg-type]


def gains(rates: list[float], *, seed: int = 0) -> np.ndarray:
    """At each seed the treatment gains this share of the prompts that the control fails."""
    rng = np.random.default_rng(seed)
    return np.array([(rng.random(PROMPTS) < rate).astype(int) for rate in rates])


def hangs_on(found: Evaluations) -> Fragility:
    answer = fragility(SPEC.verdict, found, with_pairs=True)
    assert answer is not None
    return answer


def test_a_gain_at_every_seed_and_kind_is_a_yes_about_the_methods() -> None:
    found = study(gains([0.2, 0.24, 0.22, 0.2, 0.23]))
    ruling = rule(with_seeds(5), found)
    assert (ruling.answer, ruling.fragile, ruling.these_kinds) == ("YES", False, False)
    assert ruling.headline.startswith("YES, about the methods, over 5 seeds: ")
    assert "stays there without any one seed" in ruling.rule
    on = hangs_on(found)
    assert on.deciding_seeds == []
    assert on.sign_flip_p == 2 / 32
    assert on.kinds.n_kinds == KINDS
    assert on.kinds.low is not None
    assert on.kinds.low > 0
    assert len(on.kinds.each) == KINDS
    assert all(one.p_adjusted is not None and one.p_adjusted >= one.p_value for one in on.kinds.each)
    assert [one.slice for one in on.slices] == ["new-topic/single", "new-family/multiple"]
    assert all(one.p_adjusted is not None for one in on.slices)


def test_an_answer_that_one_seed_decides_is_fragile_and_says_which() -> None:
    """Gains of 7 to 12 points over five seeds exclude 0, and without the fifth or the fourth they no longer do."""
    rates = [0.0, 0.05, 0.05, 0.09, 0.09]
    found = study(gains(rates))
    ruling, on = rule(with_seeds(5), found, minutes_per_seed=30.0), hangs_on(found)
    assert ruling.primary.low is not None
    assert ruling.primary.low > 0, "the interval alone says YES"
    assert on.deciding_seeds
    assert (ruling.answer, ruling.fragile) == ("INCONCLUSIVE", True)
    assert ruling.headline.startswith("INCONCLUSIVE (FRAGILE), about the methods, over 5 seeds: +")
    assert ruling.because.startswith("the interval lies above 0, but without seed ")
    assert ruling.because.endswith(" decides")
    assert "it holds 0: a single seed" in ruling.because
    assert str(on.deciding_seeds[-1]) in ruling.because
    assert "If the difference stays +" in ruling.decides
    assert "more, about" in ruling.decides, "and what the further seeds cost"
    assert on.difference_range == (min(o.difference for o in on.left_out), max(o.difference for o in on.left_out))


def test_a_loss_that_one_seed_decides_is_as_fragile() -> None:
    lost = -gains([0.0, 0.05, 0.05, 0.09, 0.09])
    ruling = rule(with_seeds(5), study(lost))
    assert ruling.primary.high is not None
    assert ruling.primary.high < 0
    assert (ruling.answer, ruling.fragile) == ("INCONCLUSIVE", True)


def test_a_gain_on_some_kinds_only_is_about_these_kinds() -> None:
    """A quarter of the kinds gains much at every seed, the others lose a little.

    Surely a gain here, and of other kinds nothing is known.
    """
    rng = np.random.default_rng(0)
    kind = np.arange(PROMPTS) % KINDS
    made = np.array(
        [np.where(kind < 5, rng.random(PROMPTS) < 0.5, -(rng.random(PROMPTS) < 0.06).astype(int)) for _ in range(6)]
    )
    found = study(made)
    ruling, on = rule(with_seeds(6), found), hangs_on(found)
    assert on.kinds.low is not None
    assert on.kinds.low < 0 < ruling.primary.difference  # type: ignore[operator]
    assert (ruling.answer, ruling.fragile, ruling.these_kinds) == ("YES", False, True)
    assert ruling.headline.startswith("YES, about the methods on these kinds of constraint, over 6 seeds")
    assert "so the answer is about these 20 kinds" in ruling.because


def test_an_answer_that_one_kind_decides_is_fragile_and_names_it() -> None:
    """One kind of twenty gains all its prompts at every seed, the others gain and lose alike."""
    rng = np.random.default_rng(1)
    kind = np.arange(PROMPTS) % KINDS
    noise = np.where(rng.random((6, PROMPTS)) < 0.01, rng.choice([-1, 1], (6, PROMPTS)), 0)
    made = np.where(kind == 1, 1, noise)
    found = study(made)
    ruling, on = rule(with_seeds(6), found), hangs_on(found)
    assert ruling.primary.low is not None
    assert ruling.primary.low > 0, "the interval alone says YES"
    assert on.deciding_seeds == []
    assert on.deciding_kinds == ["kind:1"]
    assert (ruling.answer, ruling.fragile) == ("INCONCLUSIVE", True)
    assert ruling.because.endswith("but without kind kind:1 it holds 0: a single kind of constraint decides")
    assert on.kinds_left_out is not None
    assert on.kinds_left_out.pairs == KINDS * (KINDS - 1) // 2
    assert on.kinds_left_out.pairs_holding_zero >= KINDS - 1, "every pair with that kind"
    assert "kind:1" in on.kinds_left_out.worst_pair


def test_a_prompt_of_two_kinds_goes_with_either() -> None:
    found = study(gains([0.2, 0.24, 0.22]))
    both = [msgspec.structs.replace(one, turns=(*one.turns, found.prompts[1].turns[0])) for one in found.prompts]
    on = hangs_on(Evaluations(found._measurements, both, found.seeds))
    assert on.kinds_left_out is not None
    assert [one.kind for one in on.kinds_left_out.each] == sorted(
        {f"kind:{kind}" for kind in range(KINDS)} - {"kind:1"}
    )


def test_cells_that_an_arm_lost_whole_are_named_and_weighed() -> None:
    """The control loses one trained kind at one seed; elsewhere both arms keep half of everything.

    Two seeds, two trained kinds: one of four cells is lost. It alone makes the difference, all of it.
    """
    found = study(np.zeros((2, PROMPTS), dtype=int))
    lost = msgspec.structs.replace(
        found.of("b", 1),
        passes=[
            value and place % KINDS != 2
            for place, value in enumerate(found.of("b", 1).passes)  # type: ignore[union-attr]
        ],
    )
    after = Evaluations({**found._measurements, ("b", 1): lost}, found.prompts, found.seeds)
    on = fragility(SPEC.verdict, after, arms=["a", "b"], trained=["kind:2", "kind:3", "kind:never-asked"])
    assert on is not None
    whole = on.lost_whole
    assert whole is not None
    assert [(one.arm, one.seed, one.kind, one.rate) for one in whole.lost] == [("b", 1, "kind:2", 0.0)]
    assert (whole.cells, whole.count("a"), whole.count("b")) == (4, 0, 1)
    assert whole.share == pytest.approx(1.0)
    assert whole.difference == pytest.approx(0.0)
    assert fragility(SPEC.verdict, after, trained=["kind:never-asked"]).lost_whole is None  # type: ignore[union-attr]


def test_one_kind_says_nothing_about_others() -> None:
    found = study(gains([0.3, 0.32, 0.31, 0.3]), kinds=1)
    on = hangs_on(found)
    assert on.kinds.difference is None
    assert rule(with_seeds(4), found).these_kinds
    assert "one kind says nothing about others" in rule(with_seeds(4), found).because


def test_one_seed_speaks_of_its_checkpoints_as_before() -> None:
    found = study(gains([0.3]))
    ruling, on = rule(with_seeds(1), found), hangs_on(found)
    assert (ruling.answer, ruling.scope, ruling.fragile) == ("YES", "checkpoints", False)
    assert (on.left_out, on.sign_flip_p, on.difference_range) == ([], None, None)


@pytest.mark.parametrize("seeds", [5, 10])
@pytest.mark.parametrize("by_kind", [0.0, 0.1])
def test_two_equal_arms_are_hardly_ever_called_different(seeds: int, by_kind: float) -> None:
    """False YES at most 3 % (docs/reference/statistics.md has the whole table).

    Here 400 studies a case: 3 % and two standard errors.
    """
    rng = np.random.default_rng([seeds, round(10 * by_kind)])
    kind = np.arange(120) % 10
    said = 0
    for _ in range(400):
        hard = rng.uniform(0.1, 0.9, 120)
        found: dict[tuple[str, int | None], list[bool]] = {}
        for seed in range(seeds):
            for arm in (
                "a",
                "b",
            ):  # a training run moves kinds by chance: the arms are the same, their checkpoints are not
                moved = rng.normal(0, by_kind, 10)[kind] + rng.normal(0, 0.02)
                found[arm, seed] = (rng.random(120) < np.clip(hard + moved, 0, 1)).tolist()
        ruling = rule(with_seeds(seeds), known(found, list(range(seeds)), kinds=10))  # type: ignore[arg-type]
        said += ruling.answer == "YES"
    assert said <= 12 + 7
