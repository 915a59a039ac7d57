"""The whole way with a model made of a function: resume, interrupt, rescore, compare."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from adhere.constraints import Finding
from adhere.errors import AdhereError, RunMismatch
from adhere.pipeline.compare.paired import compare_runs, paired_by_prompt
from adhere.pipeline.evaluate import EvalSpec, evaluate, evaluate_sync, rescore
from adhere.pipeline.outcomes import pass_rates, passes
from adhere.progress import Lines, Silent
from adhere.report.run.text import run_text, runs_text
from adhere.schema import Response, Sampling
from adhere.store.run import Run


def _suite(house: Any, n: int = 6) -> Any:
    return house.suite([house.prompt(f"p{number}", slice_name=("plain", "other")[number % 2]) for number in range(n)])


def test_measures_and_stores(house: Any, tmp_path: Path):
    model = house.FunctionModel(lambda request: "no, no" if request.prompt_id == "p3" else "yes")
    run = evaluate_sync(model, _suite(house), tmp_path)
    summary = run.summary()
    assert (summary.overall.prompt_strict.passed, summary.overall.prompt_strict.n) == (5, 6)
    assert {name: score.prompt_strict.passed for name, score in summary.slices.items()} == {"plain": 3, "other": 2}
    assert passes(run) == {f"p{number}": number != 3 for number in range(6)}
    assert len(Run.load(tmp_path).verdicts()) == 12


def test_a_finished_run_asks_and_writes_nothing(house: Any, tmp_path: Path):
    evaluate_sync(house.FunctionModel(lambda request: "yes"), _suite(house), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    model = house.FunctionModel(lambda request: "never asked")
    run = evaluate_sync(model, _suite(house), tmp_path)
    assert model.asked == []
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")} == before
    assert run.summary().overall.prompt_strict.passed == 6


def test_failed_calls_are_asked_again(house: Any, tmp_path: Path):
    def shaky(request: Any) -> Any:
        return house.answer(request, "", "error") if request.prompt_id in {"p1", "p2"} else "yes"

    first = evaluate_sync(house.FunctionModel(shaky), _suite(house), tmp_path).summary()
    assert (first.accounting.error, first.coverage) == (2, pytest.approx(4 / 6))
    model = house.FunctionModel(lambda request: "yes")
    second = evaluate_sync(model, _suite(house), tmp_path).summary()
    assert sorted(request.prompt_id for request in model.asked) == ["p1", "p2"]
    assert (second.accounting.error, second.coverage) == (0, 1.0)


@pytest.mark.parametrize("blow", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_goes_on(house: Any, tmp_path: Path, blow: type[BaseException]):
    def until_four(request: Any) -> str:
        if len(model.asked) > 4:
            raise blow
        return "yes"

    model = house.FunctionModel(until_four)
    with pytest.raises(blow):
        evaluate_sync(model, _suite(house), tmp_path)
    assert not Run.load(tmp_path).is_sealed
    assert len(Run.load(tmp_path).responses()) == 4
    again = house.FunctionModel(lambda request: "yes")
    out = io.StringIO()
    assert evaluate_sync(again, _suite(house), tmp_path, progress=Lines(out, every_s=0)).summary().coverage == 1.0
    assert len(again.asked) == 2
    told = [line.split(", ")[0] for line in out.getvalue().splitlines() if "answers" in line and "judge" not in line]
    assert [line.split(": ")[1] for line in told] == ["5/6 answers", "6/6 answers"]  # not from 0 again


def test_a_cancelled_run_goes_on(house: Any, tmp_path: Path):
    class Slow(house.FunctionModel):
        async def respond(self, requests, sampling):
            async for response in super().respond(requests, sampling):
                yield response
                if len(self.asked) == 3:
                    await asyncio.sleep(60)

    async def cancelled() -> None:
        task = asyncio.create_task(evaluate(Slow(lambda request: "yes"), EvalSpec(_suite(house)), tmp_path))
        await asyncio.sleep(0.2)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert len(Run.load(tmp_path).responses()) == 3


def test_interrupted_equals_uninterrupted(house: Any, tmp_path: Path):
    def answer(request: Any) -> str:
        return f"seed {request.seed}" + ("," if request.seed % 3 else "")

    sampling = Sampling(temperature=1.0, seed=3)
    whole = evaluate_sync(house.FunctionModel(answer), _suite(house), tmp_path / "a", sampling=sampling, draws=3)

    def dying(request: Any) -> str:
        if len(model.asked) > 7:
            raise KeyboardInterrupt
        return answer(request)

    model = house.FunctionModel(dying)
    with pytest.raises(KeyboardInterrupt):
        evaluate_sync(model, _suite(house), tmp_path / "b", sampling=sampling, draws=3)
    parts = evaluate_sync(house.FunctionModel(answer), _suite(house), tmp_path / "b", sampling=sampling, draws=3)
    assert parts.responses() == whole.responses()
    assert parts.verdicts() == whole.verdicts()
    assert parts.summary() == whole.summary()


def test_conversations_resume_in_the_middle(house: Any, tmp_path: Path):
    suite = house.suite([house.prompt("m", [house.NO_COMMAS], [house.NO_COMMAS])])
    first = house.FunctionModel(
        lambda request: house.answer(
            request, "kept" if request.turn == 0 else "", "ok" if request.turn == 0 else "error"
        )
    )
    evaluate_sync(first, suite, tmp_path)
    second = house.FunctionModel(lambda request: "later")
    run = evaluate_sync(second, suite, tmp_path)
    assert [(request.turn, request.messages[1].content) for request in second.asked] == [(1, "kept")]
    assert run.summary().overall.prompt_strict.of_all == 1.0


def test_rescoring_needs_no_model_and_only_judges_what_is_old(
    house: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    suite = house.suite([house.prompt("a", [house.CRASHING]), house.prompt("b")])
    run = evaluate_sync(house.FunctionModel(lambda request: "bad"), suite, tmp_path)
    assert run.summary().overall.prompt_strict.passed == 1
    rows = sum(len(path.read_bytes().splitlines()) for path in (tmp_path / "verdicts").iterdir())
    monkeypatch.setattr(house.Crashing, "version", 8)
    monkeypatch.setattr(house.Crashing, "check", lambda self, text: Finding("pass", "mended"))
    summary = rescore(tmp_path)
    assert summary.overall.prompt_strict.passed == 2
    assert summary.verifier_versions["test:crashing"] == "1.8"
    assert Run.load(tmp_path).summary() == summary
    after = sum(len(path.read_bytes().splitlines()) for path in (tmp_path / "verdicts").iterdir())
    assert after == rows + 2, "both views of one answer"


def test_a_lost_verdict_is_judged_again(house: Any, tmp_path: Path):
    evaluate_sync(house.FunctionModel(lambda request: "yes"), _suite(house), tmp_path)
    (segment,) = (tmp_path / "verdicts").iterdir()
    segment.write_bytes(segment.read_bytes()[:-30])
    said: list[str] = []
    progress = Silent()
    progress.say = said.append
    summary = rescore(tmp_path, progress)
    assert summary.coverage == 1.0
    assert summary.damage == 1
    assert f"verdicts/{segment.name}:12" in said[0]


def test_limit_keeps_the_share_of_every_slice(house: Any, tmp_path: Path):
    run = evaluate_sync(house.FunctionModel(lambda request: "yes"), _suite(house, 12), tmp_path, limit=4)
    assert [prompt.id for prompt in run.prompts()] == ["p0", "p1", "p2", "p3"]
    with pytest.raises(RunMismatch, match="suite_sha256: stored"):
        evaluate_sync(house.FunctionModel(lambda request: "yes"), _suite(house, 12), tmp_path)


def test_the_directory_is_the_specs_name(house: Any, tmp_path: Path):
    model = house.FunctionModel(lambda request: "yes")
    directory = EvalSpec(_suite(house)).run_spec(model).directory(tmp_path)
    assert evaluate_sync(model, _suite(house), directory).spec.id == directory.name
    assert EvalSpec(_suite(house), Sampling(seed=1)).run_spec(model).directory(tmp_path) != directory


def _pair(house: Any, tmp_path: Path, **options: Any) -> tuple[Run, Run]:
    """Of 40 prompts, a passes 0-29, b passes 0-19 and 38-39: gained 10, lost 2; the last two are unmeasured in b."""

    def a(request: Any) -> str:
        return "yes" if int(request.prompt_id[1:]) < 30 else "no, no"

    def b(request: Any) -> Any:
        number = int(request.prompt_id[1:])
        if number in {36, 37}:
            return house.answer(request, "", "error")
        return "yes" if number < 20 or number >= 38 else "no, no"

    suite = _suite(house, 40)
    treatment = house.FunctionModel(a, name="fake/a")
    control = house.FunctionModel(b, name="fake/b", **options)
    return evaluate_sync(treatment, suite, tmp_path / "a"), evaluate_sync(control, suite, tmp_path / "b")


def test_comparison_is_paired_by_prompt(house: Any, tmp_path: Path):
    found = compare_runs(*_pair(house, tmp_path)).overall
    assert (found.n, found.left_out, found.gained, found.lost) == (38, 2, 10, 2)
    assert found.difference == pytest.approx(8 / 38)
    assert 0 < found.low < found.difference < found.high
    assert found.p_value == pytest.approx(158 / 4096, abs=0.02), "close to McNemar's exact 2·P(X ≤ 2 of 12)"
    assert found.minimum_detectable == pytest.approx(2.8016 * (12 / 38 / 38) ** 0.5, abs=0.05)
    mirrored = compare_runs(*reversed(_pair(house, tmp_path / "again"))).overall
    assert (mirrored.gained, mirrored.lost, mirrored.difference) == (2, 10, pytest.approx(-8 / 38))


def test_comparison_has_slices(house: Any, tmp_path: Path):
    found = compare_runs(*_pair(house, tmp_path))
    assert set(found.slices) == {"plain", "other"}
    assert sum(part.n for part in found.slices.values()) == found.overall.n
    assert found.notes == ()


def test_engines_are_not_mixed_unless_asked(house: Any, tmp_path: Path):
    pair = _pair(house, tmp_path, precision="bf16")
    with pytest.raises(RunMismatch, match=r"different engines \(function fp32; function bf16\).*across_engines=True"):
        compare_runs(*pair)
    assert compare_runs(*pair, across_engines=True).notes == ("precision: a has 'fp32', b has 'bf16'",)


def test_a_difference_of_judges_is_said(house: Any, tmp_path: Path):
    model = house.FunctionModel(lambda request: "yes", name="fake/a")
    other = house.FunctionModel(lambda request: "no", name="fake/b")
    a = evaluate_sync(model, _suite(house), tmp_path / "a", mode="fixed")
    b = evaluate_sync(other, _suite(house), tmp_path / "b", random_in_reference=3)
    assert compare_runs(a, b).notes == (
        "mode: a has 'fixed', b has 'reference'",
        "random_in_reference: a has None, b has 3",
    )
    report = runs_text([a, b])
    assert "judged differently" in report
    assert "older" not in report
    assert "in fixed mode" in run_text(a.spec, a.summary())
    assert "in reference mode" not in run_text(b.spec, b.summary())


def test_what_cannot_be_paired_is_refused(house: Any, tmp_path: Path):
    model = house.FunctionModel(lambda request: "yes")
    six = evaluate_sync(model, _suite(house), tmp_path / "six")
    with pytest.raises(RunMismatch, match="different prompts"):
        compare_runs(six, evaluate_sync(model, _suite(house, 8), tmp_path / "eight"))
    with pytest.raises(RunMismatch, match="different prompts"):
        compare_runs(six, evaluate_sync(model, _suite(house), tmp_path / "limited", limit=3))
    with pytest.raises(RunMismatch, match="1 and 2 answers"):
        compare_runs(six, evaluate_sync(model, _suite(house), tmp_path / "twice", draws=2))


def test_several_draws_compare_by_their_means(house: Any, tmp_path: Path):
    def half(request: Any) -> str:
        return "yes" if request.seed % 2 else "no, no"

    options = {"draws": 4, "sampling": Sampling(temperature=1.0)}
    a = evaluate_sync(house.FunctionModel(half, name="fake/a"), _suite(house, 12), tmp_path / "a", **options)
    b = evaluate_sync(house.FunctionModel(lambda request: "no, no"), _suite(house, 12), tmp_path / "b", **options)
    rates = pass_rates(a)
    assert set(rates.values()) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    found = compare_runs(a, b).overall
    assert found.difference == pytest.approx(sum(rates.values()) / 12)
    assert found.low < found.difference < found.high


def test_unmeasured_prompts_are_none_not_false(house: Any, tmp_path: Path):
    model = house.FunctionModel(
        lambda request: house.answer(request, "", "error") if request.prompt_id == "p0" else "yes"
    )
    run = evaluate_sync(model, _suite(house, 2), tmp_path)
    assert passes(run) == {"p0": None, "p1": True}
    assert pass_rates(run) == {"p0": None, "p1": 1.0}
    nothing = paired_by_prompt({"p0": None}, {"p0": 1.0}, ["p0", "p9"])
    assert (nothing.n, nothing.left_out, nothing.difference, nothing.p_value) == (0, 2, None, None)
    assert "no prompt" in nothing.reason


def test_nothing_is_stored_of_a_response_that_was_not_asked(house: Any, tmp_path: Path):
    with pytest.raises(AdhereError):
        evaluate_sync(house.FunctionModel(lambda request: Response("z", 0, 0, "x", "ok")), _suite(house), tmp_path)
    assert list(tmp_path.rglob("responses/*")) == []


def test_two_runs_of_one_model_are_told_apart_by_what_differs(house: Any, tmp_path: Path):
    model, suite = house.FunctionModel(lambda request: "yes"), _suite(house)
    cold = evaluate_sync(model, suite, tmp_path / "cold")
    warm = evaluate_sync(model, suite, tmp_path / "warm", sampling=Sampling(max_new_tokens=1024, temperature=0.7))
    again = evaluate_sync(model, suite, tmp_path / "again")
    found = compare_runs(warm, cold)
    assert (found.a, found.b) == ("fake/one (temperature 0.7)", "fake/one (temperature 0)")
    same = compare_runs(cold, again)
    assert (same.a, same.b) == ("fake/one (first)", "fake/one (second)")


def test_one_measurement_has_one_name(tmp_path: Path) -> None:
    """`--limit` cut the suite on the command line and the prompts in Python: the same measurement had two names."""
    from click.testing import CliRunner

    from adhere.cli.eval import command
    from adhere.models.catalog import open_model
    from adhere.suites import load

    model = open_model("scripted/echo")
    done = CliRunner().invoke(command, ["scripted/echo", "--suite", "core", "--limit", "4", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (named,) = tmp_path.iterdir()
    again = evaluate_sync(model, load("core", seed=0), named, limit=4)
    assert again.directory == EvalSpec(load("core", limit=4)).run_spec(model).directory(tmp_path) == named
