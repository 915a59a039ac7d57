"""The sweep in one process, against the fake endpoint: what it stores, resumes, refuses and counts."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from adhere import suites
from adhere.errors import OutOfCredit, RunMismatch, UsageError
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.options import EndpointOptions
from adhere.schema import Sampling
from adhere.store.run import Run
from adhere.store.segments import Damage, read_segments
from adhere.sweep.cost import Estimate, estimate_line, refuse_dear
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import load_sweep
from adhere.sweep.rows import Entry
from adhere.sweep.run import SweepRequest, run_sweep
from adhere.sweep.spec import Filter

SUITE = "core:in-family"


def asked(endpoint: FakeEndpoint, out: Path, **more: object) -> SweepRequest:
    return replace(SweepRequest(where=endpoint.url, suites=(SUITE,), limit=4, out=out), **more)  # type: ignore[arg-type]


def test_short_runs_count_every_verdict(tmp_path: Path) -> None:
    """Verdicts are written in batches of 64: those of the last batch must be counted too."""
    with FakeEndpoint({"m": FakeModel(answer=str.lower)}) as endpoint:
        sweep = run_sweep(asked(endpoint, tmp_path))
    run = Run.load(sweep.runs["m", 0])
    summary = run.summary()
    assert summary.accounting.ok == 4
    assert summary.coverage == 1.0
    assert summary.overall.prompt_strict.n == 4
    assert len(run.verdicts()) == 2 * sum(len(prompt.constraints) for prompt in run.prompts())


def test_what_is_listed_wanted_and_pinned(tmp_path: Path) -> None:
    models = {"a/x": FakeModel(), "a/y": FakeModel(), "b/z": FakeModel()}
    with FakeEndpoint(models) as endpoint:
        first = run_sweep(asked(endpoint, tmp_path, wanted=Filter(globs=("a/*",))))
        assert (len(first.snapshot.rows), first.snapshot.wanted) == (3, ("a/x", "a/y"))
        assert set(first.snapshot.left_out) == {"b/z"}
        endpoint.models["a/new"] = FakeModel()
        again = run_sweep(asked(endpoint, tmp_path, wanted=Filter(globs=("a/*",))))
        assert again.snapshot == first.snapshot
        assert endpoint.served["b/z"] == endpoint.served["a/new"] == 0
    board = leaderboard(load_sweep(first.directory))
    assert (board.listed, board.wanted, board.alive) == (3, 2, 2)


def test_dead_models_are_asked_again_only_when_told_to(tmp_path: Path) -> None:
    with FakeEndpoint({"a": FakeModel(faults=("404",)), "b": FakeModel()}) as endpoint:
        first = run_sweep(asked(endpoint, tmp_path))
        assert first.alive == ["b"]
        assert "404" in first.dead["a"]
        endpoint.models["a"] = FakeModel()
        assert run_sweep(asked(endpoint, tmp_path)).alive == ["b"]
        again = run_sweep(asked(endpoint, tmp_path, recheck=True))
        assert again.alive == ["a", "b"]
        assert endpoint.served["b"] == 1 + 4
    assert load_sweep(again.directory).runs.keys() == {("a", 0), ("b", 0)}


def test_a_failed_answer_is_asked_again_and_never_replaces_one(tmp_path: Path) -> None:
    numbers = itertools.count()
    model = FakeModel(answer=lambda text: f"answer {next(numbers)}", faults=(None, "400", None, None, None))
    with FakeEndpoint({"m": model}) as endpoint:
        first = run_sweep(asked(endpoint, tmp_path))
        before = {one.key: one for one in Run.load(first.runs["m", 0]).responses()}
        assert sorted(one.status for one in before.values()) == ["error", "ok", "ok", "ok"]
        assert leaderboard(first).rows[0].unranked
        model.faults = ()
        run_sweep(asked(endpoint, tmp_path))
        assert endpoint.served["m"] == 1 + 4  # HTTP 400 would come again, so it is not asked again
        again = run_sweep(asked(endpoint, tmp_path, recheck=True))
        assert endpoint.served["m"] == 1 + 4 + 1
    after = {one.key: one for one in Run.load(again.runs["m", 0]).responses()}
    assert all(one.status == "ok" for one in after.values())
    assert all(after[key] == one for key, one in before.items() if one.status == "ok")
    row = leaderboard(again).rows[0]
    assert (row.coverage, row.rank) == (1.0, 1)


def test_several_suites_and_draws(tmp_path: Path) -> None:
    suites = (SUITE, "core:new-family")
    with FakeEndpoint({"m": FakeModel(), "n": FakeModel()}) as endpoint:
        sweep = run_sweep(asked(endpoint, tmp_path, suites=suites, draws=2, max_new_tokens=64, temperature=0.7))
        assert endpoint.served["m"] == 1 + 2 * 2 * 4
    board = leaderboard(sweep)
    assert [(row.suite, row.model) for row in board.rows] == [(suite, model) for suite in suites for model in "mn"]
    assert all(row.accounting.n == 8 and row.rank == 1 for row in board.rows)
    assert len(list(read_segments(sweep.directory / "journal", Entry, Damage()))) == 32


def test_other_questions_are_another_sweep(tmp_path: Path) -> None:
    with FakeEndpoint(["m"]) as endpoint:
        sweep = run_sweep(asked(endpoint, tmp_path))
        other = run_sweep(asked(endpoint, tmp_path, limit=3))
        assert sweep.directory != other.directory
        (sweep.directory / "sweep.json").write_bytes((other.directory / "sweep.json").read_bytes())
        with pytest.raises(RunMismatch, match="limit: stored 3, asked 4"):
            run_sweep(asked(endpoint, tmp_path))


def test_no_sweep_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no sweep"):
        load_sweep(tmp_path)


def test_what_is_too_dear_is_refused() -> None:
    estimate = Estimate(requests=10, models=1, most_usd=5.0, unpriced=0, credit_usd=4.0)
    with pytest.raises(OutOfCredit, match=r"\$4\.00 are left"):
        refuse_dear(estimate, max_cost_usd=None)
    with pytest.raises(UsageError, match=r"--max-cost 2\.00"):
        refuse_dear(Estimate(10, 1, 5.0, 0, None), max_cost_usd=2.0)
    refuse_dear(Estimate(10, 1, 5.0, 0, 5.0), max_cost_usd=5.0)
    assert estimate_line(Estimate(10, 2, 5.0, 0, None)).endswith("ask for; at most $5.00")
    assert "; no upper bound, because 1 of them do not say their price (the others cost at most $5.00" in estimate_line(
        Estimate(10, 2, 5.0, 1, None)
    )


def test_a_server_with_one_slot_gets_one_request_at_a_time_unless_told_otherwise(tmp_path: Path) -> None:
    listing = {"owned_by": "adhere"}
    for concurrency, most in ((None, 1), (4, 4)):
        with FakeEndpoint({"one": FakeModel(listing=listing)}, latency_s=0.02) as fake:
            run_sweep(
                SweepRequest(
                    where=fake.url,
                    suites=("core:in-family",),
                    limit=12,
                    options=EndpointOptions(model_concurrency=concurrency),
                    out=tmp_path / str(concurrency),
                )
            )
            assert fake.most_busy == most
            assert sum(fake.served.values()) == 13


def test_another_patience_or_library_goes_on_with_the_same_sweep(tmp_path: Path) -> None:
    with FakeEndpoint({"m": FakeModel()}) as endpoint:
        first = run_sweep(asked(endpoint, tmp_path, options=EndpointOptions(timeout_s=60)))
        before = endpoint.served["m"]
        old = first.directory.rename(first.directory.with_name(first.directory.name[:-12] + "0" * 12))
        again = run_sweep(asked(endpoint, tmp_path, options=EndpointOptions(timeout_s=30)))
        assert again.directory == old
        assert again.runs[("m", 0)].parent == old / "runs"
        assert len(list((old / "runs").iterdir())) == 1
        assert endpoint.served["m"] == before


def test_a_suite_has_its_own_sampling_and_older_sweeps_are_found(tmp_path: Path) -> None:
    with FakeEndpoint(["m"]) as endpoint:
        found = run_sweep(asked(endpoint, tmp_path, limit=2))
        assert {body["max_tokens"] for body in endpoint.seen[1:]} == {suites.load(SUITE).sampling.max_new_tokens}
        assert found.spec.samplings == ()
        stored = json.loads((found.directory / "sweep.json").read_text())
        del stored["samplings"]  # as an earlier version wrote it
        stored["engine"] |= {"version": "aiohttp 3.9", "settings": {**stored["engine"]["settings"], "total_s": 10.0}}
        (found.directory / "sweep.json").write_text(json.dumps(stored))
        before = sum(endpoint.served.values())
        assert run_sweep(asked(endpoint, tmp_path, limit=2)).directory == found.directory
        assert sum(endpoint.served.values()) == before
    one, other = Sampling(max_new_tokens=10), Sampling(max_new_tokens=20)
    spec = found.spec
    mixed = msgspec.structs.replace(spec, sampling=one, samplings=(one, other))
    assert (mixed.sampling_of(0), mixed.sampling_of(1)) == (one, other)
    assert mixed.sha256 != msgspec.structs.replace(spec, sampling=one).sha256
