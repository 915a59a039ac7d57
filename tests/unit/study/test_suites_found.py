"""Published suites in a study: contrasts with Holm over them, and which instructions rise or fall."""

from __future__ import annotations

from statistics import fmean
from types import SimpleNamespace

import msgspec
import pytest
from tests.unit.study.outcomes import evaluation
from tests.unit.study.test_compare import SPEC

from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.store.summary import Accounting, GuardMeans, Rate, SliceScore, Summary
from adhere.study.outcome.collect import _warnings
from adhere.study.outcome.contrast import Evaluations, RunKey
from adhere.study.outcome.result import SuiteFound
from adhere.study.outcome.suites import forgotten, suites_found
from adhere.study.run.measured import DrawOutcomes, Measurement

N = 60


def prompts() -> list[Prompt]:
    """Every prompt asks for no comma; every second one for a title as well."""
    refs = [ConstraintRef("punctuation:no_comma", {}), ConstraintRef("detectable_format:title", {})]
    return [Prompt(f"p{i}", (Turn("", tuple(refs[: 1 + i % 2])),)) for i in range(N)]


def run(comma: float, title: float, *, seed: int | None = 0) -> Measurement:
    """Of the first instruction this share is kept, of the second that."""
    kept = [[i % 10 < 10 * comma, *([i % 20 < 20 * title] if i % 2 else [])] for i in range(N)]
    passes = [all(one) for one in kept]
    each = [value for one in kept for value in one]
    rates = [Rate(sum(v), len(v), sum(v) / len(v), 0.0, 1.0, sum(v), len(v), None, None, None) for v in (passes, each)]
    overall = SliceScore(
        N,
        Accounting(N, N, 0, 0, 0, 0, 0),
        1.0,
        rates[0],
        rates[1],
        rates[0],
        rates[1],
        None,
        None,
        {},
        {},
        GuardMeans(40.0, 0.9, None, 0.0, 0.0, 0.1, N),
    )
    found = evaluation(passes, seed=seed)
    return msgspec.structs.replace(found, kept=kept, summary=Summary(1, 1, overall, {}, {}), suite="x")


def found(**suites: dict[RunKey, Measurement]) -> dict[str, SuiteFound]:
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1, 2])
    asked = {name: Evaluations(runs, prompts(), spec.seeds) for name, runs in suites.items()}
    return {one.name: one for one in suites_found(spec, asked, suites)}


def arms(a: tuple[float, float], b: tuple[float, float]) -> dict[RunKey, Measurement]:
    runs: dict[RunKey, Measurement] = {("start", None): run(0.2, 0.5, seed=None)}
    for seed in range(3):
        runs["a", seed], runs["b", seed] = run(*a, seed=seed), run(*b, seed=seed)
    return runs


def test_each_suite_has_the_contrast_of_the_verdict_with_holm_over_suites() -> None:
    both = found(ifeval=arms((0.8, 0.5), (0.4, 0.5)), ifbench=arms((0.5, 0.5), (0.4, 0.5)))
    for one in both.values():
        first = one.contrasts[0]
        assert (first.role, first.treatment, first.control, first.n_seeds, first.n_prompts) == (
            "primary",
            "a",
            "b",
            3,
            N,
        )
        assert [(c.treatment, c.control) for c in one.contrasts[1:]] == [("a", "start"), ("b", "start")]
        assert (one.n_prompts, one.n_instructions) == (N, N * 3 // 2)
    p = sorted(one.contrasts[0].p_value for one in both.values())
    adjusted = sorted(one.contrasts[0].p_adjusted for one in both.values())
    assert adjusted == [pytest.approx(min(1, 2 * p[0])), pytest.approx(max(2 * p[0], p[1]))]


def test_every_arm_has_its_four_numbers_pooled_and_at_each_seed() -> None:
    scores = found(ifeval=arms((0.8, 0.5), (0.4, 0.5)))["ifeval"].scores
    assert [(one.arm, one.seed) for one in scores] == [
        ("start", None),
        ("a", None),
        ("a", 0),
        ("a", 1),
        ("a", 2),
        ("b", None),
        ("b", 0),
        ("b", 1),
        ("b", 2),
    ]
    pooled = scores[1]
    assert (pooled.prompt_strict.n, pooled.instruction_loose.n) == (3 * N, 3 * N * 3 // 2)
    assert pooled.prompt_strict.rate == pytest.approx(scores[2].prompt_strict.rate)


def test_a_table_says_which_instructions_rise_and_fall() -> None:
    rows = found(ifeval=arms((0.8, 0.2), (0.4, 0.8)))["ifeval"].instructions
    against = {(one.id, one.control): one for one in rows}
    comma, title = against["punctuation:no_comma", "b"], against["detectable_format:title", "b"]
    assert (comma.n, title.n) == (N, N // 2)
    assert comma.difference == pytest.approx(0.4)
    assert comma.low is not None
    assert comma.low > 0
    assert title.difference == pytest.approx(-0.6, abs=0.01)
    assert title.high is not None
    assert title.high < 0
    assert comma.p_adjusted is not None
    assert comma.p_adjusted >= comma.p_value  # type: ignore[operator]
    assert ("punctuation:no_comma", "start") in against


def test_older_records_have_no_table() -> None:
    runs = {key: msgspec.structs.replace(one, kept=[]) for key, one in arms((0.8, 0.2), (0.4, 0.8)).items()}
    assert found(ifeval=runs)["ifeval"].instructions == []


def test_a_study_of_sound_answers_says_what_of_a_suite_is_more_than_the_letter() -> None:
    runs = arms((1.0, 1.0), (0.5, 0.5))
    bare = {
        key: msgspec.structs.replace(one, empty_form=[True] * N) if key[0] == "a" else one for key, one in runs.items()
    }
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1, 2], verdict=msgspec.structs.replace(SPEC.verdict, counts="sound"))
    (x,) = suites_found(spec, {"x": Evaluations(bare, prompts(), spec.seeds)}, {"x": bare})
    assert (x.contrasts[0].slice, x.contrasts[0].rate_treatment) == ("all", 1.0), "the suite's own number stays"
    sound = [one for one in x.contrasts if one.slice == "sound"]
    assert [(one.treatment, one.control) for one in sound] == [("a", "b"), ("a", "start")]
    assert sound[0].rate_treatment == 0.0
    shares = {one.arm: (one.guard.sound_share, one.guard.form_share) for one in x.scores if one.seed is None}
    assert shares == {"start": (pytest.approx(0.15), 0.0), "a": (0.0, 1.0), "b": (pytest.approx(0.4), 0.0)}
    assert sound[0].high is not None
    assert sound[0].high < 0
    assert all(one.p_adjusted is not None for one in sound)


def test_what_of_a_benchmark_was_not_measured_is_a_warning() -> None:
    whole, part = run(0.8, 0.5), run(0.8, 0.5, seed=1)
    overall = msgspec.structs.replace(part.summary.overall, accounting=Accounting(N, 15, 0, 0, 0, 45, 0))
    part = msgspec.structs.replace(
        part, passes=[True] * 15 + [None] * 45, summary=msgspec.structs.replace(part.summary, overall=overall)
    )
    suites = {"ifbench": {("a", 0): whole, ("a", 1): part}, "ifeval": {("a", 0): whole}}
    stored = SimpleNamespace(runs={}, pools={}, cells={}, suites=suites)
    assert _warnings(stored) == [  # type: ignore[arg-type]
        "ifbench: in 1 of 2 evaluations up to 75.0% of the prompts have no measurement; 45 answers ended in an error"
    ]


def test_a_suite_is_parted_by_what_any_stage_trained() -> None:
    """No comma is trained, a title is not: even prompts ask for the first alone, odd ones for both."""
    spec = msgspec.structs.replace(
        SPEC, seeds=[0, 1, 2], data=msgspec.structs.replace(SPEC.data, kinds=["punctuation:no_commas"])
    )
    runs = arms((0.8, 0.5), (0.4, 0.5))
    one = suites_found(spec, {"ifeval": Evaluations(runs, prompts(), spec.seeds)}, {"ifeval": runs})[0]
    parts = {part.part: part for part in one.parts}
    assert {name: part.n_prompts for name, part in parts.items()} == {"trained": N // 2, "mixed": N // 2}
    rates = {rate.arm: (rate.n_seeds, rate.passed) for rate in parts["trained"].rates}
    assert {arm: n for arm, (n, _) in rates.items()} == {"start": 1, "a": 3, "b": 3}
    assert [rates[arm][1] for arm in ("start", "a", "b")] == pytest.approx([0.2, 0.8, 0.4])
    first = parts["trained"].contrasts[0]
    assert (first.treatment, first.control, first.n_prompts) == ("a", "b", N // 2)
    assert first.difference == pytest.approx(0.4)
    untrained = msgspec.structs.replace(spec, data=msgspec.structs.replace(SPEC.data, kinds=["case:lower"]))
    again = suites_found(untrained, {"ifeval": Evaluations(runs, prompts(), spec.seeds)}, {"ifeval": runs})[0]
    assert [part.part for part in again.parts] == ["untrained"]


def test_a_part_of_several_draws_has_the_mean_over_draws() -> None:
    runs = arms((0.8, 1.0), (0.4, 0.5))
    nothing = [False] * N
    for key, one in runs.items():
        draws = [DrawOutcomes(one.passes, one.sound), DrawOutcomes(nothing, nothing)]
        runs[key] = msgspec.structs.replace(one, drawn=draws)
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1, 2])
    (one,) = suites_found(spec, {"x": Evaluations(runs, prompts(), spec.seeds)}, {"x": runs})
    whole = [fmean(map(float, draw)) for draw in (run(0.8, 1.0).passes, nothing)]
    shares = [(part.n_prompts / N, rate.passed) for part in one.parts for rate in part.rates if rate.arm == "a"]
    assert sum(share * (rate or 0.0) for share, rate in shares) == pytest.approx(fmean(whole))


def test_what_the_start_kept_and_an_arm_lost_is_counted() -> None:
    """The start keeps both instructions; arm a loses titles, arm b nothing."""
    runs: dict[RunKey, Measurement] = {("start", None): run(0.5, 0.8, seed=None)}
    for seed in range(3):
        runs["a", seed], runs["b", seed] = run(0.9, 0.0, seed=seed), run(0.9, 0.8, seed=seed)
    spec = msgspec.structs.replace(SPEC, seeds=[0, 1, 2])
    each = forgotten(spec, Evaluations({}, [], spec.seeds), {"ifeval": Evaluations(runs, prompts(), spec.seeds)})
    by_arm = {one.arm: one for one in each}
    assert [kind.id for kind in by_arm["a"].lost] == ["detectable_format:title"]
    assert by_arm["b"].lost == []
    assert (by_arm["a"].kinds, by_arm["a"].kept) == (2, 2)
    assert by_arm["a"].difference == pytest.approx((0.4 * N - 0.8 * N / 2) / (1.5 * N))
