"""Contrasts, guards and verdicts from known outcomes."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest
from tests.unit.study.outcomes import evaluation, known, prompts

from adhere.config import parse_toml
from adhere.schema import encode
from adhere.study.design.spec import StudySpec, in_slice
from adhere.study.outcome.contrast import Evaluations, contrasts
from adhere.study.outcome.fragile import fragility
from adhere.study.outcome.guards import guard_tests, tax_tests
from adhere.study.outcome.verdict import verdict

SPEC = parse_toml(
    """
name = "small"
start = "local/x"
arms = [{ name = "start" }, { name = "a", stages = ["sft"] }, { name = "b", stages = ["dpo"] }]
evaluation = { new_topic = { single = 50 }, new_family = { multiple = 50 } }
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
""",
    StudySpec,
    name="small.toml",
)


def made(a: list[bool | None], b: list[bool | None], *, shared: int = 1):
    return contrasts(SPEC, known({("start", None): [False] * len(a), ("a", 0): a, ("b", 0): b}, [0], shared=shared))


def ruled(a: list[bool | None], b: list[bool | None], **options):
    found = known({("start", None): [False] * len(a), ("a", 0): a, ("b", 0): b}, [0])
    return rule(SPEC, found, **options)


def rule(spec: StudySpec, found: Evaluations, **options):
    options = {"withheld": [], "minutes_per_seed": None, "hangs_on": fragility(spec.verdict, found), **options}
    return verdict(spec, contrasts(spec, found)[0], found, **options)


def test_one_seed_counts_and_tests() -> None:
    a = [True] * 30 + [False] * 10 + [True] * 60
    b = [False] * 30 + [True] * 10 + [True] * 60
    primary, first, _ = made(a, b)
    assert (primary.gained, primary.lost, primary.n_prompts) == (30, 10, 100)
    assert primary.difference == pytest.approx(0.2)
    assert primary.low < 0.2 < primary.high
    assert primary.p_value < 0.05
    assert first.role == "secondary"
    assert first.p_adjusted >= first.p_value
    assert primary.by_seed[0].difference == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("gained", "lost", "n", "answer"),
    [(30, 5, 200, "YES"), (5, 30, 200, "NO"), (10, 10, 1000, "EQUIVALENT"), (4, 4, 60, "INCONCLUSIVE")],
)
def test_four_answers(gained: int, lost: int, n: int, answer: str) -> None:
    both = n - gained - lost
    found = ruled([True] * gained + [False] * lost + [True] * both, [False] * gained + [True] * lost + [True] * both)
    assert found.answer == answer
    assert found.scope == "checkpoints"
    assert "about the checkpoints of this one seed" in found.headline
    assert bool(found.decides) == (answer == "INCONCLUSIVE")


def test_one_seed_never_answers_about_a_method() -> None:
    found = ruled([True] * 100, [False] * 100)
    assert (found.answer, found.scope) == ("YES", "checkpoints")
    assert "not about the methods" in found.reach


def test_an_answer_is_withheld_for_a_reason() -> None:
    found = ruled([True] * 100, [False] * 100, withheld=["only 90.0% of the prompts were measured"])
    assert found.answer == "INCONCLUSIVE"
    assert "withheld: only 90.0%" in found.because


def test_no_difference_at_all_is_no_certainty() -> None:
    primary = made([True, False] * 20, [True, False] * 20)[0]
    assert primary.low < 0 < primary.high
    assert primary.high > 0.03
    assert primary.p_value == 1.0
    assert primary.minimum_detectable > primary.high


def test_interval_p_and_detectable_agree() -> None:
    """They come from one model.

    P is below 5 % exactly where the 95 % interval excludes 0, also where queries are shared.
    """
    rng = np.random.default_rng(3)
    for _ in range(60):
        base = np.repeat(rng.random(25) < 0.5, 4)
        flip = np.repeat(rng.random(25) < 0.3, 4)
        primary = made((base ^ flip).tolist(), base.tolist(), shared=4)[0]
        assert (primary.p_value < 0.05) == (primary.low > 0 or primary.high < 0)
        assert primary.n_queries == 25


def test_shared_queries_widen_the_interval_and_the_p() -> None:
    a, b = [True] * 12 + [False] * 108, [False] * 120
    alone, together = made(a, b)[0], made(a, b, shared=6)[0]
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together.p_value > alone.p_value
    assert together.minimum_detectable > alone.minimum_detectable


def test_what_nobody_measured_is_left_out_and_counted() -> None:
    a: list[bool | None] = [True] * 50 + [None] * 10
    primary = made(a, [False] * 60)[0]
    assert primary.n_prompts == 50
    assert primary.coverage == pytest.approx(50 / 60)


def test_slices_select_prompts() -> None:
    assert in_slice("new-topic/single", "new-topic")
    assert in_slice("new-topic/single", "single")
    assert in_slice("new-topic/single", "all")
    assert not in_slice("new-topic/single", "new-topic/multiple")
    primary, _, family = made([True] * 60, [False] * 60)
    assert (primary.n_prompts, family.n_prompts) == (60, 30)


def test_a_study_of_sound_answers_counts_no_letter_alone() -> None:
    """`a` passes everything with the phrase alone, an echo or a repetition; `b` passes half of it in earnest."""
    passing = {("start", None): [False] * 60, ("a", 0): [True] * 60, ("b", 0): [True, False] * 30}
    found = known(passing, [0])
    a = found.of("a", 0)
    assert a is not None
    assert a.sound == [True] * 60
    bare = msgspec.structs.replace(
        a,
        empty_form=[i % 3 == 0 for i in range(60)],
        echo=[i % 3 == 1 for i in range(60)],
        repetitive=[i % 3 == 2 or None for i in range(60)],
    )
    assert bare.sound == [False] * 60
    textless = msgspec.structs.replace(a, empty_form=[None] * 30 + [False] * 30)
    assert textless.sound == [False] * 30 + [True] * 30, "an answer without a text says nothing"
    assert msgspec.structs.replace(bare, passes=[None] * 60).sound == [None] * 60
    assert msgspec.structs.replace(bare, empty_form=[], echo=[]).sound == [None] * 60, "older records do not say"
    runs = {key: found.of(*key) or a for key in [("start", 0), ("b", 0)]} | {("a", 0): bare}
    both = Evaluations(runs, prompts(60), [0])
    assert contrasts(SPEC, both)[0].difference == 0.5
    sound = contrasts(SPEC, both.counting("sound"))[0]
    assert (sound.rate_treatment, sound.rate_control, sound.difference) == (0.0, 0.5, -0.5)
    counts = msgspec.structs.replace(SPEC, verdict=msgspec.structs.replace(SPEC.verdict, counts="sound"))
    assert "only sound answers" in rule(counts, both.counting("sound"), minutes_per_seed=1.0).rule
    assert counts.sha256 != SPEC.sha256
    assert b"counts" not in encode(SPEC), "a spec without it keeps its hash"


def several(spread: float, *, seeds: int = 5) -> dict[tuple[str, int | None], list[bool | None]]:
    rng = np.random.default_rng(0)
    found: dict[tuple[str, int | None], list[bool | None]] = {("start", None): [False] * 400}
    for seed in range(seeds):
        found["b", seed] = (rng.random(400) < 0.4).tolist()
        found["a", seed] = (rng.random(400) < 0.5 + spread * (seed - (seeds - 1) / 2)).tolist()
    return found


def test_several_seeds_answer_about_methods_and_show_each() -> None:
    spec = msgspec.structs.replace(SPEC, seeds=list(range(5)))
    found = known(several(0.01), spec.seeds)
    primary = contrasts(spec, found)[0]
    ruling = rule(spec, found, minutes_per_seed=10.0)
    assert ruling.scope == "method"
    assert (primary.n_seeds, len(primary.by_seed)) == (5, 5)
    assert primary.difference == pytest.approx(np.mean([one.difference for one in primary.by_seed]))
    wide = contrasts(spec, known(several(0.08), spec.seeds))[0]
    assert wide.high - wide.low > 1.5 * (primary.high - primary.low), "seeds that differ more say less about the method"


def test_inconclusive_says_what_would_decide_it() -> None:
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1, 2])
    found = known(several(0.12, seeds=3), spec.seeds)
    ruling = rule(spec, found, minutes_per_seed=12.0)
    assert (ruling.answer, ruling.fragile) == ("INCONCLUSIVE", False)
    seeds, more, hours = re.search(
        r"(\d+) seeds on these 400 prompts \((\d+) more, about ([\d.]+) hours", ruling.decides
    ).groups()
    assert int(more) == int(seeds) - 3, "three are there already"
    assert float(hours) == pytest.approx(int(more) * 12 / 60, abs=0.05)


def test_unfinished_seeds_are_left_out_until_they_are_there() -> None:
    outcomes = several(0.01)
    del outcomes["a", 4]
    spec = msgspec.structs.replace(SPEC, seeds=list(range(5)))
    assert [one.seed for one in contrasts(spec, known(outcomes, spec.seeds))[0].by_seed] == [0, 1, 2, 3]
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1])
    first = {key: passes for key, passes in several(0.01).items() if key[1] in {None, 0}}
    assert "over 1 seed:" in rule(spec, known(first, spec.seeds), withheld=["1 of 2 seeds are finished"]).headline


def test_nothing_is_counted_before_both_arms_are_there() -> None:
    outcomes = {key: passes for key, passes in several(0.01).items() if key[0] != "a"}
    primary = contrasts(msgspec.structs.replace(SPEC, seeds=[0]), known(outcomes, [0]))[0]
    assert (primary.n_prompts, primary.n_seeds, primary.difference) == (0, 0, None)
    assert "not both evaluated" in primary.reason


def guards(**changed) -> dict[str, str]:
    a = evaluation([True] * 80, arm="a", **changed)
    b = evaluation([True] * 80, arm="b")
    found = Evaluations({("a", 0): a, ("b", 0): b}, prompts(80), [0])
    return {guard.name: guard.outcome for guard in guard_tests(SPEC, found) if guard.control == "b"}


def test_guards_hold_where_nothing_changed() -> None:
    names = ("words", "topic_words", "repetition", "echo", "empty_form", "perplexity")
    assert guards() == dict.fromkeys(names, "holds")


def test_guards_are_violated_by_short_answers_and_a_broken_model() -> None:
    assert guards(words=[8, 10] * 40)["words"] == "violated"
    assert guards(nats=[130.0, 120.0, 150.0])["perplexity"] == "violated"
    assert guards(words=[4, 30] * 40)["words"] == "undecided"


def test_every_trained_arm_is_held_against_the_start_model() -> None:
    sides = {
        ("start", None): evaluation([True] * 80, arm="start", seed=None),
        ("a", 0): evaluation([True] * 80, arm="a", nats=[130.0, 120.0, 150.0]),
        ("b", 0): evaluation([True] * 80, arm="b"),
    }
    tax = tax_tests(SPEC, Evaluations(sides, prompts(80), [0]))
    assert [(one.treatment, one.control, one.outcome) for one in tax] == [
        ("a", "start", "violated"),
        ("b", "start", "holds"),
    ]
    assert tax[0].worse == pytest.approx(tax[0].value_treatment / tax[0].value_control - 1)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.01, 0.09, "above 0; whether by the smallest effect worth having (+5.0 points) is open"),
        (0.01, 0.04, "above 0, though below the smallest effect worth having (+5.0 points)"),
        (0.06, 0.09, "above 0"),
        (-0.09, -0.01, "below 0; whether by the smallest effect worth having (+5.0 points) is open"),
        (-0.04, -0.01, "below 0, though by less than an effect worth having (+5.0 points)"),
        (-0.09, -0.06, "below 0"),
    ],
)
def test_an_answer_says_whether_the_effect_is_worth_having(low: float, high: float, said: str) -> None:
    primary = contrasts(msgspec.structs.replace(SPEC, seeds=[0]), known(several(0.01), [0]))[0]
    known_interval = msgspec.structs.replace(primary, low=low, high=high)
    ruling = verdict(SPEC, known_interval, known(several(0.01), [0]), hangs_on=None, withheld=[], minutes_per_seed=None)
    assert ruling.because == f"the interval lies {said}"
