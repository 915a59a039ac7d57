"""Every attempt to get out, under every fence that works here."""

from __future__ import annotations

import http.server
import os
import threading
from pathlib import Path

import pytest

from adhere.sandbox import Outcome, backend, run, workers
from adhere.sandbox.escapes import ESCAPES, Escape, attempt_escape, is_contained, next_call_is_unharmed

pytestmark = pytest.mark.skipif(backend().startswith("none"), reason=f"no isolation here: {backend()}")

FENCES = {"all": (True, True), "bubblewrap": (True, False), "landlock": (False, True), "seccomp": (False, False)}


@pytest.fixture(scope="module", params=FENCES)
def fenced(request: pytest.FixtureRequest):
    """The workers of this process, with some fences only: each must hold alone."""
    try:
        pool = workers.Pool([FENCES[request.param]])
    except workers.NoIsolation as problem:
        pytest.skip(f"{request.param} does not work here: {problem}")
    before, workers._pool = workers._pool, pool
    yield request.param
    pool.stop()
    workers._pool = before


@pytest.mark.parametrize(
    ("fenced", "escape"),
    # The clock is the same behind every fence, so it is waited for only once.
    [(fence, escape) for fence in FENCES for escape in ESCAPES if fence == "all" or "timeout" not in escape.allowed],
    indirect=["fenced"],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_contained(fenced: str, escape: Escape) -> None:
    outcome = attempt_escape(escape)
    assert is_contained(escape, outcome), outcome
    assert next_call_is_unharmed()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_escape_would_be_seen() -> None:
    """The same attempts outside of the sandbox get what they are after."""
    inside = {escape.name: escape for escape in ESCAPES}
    for name in ("read files", "list folders", "reach a network", "start threads"):
        space: dict = {}
        exec(inside[name].source, space)
        assert not is_contained(inside[name], Outcome("ok", space["attempt"](), "", "in-process"))
    assert not is_contained(inside["never end"], Outcome("error", None, "", ""))


def test_a_secret_beside_the_code_stays_unread(tmp_path: Path, fenced: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("planted")
    outcome = run(f"def f():\n    return open({str(secret)!r}).read()", "f", [])
    assert outcome.status == "error"
    assert "planted" not in outcome.reason


def test_nothing_is_written_or_signalled_or_called(tmp_path: Path, fenced: str) -> None:
    reached = []

    class Seen(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Seen) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        server.timeout = 0.1
        source = f"""
import os, urllib.request
def f():
    for attempt in (lambda: open({str(tmp_path / "made")!r}, "w").write("x"), lambda: os.kill({os.getpid()}, 9),
                    lambda: urllib.request.urlopen("http://127.0.0.1:{server.server_port}/x", timeout=1)):
        try:
            attempt()
        except Exception:
            pass
    return True
"""
        outcome = run(source, "f", [], timeout_s=10.0)
    assert outcome.status in {"ok", "error"}  # where no file can be read, urllib cannot be imported
    assert not (tmp_path / "made").exists()
    assert reached == []
