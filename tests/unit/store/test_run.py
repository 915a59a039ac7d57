"""Runs resume and refuse what does not fit. A summary or a verdict never stands beside rows that it is not about."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import IntegrityError, ResourceError, RunMismatch, UsageError
from adhere.schema import EngineInfo, Prompt, Sampling, Turn, decode
from adhere.store.manifest import Manifest, git_commit
from adhere.store.run import Run, all_keys
from adhere.store.summary import Summary


def _open(folder: Path, pieces: Any, n: int = 3, **changes: object) -> Run:
    return Run.open(folder, pieces.spec(**changes), pieces.prompts(n))


def _summary(pieces: Any, run: Run) -> Summary:
    from adhere.pipeline.summarize import summarize

    return summarize(run.prompts(), run.spec.draws, run.responses(), run.verdicts())


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        assert run.missing() == [("p0", 0, 0), ("p1", 0, 0), ("p2", 0, 0)]
        run.append_response(pieces.response(1))
        run.append_response(pieces.response(0, status="error", text=""))
        assert run.missing() == [("p0", 0, 0), ("p2", 0, 0)]
    again = _open(tmp_path, pieces)
    assert again.missing() == [("p0", 0, 0), ("p2", 0, 0)], "a failed call is asked for once more"
    assert [response.status for response in again.responses()] == ["error", "ok"], "and is a row nevertheless"
    with again:
        again.append_response(pieces.response(0, text="at last"))
    assert [response.text for response in Run.load(tmp_path).responses()] == ["at last", "one two three"]


def test_every_turn_and_draw_has_a_key(pieces: Any):
    prompt = Prompt("m", (Turn("a"), Turn("b")))
    assert all_keys([prompt], 2) == [("m", 0, 0), ("m", 1, 0), ("m", 0, 1), ("m", 1, 1)]


def test_the_last_answer_counts_but_never_a_failed_call(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as first, _open(tmp_path, pieces) as second:  # two writers at once
        first.append_response(pieces.response(0, text="first"))
        second.append_response(pieces.response(0, text="second"))
        second.append_response(pieces.response(0, text="", status="error"))
    assert [response.text for response in Run.load(tmp_path).responses()] == ["second"]


def test_another_spec_is_refused_field_by_field(tmp_path: Path, pieces: Any):
    _open(tmp_path, pieces)
    with pytest.raises(RunMismatch) as caught:
        _open(tmp_path, pieces, sampling=Sampling(temperature=1.0), draws=4)
    message = str(caught.value)
    assert "sampling.temperature: stored 0.0, asked 1.0" in message
    assert "draws: stored 1, asked 4" in message
    assert "model" not in message.partition("Choose")[0].replace(str(tmp_path), "")
    assert "Choose another directory" in message


def test_other_prompts_under_the_same_spec_are_refused(tmp_path: Path, pieces: Any):
    _open(tmp_path, pieces, n=3)
    with pytest.raises(RunMismatch, match="prompts: stored 3, asked 2"):
        _open(tmp_path, pieces, n=2)


def test_a_verdict_belongs_to_the_answer_that_it_judged(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        run.append_response(pieces.response(0, text="before"))
        run.append_verdicts([pieces.verdict(0), pieces.verdict(0, view="loose")])
        run.flush()
        assert [verdict.view for verdict in run.verdicts()] == ["strict", "loose"]
    with Run.load(tmp_path) as run:
        run.append_response(pieces.response(0, text="after"))
        run.flush()
        assert run.verdicts() == [], "they were about another text"
        assert run.damage.stale == 2
        assert not run.damage


def test_the_last_verdict_counts(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        run.append_response(pieces.response(0))
        run.append_verdicts([pieces.verdict(0, outcome="fail")])
    with Run.load(tmp_path) as run:
        run.append_verdicts([pieces.verdict(0, outcome="pass", version="1.2")])
        run.flush()
        (verdict,) = run.verdicts()
    assert verdict == pieces.verdict(0, outcome="pass", version="1.2")


def test_what_was_not_asked_cannot_be_stored(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        with pytest.raises(ValueError, match="answers nothing"):
            run.append_response(pieces.response(9))
        with pytest.raises(ValueError, match="has no answer"):
            run.append_verdicts([pieces.verdict(0)])


def test_a_summary_vanishes_when_rows_are_added(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        run.append_response(pieces.response(0))
        with pytest.raises(UsageError, match="adhere rescore"):
            run.summary()
        summary = _summary(pieces, run)
        run.seal(summary)
        assert run.is_sealed
        assert Run.load(tmp_path).summary() == summary
        run.append_response(pieces.response(1))
        assert not run.is_sealed


def test_damage_is_counted_and_the_lost_answer_is_missing(tmp_path: Path, pieces: Any):
    with _open(tmp_path, pieces) as run:
        for number in range(3):
            run.append_response(pieces.response(number))
    (segment,) = (tmp_path / "responses").glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    foreign = lines[2].replace(b'"p2"', b'"px"')
    segment.write_bytes(lines[0] + b"rubbish\n" + foreign + lines[2][:20])
    run = Run.load(tmp_path)
    assert run.missing() == [("p1", 0, 0), ("p2", 0, 0)]
    assert len(run.damage.corrupt) == 2
    assert len(run.damage.torn) == 1
    assert f"responses/{segment.name}:2" in str(run.damage)


def test_the_manifest_says_where_a_run_comes_from(tmp_path: Path, pieces: Any):
    run = _open(tmp_path, pieces)
    manifest = decode((tmp_path / "manifest.json").read_bytes(), Manifest)
    assert manifest == run.manifest
    assert manifest.created.endswith("+00:00")
    assert manifest.packages["msgspec"]
    assert manifest.n_prompts == 3
    assert manifest.spec_sha256 == run.spec.sha256
    assert run.spec.id == f"scripted-echo-{run.spec.sha256[:12]}"


def test_the_manifest_has_the_project_s_commit_and_whether_it_was_changed_but_no_path_or_host(
    tmp_path: Path, pieces: Any, monkeypatch: pytest.MonkeyPatch
):
    project = tmp_path / "project"
    project.mkdir()

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", "-C", project, *who, *arguments], capture_output=True, text=True, check=True
        ).stdout

    git("init", "-q")
    (project / "spec.toml").write_text("a = 1")
    git("add", ".")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD").strip()
    (project / "deeper").mkdir()
    monkeypatch.chdir(project / "deeper")
    clean = _open(tmp_path / "clean", pieces).manifest
    assert (clean.repository, clean.processors) == (commit, os.cpu_count())
    (project / "spec.toml").write_text("a = 2")
    assert git_commit(project, tracked_file="") == f"{commit}+changes"
    stored = (tmp_path / "clean" / "manifest.json").read_text()
    assert str(tmp_path) not in stored
    assert f'"{platform.node()}"' not in stored
    assert str(Path.home()) not in stored


def test_a_folder_outside_of_git_has_no_commit(tmp_path: Path):
    assert git_commit(tmp_path) is None


def test_changed_or_absent_files_are_refused(tmp_path: Path, pieces: Any):
    with pytest.raises(UsageError, match="no Run"):
        Run.load(tmp_path)
    with _open(tmp_path, pieces) as run:
        run.append_response(pieces.response(0))
    prompts = tmp_path / "prompts.jsonl"
    before = prompts.read_bytes()
    prompts.write_bytes(before.replace(b"Say 0", b"Say 9"))
    with pytest.raises(IntegrityError, match="sha256 differs"):
        Run.load(tmp_path)
    prompts.unlink()
    with pytest.raises(IntegrityError, match="is missing"):
        Run.load(tmp_path)
    (tmp_path / "manifest.json").write_bytes(b"{}")
    with pytest.raises(IntegrityError, match=r"manifest\.json: "):
        Run.load(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(IntegrityError, match="no manifest"):
        _open(tmp_path, pieces)


def test_what_cannot_be_asked_is_refused(tmp_path: Path, pieces: Any):
    with pytest.raises(UsageError, match="no prompts"):
        _open(tmp_path, pieces, n=0)
    with pytest.raises(UsageError, match="draws=0"):
        _open(tmp_path, pieces, draws=0)
    with pytest.raises(UsageError, match="two prompts with the id 'p0'"):
        Run.open(tmp_path, pieces.spec(), pieces.prompts(1) * 2)


def test_a_place_that_cannot_be_written(tmp_path: Path, pieces: Any, monkeypatch: pytest.MonkeyPatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left"):
        _open(tmp_path / "new", pieces)


def test_one_process_at_a_time_holds_a_run(tmp_path: Path):
    import subprocess
    import sys

    from adhere.store.run import alone

    code = (
        "import sys; from pathlib import Path; from adhere.store.run import alone\n"
        "with alone(Path(sys.argv[1])): print('in', flush=True)"
    )
    with alone(tmp_path / "run"):
        other = subprocess.Popen([sys.executable, "-c", code, tmp_path / "run"], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.communicate(timeout=3)
    assert other.communicate(timeout=60)[0] == "in\n"


def _endpoint(version: str, **settings: object) -> EngineInfo:
    return EngineInfo(
        "endpoint", version, "unknown", None, {"base_url": "http://x/v1", "dialect": "generic", **settings}
    )


def test_neither_the_library_nor_patience_makes_another_run(tmp_path: Path, pieces: Any):
    """Only what can change an answer is in the hash.

    An upgrade of aiohttp or another --timeout goes on with the same Run.
    """
    first = pieces.spec(engine=_endpoint("aiohttp 3.13.2", total_s=60))
    later = pieces.spec(engine=_endpoint("aiohttp 3.14.0"))
    assert first.id == later.id
    with Run.open(first.directory(tmp_path), first, pieces.prompts()) as run:
        run.append_response(pieces.response(0))
    again = Run.open(later.directory(tmp_path), later, pieces.prompts())
    assert again.missing() == [("p1", 0, 0), ("p2", 0, 0)]
    assert again.spec.engine.version == "aiohttp 3.13.2"
    other = pieces.spec(engine=_endpoint("aiohttp 3.14.0", sent={"reasoning": {"effort": "low"}}))
    assert other.id != first.id
    local = [pieces.spec(engine=EngineInfo("openvino", version, "fp32")).id for version in ("1", "2")]
    assert local[0] != local[1], "a local engine computes the answer, so its version counts"


def test_a_run_whose_folder_an_earlier_version_named_is_found(tmp_path: Path, pieces: Any):
    spec = pieces.spec(engine=_endpoint("aiohttp 3.13.2", total_s=60))
    old = tmp_path / "scripted-echo-0123456789ab"
    Run.open(old, spec, pieces.prompts()).close()
    (tmp_path / "scripted-echo-ba9876543210").mkdir()
    (tmp_path / "scripted-echo-ba9876543210" / "manifest.json").write_bytes(b"rubbish")
    assert pieces.spec(engine=_endpoint("aiohttp 4")).directory(tmp_path) == old
    assert pieces.spec(draws=2).directory(tmp_path).name == pieces.spec(draws=2).id
