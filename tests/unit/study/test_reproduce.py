"""The committed studies, computed again from their records, without a model and without torch."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from benchmarks.studies.renew import renew
from click.testing import CliRunner

from adhere.cli.reproduce import command
from adhere.errors import IntegrityError, UsageError
from adhere.report.study.reproduction import reproduction_text
from adhere.study.outcome.prompts import load_asked, save_asked
from adhere.study.outcome.reproduce import reproduce
from adhere.study.run.records import pack, unpack
from adhere.suites.generated.core.slices import Sizes, study_suite

STUDIES = Path(__file__).parents[3] / "docs" / "studies"


@pytest.mark.parametrize("name", ["study", "zoo"])
def test_every_stored_number_follows_from_the_records(name: str) -> None:
    found = reproduce(STUDIES / name)
    assert found.differences == []
    assert found.agree > 30_000
    assert sum(found.parts.values()) == found.agree
    assert {"verdict", "contrasts", "scores", "guards", "tax"} <= found.parts.keys()


def test_the_old_verdict_hangs_on_single_seeds_and_kinds() -> None:
    """As an outside inspection recomputed it.

    Any of seeds 0, 2, 3, 4 decides, p 0.125, +2.0 points with kinds as a sample.
    """
    found = reproduce(STUDIES / "study")
    assert found.answer_stored == "YES"
    assert (found.answer, found.fragile) == ("INCONCLUSIVE", True)
    assert "without seed 0, 2, 3 or 4" in found.because
    assert found.sign_flip_p == 0.125
    assert found.leave_one_out is not None
    assert (found.leave_one_out.low, found.leave_one_out.high) == (pytest.approx(0.01475), pytest.approx(0.0225))
    assert found.without_seed["1"].low == pytest.approx(0.0102, abs=1e-4)
    assert found.kinds is not None
    assert (found.kinds.difference, found.kinds.low, found.kinds.high) == (
        pytest.approx(0.020),
        pytest.approx(-0.006, abs=2e-3),
        pytest.approx(0.046, abs=2e-3),
    )
    assert "more, about" in found.decides
    assert len(found.slices) == 6


def test_an_old_answer_is_asked_what_sound_answers_say() -> None:
    found = reproduce(STUDIES / "continue")
    assert found.arms["text-50"].passed == pytest.approx(33 / 140)
    assert found.arms["text-50"].sound == pytest.approx(27 / 140)
    assert found.sound is not None
    assert found.sound.difference == pytest.approx(found.arms["text-50"].sound - found.arms["text"].sound)
    assert "were only sound answers counted: +5.7 (−1.7…+13.2)" in reproduction_text(found)
    older = reproduce(STUDIES / "study")
    assert older.sound is None
    assert {one.sound for one in older.arms.values()} == {None}
    assert "only sound" not in reproduction_text(older)


def test_a_further_seed_costs_what_seeds_cost_and_no_more() -> None:
    """As the study itself counts: what no seed owns, the start model's evaluation, is not paid again."""
    found = reproduce(STUDIES / "zoo")
    hours = re.search(r"\((\d+) more, about ([\d.]+) hours", found.decides)
    assert hours is not None
    stored = json.loads((STUDIES / "zoo" / "result.json").read_text())
    start = stored_evaluations_of(STUDIES / "zoo", "start")
    each = (stored["minutes"] - start / 60) / 3
    assert float(hours[2]) == pytest.approx(int(hours[1]) * each / 60, abs=0.05)
    assert 27 * start / 3 / 3600 > 0.09, "or nothing was tested"


def stored_evaluations_of(directory: Path, arm: str) -> float:
    """Seconds of an arm's evaluations."""
    with tempfile.TemporaryDirectory() as place:
        unpack(directory / "records.tar.xz", Path(place))
        found = [json.loads(file.read_bytes()) for file in (Path(place) / "evaluations").glob("*.json")]
    return sum(one["seconds"] for one in found if one["arm"] == arm)


def test_a_result_of_older_code_is_renewed_from_its_records(tmp_path: Path) -> None:
    """Cells of older code have other keys, so the study itself cannot be collected again; its statistics can."""
    place = tmp_path / "continue"
    shutil.copytree(STUDIES / "continue", place)
    before = json.loads((place / "result.json").read_text())
    assert "sound_share" not in before["scores"][0]["guard"]
    renewed = renew(place)
    after = json.loads((place / "result.json").read_text())
    rates = {one.arm: one.guard.sound_share for one in renewed.scores if one.slice == "all"}
    assert rates["text-50"] == pytest.approx(27 / 140)
    same = {name for name in before if after[name] == before[name]}
    assert before.keys() - same <= {"scores", "verdict", "contrasts", "guards", "tax", "fragility"}
    assert after["verdict"]["answer"] == before["verdict"]["answer"]
    assert reproduce(place).differ == 0
    after["scores"][0]["prompt_strict"]["rate"] = 0.5
    (place / "result.json").write_text(json.dumps(after))
    with pytest.raises(IntegrityError, match="1 values differ"):
        renew(place)
    with pytest.raises(IntegrityError, match="older rule"):
        renew(STUDIES / "zoo")


def test_the_command_prints_one_object_and_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None; from adhere.cli import main; "
        f"sys.argv = ['adhere', 'reproduce', {str(STUDIES / 'zoo')!r}, '--json']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["differ"], found["differences"], found["answer"]) == (0, [], "INCONCLUSIVE")
    assert found["agree"] > 30_000


def test_a_number_that_the_records_do_not_give_is_listed_and_exits_1(tmp_path: Path) -> None:
    for name in ("result.json", "records.tar.xz"):
        shutil.copy(STUDIES / "zoo" / name, tmp_path)
    result = json.loads((tmp_path / "result.json").read_bytes())
    result["contrasts"][1]["difference"] += 0.001
    result["scores"][3]["prompt_strict"]["passed"] += 1
    (tmp_path / "result.json").write_text(json.dumps(result))
    done = CliRunner().invoke(command, [str(tmp_path), "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["differ"] == 2
    assert [one["what"] for one in found["differences"]] == [
        "contrasts[1] (sft − start, all).difference",
        "scores[3] (start, new-wording/single).prompt_strict.passed",
    ]
    text = CliRunner().invoke(command, [str(tmp_path)])
    assert (text.exit_code, "differ 2" in text.stdout) == (1, True)
    assert "contrasts[1] (sft − start, all).difference: stored" in " ".join(text.stdout.split())
    assert re.search(r"contrasts +\d+ +1\n", text.stdout)


def test_what_is_missing_or_of_another_study_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no result\.json"):
        reproduce(tmp_path)
    shutil.copy(STUDIES / "zoo" / "result.json", tmp_path)
    shutil.copy(STUDIES / "study" / "records.tar.xz", tmp_path)
    with pytest.raises(IntegrityError, match="is not what the study asked"):
        reproduce(tmp_path)


def test_what_was_asked_travels_with_the_records(tmp_path: Path) -> None:
    suite = study_suite(0, new_topic=Sizes(single=3), new_wording=Sizes(), new_family=Sizes(), kinds=[], wordings=None)
    (tmp_path / "study.json").write_bytes(b"{}")
    save_asked(tmp_path, suite, {"other": suite})
    pack(tmp_path, tmp_path / "r.tar.xz")
    unpack(tmp_path / "r.tar.xz", tmp_path / "again")
    found = load_asked(tmp_path / "again", sha256=suite.sha256)
    assert found[""] == suite
    assert [one.text for one in found["other"].prompts] == [""] * 3, "a published suite's texts stay in its own file"
    assert [p.constraints[0].id for p in found["other"].prompts] == [p.constraints[0].id for p in suite.prompts]
    with pytest.raises(IntegrityError, match="Pack them again"):
        load_asked(tmp_path / "nothing", sha256="x")
