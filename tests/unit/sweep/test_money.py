"""`--max-cost` is a cap over all runs of a directory, and nothing of unknown price is free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import Incomplete, UsageError
from adhere.models.catalog import open_model
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.options import EndpointOptions
from adhere.models.http.wire import Prices
from adhere.pipeline.evaluate import evaluate_sync
from adhere.store.segments import Damage, read_segments
from adhere.store.spending import SpentSoFar
from adhere.suites import load
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import Sweep
from adhere.sweep.rows import Entry
from adhere.sweep.run import SweepRequest, run_sweep

PRICED = {"pricing": {"prompt": "0", "completion": "0.001"}}  # 64 tokens: at most $0.064 an answer


def asked(endpoint: FakeEndpoint, out: Path, *, cap: float | None, limit: int = 10, **options: Any) -> SweepRequest:
    chosen = EndpointOptions(max_cost_usd=cap, timeout_s=options.pop("timeout_s", 10.0), patience_s=2.0, **options)
    return SweepRequest(
        where=endpoint.url, suites=("core:in-family",), limit=limit, max_new_tokens=64, options=chosen, out=out
    )


def answers(sweep: Sweep) -> list[Entry]:
    return [
        row for row in read_segments(sweep.directory / "journal", Entry, Damage()) if row.response.status != "error"
    ]


def test_three_runs_spend_no_more_than_one_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate would refuse this at once; here only the dispatcher is left to keep the cap."""
    monkeypatch.setattr("adhere.sweep.run.refuse_dear", lambda estimate, *, max_cost_usd: None)
    model = FakeModel(usage={"cost": 0.05}, listing=PRICED)
    with FakeEndpoint({"m": model}) as endpoint:
        request = asked(endpoint, tmp_path, cap=0.4, limit=40)
        kept = []
        for _ in range(3):
            found = run_sweep(request)
            kept.append(len(answers(found)))
            assert endpoint.served["m"] * 0.05 <= 0.4 + 1e-9
        assert kept[0] > 2
        assert kept[1] == kept[2] == kept[0]
        assert found.stopped_for == "cost"
        spent = list(read_segments(found.directory / "spend", SpentSoFar, Damage()))
        assert max(row.spent_usd for row in spent) == pytest.approx(endpoint.served["m"] * 0.05)
        more = run_sweep(replace(request, options=replace(request.options, max_cost_usd=100.0)))
        assert len(answers(more)) == 40
        assert endpoint.served["m"] == 41


@pytest.mark.parametrize("usage", [{"cost": -1_000.0}, {}, {"cost": "1e999"}])
def test_an_answer_of_unknown_or_negative_cost_counts_as_all_that_it_may_cost(
    tmp_path: Path, usage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adhere.sweep.run.refuse_dear", lambda estimate, *, max_cost_usd: None)
    model = FakeModel(usage=usage, listing=PRICED)
    with FakeEndpoint({"m": model}) as endpoint:
        found = run_sweep(asked(endpoint, tmp_path, cap=0.64))
        assert endpoint.served["m"] == 10  # the small question among them
        assert found.stopped_for == "cost"
    assert leaderboard(found).rows[0].cost.total_usd is None  # nobody said what they cost


def test_time_outs_count_as_all_that_they_may_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adhere.sweep.run.refuse_dear", lambda estimate, *, max_cost_usd: None)
    model = FakeModel(fault_of=lambda text: None if "capital of France" in text else "hang", listing=PRICED)
    with FakeEndpoint({"m": model}) as endpoint:
        found = run_sweep(asked(endpoint, tmp_path, cap=0.4, timeout_s=0.5))
        assert found.stopped_for == "cost"
        assert endpoint.asked["m"] <= 7
        again = run_sweep(asked(endpoint, tmp_path, cap=0.4, timeout_s=0.5))
        assert again.stopped_for == "cost"
        assert endpoint.asked["m"] <= 7


def test_a_model_without_a_price_is_not_asked_under_a_cap(tmp_path: Path) -> None:
    models = {"priced": FakeModel(listing=PRICED), "silent": FakeModel()}
    with FakeEndpoint(models) as endpoint:
        found = run_sweep(asked(endpoint, tmp_path, cap=10.0))
        assert endpoint.asked["silent"] == 0
        assert "--price IN,OUT" in found.set_aside["silent"]
        assert [(one.model, "price" in one.reason) for one in leaderboard(found).set_aside] == [("silent", True)]
        run_sweep(asked(endpoint, tmp_path, cap=10.0, price=Prices(0, 1e-3)))
        assert endpoint.served["silent"] == 11


def test_a_cap_without_any_price_is_refused(tmp_path: Path) -> None:
    with FakeEndpoint(["a", "b"]) as endpoint:
        with pytest.raises(UsageError, match="State it with --price"):
            run_sweep(asked(endpoint, tmp_path, cap=10.0))
        assert not endpoint.seen


def test_what_a_killed_process_had_under_way_counts_as_spent(tmp_path: Path) -> None:
    model = FakeModel(listing=PRICED)
    with FakeEndpoint({"m": model}) as endpoint:
        found = run_sweep(asked(endpoint, tmp_path, cap=None))
        (segment,) = (found.directory / "spend").glob("*.jsonl")
        segment.write_text(
            '{"at":0.0,"reserved_usd":3.0,"spent_usd":2.0}\n{"at":1.0,"reserved_usd":5.0,"spent_usd":4.0}\n'
        )
        said: list[str] = []

        class Said:
            def say(self, line: str) -> None:
                said.append(line)

            def step(self, label: str, total: int | None, unit: str = "") -> Any:
                from adhere.progress import Silent

                return Silent().step(label, total, unit)

        (found.directory / "journal").rename(found.directory / "journal-lost")
        with pytest.raises(UsageError, match=r"\$9\.00 were spent before: more than --max-cost 9\.10"):
            run_sweep(asked(endpoint, tmp_path, cap=9.1), progress=Said())
        assert any("$9.00 spent before" in line for line in said)


@pytest.mark.parametrize("name", ["{}", "majority-3({})"])
@pytest.mark.parametrize("model", [FakeModel(usage={}, listing=PRICED), FakeModel(faults=("hang",), listing=PRICED)])
def test_eval_keeps_its_cap_over_all_runs_of_the_command(tmp_path: Path, model: FakeModel, name: str) -> None:
    """An answer that does not say its cost, and a time-out: no stored answer has what they cost."""
    with FakeEndpoint({"m": model}) as endpoint:
        options = EndpointOptions(max_cost_usd=0.4, timeout_s=0.3, patience_s=2.0)
        asked_for = []
        for _ in range(3):
            opened = open_model(name.format(f"{endpoint.url}#m"), endpoint=options)
            with pytest.raises(Incomplete, match=r"the cap of \$0\.40 is reached"):
                evaluate_sync(opened, load("core", limit=20), tmp_path)
            asked_for.append(endpoint.asked["m"])
    assert 0 < asked_for[0] <= 6  # of $0.064 each
    assert asked_for[1:] == asked_for[:1] * 2
