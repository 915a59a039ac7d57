"""The leaderboard page in a real browser: it sorts, filters and opens answers.

Nothing of others runs, nothing is fetched.
"""

from __future__ import annotations

import asyncio
import http.server
import re
import runpy
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.report.leaderboard.html import leaderboard_html
from adhere.sweep.board import Leaderboard

devtools = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("devtools.py"))))
factory = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[1] / "unit" / "report" / "leaderboard_factory.py"))
)

pytestmark = pytest.mark.skipif(
    devtools.CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"
)

NAMES = (
    "[...document.querySelectorAll('table.board tbody tr')].filter(row => !row.hidden).map(row => "
    "row.querySelector('th .opens').textContent)"
)
CARDS = "[...document.querySelectorAll('#drill-answers .card')].map(card => card.innerText)"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Leaderboard]:
    folder = tmp_path_factory.mktemp("leaderboard")
    board = factory.board(folder / "runs", models=7)
    page = folder / "board.html"
    page.write_bytes(leaderboard_html(Path(), board).encode())
    return page, board


def browsing(tmp_path: Path, body: Callable[[Any], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with devtools.tab(tmp_path / "profile") as tab:
            return await body(tab)

    return asyncio.run(run())


def is_quiet(tab: Any) -> bool:
    """Nothing was said on the console, and nothing but files was asked for."""
    assert tab.messages == []
    assert [address for address in tab.requests if not address.startswith(("file:", "data:"))] == []
    return True


def test_tables_sort_by_their_headings(tmp_path: Path, made: tuple[Path, Leaderboard]) -> None:
    page, board = made

    async def use(tab: Any) -> None:
        await tab.open(page.as_uri())
        by_rank = await tab.run(NAMES)
        assert [name.split(" ")[0] for name in by_rank] == [row.model.split(" ")[0] for row in board.rows]

        async def click(heading: str) -> list[str]:
            await tab.run(
                "[...document.querySelectorAll('table.board .sort')].find(one => one.textContent === "
                f"'{heading}').click()"
            )
            return [name.split(" ")[0] for name in await tab.run(NAMES)]

        def by(key: Callable[[Any], float | None], *, most_first: bool) -> list[float]:
            found = [value for row in board.rows if (value := key(row)) is not None]
            return sorted(found, reverse=most_first)

        costs = {row.model.split(" ")[0]: row.cost.total_usd for row in board.rows}
        cheap = await click("cost")
        assert [costs[name] for name in cheap[:-1]] == by(lambda row: row.cost.total_usd, most_first=False)
        assert costs[cheap[-1]] is None  # what has no number comes last, whichever way
        dear = await click("cost")
        assert [costs[name] for name in dear[:-1]] == by(lambda row: row.cost.total_usd, most_first=True)
        assert costs[dear[-1]] is None
        assert await tab.run("document.querySelector('[aria-sort]').textContent") == "cost"
        assert await click("model") == sorted(costs)
        rates = {row.model.split(" ")[0]: row.prompt_strict.of_all for row in board.rows}
        assert [rates[name] for name in await click("rate")] == by(
            lambda row: row.prompt_strict.of_all, most_first=True
        )
        assert is_quiet(tab)

    browsing(tmp_path, use)


def test_filters_hide_rows_of_both_tables(tmp_path: Path, made: tuple[Path, Leaderboard]) -> None:
    page, _ = made
    shown = "document.querySelector('.shown').textContent"

    async def use(tab: Any) -> None:
        await tab.open(page.as_uri())
        assert await tab.run(shown) == "7 of 7 models"
        await tab.run(
            "{const f = document.querySelector('.filter'); f.value = 'MODEL-3'; f.dispatchEvent(new Event('input'));}"
        )
        assert await tab.run(NAMES) == ["vendor/model-3"]
        assert (
            await tab.run("[...document.querySelectorAll('.matrix tbody tr')].filter(r => r.offsetParent).length") == 1
        )
        assert await tab.run(shown) == "1 of 7 models"
        await tab.run(
            "{const f = document.querySelector('.filter'); f.value = ''; f.dispatchEvent(new Event('input'));"
            "const w = document.querySelector('.which'); w.value = 'unranked'; w.dispatchEvent(new Event('change'));}"
        )
        (name,) = await tab.run(NAMES)
        assert name.startswith("vendor/model-6")
        assert is_quiet(tab)

    browsing(tmp_path, use)


def test_a_cell_opens_its_answers_with_the_reasons(tmp_path: Path, made: tuple[Path, Leaderboard]) -> None:
    page, board = made
    cell = board.rows[0].cells[1]

    async def use(tab: Any) -> None:
        await tab.open(page.as_uri())
        await tab.run("document.querySelectorAll('.matrix tbody tr')[0].cells[2].click()")
        assert await tab.run("document.getElementById('drill').open")
        assert (
            await tab.run("document.getElementById('drill-title').textContent") == f"{board.rows[0].model}: {cell.test}"
        )
        cards = await tab.run(CARDS)
        assert len(cards) == cell.n == 10
        assert sum("✓ passed" in card for card in cards) == cell.passed
        assert all("length:at_most: wanted </script>" in card for card in cards)
        await tab.run(
            "{const w = document.getElementById('drill-which'); w.value = 'pass'; "
            "w.dispatchEvent(new Event('change'));}"
        )
        assert len(await tab.run(CARDS)) == cell.passed
        await tab.run("document.getElementById('drill-close').click()")
        assert not await tab.run("document.getElementById('drill').open")
        # by the keyboard, and for a whole model page by page
        await tab.run(
            "document.querySelectorAll('.matrix tbody tr')[1].cells[1].dispatchEvent(new KeyboardEvent('keydown', "
            "{key: 'Enter', bubbles: true}))"
        )
        assert await tab.run("document.getElementById('drill').open")
        await tab.run("document.getElementById('drill').close(); document.querySelectorAll('button.opens')[0].click()")
        assert len(await tab.run(CARDS)) == 20
        await tab.run("document.getElementById('drill-more').click()")
        assert len(await tab.run(CARDS)) == 40
        mode = board.rows[0].failures[0]
        await tab.run("document.querySelector('#drill-modes button').click()")
        failed = next(cell.n - cell.passed for cell in board.rows[0].cells if cell.test == mode.name)
        cards = await tab.run(CARDS)
        assert len(cards) == failed > 0
        assert all("✗ failed" in card for card in cards)
        assert is_quiet(tab)

    browsing(tmp_path, use)


def test_nothing_of_others_runs_and_all_of_it_is_shown(tmp_path: Path, made: tuple[Path, Leaderboard]) -> None:
    page, _ = made

    async def use(tab: Any) -> None:
        await tab.open(page.as_uri())
        for row in range(7):  # every place where text of others ends up
            await tab.run(
                f"document.getElementById('drill').close(); document.querySelectorAll('button.opens')[{row}].click()"
            )
            await tab.run(
                "document.getElementById('drill').close(); document.querySelectorAll('.matrix tbody "
                f"tr')[{row}].cells[4].click()"
            )
        await tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        text = await tab.run("document.body.innerText")
        assert "<script>document.title='owned'</script>" in text
        assert "{{7*7}} {% raw %}" in text
        assert "⟨U+202E⟩gnp.exe⟨U+2066⟩" in text
        assert "⟨U+001B⟩[31mred" in text
        assert "⟨U+E0041⟩" in text
        assert not set("\u202e\u2066\x1b\u2028\u2029\x85\U000e0041") & set(text)
        assert (await tab.run("document.title")).startswith("Leaderboard · 7 models")
        assert (
            await tab.run("document.images.length + document.querySelectorAll('main a[href^=\"javascript\"]').length")
            == 0
        )
        assert await tab.run("document.scripts.length") == 1 + 7 + 1  # ours, the answers of each model, the prompts
        assert is_quiet(tab)

    browsing(tmp_path, use)


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


def test_the_policy_stops_what_escaping_would_have_missed(
    tmp_path: Path, made: tuple[Path, Leaderboard], listener: tuple[str, list[str]]
) -> None:
    page, _ = made
    address, seen = listener
    injected = (
        f"<script>document.title='owned'; fetch('{address}/fetch')</script><img src='{address}/img' "
        f"onerror=\"document.title='owned'\"><link rel=stylesheet href='{address}/css'><iframe "
        f"src='{address}/frame'></iframe><style>body{{background:url('{address}/rule')}}</style><form id=f "
        f"action='{address}/form'></form>"
    )
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(page.read_text().replace("<dialog", f"{injected}<dialog", 1))
    open_too = tmp_path / "open.html"
    open_too.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", spoilt.read_text()))

    async def use(tab: Any) -> tuple[str, list[str], str, list[str]]:
        await tab.open(spoilt.as_uri())
        await tab.run("document.getElementById('f').submit()")
        await asyncio.sleep(0.5)
        kept = await tab.run("document.title"), list(seen)
        await tab.open(open_too.as_uri())
        await asyncio.sleep(0.5)
        return (*kept, await tab.run("document.title"), list(seen))

    title, before, other_title, after = browsing(tmp_path, use)
    assert title.startswith("Leaderboard")
    assert before == []
    # The lure works: the same page without its policy does call, so the silence above is the policy's doing.
    assert other_title == "owned"
    assert {"/img", "/fetch"} <= set(after)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_it_fits_the_window_in_light_and_dark(
    tmp_path: Path, made: tuple[Path, Leaderboard], width: int, scheme: str
) -> None:
    page, _ = made

    async def use(tab: Any) -> None:
        await tab.size(width, 1000)
        await tab.scheme(scheme)
        await tab.open(page.as_uri())
        assert await tab.run("document.documentElement.scrollWidth") <= width  # tables scroll inside their frames
        background = await tab.run("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(253, 253, 252)" if scheme == "light" else "rgb(21, 23, 26)")
        assert len(await tab.picture(tmp_path / "page.png")) > 30_000  # a blank page of this size takes about 5 kB
        assert is_quiet(tab)

    browsing(tmp_path, use)


def test_it_can_be_read_without_its_script(tmp_path: Path, made: tuple[Path, Leaderboard]) -> None:
    page, board = made

    async def use(tab: Any) -> None:
        await tab.send("Emulation.setScriptExecutionDisabled", value=True)
        await tab.open(page.as_uri())
        found = await tab.send("DOM.getDocument", depth=0)
        html = (await tab.send("DOM.getOuterHTML", nodeId=found["root"]["nodeId"]))["outerHTML"]
        assert html.count('<tr data-row="') == 14
        assert 'class="sort"' not in html
        assert 'class="controls scripted" hidden' in html
        assert board.rows[-1].unranked in html

    browsing(tmp_path, use)
