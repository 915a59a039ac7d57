"""axe-core finds nothing on any kind of page, at 1280 and 400 px, in the light and the dark theme.

ADHERE_AXE names `axe.min.js` (npm pack axe-core), ADHERE_SITE a folder that `make docs` built; without the first all of
this is skipped, without the second the site is. ADHERE_PICTURES names a folder for a picture of each page at each width.
"""

from __future__ import annotations

import asyncio
import os
import runpy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.rules.stories import claude, edit, run, say, user

from adhere import suites
from adhere.models.catalog import open_model
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.leaderboard.html import leaderboard_html
from adhere.report.run.html import runs_html
from adhere.report.study.html import study_html
from adhere.report.study.starts import starts_html
from adhere.schema import decode
from adhere.serve.browser import Browser
from adhere.study.outcome.result import StartsResult
from command_line import run_here

HERE = Path(__file__)
ROOT = HERE.parents[2]
UNIT = HERE.parents[1] / "unit" / "report"
devtools = SimpleNamespace(**runpy.run_path(str(HERE.with_name("devtools.py"))))
boards, studies, runs = (
    SimpleNamespace(**runpy.run_path(str(UNIT / f"{name}_factory.py"))) for name in ("leaderboard", "study", "run")
)
AXE, SITE, PICTURES = (os.environ.get(f"ADHERE_{name}") for name in ("AXE", "SITE", "PICTURES"))
REPORT = "# Report\n\nFooLM was trained on 20 trillion tokens. FooLM has 7B parameters. Barbar was never measured.\n"
SOURCE = "# FooLM\n\nFooLM was trained on 18 trillion tokens. FooLM has 7B parameters.\n"
SCORES = "| Model | IFEval | GSM8K | Average |\n|---|---|---|---|\n| FooLM-7B | 71.2 | 55.0 | 60.1 |\n| BarLM-7B | **70.1** | 50.0 | 60.05 |\n"
RULES = "# Guide\n\n- Always run the tests before committing.\n- Never edit `uv.lock`.\n- Write simple code.\n"
SESSION = [user("Fix it"), edit("uv.lock", "x", "y"), run("git commit -m x"), say("All rules kept.")]
SITE_PAGES = (
    "index.html",
    "guide/measure.html",
    "tutorials/python.html",
    "reference/claims.html",
    "reference/api.html",
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AXE, reason="needs axe-core (ADHERE_AXE names axe.min.js)"),
    pytest.mark.skipif(
        devtools.CHROMIUM is None, reason="no Chromium on this machine (Debian: apt-get install chromium)"
    ),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of page that is a file."""
    folder = tmp_path_factory.mktemp("pages")
    core = suites.load("core")
    stored = [
        evaluate_sync(open_model(name), core, folder / "runs" / str(number))
        for number, name in enumerate(("scripted/echo", "scripted/fixed:No, thank you."))
    ]
    profile = evaluate_sync(open_model("scripted/echo"), suites.load("profile:x2"), folder / "profile")
    starts = decode((ROOT / "docs" / "studies" / "starts" / "starts.json").read_bytes(), StartsResult)
    texts = {
        "run": runs_html(stored[:1]),
        "runs": runs_html(stored),
        "study": study_html(studies.study(seeds=3)),
        "starts": starts_html(starts),
        "leaderboard": leaderboard_html(Path(), boards.board(folder / "board", models=14, hostile="")),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_bytes(text.encode())
    for name, text in {"report.md": REPORT, "foo.md": SOURCE, "scores.md": SCORES, "AGENTS.md": RULES}.items():
        (folder / name).write_text(text)
    (folder / "session.jsonl").write_text(claude(SESSION))
    calls = {
        "comparison": ("compare", stored[0].directory, stored[1].directory),
        "profile": ("report", profile.directory),
        "claims": ("claims", folder / "scores.md"),
        "statements": ("claims", folder / "report.md", "--sources", folder / "foo.md"),
        "rules": ("rules", folder / "AGENTS.md", folder / "session.jsonl"),
        "audit": ("audit", "adhere.rewards:judge_reward"),
    }
    for name, words in calls.items():
        done = run_here(*words, "--html", folder / f"{name}.html")
        assert (folder / f"{name}.html").is_file(), done.stderr
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


@asynccontextmanager
async def axe_tab(profile: Path) -> AsyncIterator[Any]:
    async with devtools.tab(profile) as tab:
        await tab.send("Page.setBypassCSP", enabled=True)  # the pages' own policy lets no script in
        yield tab


def axe_program() -> str:
    return Path(AXE or "").read_text(encoding="utf-8") + "; true"


async def violations(tab: Any, name: str) -> list[str]:
    """What axe finds at both widths and in both themes, a line each."""
    program = axe_program()
    found: dict[str, str] = {}
    for width in (1280, 400):
        await tab.size(width, 900)
        for theme in ("light", "dark"):
            await tab.scheme(theme)
            await tab.run(program)
            results = await tab.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
            for one in results:
                for node in one["nodes"]:
                    line = f"{name}: {one['id']} ({one['impact']}) {node['target']} {node['html'][:120]}"
                    found.setdefault(line, f"{line} at {width} px, {theme}: {node['failureSummary'][:300]}")
        if PICTURES:
            await tab.scheme("light")
            await tab.picture(Path(PICTURES) / f"{name.replace('/', '-')}-{width}.png", whole=False)
    return list(found.values())


FILES = [
    "audit",
    "claims",
    "comparison",
    "leaderboard",
    "profile",
    "rules",
    "run",
    "runs",
    "starts",
    "statements",
    "study",
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FILES)
def test_a_page_is_clean(name: str, pages: dict[str, Path], tmp_path: Path) -> None:
    assert sorted(pages) == FILES

    async def look() -> list[str]:
        async with axe_tab(tmp_path) as tab:
            await tab.open(pages[name].as_uri())
            return await violations(tab, name)

    assert asyncio.run(look()) == []


@pytest.mark.timeout(1800)
def test_what_view_serves_is_clean(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for name, share in (("one", 0.7), ("two", 0.4)):
        runs.store(shelf / name, f"scripted/{name}", share)

    async def look() -> list[str]:
        async with Browser(shelf) as browser, axe_tab(tmp_path / "profile") as tab:
            await tab.open(browser.url)
            await tab.until("document.querySelectorAll('a[href*=\"item/\"]').length >= 2")
            found = await violations(tab, "view")
            links = await tab.run("[...document.querySelectorAll('a')].map(one => one.href)")
            item = next(link for link in links if "/item/" in link)
            await tab.open(item)
            found += await violations(tab, "view item")
            (one, two) = (
                state["id"] for state in await tab.run(f"fetch('{browser.url}state.json').then(r => r.json())")
            )
            await tab.open(f"{browser.url}compare/{one}/{two}")
            return found + await violations(tab, "view answers")

    assert asyncio.run(look()) == []


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not SITE, reason="needs the built site (ADHERE_SITE names what `make docs` built)")
@pytest.mark.parametrize("name", SITE_PAGES)
def test_the_site_is_clean(name: str, tmp_path: Path) -> None:
    async def look() -> list[str]:
        async with axe_tab(tmp_path) as tab:
            await tab.open((Path(SITE or "") / name).resolve().as_uri())
            return await violations(tab, f"site {name}")

    assert asyncio.run(look()) == []
