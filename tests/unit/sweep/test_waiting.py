"""Who is waited for, for how long, and what a person sees meanwhile."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adhere.cli.live import watcher_for
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.client import Unreachable
from adhere.models.http.dispatch import LaneWait
from adhere.models.http.options import EndpointOptions
from adhere.progress import Lines
from adhere.report.leaderboard.text import leaderboard_text
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import Sweep
from adhere.sweep.run import SweepRequest, run_sweep
from adhere.sweep.stages import NoWatcher

FRANCE = "capital of France"


def asked(url: str, out: Path, *, limit: int = 4, recheck: bool = False, **options: Any) -> SweepRequest:
    chosen = EndpointOptions(**{"timeout_s": 5.0, "patience_s": 1.5, **options})
    return SweepRequest(where=url, suites=("core:in-family",), limit=limit, options=chosen, recheck=recheck, out=out)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adhere.sweep.stages.TICK_S", 0.1)
    monkeypatch.setattr("adhere.sweep.stages.WAITING_S", 0.3)


def fails_later(fault: str) -> FakeModel:
    """Alive, and then nothing but failures."""
    return FakeModel(fault_of=lambda text: None if FRANCE in text else fault)


class Seen(NoWatcher):
    def __init__(self) -> None:
        self.ticks = 0
        self.boards: list[tuple[dict[str, int], list[LaneWait]]] = []

    def tick(self) -> None:
        self.ticks += 1

    def waiting(self, found: Sweep, waited: Sequence[LaneWait]) -> None:
        rows = leaderboard(found).rows
        self.boards.append(({row.model: row.accounting.ok for row in rows}, list(waited)))


@pytest.mark.parametrize("fault", ["500", "429", "reset"])
def test_the_board_of_what_is_done_is_there_while_one_model_is_waited_for(tmp_path: Path, fault: str) -> None:
    seen = Seen()
    with FakeEndpoint({"down": fails_later(fault), "a": FakeModel(), "b": FakeModel()}) as endpoint:
        start = time.monotonic()
        found = run_sweep(asked(endpoint.url, tmp_path, patience_s=1.5), watcher=seen)
        assert time.monotonic() - start < 30
    done, waited = seen.boards[0]
    assert done == {"a": 4, "b": 4}
    assert [one.lane for one in waited] == ["down"]
    assert waited[0].patience_s <= 1.5
    assert "set aside after 1.5 s without an answer" in found.set_aside["down"]
    board = leaderboard(found)
    assert {row.model for row in board.rows if row.rank} == {"a", "b"}
    text = leaderboard_text(board)
    assert "set aside down (set aside after 1.5 s without an answer" in " ".join(text.split())


def test_a_sweep_that_waits_says_so_every_few_seconds(tmp_path: Path) -> None:
    out = io.StringIO()
    watcher = watcher_for("lines", out)
    watcher.every_s = 0.3  # type: ignore[attr-defined]
    with FakeEndpoint({"down": fails_later("503"), "a": FakeModel()}) as endpoint:
        run_sweep(asked(endpoint.url, tmp_path), watcher=watcher)
    lines = out.getvalue().splitlines()
    assert sum("waiting for down (next try in" in line for line in lines) >= 2
    assert any("HTTP 503: Provider overloaded" in line for line in lines)
    assert any(line.startswith("So far; waiting for down") for line in lines)
    assert any("rank (range)" in line for line in lines)


def test_a_server_that_is_starting_is_waited_for(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fake = FakeEndpoint(["m"], port=port)
    said = io.StringIO()
    timer = threading.Timer(1.5, fake.__enter__)
    timer.start()
    try:
        found = run_sweep(asked(f"http://127.0.0.1:{port}/v1", tmp_path, wait_s=30.0), progress=Lines(said))
        assert found.alive == ["m"]
        assert f"Nothing listens at http://127.0.0.1:{port}/v1 yet; waiting up to 30 s" in said.getvalue()
    finally:
        timer.join()
        fake.__exit__(None, None, None)


def test_a_server_that_never_starts_is_reported(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="cannot be read"):
        run_sweep(asked(f"http://127.0.0.1:{port}/v1", tmp_path, wait_s=0.6))


@pytest.mark.parametrize("fault", ["500", "429", "hang"])
def test_a_model_that_is_only_ill_at_first_is_asked_again_by_the_next_run(tmp_path: Path, fault: str) -> None:
    with FakeEndpoint({"ill": FakeModel(faults=(fault,)), "well": FakeModel()}) as endpoint:
        options = {"timeout_s": 0.5, "patience_s": 1.0}
        first = run_sweep(asked(endpoint.url, tmp_path, **options))
        assert first.alive == ["well"]
        endpoint.models["ill"] = FakeModel()
        again = run_sweep(asked(endpoint.url, tmp_path, **options))
        assert again.alive == ["ill", "well"]


@pytest.mark.parametrize("fault", ["401", "402", "403 key", "redirect"])
def test_a_refused_key_of_one_model_is_its_own_trouble(tmp_path: Path, fault: str) -> None:
    models = {"own": FakeModel(faults=(fault,)), "a": FakeModel(), "b": FakeModel()}
    with FakeEndpoint(models) as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path))
        assert found.stopped == ""
        assert found.alive == ["a", "b"]
        assert "HTTP" in found.dead["own"]
        rows = leaderboard(found).rows
        assert {row.model: row.accounting.ok for row in rows} == {"a": 4, "b": 4}
        again = run_sweep(asked(endpoint.url, tmp_path))  # nobody else is left to ask, and still it is its own trouble
        assert (again.stopped, again.alive) == ("", ["a", "b"])
        endpoint.models["own"] = FakeModel()
        assert run_sweep(asked(endpoint.url, tmp_path)).alive == ["a", "b", "own"]  # the same sweep goes on


@pytest.mark.parametrize(
    "words",
    [
        "Limited to approved organisations",
        "This model is not available in Turkey",
        "your limit is tier 1",
        "the key to this model",
    ],
)
def test_words_of_a_403_stop_nobody_else(tmp_path: Path, words: str) -> None:
    models = {"odd": FakeModel(faults=("403",)), "a": FakeModel()}
    with FakeEndpoint(models, words=words) as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path))
    assert (found.stopped, found.alive) == ("", ["a"])
    assert words in found.dead["odd"]


def test_a_wrong_key_stops_everything_after_three_models(tmp_path: Path) -> None:
    with FakeEndpoint([f"m{number}" for number in range(40)], key="right") as endpoint:
        endpoint.is_listing_open = True
        found = run_sweep(asked(endpoint.url, tmp_path))
        assert found.stopped_for == "key"
        assert "HTTP 401" in found.stopped
        assert len(found.liveness) < 40


def test_what_is_refused_or_empty_stands_beside_the_rank(tmp_path: Path) -> None:
    numbers = iter(range(1000))

    def fault(text: str) -> str | None:
        return None if FRANCE in text else ("refusal", "null content", None, None)[next(numbers) % 4]

    with FakeEndpoint({"shy": FakeModel(fault_of=fault), "a": FakeModel()}) as endpoint:
        text = leaderboard_text(leaderboard(run_sweep(asked(endpoint.url, tmp_path, limit=8))))
    (row,) = [line for line in text.splitlines() if "shy" in line]
    assert "2 empty, 2 refused" in row


def test_dead_models_are_named(tmp_path: Path) -> None:
    with FakeEndpoint(
        {"gone": FakeModel(faults=("404",)), "also": FakeModel(faults=("404",)), "a": FakeModel()}
    ) as fake:
        text = " ".join(leaderboard_text(leaderboard(run_sweep(asked(fake.url, tmp_path)))).split())
    assert "dead also, gone (HTTP 404: No endpoints found)" in text
