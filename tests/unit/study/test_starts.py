"""Several start models: the study from each, what they say together, and `--start` for one of them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write
from tests.unit.study.outcomes import evaluation, prompts
from tests.unit.study.test_plan import SPEC

from adhere.cli.report import command as report
from adhere.cli.reproduce import command as reproduce_command
from adhere.cli.study import command
from adhere.config import parse_toml
from adhere.errors import SpecError, UsageError
from adhere.report.study.starts import starts_html, starts_text
from adhere.schema import decode, encode, write_atomic
from adhere.study.design.check import validate
from adhere.study.design.spec import EvaluationSpec, StartSpec, StudySpec
from adhere.study.outcome import starts as starts_room
from adhere.study.outcome.contrast import Evaluations
from adhere.study.outcome.result import StartsResult, StudyResult, SuiteFound
from adhere.study.outcome.starts import starts_result
from adhere.study.run.records import unpack
from adhere.study.starts import folder_of, places_of
from adhere.suites.generated.core.slices import Sizes

TEXT = """
name = "tiny"
starts = ["hf/ONE", { model = "hf/OTHER" }]
seeds = [0, 1]
keep_weights = false
precision = "fp32"
data = { prompts = 8, draws = 2, max_new_tokens = 10, kinds = ["case:lower", "punctuation:no_commas"], wordings = 1, limits = { per_prompt = 1 } }
evaluation = { new_topic = { single = 6 }, max_new_tokens = 6 }
arms = [{ name = "start" }, { name = "sft", stages = ["sft"] }]
[stages]
sft = { method = "sft", epochs = 1, batch_rows = 8 }
[verdict]
question = "Does anything happen?"
treatment = "sft"
control = "start"
"""


class Known:
    """Of a StudyResult, what is put together."""

    def __init__(self, low: float, high: float) -> None:
        from tests.unit.report.study_factory import contrast, study

        on_suite = [contrast("sft+dpo", "sft", low, high), contrast("sft+dpo", "sft", low, high, slice="sound")]
        suite = SuiteFound("ifeval", "0" * 64, 80, 90, on_suite, [], [])

        spec = msgspec.to_builtins(msgspec.structs.replace(SPEC, seeds=[0, 1, 2]))
        result = study(seeds=3)
        verdict = msgspec.structs.replace(result.verdict, primary=contrast("sft+dpo", "sft", low, high))
        self.result = msgspec.structs.replace(result, spec=spec, seeds=[0, 1, 2], verdict=verdict, suites=[suite])


def together(monkeypatch: pytest.MonkeyPatch, rates: dict[str, tuple[float, float]]) -> StartsResult:
    """Of starts with these pass rates of treatment and control, the same at three seeds."""
    made = {}
    for name, both in rates.items():
        found = {
            (arm, seed): evaluation([(7 * n + seed) % 10 < 10 * rate for n in range(80)], arm=arm, seed=seed)
            for arm, rate in zip(("sft+dpo", "sft"), both, strict=True)
            for seed in range(3)
        }
        made[name] = Evaluations(found, prompts(80), [0, 1, 2])
    monkeypatch.setattr(
        starts_room, "evaluations_in", lambda _result, place: dict.fromkeys(("", "ifeval"), made[place.name])
    )
    known = {
        name: (Known(one - other - 0.05, one - other + 0.05).result, Path("starts") / name)
        for name, (one, other) in rates.items()
    }
    return starts_result("both", known)


def test_the_report_of_several_starts_is_printed_and_drawn_from_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_atomic(tmp_path / "starts.json", encode(together(monkeypatch, {"hf-a": (0.6, 0.3), "hf-b": (0.4, 0.4)})))
    page = tmp_path / "page.html"
    done = CliRunner().invoke(report, [str(tmp_path)])
    assert "above 0 from hf-a" in done.output
    assert CliRunner().invoke(report, [str(tmp_path), "--html", str(page)]).exit_code == 0
    assert 'href="starts/hf-b/report.html"' in page.read_text(encoding="utf-8")
    refused = CliRunner().invoke(report, [str(tmp_path), "--xlsx", str(tmp_path / "a.xlsx")])
    assert refused.exit_code
    assert isinstance(refused.exception, UsageError)
    assert "DIR/starts/NAME" in str(refused.exception)


def test_all_together_is_the_mean_and_each_start_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = together(monkeypatch, {"hf-a": (0.6, 0.3), "hf-b": (0.4, 0.4)})
    assert found.pooled.difference == pytest.approx(0.15)
    assert found.pooled.n_seeds == 6, "a start at a seed is a run"
    (more,) = found.between
    assert more.difference == pytest.approx(-0.3)
    assert more.high is not None
    assert more.high < 0
    assert found.holds == "sft+dpo over sft: above 0 from hf-a; shows nothing from hf-b."
    narrow = together(monkeypatch, {"hf-a": (0.6, 0.3), "hf-b": (0.6, 0.3)})
    widths = [one.pooled.high - one.pooled.low for one in (found, narrow)]  # type: ignore[operator]
    assert widths[0] > widths[1], "starts that differ widen the interval over them"
    for told in (starts_text(found), starts_html(found)):
        assert "above 0 from hf-a" in told
        assert "all together" in told
        assert "+15.0" in told
    assert 'href="starts/hf-b/report.html"' in starts_html(found)
    further = {(one.suite, one.pooled.treatment, one.pooled.control, one.pooled.slice): one for one in found.further}
    for asked in (("", "sft+dpo", "sft", "all"), ("ifeval", "sft+dpo", "sft", "all")):
        assert further[asked].pooled.difference == pytest.approx(0.15)
        assert further[asked].pooled.n_seeds == 6
    assert [one.difference for one in further["ifeval", "sft+dpo", "sft", "all"].each] == pytest.approx([0.3, 0.0])
    nobody = further["", "sft", "start", "new-topic"].pooled
    assert nobody.difference is None, "an arm that was not measured"
    for told in (starts_text(found), starts_html(found)):
        assert "sft+dpo over sft (ifeval, sound)" in told
        assert "not measured" in told
    assert msgspec.json.decode(encode(found), type=StartsResult) == found


def test_a_committed_study_of_several_starts_is_computed_again(tmp_path: Path) -> None:
    committed = Path(__file__).parents[3] / "docs" / "studies" / "continue"
    whole = tmp_path / "whole"
    found = {}
    for name in ("one", "two"):
        place = whole / "starts" / name
        shutil.copytree(committed, place)
        unpack(place / "records.tar.xz", tmp_path / name)
        found[name] = (decode((place / "result.json").read_bytes(), StudyResult), tmp_path / name)
    (whole / "starts.json").write_bytes(encode(starts_result("both", found)))
    again = CliRunner().invoke(reproduce_command, [str(whole)])
    assert again.exit_code == 0, again.output
    assert "2 starts together" in again.output
    assert again.output.count("Study continue, computed again") == 2
    text = (whole / "starts.json").read_text()
    digit = re.search(r'"pooled":.*?"difference":0\.(\d)', text)
    assert digit is not None
    other = "1" if digit[1] != "1" else "2"
    (whole / "starts.json").write_text(f"{text[: digit.end(1) - 1]}{other}{text[digit.end(1) :]}")
    changed = CliRunner().invoke(reproduce_command, [str(whole)])
    assert changed.exit_code == 1
    assert "pooled.difference: stored" in changed.output


def test_each_start_has_its_own_folder_and_records() -> None:
    spec = parse_toml(TEXT, StudySpec, name="tiny.toml")
    places = places_of(spec, Path("out"), Path("r/tiny.tar.xz"))
    assert [one.directory for one in places] == [Path("out/starts/hf-ONE"), Path("out/starts/hf-OTHER")]
    assert [one.records for one in places] == [Path("r/tiny-hf-ONE.tar.xz"), Path("r/tiny-hf-OTHER.tar.xz")]
    assert [one.spec.start for one in places] == ["hf/ONE", "hf/OTHER"]
    assert not any(one.spec.starts for one in places)
    based = msgspec.structs.replace(spec, starts=[StartSpec("hf/base", "chatml")])
    assert places_of(based, Path("out"), None)[0].spec.template == "chatml"
    assert [based.from_start(model).template for model in ("hf/base", "hf/other")] == ["chatml", ""], "--start MODEL"
    (alone,) = places_of(msgspec.structs.replace(spec, starts=[]), Path("out"), None)
    assert (alone.directory, alone.is_part) == (Path("out"), False)
    assert folder_of("hf//tmp/a b") == "hf-tmp-a-b"
    twice = msgspec.structs.replace(
        spec, starts=["x", StartSpec("x")], evaluation=EvaluationSpec(new_topic=Sizes(single=2))
    )
    with pytest.raises(SpecError, match="start x is given twice"):
        validate(twice)
    with pytest.raises(SpecError, match="start is missing"):
        validate(msgspec.structs.replace(twice, starts=[]))


@pytest.mark.slow
def test_two_starts_are_done_and_one_of_them_is_what_start_gives(tiny_llama_dir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_llama_dir, other)
    file = tmp_path / "tiny.toml"
    file.write_text(TEXT.replace("ONE", str(tiny_llama_dir)).replace("OTHER", str(other)))
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        both = CliRunner().invoke(command, [str(file), "--out", str(tmp_path / "out"), "--json"])
        assert both.exit_code == 0, both.output
        one = CliRunner().invoke(
            command, [str(file), "--out", str(tmp_path / "alone"), "--start", f"hf/{other}", "--json"]
        )
    assert one.exit_code == 0, one.output
    found = json.loads(both.stdout)
    assert [start["start"] for start in found["starts"]] == [f"hf/{tiny_llama_dir}", f"hf/{other}"]
    assert found["pooled"]["n_seeds"] == 4
    assert (tmp_path / "out" / "report.html").exists()
    cells = [
        {path.name for path in (place / "cells").iterdir()}
        for place in (tmp_path / "out" / "starts" / folder_of(f"hf/{other}"), tmp_path / "alone")
    ]
    assert cells[0] == cells[1], "--start is the study from that start, cell by cell"
    assert json.loads(one.stdout)["difference"] == found["starts"][1]["primary"]["difference"]
