"""What a notebook shows of a Run, a comparison and a study: small, escaped, without scripts."""

from __future__ import annotations

import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.pipeline.compare import compare_runs
from adhere.terminal import notebook_table

HERE = Path(__file__).parent
runs = SimpleNamespace(**runpy.run_path(str(HERE / "run_factory.py")))
studies = SimpleNamespace(**runpy.run_path(str(HERE / "study_factory.py")))
HOSTILE = "scripted/<script>alert(1)</script><img src=x onerror=y>\u202e"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert {name for name, _ in attrs} <= {"style"}


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("runs")
    a, b = (runs.store(folder / str(at), name, rate) for at, (name, rate) in enumerate([(HOSTILE, 0.7), ("b", 0.4)]))
    return {"run": a, "comparison": compare_runs(a, b), "study": studies.study(seeds=3)}


@pytest.mark.parametrize("name", ["run", "comparison", "study"])
def test_it_is_small_and_nothing_in_it_runs(name: str, things: dict[str, Any]) -> None:
    shown = things[name]._repr_html_()
    tags = _Tags()
    tags.feed(shown)
    assert tags.found <= {"p", "strong", "table", "tbody", "tr", "th", "td"}
    assert len(shown) < 6_000
    assert "\u202e" not in shown
    assert len(repr(things[name])) < 600
    assert "\n" not in repr(things[name])


def test_they_say_what_was_found(things: dict[str, Any]) -> None:
    run, comparison, study = things["run"], things["comparison"], things["study"]
    rate = run.summary().overall.prompt_strict
    assert f"{100 * rate.of_all:.1f} % ({rate.passed} of {rate.n}, 95 % interval" in run._repr_html_()
    points = f"{100 * comparison.overall.difference:+.1f} points"
    assert points in comparison._repr_html_()
    assert re.search(
        r"<Comparison .* − b on .*: " + re.escape(points) + r" \(.* to .*\) on \d+ prompts", repr(comparison)
    )
    assert study.verdict.answer in study._repr_html_()
    assert repr(study).startswith(f"<Study {study.name}: {study.verdict.answer}: ")
    assert notebook_table("<b>", {"a&b": "x\ny"}).count("&lt;b&gt;") == 1
