"""A study's records travel in one small file."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from adhere.build.manifest import Manifest
from adhere.errors import IntegrityError, UsageError
from adhere.schema import Response, decode
from adhere.study.design.frozen import load_frozen
from adhere.study.outcome.result import StudyResult
from adhere.study.run import records
from adhere.study.run.answers import keep_answers, read_answers
from adhere.study.run.cells import CellRecord
from adhere.study.run.measured import Measurement
from adhere.study.run.records import pack, packing, unpack

RECORDS = {
    "study.json": b"{}",
    "result.json": b"[1]",
    "evaluations/a-s0-1.json": b"2",
    "answers/a-s0-1.jsonl.xz": b"5",
    "cells/sft-s0-1/cell.json": b"3",
    "data/data-s0-1/manifest.json": b"4",
}
REST = ("cells/sft-s0-1/model/model.safetensors", "data/data-s0-1/sft.jsonl", "runs/a/responses/1.jsonl", "report.html")


def study(root: Path) -> Path:
    for name, data in {**RECORDS, **dict.fromkeys(REST, b"x" * 1000)}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_records_and_nothing_else_come_out_again(tmp_path: Path) -> None:
    size = pack(study(tmp_path / "a"), tmp_path / "records.tar.xz")
    assert size == (tmp_path / "records.tar.xz").stat().st_size < 2000
    assert unpack(tmp_path / "records.tar.xz", tmp_path / "b") == len(RECORDS)
    assert files(tmp_path / "b") == RECORDS


def test_the_same_study_packs_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("1", "2"):
        pack(study(tmp_path / name), tmp_path / f"{name}.tar.xz")
    assert (tmp_path / "1.tar.xz").read_bytes() == (tmp_path / "2.tar.xz").read_bytes()


def test_an_interrupted_study_is_packed_even_while_it_still_tunes(tmp_path: Path) -> None:
    file, trial = tmp_path / "r.tar.xz", tmp_path / "a" / "tune" / "evaluations" / "grpo@0-s9-1.json"

    def tune_until_interrupted() -> None:
        with packing(tmp_path / "a", file):
            trial.parent.mkdir(parents=True)
            (tmp_path / "a" / "tune" / "study.json").write_bytes(b"{}")
            trial.write_bytes(b"1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune_until_interrupted()
    unpack(file, tmp_path / "b")
    assert files(tmp_path / "b") == {"tune/study.json": b"{}", "tune/evaluations/grpo@0-s9-1.json": b"1"}


def test_a_scheduler_that_takes_the_machine_back_leaves_the_records_packed(tmp_path: Path) -> None:
    file = tmp_path / "r.tar.xz"
    program = f"""if True:
        import os, signal, time
        from pathlib import Path
        from adhere.study.run.records import packing
        with packing(Path({str(study(tmp_path / "a"))!r}), Path({str(file)!r})):
            Path({str(tmp_path / "a" / "evaluations" / "b-s0-1.json")!r}).write_bytes(b"new")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    """
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=50)
    assert done.returncode == 128 + signal.SIGTERM
    unpack(file, tmp_path / "b")
    assert (tmp_path / "b" / "evaluations" / "b-s0-1.json").read_bytes() == b"new"


def test_what_is_finished_is_packed_while_the_study_runs(tmp_path: Path) -> None:
    file, directory = tmp_path / "r.tar.xz", study(tmp_path / "a")
    with packing(directory, file, every_s=0.01):
        assert not file.exists(), "nothing is new"
        (directory / "evaluations" / "b-s0-1.json").write_bytes(b"new")
        for _ in range(1000):
            if file.exists():
                break
            time.sleep(0.01)
        unpack(file, tmp_path / "b")
        assert (tmp_path / "b" / "evaluations" / "b-s0-1.json").read_bytes() == b"new"
    with packing(directory, None):
        pass


def test_a_study_that_never_began_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(UsageError), packing(tmp_path, tmp_path / "r.tar.xz"):
        raise UsageError("the file of a suite is missing")
    assert not (tmp_path / "r.tar.xz").exists()


def test_what_is_there_stays(tmp_path: Path) -> None:
    pack(study(tmp_path / "a"), tmp_path / "r.tar.xz")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "study.json").write_bytes(b"mine")
    unpack(tmp_path / "r.tar.xz", tmp_path / "b")
    assert files(tmp_path / "b") == {**RECORDS, "study.json": b"mine"}


@pytest.mark.parametrize(
    "name",
    [
        "../evil.json",
        "/etc/study.json",
        "cells/x/model/model.safetensors",
        "notes.txt",
        ".git/hooks/study.json",
        "cells/../cell.json",
        "./study.json",
        "evaluations/a/b.json",
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "bad.tar.xz", "w:xz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"{}"))
    with pytest.raises(IntegrityError, match="no record of a study"):
        unpack(tmp_path / "bad.tar.xz", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_damage_and_absence_are_said(tmp_path: Path) -> None:
    (tmp_path / "r.tar.xz").write_bytes(b"nonsense")
    with pytest.raises(IntegrityError, match="not a packed study"):
        unpack(tmp_path / "r.tar.xz", tmp_path)
    with pytest.raises(UsageError, match="no study is stored"):
        pack(tmp_path, tmp_path / "x.tar.xz")


def test_a_flipped_byte_is_named(tmp_path: Path) -> None:
    """Wherever it lies, the message is ours: lzma's own errors are no sentences for a person."""
    pack(study(tmp_path / "a"), tmp_path / "r.tar.xz")
    whole = (tmp_path / "r.tar.xz").read_bytes()
    for place in range(0, len(whole), 7):
        (tmp_path / "r.tar.xz").write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(IntegrityError, match=r"r\.tar\.xz"):
            unpack(tmp_path / "r.tar.xz", tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("where", ["content", "header"])
def test_what_unfolds_without_end_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 100_000)
    with tarfile.open(tmp_path / "bomb.tar.xz", "w:xz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("study.json")
        entry.size = 10_000_000 if where == "content" else 2
        entry.pax_headers = {"comment": "x" * 10_000_000} if where == "header" else {}
        archive.addfile(entry, io.BytesIO(b"0" * entry.size))
    with pytest.raises(IntegrityError, match="not packed by adhere"):
        unpack(tmp_path / "bomb.tar.xz", tmp_path / "b")


@pytest.mark.parametrize("name", ["study", "zoo"])
def test_the_committed_studies_stay_readable(tmp_path: Path, name: str) -> None:
    """Every record of a finished study loads with the types of today."""
    folder = Path(__file__).parents[3] / "docs" / "studies" / name
    assert unpack(folder / "records.tar.xz", tmp_path) > 50
    frozen = load_frozen(tmp_path)
    assert frozen is not None
    assert frozen.spec.name == name
    kinds = {"evaluations/*.json": Measurement, "cells/*/cell.json": CellRecord, "data/*/manifest.json": Manifest}
    for pattern, kind in kinds.items():
        found = [decode(file.read_bytes(), kind) for file in tmp_path.glob(pattern)]
        assert len(found) >= len(frozen.spec.seeds)
    assert decode((folder / "result.json").read_bytes(), StudyResult).name == name


def test_answers_come_back_as_they_were_and_pack_to_the_same_bytes(tmp_path: Path) -> None:
    rows = [
        Response(
            "p1",
            0,
            0,
            text="Two\nlines, \u2028 and \ud83d\ude00.".encode("utf-16", "surrogatepass").decode("utf-16"),
            status="ok",
        ),
        Response("p0", 1, 0, text="", status="empty"),
        Response("p0", 0, 0, text="first", status="truncated"),
        Response("p0", 0, 1, text="another draw", status="ok"),
    ]
    file = keep_answers(tmp_path, "a-s0-1", rows)
    assert [(one.prompt_id, one.turn, one.status, one.text) for one in read_answers(file)] == [
        ("p0", 0, "truncated", "first"), ("p0", 1, "empty", ""), ("p1", 0, "ok", rows[0].text)]  # fmt: skip
    again = keep_answers(tmp_path / "b", "a-s0-1", reversed(rows))
    assert again.read_bytes() == file.read_bytes()
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(IntegrityError, match="Take it out of the records"):
        read_answers(file)
