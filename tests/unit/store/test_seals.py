"""What was changed after a Run was sealed is found and named; what was sealed and goes on is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli.doctor import command as doctor
from adhere.errors import IntegrityError
from adhere.models.base import Request
from adhere.models.catalog import open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync, rescore
from adhere.schema import encode
from adhere.store.run import Run
from adhere.store.seals.chain import check_seals
from adhere.store.seals.examine import examine
from adhere.suites import load


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sealed") / "run"
    evaluate_sync(open_model("scripted/echo"), load("core", limit=6), directory)
    return directory


@pytest.fixture
def run(sealed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed, tmp_path / "run"))


def test_a_run_as_it_was(run: Path) -> None:
    found = check_seals(run)
    assert (found.state, found.seals, found.problems) == ("whole", 1, ())
    evaluate_sync(open_model("scripted/echo"), load("core", limit=6), run)  # nothing to do: nothing to seal
    assert check_seals(run) == found


def test_any_flipped_bit_is_found_and_its_file_named(run: Path) -> None:
    files = [file for file in run.rglob("*.json*") if file.name != "seals.jsonl"]
    assert files
    for file in files:
        whole = file.read_bytes()
        for place in (0, len(whole) // 2, len(whole) - 2):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            (found,) = examine(run).values()
            assert found.state == "changed", (file, place)
            assert any(file.name in problem for problem in found.problems), (file, place, found.problems)
        file.write_bytes(whole)
    assert check_seals(run).state == "whole"


def test_a_change_that_is_sealed_again_is_found_by_the_chain(run: Path) -> None:
    (segment,) = (run / "responses").glob("*.jsonl")
    first, *rest = segment.read_bytes().splitlines(keepends=True)
    row = json.loads(first)
    segment.write_bytes(encode({**row, "text": "another"}) + b"\n" + b"".join(rest))
    rescore(run)  # judges the changed answer, and seals what is there now
    (found,) = examine(run).values()
    assert found.state == "changed"
    assert found.seals == 2
    assert f"responses/{segment.name} was changed" in found.problems[0]
    lines = (run / "seals.jsonl").read_bytes().splitlines(keepends=True)
    (run / "seals.jsonl").write_bytes(lines[1])  # and the seal that tells is taken away
    (found,) = examine(run).values()
    assert "does not follow from the line before" in found.problems[0]


def test_what_comes_after_a_seal(run: Path) -> None:
    with Run.load(run) as opened:
        opened.append_response(opened.responses()[0])
    assert check_seals(run).state == "unfinished"
    rescore(run)
    assert check_seals(run)[:2] == ("whole", 2)
    (run / "responses" / "99999999999999999999-x.jsonl").write_bytes(b"")
    assert check_seals(run).problems == (
        f"responses/99999999999999999999-x.jsonl came after the last seal, of {_made(run)}",
    )


def _made(run: Path) -> str:
    return str(json.loads((run / "seals.jsonl").read_bytes().splitlines()[-1])["made"])


def test_a_run_from_before_seals_is_read_and_a_changed_answer_is_found_all_the_same(run: Path) -> None:
    (run / "seals.jsonl").unlink()
    (found,) = examine(run).values()
    assert (found.state, found.problems) == ("not sealed", ())
    assert Run.load(run).summary().overall.n_prompts == 6
    (segment,) = (run / "responses").glob("*.jsonl")
    first, *rest = segment.read_bytes().splitlines(keepends=True)
    row = json.loads(first)
    segment.write_bytes(encode({**row, "text": "another"}) + b"\n" + b"".join(rest))
    (found,) = examine(run).values()
    assert found.problems == (f"the answer to {row['prompt_id']!r}, turn 0, draw 0, is not the one that was judged",)


def test_doctor_says_what_was_changed(run: Path) -> None:
    whole = CliRunner().invoke(doctor, [str(run)])
    assert whole.exit_code == 0
    assert f"{run}: whole, seal 1: {check_seals(run).head[:16]}" in whole.output
    (run / "summary.json").write_bytes(b"{}\n")
    changed = CliRunner().invoke(doctor, [str(run), "--json"])
    assert isinstance(changed.exception, IntegrityError)
    assert "1 of 1 runs are not as they were sealed" in str(changed.exception)
    (row,) = json.loads(changed.output)
    assert row["state"] == "changed"
    assert "summary.json was changed" in row["problems"][0]


def _no_answer(_: Request) -> str:
    raise RuntimeError("no answer")


def test_one_state_has_one_word(tmp_path: Path) -> None:
    """A run whose calls all failed has one state.

    It was `complete` in `view`, `sealed, 3 missing` in `list runs` and `3 error, 0 missing` in `eval`.
    """
    from adhere.cli.list import _runs
    from adhere.serve.watch import watch
    from adhere.store.shelf import shelf

    evaluated = evaluate_sync(ScriptedModel(_no_answer), load("core", limit=3), tmp_path / "runs" / "one")
    (item,) = shelf(tmp_path)
    (row,) = _runs(tmp_path)
    assert evaluated.state == watch(item).state().state == row["state"] == "incomplete"
    assert (row["asked"], row["failed"], row["missing"]) == (3, 3, 0)
