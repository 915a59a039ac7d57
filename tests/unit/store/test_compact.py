"""The Parquet holds the rows that a Run would read and says when it is out of date.

It counts what the summaries count.
"""

from __future__ import annotations

import errno
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli.compact import command
from adhere.errors import Incomplete, IntegrityError, MissingExtra, ResourceError, UsageError
from adhere.pipeline.check import check
from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, ToolCall, Turn, Usage, Verdict, encode
from adhere.store.run import Run, RunSpec
from adhere.store.segments import SegmentWriter
from adhere.store.tables.compact import FILES, FOLDER, compact, made_from, whats_stale
from adhere.store.tables.grouped import Group, Share, from_segments, group_counts
from adhere.store.tables.readout import RunReader
from adhere.sweep.rows import Entry
from adhere.sweep.spec import Filter, SweepSpec

duckdb = pytest.importorskip("duckdb", reason="needs the extra parquet")

LEAST = ConstraintRef("length:at_least", {"least": 3})
NO_COMMA = ConstraintRef("punctuation:no_comma", {})
PROMPTS = [
    Prompt("p0", (Turn("Say 0.", (LEAST,)),)),
    Prompt("p1", (Turn("Say 1.", (LEAST, NO_COMMA)), Turn("Again.", (NO_COMMA,)))),
    Prompt("p2", (Turn("Say 2."),)),
]
GOOD = "one two three"


def _spec(model: str = "scripted/a", **changes: Any) -> RunSpec:
    fields = {
        "model": model, "engine": EngineInfo("scripted", "1", "none"), "suite": "tiny", "suite_version": "1",
        "suite_sha256": "0" * 64, "sampling": Sampling(),
    }  # fmt: skip
    return RunSpec(**{**fields, **changes})


def _answer(prompt_id: str, turn: int = 0, text: str = GOOD, status: str = "ok", **more: Any) -> Response:
    return Response(prompt_id, turn, 0, text, status, error="boom" if status == "error" else None, **more)


def _run(directory: Path, answers: list[Response], *, seal: bool = True, **changes: Any) -> Path:
    """A judged Run of `answers`, appended in this order."""
    by_id = {prompt.id: prompt for prompt in PROMPTS}
    with Run.open(directory, _spec(**changes), PROMPTS) as run:
        for answer in answers:
            run.append_response(answer)
        for answer in run.responses():
            if answer.status != "error":
                run.append_verdicts(check(by_id[answer.prompt_id], answer))
        if seal:
            run.flush()
            run.seal(summarize(run.prompts(), 1, run.responses(), run.verdicts()))
    return directory


def _three_runs(root: Path) -> Path:
    _run(root / "b", [_answer("p0"), _answer("p1"), _answer("p1", 1), _answer("p2")], model="m/b")
    _run(root / "a", [_answer("p0", text="no"), _answer("p1", text="a, b, c"), _answer("p1", 1)], model="m/a")
    _run(
        root / "c", [_answer("p0", status="error", text=""), _answer("p2", status="truncated")], model="m/c", seal=False
    )
    return root


def _read(directory: Path, name: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return duckdb.execute(f"SELECT {columns} FROM read_parquet(?)", [str(directory / FOLDER / name)]).fetchall()


def test_rows_are_those_of_the_runs_in_order(tmp_path: Path):
    root = _three_runs(tmp_path)
    made = compact(root)
    assert (made.responses, made.verdicts, made.damage, len(made.cells)) == (9, 20 - 2 - 2, 0, 3)
    rows = _read(root, FILES[0], "model, suite, run, prompt_id, turn, draw, status, text")
    expected = [
        (run.spec.model, "tiny", run.directory.name, one.prompt_id, one.turn, one.draw, one.status, one.text)
        for run in (Run.load(root / name) for name in "abc")
        for one in run.responses()
    ]
    assert rows == expected
    verdicts = _read(root, FILES[1], "run, prompt_id, turn, index, view, outcome, reason, verifier_version")
    assert Counter(verdicts) == Counter(
        (name, one.prompt_id, one.turn, one.index, one.view, one.outcome, one.reason, one.verifier_version)
        for name in "abc"
        for one in Run.load(root / name).verdicts()
    )


def test_every_field_of_an_answer_comes_back_typed(tmp_path: Path):
    answer = _answer(
        "p0",
        text="NUL \0, quote ' \" é 🙂 \u2028",
        stop_reason="stop",
        reasoning="because",
        usage=Usage(5, 7, 3, 1.25e-7),
        latency_s=0.1 + 0.2,
        seed=2**63 - 1,
        served_model="m-1",
        provider="P",
        first_token_s=1e-9,
        evidence="none",
    )
    compact(_run(tmp_path, [answer, _answer("p1", text="")]))
    names = (
        "text, stop_reason, reasoning, prompt_tokens, completion_tokens, reasoning_tokens, cost_usd, latency_s, seed, "
    )
    names += "served_model, provider, first_token_s, evidence, error"
    first, second = _read(tmp_path, FILES[0], names)
    assert first == (
        answer.text, "stop", "because", 5, 7, 3, 1.25e-7, 0.1 + 0.2, 2**63 - 1, "m-1", "P", 1e-9, "none", None,
    )  # fmt: skip
    assert second == ("",) + (None,) * 13
    (kinds,) = duckdb.execute(
        "SELECT list(DISTINCT column_type) FROM (DESCRIBE SELECT seed, cost_usd, turn, text FROM read_parquet(?))",
        [str(tmp_path / FOLDER / FILES[0])],
    ).fetchone()
    assert set(kinds) == {"BIGINT", "DOUBLE", "INTEGER", "VARCHAR"}


def test_a_column_may_be_null_in_thousands_of_rows_before_its_first_value(tmp_path: Path):
    prompts = [Prompt(f"{number:05d}", (Turn("x"),)) for number in range(3_000)]
    with Run.open(tmp_path, _spec(), prompts) as run:
        for number in range(3_000):
            last = number == 2_999
            run.append_response(
                Response(f"{number:05d}", 0, 0, "x", "ok", reasoning="why" if last else None, seed=7 if last else None)
            )
    compact(tmp_path)
    assert _read(tmp_path, FILES[0], "count(reasoning), max(reasoning), max(seed), count(*)") == [(1, "why", 7, 3_000)]


def test_lone_surrogates_were_replaced_when_stored(tmp_path: Path):
    compact(_run(tmp_path, [_answer("p0", text="a\ud83db")]))
    assert _read(tmp_path, FILES[0], "text") == [("a\ufffdb",)]


def test_the_last_answer_counts_and_a_failed_call_replaces_none(tmp_path: Path):
    spec = _spec()
    with Run.open(tmp_path, spec, PROMPTS) as first, Run.open(tmp_path, spec, PROMPTS) as second:
        first.append_response(_answer("p0", text="first"))
        second.append_response(_answer("p0", text="second"))
        second.append_response(_answer("p0", text="", status="error"))
        second.append_response(_answer("p2", text="", status="error", stop_reason="1"))
        second.append_response(_answer("p2", text="", status="error", stop_reason="2"))
    compact(tmp_path)
    assert _read(tmp_path, FILES[0], "prompt_id, text, status, stop_reason") == [
        ("p0", "second", "ok", None),
        ("p2", "", "error", "2"),
    ]
    assert [one.text for one in Run.load(tmp_path).responses()] == ["second", ""]


def test_verdicts_about_a_replaced_answer_are_left_out(tmp_path: Path):
    _run(tmp_path, [_answer("p0", text="before, it")])
    with Run.load(tmp_path) as run:
        run.append_response(_answer("p0", text="after that one"))
    made = compact(tmp_path)
    assert (made.responses, made.verdicts, made.stale) == (1, 0, 2)
    (group,) = group_counts(tmp_path).groups
    assert group.instruction_strict == Share(0, 0)
    assert from_segments(tmp_path) == [group], "rows without texts must not take the old verdicts for new ones"


def test_verdicts_of_an_answer_with_calls_count_though_it_replaced_another(tmp_path: Path):
    _run(tmp_path, [_answer("p0", text="before"), _answer("p0", text=GOOD, calls=(ToolCall("1", "look"),))])
    readout = RunReader().read(tmp_path)
    assert [(key[0], mark.outcome) for key, mark in readout.strict.items()] == [("p0", "pass")]


def test_damage_is_counted_and_changes_nothing_else(tmp_path: Path):
    _run(tmp_path, [_answer("p0"), _answer("p1"), _answer("p2")])
    (segment,) = (tmp_path / "responses").glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    foreign = lines[0].replace(b'"p0"', b'"px"')
    segment.write_bytes(lines[0] + b"\n" + b"rubbish\n" + b'{"prompt_id":"p2"}\n' + foreign + lines[1] + lines[2][:-1])
    made = compact(tmp_path)
    run = Run.load(tmp_path)
    assert [row[0] for row in _read(tmp_path, FILES[0], "prompt_id")] == [one.prompt_id for one in run.responses()]
    assert made.damage == run.damage.rows == 5
    assert made.verdicts == len(run.verdicts()) == 6
    assert group_counts(tmp_path).groups == from_segments(tmp_path, use_summaries=False)


def test_what_was_counted_three_ways_agrees(tmp_path: Path):
    root = _three_runs(tmp_path)
    plain = group_counts(root)
    assert (plain.source, plain.reason) == ("segments", f"there is no usable Parquet in {root / FOLDER}")
    compact(root)
    fast = group_counts(root)
    assert (fast.source, fast.reason) == ("parquet", "")
    assert fast.groups == plain.groups == from_segments(root, use_summaries=False)
    # a: p0 "no" fails; p1 "a, b, c" keeps at_least and breaks no_comma, its second turn keeps no_comma; p2 has no
    # constraint and was not answered.
    assert fast.groups[0] == Group(
        "m/a", "tiny", "a", 3, 0, 0, 0, 0, 1, Share(0, 2), Share(2, 4), Share(0, 2), Share(2, 4)
    )
    assert fast.groups[1].prompt_strict == Share(2, 2)
    assert fast.groups[1].prompt_strict.rate == 1.0
    assert (fast.groups[2].error, fast.groups[2].truncated, fast.groups[2].missing) == (1, 1, 2)
    assert fast.groups[2].prompt_strict.rate is None
    for group in fast.groups[:2]:
        overall = Run.load(root / group.run).summary().overall
        for name in ("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose"):
            rate, share = getattr(overall, name), getattr(group, name)
            assert (share.passed, share.n, share.rate) == (rate.passed, rate.n, rate.of_all)


def test_a_run_without_answers_is_a_group(tmp_path: Path):
    _run(tmp_path, [], seal=False)
    compact(tmp_path)
    found = group_counts(tmp_path)
    assert found.source == "parquet"
    assert (found.groups[0].ok, found.groups[0].missing) == (0, 4)
    assert found.groups == from_segments(tmp_path)


def _appended(root: Path) -> str:
    with Run.load(root / "a") as run:
        run.append_response(_answer("p2"))
    return "is newer"


def _grown(root: Path) -> str:
    (segment,) = (root / "a" / "responses").glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b"{")
    return "bytes, and had"


def _edited(root: Path) -> str:
    (segment,) = (root / "a" / "responses").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"a, b, c", b"a. b. c"))
    return "has changed"


def _removed(root: Path) -> str:
    (segment,) = (root / "a" / "verdicts").glob("*.jsonl")
    segment.unlink()
    return "is gone"


def _another_run(root: Path) -> str:
    _run(root / "d", [_answer("p0")], model="m/d")
    return "d/manifest.json is newer, and 2 more"


@pytest.mark.parametrize("change", [_appended, _grown, _edited, _removed, _another_run])
def test_what_is_out_of_date_is_named_and_not_used(tmp_path: Path, change: Any):
    root = _three_runs(tmp_path)
    compact(root)
    assert whats_stale(root, made_from(root), thoroughly=True) == ""
    expected = change(root)
    found = group_counts(root)
    assert found.source == "segments"
    assert expected in found.reason
    compact(root)
    assert group_counts(root).reason == ""


def test_a_copy_with_other_times_is_current(tmp_path: Path):
    root = _three_runs(tmp_path)
    compact(root)
    for file in root.rglob("*.json*"):
        os.utime(file, (1, 1))
    assert whats_stale(root, made_from(root)) == ""


def test_files_of_two_makings_are_not_used(tmp_path: Path):
    root = _three_runs(tmp_path)
    compact(root)
    before = (root / FOLDER / FILES[1]).read_bytes()
    compact(root)
    (root / FOLDER / FILES[1]).write_bytes(before)
    assert made_from(root) is None
    assert group_counts(root).source == "segments"
    (root / FOLDER / FILES[1]).write_bytes(b"PAR1 rubbish")
    assert made_from(root) is None


def test_what_fails_half_way_leaves_the_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = _three_runs(tmp_path)
    made = compact(root)
    real = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left"):
        compact(root)
    monkeypatch.setattr(os, "fsync", real)
    assert made_from(root) == made
    assert sorted(file.name for file in (root / FOLDER).iterdir()) == sorted(FILES)


def test_nothing_to_compact_and_damaged_manifests(tmp_path: Path):
    with pytest.raises(UsageError, match="holds no Run"):
        compact(tmp_path)
    _run(tmp_path / "a", [_answer("p0")])
    (tmp_path / "a" / "prompts.jsonl").write_bytes(b"")
    with pytest.raises(IntegrityError, match="not what this Run asked"):
        compact(tmp_path)
    (tmp_path / "a" / "manifest.json").write_bytes(b"{}")
    with pytest.raises(IntegrityError, match=r"manifest\.json: "):
        compact(tmp_path)


def _sweep(root: Path) -> Path:
    """A sweep of two models: one has its Run, the other, and one answer more of the first, are in the journal only."""
    url = "http://127.0.0.1:1/v1"
    spec = SweepSpec(url, EngineInfo("endpoint", "1", "none"), Filter(), (("tiny", "1", "0" * 64),), Sampling())
    root.mkdir()
    (root / "sweep.json").write_bytes(encode(spec))
    with SegmentWriter(root / "journal") as journal:
        journal.append(Entry("m/a", 0, _answer("p0")))
        journal.append(Entry("m/b", 0, _answer("p0", text="lost", status="error")))
    _run(root / "runs" / "a", [_answer("p0")], model=f"{url}#m/a", engine=spec.engine)
    with SegmentWriter(root / "journal") as journal:
        journal.append(Entry("m/b", 0, _answer("p0", text="at last")))
        journal.append(Entry("m/a", 0, _answer("p2")))
        journal.append(Entry("m/a", 0, _answer("p0", text="", status="error")))
    return root


def test_a_sweep_is_its_journal_and_its_runs(tmp_path: Path):
    root = _sweep(tmp_path / "sweep")
    before = group_counts(root)
    compact(root)
    assert _read(root, FILES[0], "model, run, prompt_id, text, status, constraints") == [
        ("http://127.0.0.1:1/v1#m/a", "a", "p0", GOOD, "ok", 1),
        ("http://127.0.0.1:1/v1#m/a", "a", "p2", GOOD, "ok", 0),
        ("http://127.0.0.1:1/v1#m/b", "", "p0", "at last", "ok", None),
    ]
    found = group_counts(root)
    assert (found.source, before.source) == ("parquet", "segments")
    assert found.groups == before.groups == from_segments(root, use_summaries=False)
    assert [(group.ok, group.error, group.missing) for group in found.groups] == [(2, 0, 2), (1, 0, None)]
    assert found.groups[0].prompt_strict == Share(1, 1)
    with SegmentWriter(root / "journal") as journal:
        journal.append(Entry("m/b", 0, _answer("p1")))
    assert "journal/" in group_counts(root).reason


def test_the_answer_that_a_run_judged_goes_before_a_later_one_of_the_journal(tmp_path: Path):
    root = _sweep(tmp_path / "sweep")
    with SegmentWriter(root / "journal") as journal:
        journal.append(Entry("m/a", 0, _answer("p0", text="got by another process")))
    compact(root)
    found = group_counts(root)
    assert _read(root, FILES[0], "text, strict_passed")[0] == (GOOD, 1)
    assert found.groups == from_segments(root)
    assert found.groups[0].prompt_strict == Share(1, 1)


def test_a_torn_journal_counts_its_whole_lines(tmp_path: Path):
    root = _sweep(tmp_path / "sweep")
    last = max((root / "journal").glob("*.jsonl"))
    last.write_bytes(last.read_bytes() + b'{"model":"m/b"')
    plain = from_segments(root)
    made = compact(root)
    assert made.damage == 1
    assert group_counts(root).groups == plain
    assert plain[1].ok == 1


def test_a_journal_of_a_suite_that_was_not_asked_is_refused(tmp_path: Path):
    root = _sweep(tmp_path / "sweep")
    with SegmentWriter(root / "journal") as journal:
        journal.append(Entry("m/b", 5, _answer("p1")))
    with pytest.raises(IntegrityError, match="suite 5"):
        compact(root)


def test_without_duckdb_counts_come_from_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = _three_runs(tmp_path)
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    found = group_counts(root)
    assert found.source == "segments"
    assert "pip install 'adhere[parquet]'" in found.reason
    assert len(found.groups) == 3
    with pytest.raises(MissingExtra):
        compact(root)


def test_the_command(tmp_path: Path):
    root = _three_runs(tmp_path)
    runner = CliRunner()
    done = runner.invoke(command, [str(root), "--check"])
    assert isinstance(done.exception, Incomplete)
    assert done.exception.exit_code == 3
    done = runner.invoke(command, [str(root)])
    assert done.exit_code == 0
    assert "9 answers and 16 verdicts of 3 runs" in done.output
    assert "current" in runner.invoke(command, [str(root), "--check"], catch_exceptions=False).output
    table = runner.invoke(command, [str(root), "--groups"], catch_exceptions=False).output
    assert "Counted from the Parquet." in table
    assert "50.0" in table
    as_json = runner.invoke(command, [str(root), "--groups", "--json"], catch_exceptions=False).output
    assert '"source":"parquet"' in as_json
    assert isinstance(runner.invoke(command, [str(root), "--groups", "--check"]).exception, UsageError)


def test_a_hundred_files_are_compared_in_a_moment(tmp_path: Path):
    for number in range(40):
        _run(tmp_path / f"r{number}", [_answer("p0")], model=f"m/{number}")
    compact(tmp_path)
    made = made_from(tmp_path)
    start = time.process_time()
    assert whats_stale(tmp_path, made) == ""
    assert time.process_time() - start < 0.5


def test_a_known_fail_beside_an_undecided_constraint_is_a_fail_however_it_is_counted(tmp_path: Path):
    """The rule of `pipeline.outcomes.together`, in the summary, in the Parquet and in the rows."""
    with Run.open(tmp_path, _spec(), PROMPTS) as run:
        for prompt_id, outcomes in (("p0", ("undecided",)), ("p1", ("fail", "undecided"))):
            run.append_response(_answer(prompt_id))
            for index, outcome in enumerate(outcomes):
                for view in ("strict", "loose"):
                    run.append_verdicts([Verdict(prompt_id, 0, 0, index, "x:y", view, outcome, "because")])
        run.flush()
        run.seal(summarize(run.prompts(), 1, run.responses(), run.verdicts()))
    summary = Run.load(tmp_path).summary().overall.prompt_strict
    assert (summary.passed, summary.n) == (0, 1)
    compact(tmp_path)
    found = group_counts(tmp_path)
    assert found.source == "parquet"
    assert found.groups[0].prompt_strict == Share(0, 1)
    assert found.groups == from_segments(tmp_path) == from_segments(tmp_path, use_summaries=False)
