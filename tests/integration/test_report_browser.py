"""The Study page in a real browser: it draws, nothing in it runs, nothing is fetched."""

from __future__ import annotations

import http.server
import re
import runpy
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from adhere.report.study.html import study_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]  # fmt: skip

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"
)


@pytest.fixture(scope="module")
def factory() -> SimpleNamespace:
    path = Path(__file__).parents[1] / "unit" / "report" / "study_factory.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def browse(page: Path, *arguments: str) -> str:
    assert CHROMIUM is not None
    profile = page.parent / "profile"
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *arguments, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A local server that notes every request: the address to lure the browser to, and what came."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    thread.join()
    server.server_close()


def title(dom: str) -> str:
    found = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert found is not None
    return found[1]


def test_page_draws_every_section_and_no_script_runs(tmp_path: Path, factory: SimpleNamespace) -> None:
    page = tmp_path / "report.html"
    page.write_bytes(study_html(factory.hostile_study()).encode())
    dom = browse(page, "--dump-dom")
    assert title(dom).startswith("INCONCLUSIVE")
    assert "<script" not in dom
    assert dom.count("<section") == 11
    assert dom.count('<svg class="chart bars"') == 3


def test_policy_stops_what_escaping_would_have_missed(
    tmp_path: Path, factory: SimpleNamespace, listener: tuple[str, list[str]]
) -> None:
    address, seen = listener
    injected = (
        f"<script>document.title='owned'</script><img src='{address}/img' onerror=\"document.title='owned'\">"
        f"<link rel=stylesheet href='{address}/css'><iframe src='{address}/frame'></iframe>"
        f"<p style=\"background:url('{address}/style')\">x</p><style>body{{background:url('{address}/rule')}}</style>"
    )
    page = tmp_path / "injected.html"
    page.write_bytes(study_html(factory.study()).replace("</main>", f"{injected}</main>").encode())
    assert title(browse(page, "--dump-dom")).startswith("INCONCLUSIVE")
    assert seen == []
    # The lure works: the same page without its policy does call, so the silence above is the policy's doing.
    page.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text()))
    assert title(browse(page, "--dump-dom")) == "owned"
    assert "/img" in seen


@pytest.mark.parametrize("seeds", [1, 3])
def test_picture_of_the_page_is_not_blank(tmp_path: Path, factory: SimpleNamespace, seeds: int) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    page.write_bytes(study_html(factory.study(seeds=seeds)).encode())
    browse(page, f"--screenshot={picture}", "--window-size=1100,2000")
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1100, 2000)
    assert len(data) > 100_000  # a blank page of this size takes about 10 kB
