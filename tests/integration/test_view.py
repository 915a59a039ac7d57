"""`adhere view`: who may look, what is shown, and that its numbers move while a sweep runs."""

from __future__ import annotations

import asyncio
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from adhere import suites
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.client import Endpoint
from adhere.models.http.keys import address
from adhere.schema import Response, Sampling, encode
from adhere.serve.browser import Browser
from adhere.serve.watch import QUIET_S, watch
from adhere.store.follow import Follower
from adhere.store.run import Run
from adhere.store.shelf import shelf
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import load_sweep
from adhere.sweep.spec import Filter, sweep_spec
from adhere.sweep.stages import sweep

devtools = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("devtools.py"))))
UNIT = Path(__file__).parents[1] / "unit" / "report"
runs = SimpleNamespace(**runpy.run_path(str(UNIT / "run_factory.py")))
factory = SimpleNamespace(**runpy.run_path(str(UNIT / "leaderboard_factory.py")))


def viewing(root: Path, body: Callable[[Browser, aiohttp.ClientSession], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Browser(root) as browser, aiohttp.ClientSession() as session:
            return await body(browser, session)

    return asyncio.run(run())


async def text_of(session: aiohttp.ClientSession, url: str, **more: Any) -> tuple[int, str]:
    async with session.get(url, **more) as reply:
        return reply.status, await reply.text()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shelf")
    runs.store(root / "runs" / "one", "scripted/one", 0.7)
    runs.store(root / "runs" / "two", "scripted/<b>two</b>", 0.4)
    (root / "secret.txt").write_text("nobody's business")
    (root.parent / "outside.txt").write_text("nobody's business")
    return root


def test_the_list_and_the_reports(stored: Path) -> None:
    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        status, page = await text_of(session, browser.url)
        assert status == 200
        assert "All that is stored" not in page
        assert re.search(rf"<h1>Runs, sweeps and studies in /.*{stored.name}</h1>", page)
        assert "adhere view" in page
        async with session.get(f"{browser.url}state.json") as reply:
            items = await reply.json()
        assert {item["name"] for item in items} == {"runs/one", "runs/two"}
        one = next(item for item in items if item["name"] == "runs/one")
        assert (one["kind"], one["state"], one["done"], one["total"], one["failed"]) == ("run", "incomplete", 24, 24, 1)
        assert one["title"] == "scripted/one on core"
        rate = Run.load(stored / "runs" / "one").summary().overall.prompt_strict
        assert one["result"]["value"] == rate.of_all
        assert one["result"]["note"].startswith(f"{rate.passed} of {rate.n} (")
        assert one["per_second"] is None
        assert sum(one["statuses"].values()) == 24
        status, page = await text_of(session, f"{browser.url}item/{one['id']}/report")
        assert status == 200
        assert "scripted/one on core 1, 24 prompts" in page
        status, page = await text_of(session, f"{browser.url}item/{one['id']}")
        assert status == 200
        assert "<h1>runs/one</h1>" in page
        two = next(item for item in items if item["name"] == "runs/two")
        assert one["asked"] == two["asked"] != ""
        status, page = await text_of(session, f"{browser.url}compare/{one['id']}/{two['id']}")
        assert (status, "scripted/one → scripted/&lt;b&gt;two&lt;/b&gt;" in page) == (200, True)
        async with session.get(f"{browser.url}compare/{one['id']}/{two['id']}/rows.json?way=lost") as reply:
            found = await reply.json()
        assert found["matched"] == found["ways"]["lost"] == len(found["rows"]) > 0
        for bad, wanted in (("way=kept", 400), ("start=-1", 400), ("start=9999999999", 400)):
            assert (await text_of(session, f"{browser.url}compare/{one['id']}/{two['id']}/rows.json?{bad}"))[
                0
            ] == wanted
        assert (await text_of(session, f"{browser.url}item/{one['id']}/answers/answer.json?id=p99"))[0] == 404
        assert (await text_of(session, f"{browser.url}compare/{one['id']}/nothing"))[0] == 404

    viewing(stored, look)


def test_without_the_token_nothing_is_said(stored: Path) -> None:
    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        base = f"http://127.0.0.1:{browser.port}"
        assert len(browser.token) >= 32
        for path in (
            "/",
            "/state.json",
            "/x/",
            "/x/state.json",
            f"/{browser.token[:-1]}/",
            f"/{browser.token}x/state.json",
            "//state.json",
        ):
            status, said = await text_of(session, base + path)
            assert status == 403, path
            assert "runs" not in said
        assert (await text_of(session, browser.url))[0] == 200

    viewing(stored, look)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_sites_are_refused(stored: Path, headers: dict[str, str]) -> None:
    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        sent = {name: value.format(port=browser.port) for name, value in headers.items()}
        async with session.get(f"{browser.url}state.json", headers=sent) as reply:
            assert reply.status == 403
            assert not [name for name in reply.headers if name.lower().startswith("access-control-")]
            assert "runs" not in await reply.text()

    viewing(stored, look)


def test_headers_keep_the_address_and_the_page_to_themselves(stored: Path) -> None:
    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        for path in ("", "state.json", "nothing"):
            async with session.get(browser.url + path) as reply:
                assert reply.headers["Referrer-Policy"] == "no-referrer"
                assert reply.headers["X-Frame-Options"] == "DENY"
                assert reply.headers["Cache-Control"] == "no-store"
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert "Access-Control-Allow-Origin" not in reply.headers
        _, page = await text_of(session, browser.url)
        assert re.search(
            r"default-src 'none'; script-src 'sha256-[\w+/=]+'; connect-src 'self'; style-src 'sha256-", page
        )

    viewing(stored, look)


@pytest.mark.parametrize(
    "path",
    ["item/../../secret.txt", "item/..%2f..%2fsecret.txt", "../secret.txt", "%2e%2e/%2e%2e/outside.txt",
        "item/secret.txt/report",
     "item/%2fetc%2fpasswd", "item/%2fetc%2fpasswd/state.json", "item/..%5c..%5csecret.txt", "item/runs%2fone"],
)  # fmt: skip
def test_no_path_reaches_a_file(stored: Path, path: str) -> None:
    async def look(browser: Browser, _session: aiohttp.ClientSession) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", browser.port)  # a client would tidy the path
        writer.write(
            (
                f"GET /{browser.token}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\nConnection: close\r\n\r\n"
            ).encode()
        )
        answer = await reader.read()
        writer.close()
        assert answer.split(b" ", 2)[1] in {b"403", b"404"}
        assert b"nobody's business" not in answer
        assert b"root:" not in answer

    viewing(stored, look)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_read_only(stored: Path, method: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in stored.rglob("*")}

    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        async with session.request(method, browser.url) as reply:
            assert reply.status == 405
        async with session.get(f"{browser.url}state.json") as reply:
            for item in await reply.json():
                await text_of(session, f"{browser.url}item/{item['id']}/report")

    viewing(stored, look)
    assert {path: path.stat().st_mtime_ns for path in stored.rglob("*")} == before


def test_an_unfinished_run_says_why_it_has_no_report(tmp_path: Path) -> None:
    run = runs.store(tmp_path / "run", "scripted/one", 0.7)
    (run.directory / "summary.json").unlink()

    async def look(browser: Browser, session: aiohttp.ClientSession) -> None:
        async with session.get(f"{browser.url}state.json") as reply:
            (item,) = await reply.json()
        assert not item["has_report"]
        status, page = await text_of(session, f"{browser.url}item/{item['id']}/report")
        assert status == 503
        assert "it is unfinished" in page

    viewing(tmp_path, look)


async def sweeping(fake: FakeEndpoint, out: Path, *, limit: int | None = None) -> Any:
    suite = suites.load("core:in-family")
    async with Endpoint(address(fake.url)) as endpoint:
        spec = sweep_spec(endpoint, [suite], model_filter=Filter(), samplings=[Sampling()], limit=limit)
        return await sweep(endpoint, [suite], spec, out)


def test_numbers_move_while_a_sweep_runs(tmp_path: Path) -> None:
    asked = len(suites.load("core:in-family").prompts)
    models = {f"m{number}": FakeModel(latency_s=0.15, capacity=4) for number in range(2)} | {
        "dead": FakeModel(faults=("404",))
    }

    async def look(browser: Browser, session: aiohttp.ClientSession) -> list[dict[str, Any]]:
        states: list[dict[str, Any]] = []
        with FakeEndpoint(models) as fake:
            running = asyncio.create_task(sweeping(fake, tmp_path / "sweeps" / "one"))
            while not running.done():
                async with session.get(f"{browser.url}state.json") as reply:
                    for item in await reply.json():
                        async with session.get(f"{browser.url}item/{item['id']}/state.json") as one:
                            if one.status == 200:
                                states.append(await one.json())
                await asyncio.sleep(0.2)
            found = await running
        leaderboard(found)
        async with session.get(f"{browser.url}state.json") as reply:
            (last,) = await reply.json()
        status, page = await text_of(session, f"{browser.url}item/{last['id']}/report")
        assert status == 200
        assert "Leaderboard" in page
        assert "m0" in page
        return [*states, last]

    *states, last = viewing(tmp_path, look)
    live = [state for state in states if state["state"] == "running" and state["total"]]
    done = [state["done"] for state in live]
    assert len(set(done)) >= 3
    assert done == sorted(done)
    assert {state["total"] for state in live} == {2 * asked}
    assert any(state["per_second"] and state["per_second"] > 1 and state["left_s"] for state in live)
    assert any(0 < model["done"] < asked for state in live for model in state["models"])
    dead = next(model for model in live[-1]["models"] if model["model"] == "dead")
    assert dead["state"] == "dead"
    assert "HTTP 404" in dead["reason"]
    assert (last["state"], last["done"], last["alive"], last["dead"], last["has_report"]) == (
        "complete",
        2 * asked,
        2,
        1,
        True,
    )


def test_a_sweep_that_nobody_writes_is_stopped(tmp_path: Path) -> None:
    directory = tmp_path / "one"
    with FakeEndpoint({"m": FakeModel()}) as fake:
        asyncio.run(sweeping(fake, directory, limit=8))
    for summary in directory.glob("runs/*/summary.json"):
        summary.unlink()
    (item,) = shelf(tmp_path)
    assert watch(item).state().state in {"running", "judging"}
    old = time.time() - 2 * QUIET_S
    for path in [directory, *directory.rglob("*")]:
        os.utime(path, (old, old))
    assert watch(item).state().state == "stopped"


def test_the_shelf_lists_whole_things_once(tmp_path: Path) -> None:
    runs.store(tmp_path / "a" / "run", "scripted/one", 0.7)
    with FakeEndpoint({"m": FakeModel()}) as fake:
        asyncio.run(sweeping(fake, tmp_path / "b" / "sweep", limit=4))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "study.json").write_text("{}")
    runs.store(tmp_path / "c" / "runs" / "arm", "scripted/one", 0.7)
    runs.store(tmp_path / ".hidden" / "run", "scripted/one", 0.7)
    found = {item.name: item.kind for item in shelf(tmp_path)}
    assert found == {"a/run": "run", "b/sweep": "sweep", "c": "study"}
    study = next(item for item in shelf(tmp_path) if item.kind == "study")
    assert watch(study).state().title == "study: 0 cells trained, 1 arms measured"


def test_a_follower_reads_each_row_once_and_waits_for_whole_lines(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "responses", Response)
    assert follower.fresh() == []
    (tmp_path / "responses").mkdir()
    lines = [encode(Response(f"p{number}", 0, 0, "x", "ok")) + b"\n" for number in range(3)]
    first = tmp_path / "responses" / "1.jsonl"
    first.write_bytes(lines[0] + lines[1][:10])
    assert [row.prompt_id for row in follower.fresh()] == ["p0"]
    assert follower.fresh() == []
    first.write_bytes(lines[0] + lines[1] + b"{broken\n")
    (tmp_path / "responses" / "2.jsonl").write_bytes(lines[2])
    assert [row.prompt_id for row in follower.fresh()] == ["p1", "p2"]
    assert follower.unreadable == 1
    assert follower.fresh() == []


def test_the_command_prints_one_address_and_ends_cleanly(stored: Path) -> None:
    viewed = subprocess.Popen(
        [sys.executable, "-m", "adhere", "view", str(stored)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert viewed.stdout is not None
    url = viewed.stdout.readline().strip()
    viewed.send_signal(signal.SIGINT)
    _, said = viewed.communicate(timeout=30)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)
    assert viewed.returncode == 130
    assert "Traceback" not in said


@pytest.mark.skipif(devtools.CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)")
def test_in_a_browser_rows_appear_by_themselves(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with FakeEndpoint({f"m<b>{number}</b>\u202e": FakeModel() for number in range(3)}) as fake:
        asyncio.run(sweeping(fake, root / "sweep", limit=6))
    leaderboard(load_sweep(root / "sweep"))
    rows = "document.querySelectorAll('#index tbody tr').length"

    async def run() -> None:
        async with Browser(root) as browser, devtools.tab(tmp_path / "profile") as tab:
            await tab.open(browser.url)
            await tab.until(f"{rows} === 1")
            await asyncio.to_thread(runs.store, root / "runs" / "late", "scripted/<i>late</i>", 0.5)
            await tab.until(f"{rows} === 2")
            assert "scripted/<i>late</i> on core" in await tab.run("document.body.innerText")
            await tab.run("[...document.querySelectorAll('#index a')].find(a => a.textContent === 'sweep').click()")
            await tab.until("document.querySelectorAll('#models tbody tr').length === 3")
            text = await tab.run("document.body.innerText")
            assert "m<b>0</b>⟨U+202E⟩" in text
            assert "18 / 18" in text
            await tab.run("document.getElementById('report').click()")
            await tab.until("document.title.startsWith('Leaderboard')")
            # the favicon is asked for by the browser itself; every other address is ours
            assert {
                address.split("?")[0] for address in tab.requests if not address.startswith((browser.url, "data:"))
            } == set()
            assert tab.messages == []

    asyncio.run(run())


@pytest.mark.skipif(devtools.CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)")
async def press(tab: Any, key: str) -> None:
    await tab.run("document.activeElement.blur()")
    await tab.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
    await tab.send("Input.dispatchKeyEvent", type="keyUp", key=key)


def test_in_a_browser_the_list_is_sorted_and_two_runs_are_set_side_by_side(stored: Path, tmp_path: Path) -> None:
    names = "[...document.querySelectorAll('#index tbody tr')].map(row => row.querySelector('a').textContent).join()"
    entries = "[...document.querySelectorAll('.entry b')].map(entry => entry.textContent).join()"

    async def run() -> None:
        async with Browser(stored) as browser, devtools.tab(tmp_path / "profile") as tab:
            await tab.open(browser.url)
            await tab.until("document.querySelectorAll('#index tbody tr').length === 2")
            for wanted in ("runs/one,runs/two", "runs/two,runs/one"):  # by result: downwards first, then upwards
                await tab.run("document.querySelector('#index button[data-key=result]').click()")
                assert await tab.run(names) == wanted
            assert "a second" not in await tab.run("document.body.innerText")
            assert await tab.run("document.getElementById('compare').hidden")
            await tab.run("document.querySelectorAll('#index input[type=checkbox]').forEach(box => box.click())")
            await tab.run("document.getElementById('compare').click()")
            await tab.until("document.title.includes('answer by answer')")
            answer = "document.getElementById('one').innerText"
            both = "document.querySelectorAll('#one .side').length === 2"
            # The answer is fetched after the list is drawn: wait until list, answer and address name one prompt.
            is_settled = (
                "(id => id && document.querySelector('#one h2').textContent.endsWith(id) && "
                "new URLSearchParams(location.hash.slice(1)).get('id') === id)"
                "(document.querySelector('.entry[aria-selected=true] b')?.textContent)"
            )
            await tab.until(both)
            ways = (
                "Object.fromEntries([...document.querySelectorAll('[data-way]')].map(way => [way.dataset.way, "
                "Number(way.textContent)]))"
            )
            counts = await tab.run(ways)
            assert counts["all"] == 24 == sum(counts.values()) - 24
            way = max(("gained", "lost"), key=lambda way: counts[way])
            await tab.run(f"document.querySelector('input[value={way}]').click()")
            await tab.until(f"{entries}.split(',').length === {counts[way]}")
            await tab.until(is_settled)
            first = await tab.run(answer)
            await press(tab, "j")
            await tab.until(f"{answer} !== {first!r} && {is_settled}")
            address = await tab.run("location.href")
            assert f"way={way}" in address
            second = await tab.run(answer)
            await press(tab, "/")
            await tab.run(
                "document.activeElement.value = 'about 1'; document.activeElement.dispatchEvent(new Event('input'))"
            )
            await tab.until(f"{entries}.split(',').every(id => id.startsWith('p1') || id === 'p01')")
            await tab.until("document.querySelectorAll('#one mark').length > 0")
            # The address is a link to the prompt: opened anew it shows the same.
            await tab.open("about:blank")
            await tab.open(address)
            await tab.until(f"{answer} === {second!r}")
            kind = await tab.run(
                "(document.getElementById('kind').selectedIndex = 1, document.getElementById('kind').value)"
            )
            await tab.run("document.getElementById('kind').dispatchEvent(new Event('change'))")
            await tab.until(
                f"[...document.querySelectorAll('#one .marks .fail b')].some(mark => mark.textContent === {kind!r})"
            )
            assert "<script>" in await tab.run(answer)  # as text
            assert await tab.run("document.title") != "owned"
            for width in (1280, 400):
                await tab.size(width, 900)
                assert await tab.run("document.documentElement.scrollWidth") <= width
            assert tab.messages == []

    asyncio.run(run())


HOSTILE = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (1_500 << 20, 1_500 << 20))
from adhere.errors import AdhereError
from adhere.serve.browser import _build_html
from adhere.serve.watch import watch
from adhere.store.run import Run
from adhere.store.shelf import shelf
for item in sorted(shelf(Path(sys.argv[1])), key=lambda item: item.name):
    for what in ("state", "report"):
        try:
            found = watch(item).state(with_models=True).done if what == "state" else "nobody" in _build_html(item)
        except (AdhereError, OSError) as error:
            found = type(error).__name__
        print(item.name, what, found)
"""


def test_a_hostile_directory_beside_a_good_one(stored: Path) -> None:
    """A pipe, a device, a sparse file, huge draws: each is refused or bounded, and the good Run is shown as always.

    The reader may take 1.5 GB of addresses; before, a pipe hung it and the others took 2 to 4 GB.
    """
    good = stored / "runs" / "one"

    def copy(name: str) -> Path:
        shutil.copytree(good, stored / "runs" / name)
        return stored / "runs" / name

    pipe = copy("pipe") / "manifest.json"
    pipe.unlink()
    os.mkfifo(pipe)
    device = copy("device") / "manifest.json"
    device.unlink()
    device.symlink_to("/dev/zero")
    with (copy("sparse") / "manifest.json").open("wb") as file:
        file.truncate(8 << 30)
    with (copy("sparse-segment") / "responses" / "00000000000000000000-x.jsonl").open("wb") as file:
        file.truncate(8 << 30)
    os.mkfifo(copy("pipe-segment") / "responses" / "00000000000000000000-x.jsonl")
    (copy("device-prompts") / "prompts.jsonl").unlink()
    (stored / "runs" / "device-prompts" / "prompts.jsonl").symlink_to("/dev/zero")
    many = copy("many-draws") / "manifest.json"
    many.write_text(re.sub(r'"draws":1\b', '"draws":3000000', many.read_text()))
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, str(stored)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    for name in ("pipe", "device", "sparse"):
        assert found[f"runs/{name} state"] == "IntegrityError", name
        assert found[f"runs/{name} report"] in {"IntegrityError", "UsageError"}, name
    for name in ("one", "sparse-segment", "pipe-segment", "device-prompts", "many-draws"):
        assert found[f"runs/{name} state"] == "24", name
    assert found["runs/device-prompts report"] == found["runs/many-draws report"] == "IntegrityError"
    assert (
        found["runs/one report"] == found["runs/sparse-segment report"] == found["runs/pipe-segment report"] == "False"
    )


def test_a_board_shows_no_run_that_lies_elsewhere(tmp_path: Path) -> None:
    from adhere.models.catalog import open_model
    from adhere.pipeline.evaluate import evaluate_sync
    from adhere.report.leaderboard.drilldown import islands
    from adhere.sweep.leaderboard import leaderboard_of_runs

    run = evaluate_sync(open_model("scripted/echo"), suites.load("core", limit=4), tmp_path / "here" / "run")
    board = leaderboard_of_runs([run.directory])
    assert islands(board, tmp_path / "here").shown == 4
    (tmp_path / "elsewhere").mkdir()
    found = islands(board, tmp_path / "elsewhere")
    assert found.shown == 0
    assert "lies outside of" in found.unreadable["scripted/echo"]


def test_a_process_at_work_is_not_called_stopped(stored: Path) -> None:
    """However long it waits for an answer: it holds the directory."""
    from adhere.store.run import alone

    directory = stored / "runs" / "one"
    (directory / "summary.json").unlink()
    for file in (directory, *directory.rglob("*")):
        os.utime(file, (1, 1))
    (item,) = [item for item in shelf(stored) if item.name == "runs/one"]
    assert watch(item).state().state == "stopped"
    with alone(directory):
        assert watch(item).state().state in {"running", "judging"}
