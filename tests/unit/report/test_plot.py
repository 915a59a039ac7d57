"""Pictures from Python.

What a study or runs hold, in SVG files that other programs read and that touch nothing beside them.
"""

from __future__ import annotations

import re
import runpy
import struct
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest

import adhere
from adhere import plot
from adhere.errors import MissingExtra, UsageError
from adhere.report.pieces.numbers import percent
from adhere.schema import decode
from adhere.store.run import Run
from adhere.study.outcome.result import StudyResult

factory = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("run_factory.py"))))
ZOO = Path(__file__).parents[3] / "docs" / "studies" / "zoo"


@pytest.fixture(scope="module")
def zoo() -> StudyResult:
    return decode((ZOO / "result.json").read_bytes(), StudyResult)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    root = tmp_path_factory.mktemp("pair")
    return factory.store(root / "a", "local/weak", 0.3), factory.store(root / "b", "local/strong", 0.9)


def words(picture: plot.Picture) -> str:
    return "\n".join(ET.fromstring(picture.svg()).itertext())


def test_a_forest_has_every_contrast_and_seeds_every_seed(zoo: StudyResult) -> None:
    shown = words(plot.forest(ZOO))
    assert all(f"{one.treatment} − {one.control}" in shown for one in zoo.contrasts)
    circles = plot.seeds(zoo).chart.count('class="seed-dot"')
    assert circles == sum(len(one.by_seed) for one in zoo.contrasts) > 20


def test_gain_has_every_arm_s_rate_and_compute(zoo: StudyResult) -> None:
    shown = words(plot.gain(zoo))
    overall = {one.arm: one.prompt_strict.rate for one in zoo.scores if one.slice == "all" and one.seed is None}
    assert len(overall) == len(zoo.arms)
    for arm, rate in overall.items():
        assert re.search(rf"^{re.escape(percent(rate))}.*PFLOP$", shown, re.MULTILINE), arm
    with pytest.raises(UsageError, match="no slice 'old'; it has all, "):
        plot.gain(zoo, slice_name="old")


def test_kinds_of_a_study_begin_with_the_control(zoo: StudyResult) -> None:
    picture = plot.kinds(zoo)
    assert [label for _, label in picture.legend] == [zoo.verdict.primary.control, zoo.verdict.primary.treatment]
    kinds = {kind for one in zoo.scores if one.slice == "all" for kind in one.kinds}
    assert all(kind in words(picture) for kind in kinds)
    with pytest.raises(UsageError, match="has no arm 'sft\\+ppo'"):
        plot.kinds(zoo, arms=["sft+ppo"])


def test_runs_side_by_side_and_alone(runs: tuple[Run, Run], tmp_path: Path) -> None:
    both = words(plot.kinds(*runs))
    tally = runs[1].summary().overall.kinds["case:lower"].strict
    assert f"→ {percent(tally.of_all, digits=0)}" in both
    assert f"({tally.passed} of {tally.n})" in words(plot.kinds(runs[1].directory))
    assert {"local/weak", "local/strong"} <= set(both.splitlines())
    assert percent(runs[0].summary().overall.prompt_strict.of_all) in words(plot.rates(*runs))
    assert "in-family" in words(plot.rates(runs[0]))
    forest = words(plot.forest(adhere.compare(runs[1], runs[0])))
    assert "local/strong − local/weak" in forest
    assert "all prompts" in forest
    with pytest.raises(UsageError, match="different prompts"):
        plot.rates(runs[0], factory.store(tmp_path / "c", "local/other", 0.5, count=12))
    with pytest.raises(UsageError, match="Give finished runs"):
        plot.rates()


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_a_picture_stands_alone(zoo: StudyResult, theme: plot.Theme) -> None:
    drawn = plot.forest(zoo).svg(theme=theme)
    assert ET.fromstring(drawn).get("viewBox", "").startswith("0 0 720 ")
    assert not re.search(r"var\(|<script|https?://(?!www\.w3\.org/2000/svg)", drawn)
    style = drawn.partition("<style>")[2].partition("</style>")[0]
    assert ("prefers-color-scheme" in style) == (theme == "auto")
    bare = re.sub(r"@media [^{]*\{", "", style)
    selectors = [one.strip() for many in re.findall(r"([^{}]+)\{", bare) for one in many.split(",")]
    assert len(selectors) > 30
    assert all(one.startswith(".adhere-picture") for one in selectors)


def test_files_and_notebooks(zoo: StudyResult, tmp_path: Path) -> None:
    picture = plot.gain(zoo)
    assert picture.save(tmp_path / "gain.svg").read_text(encoding="utf-8") == picture._repr_svg_()
    with pytest.raises(UsageError, match=r"gain\.pdf: pictures are written as \.svg or \.png"):
        picture.save(tmp_path / "gain.pdf")
    with pytest.raises(UsageError, match="no finished study"):
        plot.forest(tmp_path)
    assert repr(picture) == "<Picture: zoo: pass rate against compute>"


def test_a_png_is_drawn_from_the_light_picture_at_twice_its_size(
    zoo: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture, asked = plot.gain(zoo), []

    def draw(*, svg_string: str, width: int) -> bytes:
        asked.append((svg_string, width))
        return b"\x89PNG\r\n\x1a\n"

    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=draw))
    assert picture.save(tmp_path / "gain.png", width=600).read_bytes().startswith(b"\x89PNG")
    assert asked == [(picture.svg(theme="light", width=600), 1200)]
    assert "prefers-color-scheme" not in asked[0][0]
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r"resvg_py.*adhere\[pictures\]"):
        picture.save(tmp_path / "other.png")
    assert not (tmp_path / "other.png").exists()


def test_a_png_by_the_library_itself(zoo: StudyResult) -> None:
    pytest.importorskip("resvg_py")
    data = plot.gain(zoo).png(width=640, scale=1)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", data[16:20]) == (640,)
