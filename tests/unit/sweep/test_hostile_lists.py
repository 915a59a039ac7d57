"""`/models` with anything in it: the models that it names are measured, and everything is stored."""

from __future__ import annotations

import gc
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from adhere.errors import AdhereError, ResourceError, UsageError
from adhere.models.fake.endpoint import FakeEndpoint
from adhere.models.http.client import Unreachable
from adhere.models.http.options import EndpointOptions
from adhere.store.run import Run
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import load_sweep
from adhere.sweep.run import SweepRequest, run_sweep
from adhere.sweep.spec import Filter


class Listing(FakeEndpoint):
    """Lists what it is given."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        super().__init__(["good"])
        self.body, self.status = body, status

    async def _models(self, request: web.Request) -> web.Response:
        return web.Response(body=self.body, status=self.status)


def asked(url: str, out: Path, *globs: str) -> SweepRequest:
    options = EndpointOptions(timeout_s=5, patience_s=1, wait_s=0)
    return SweepRequest(where=url, suites=("core:in-family",), limit=2, wanted=Filter(globs), options=options, out=out)


GOOD = b'{"id": "good"}'
ROWS = {
    "not a number": b'{"data": [{"id": "good", "context_length": NaN, "pricing": {"prompt": NaN, "completion": -Infinity}}]}',
    "beyond every float": b'{"data": [{"id": "good", "pricing": {"prompt": "1e999", "completion": 1e999}}]}',
    "huge whole numbers": b'{"data": [{"id": "good", "created": ' + b"9" * 400 + b', "context_length": ' + b"9" * 400 + b"}]}",
    "deep": b'{"data": [{"id": "good", "x": ' + b"[" * 900 + b"]" * 900 + b"}]}",
    "a row without a name": b'{"data": [' + GOOD + b', {"object": "model"}, 7, null, "x", {"id": null}, {"id": 5}, {"id": ""}, {"id": ["a"]}]}',
    "a bare list": b"[" + GOOD + b"]",
    "surrogates": b'{"data": [{"id": "good", "name": "\\ud83d"}]}',
    "the same twice": b'{"data": [' + GOOD + b", " + GOOD + b"]}",
    "odd fields": b'{"data": [{"id": "good", "architecture": [], "pricing": "free", "owned_by": {"a": 1}, "canonical_slug": [1]}]}',
}  # fmt: skip


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_named_models_are_measured(tmp_path: Path, rows: bytes) -> None:
    with Listing(rows) as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path))
    assert found.alive == ["good"]
    assert leaderboard(load_sweep(found.directory)).rows[0].accounting.ok == 2


def test_a_listed_row_that_names_no_model_is_left_out_with_its_reason(tmp_path: Path) -> None:
    rows = [{"id": "good"}, {"id": " "}, {"id": "x" * 1_001}, {"object": "model"}, {"id": "y" * 1_000}]
    with Listing(json.dumps(rows).encode()) as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path, "good"))
    assert found.snapshot.left_out == {
        "row 2 of /models": "its id is blank",
        "row 3 of /models": "its id is longer than 1,000 characters",
        "row 4 of /models": "it has no id",
        "y" * 1_000: "not asked for",
    }
    board = leaderboard(load_sweep(found.directory))
    assert (board.listed, board.wanted, sum(board.left_out.values())) == (5, 1, 4)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"7",
        b'{"data": 7}',
        b'{"data": [{"object": "model"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"data": []}',
    ],
)
def test_what_names_no_model_is_an_error_that_says_so(tmp_path: Path, body: bytes) -> None:
    with (
        Listing(body) as endpoint,
        pytest.raises(AdhereError, match=r"no list of models|names no model|no JSON|wanted"),
    ):
        run_sweep(asked(endpoint.url, tmp_path))


@pytest.mark.parametrize("status", [404, 405, 501])
def test_models_may_be_named_where_there_is_no_list(tmp_path: Path, status: int) -> None:
    with Listing(b"nothing here", status) as endpoint:
        with pytest.raises(Unreachable, match=f"HTTP {status}"):
            run_sweep(asked(endpoint.url, tmp_path))
        with pytest.raises(Unreachable, match=f"HTTP {status}"):
            run_sweep(asked(endpoint.url, tmp_path, "go*"))
        found = run_sweep(asked(endpoint.url, tmp_path, "good"))
    assert found.alive == ["good"]


def test_a_control_character_of_a_server_reaches_no_message(tmp_path: Path) -> None:
    body = b"\x1b]0;title\x07\x9b31m\x1b[2Jnope\xe2\x80\xae"
    with Listing(body, 500) as endpoint, pytest.raises(Unreachable) as caught:
        run_sweep(asked(endpoint.url, tmp_path))
    assert str(caught.value).isprintable()
    assert "nope" in str(caught.value)


def test_a_list_from_the_far_future_has_a_board(tmp_path: Path) -> None:
    with Listing(b"[" + GOOD + b"]") as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path))
    file = found.directory / "models.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "fetched": 1e300}))
    assert leaderboard(load_sweep(found.directory)).snapshot == "an unknown time"


def test_a_full_disk_is_said_once(tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Of six Runs that cannot be written each left a traceback beside the message."""

    def full(*_: object) -> None:
        raise ResourceError("disk full")

    monkeypatch.setattr(Run, "open", full)
    with (
        FakeEndpoint([f"m{number}" for number in range(6)]) as endpoint,
        pytest.raises(ResourceError, match="disk full"),
    ):
        run_sweep(asked(endpoint.url, tmp_path))
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_directory_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    def full(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("adhere.sweep.keeper.write_atomic", full)
    with Listing(b"[" + GOOD + b"]") as endpoint, pytest.raises(ResourceError, match=r"sweep\.json: No space left"):
        run_sweep(asked(endpoint.url, tmp_path))


@pytest.mark.parametrize(
    "where", ["http://[::1", "http://h:99999/v1", f"http://{'a' * 70}.example/v1", "http://x..y/v1"]
)
def test_addresses_that_are_none_are_refused(tmp_path: Path, where: str) -> None:
    with pytest.raises(UsageError, match="is no endpoint"):
        run_sweep(asked(where, tmp_path))
