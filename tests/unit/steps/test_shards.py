"""Files cut into shards: what comes out is what one process makes, and finished shards are not done again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.build.decontaminate.rows import Settings
from adhere.build.decontaminate.rows import TestItem as Item
from adhere.cli import adhere
from adhere.errors import RunMismatch, SpecError, UsageError
from adhere.schema import ConstraintRef, Prompt, Turn, encode
from adhere.steps import Decontaminate, Judge
from adhere.steps.run import count_decontamination, count_verification, run_shards
from adhere.steps.shards import Work
from adhere.suites.base import Suite
from adhere.verify.answers import verify
from adhere.verify.rows import Settings as JudgeSettings

LONG = "please explain to a new colleague in plain words how the old printer in the hall really works"
STEP = Decontaminate(Settings((Item("mine", 7, LONG),), ("text",), bad_rows="skip"))
LINES = [json.dumps({"text": LONG if n % 10 == 3 else f"row {n} says something"}) + "\n" for n in range(200)]
KEPT = [line for n, line in enumerate(LINES) if n % 10 != 3]
SMALL = 1000


@pytest.fixture(autouse=True)
def _cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adhere.steps.shards._COUNT_BYTES", 500)


def lines_in(folder: Path) -> list[str]:
    return [line for file in sorted(folder.glob("*")) for line in file.read_text().splitlines(keepends=True)]


def test_shards_of_one_file_are_the_file(tmp_path: Path) -> None:
    train = tmp_path / "t.jsonl"
    train.write_text("\n" + "".join(LINES[:150]) + "not JSON\n" + "".join(LINES[150:]).rstrip("\n"))
    manifest = run_shards(STEP, [str(train)], str(tmp_path / "out"), shard_bytes=SMALL)
    assert len(manifest.shards) > 5
    assert lines_in(tmp_path / "out/rows") == KEPT
    drops = [json.loads(line) for line in lines_in(tmp_path / "out/dropped")]
    assert [drop["line"] for drop in drops] == [n + 2 + (n >= 150) for n in range(200) if n % 10 == 3]
    assert {drop["file"] for drop in drops} == {str(train)}
    (broken,) = [json.loads(line) for line in lines_in(tmp_path / "out/broken")]
    assert (broken["line"], "not JSON" in broken["reason"]) == (152, True)
    done = count_decontamination(STEP, manifest)
    assert (done.rows, done.kept, done.dropped, done.skipped) == (201, 180, 20, 1)
    assert done.skipped_lines[0].startswith(f"{train}:152: not JSON")


def test_finished_shards_are_kept_and_others_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, out = tmp_path / "t.jsonl", tmp_path / "out"
    train.write_text("".join(LINES))
    whole = run_shards(STEP, [str(train)], str(tmp_path / "whole"), shard_bytes=SMALL)
    asked: list[int] = []
    real = Work.__call__

    def stops(work: Work, shard: object) -> None:
        asked.append(shard.number)
        if len(asked) == 4:
            raise KeyboardInterrupt
        real(work, shard)

    monkeypatch.setattr(Work, "__call__", stops)
    with pytest.raises(KeyboardInterrupt):
        run_shards(STEP, [str(train)], str(out), shard_bytes=SMALL)
    (out / "rows/00003.jsonl").write_text("half a li")  # what a kill may leave of a shard without its record
    again = run_shards(STEP, [str(train)], str(out), shard_bytes=SMALL)
    assert asked == [0, 1, 2, 3, *range(3, len(whole.shards))]
    assert again.sha256 == whole.sha256
    assert lines_in(out / "rows") == KEPT
    other = Decontaminate(Settings((Item("mine", 7, LONG),), ("text",), "ngram"))
    with pytest.raises(RunMismatch, match="another --out"):
        run_shards(other, [str(train)], str(out), shard_bytes=SMALL)


def test_files_of_all_sorts_by_pattern(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    data = "".join(LINES).encode()
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "c.jsonl.zst").write_bytes(zstandard.compress(data))
    table = pa.Table.from_pylist([{**json.loads(line), "n": n} for n, line in enumerate(LINES)])
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=60)
    manifest = run_shards(STEP, [str(tmp_path / "*.*")], str(tmp_path / "out"), shard_bytes=SMALL)
    assert (manifest.counts.read, manifest.counts.dropped) == (800, 80)
    made = sorted((tmp_path / "out/rows").iterdir())
    parquet = [pq.read_table(file) for file in made if file.suffix == ".parquet"]
    assert len(parquet) > 1
    assert [n for one in parquet for n in one.column("n").to_pylist()] == [n for n in range(200) if n % 10 != 3]
    zst = next(file for file in made if file.suffix == ".zst")
    assert zstandard.decompress(zst.read_bytes(), max_output_size=1 << 20).decode() == "".join(KEPT)
    with pytest.raises(UsageError, match="no file matches"):
        run_shards(STEP, [str(tmp_path / "*.csv")], str(tmp_path / "out2"))


def test_places_that_fsspec_knows() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/in/t.jsonl", "".join(LINES).encode())
    manifest = run_shards(STEP, ["memory://bucket/in/*.jsonl"], "memory://bucket/out")
    assert manifest.counts.dropped == 20
    assert memory.cat_file("/bucket/out/rows/00000.jsonl").decode() == "".join(KEPT)
    again = run_shards(STEP, ["memory://bucket/in/*.jsonl"], "memory://bucket/out")
    assert again.sha256 == manifest.sha256
    with pytest.raises(UsageError, match="Protocol not known"):
        run_shards(STEP, ["nowhere://x"], "memory://bucket/out2")


UPPER = (ConstraintRef("case:upper"),)
SUITE = Suite(
    "mine",
    "1",
    (
        Prompt("0", (Turn("Shout.", UPPER), Turn("Louder.", UPPER))),
        *(Prompt(f"{n}", (Turn(f"Shout {n}.", UPPER),)) for n in range(1, 40)),
    ),
)


def test_numbers_of_shards_are_those_of_the_file(tmp_path: Path) -> None:
    rows = [{"key": "0", "responses": ["HI", "ho"]}]
    rows += [
        {"key": f"{n}", "draw": d, "response": "HELLO" if (n + d) % 3 else "hello"}
        for d in range(2)
        for n in range(1, 40)
    ]
    one, settings = tmp_path / "all.jsonl", JudgeSettings(wants_rows=True, bad_rows="skip")
    one.write_bytes(b"".join(encode(row) + b"\n" for row in [*rows, {"key": "no"}]))
    expected = verify(SUITE, one, verdicts=tmp_path / "v.jsonl", bad_rows="skip")
    desk = Judge(SUITE, settings)
    manifest = run_shards(desk, [str(one)], str(tmp_path / "out"), shard_bytes=SMALL)
    assert len(manifest.shards) > 2
    assert encode(count_verification(desk, SUITE, manifest)) == encode(expected)
    assert lines_in(tmp_path / "out/rows") == lines_in_file(tmp_path / "v.jsonl")
    for name, part in (("a", rows[:30]), ("b", rows[30:])):
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(encode(row) + b"\n" for row in part))
    several = count_verification(desk, SUITE, run_shards(desk, [str(tmp_path / "[ab].jsonl")], str(tmp_path / "out2")))
    assert several.rates == expected.rates
    (tmp_path / "c.jsonl").write_bytes(encode(rows[5]) + b"\n")
    manifest = run_shards(desk, [str(tmp_path / "[abc].jsonl")], str(tmp_path / "out3"))
    with pytest.raises(SpecError, match=r"c\.jsonl:1: key '5' .* was answered in .*a\.jsonl:6 already"):
        count_verification(desk, SUITE, manifest)


def lines_in_file(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    train = tmp_path / "t.jsonl"
    train.write_text("".join(LINES))
    arguments = ["decontaminate", str(train), str(train), "--against", "core", "--out", str(tmp_path / "k")]
    refused = CliRunner().invoke(adhere, arguments)
    assert isinstance(refused.exception, UsageError)
    assert "--engine" in str(refused.exception)
    done = CliRunner().invoke(adhere, [*arguments[:2], *arguments[3:], "--engine", "local", "--jobs", "1", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 200
    assert (tmp_path / "k/manifest.json").exists()
    transformed = CliRunner().invoke(
        adhere, ["build", "transform", "chain", str(train), "--table", "sft", "--engine", "local", "--jobs", "1",
            "--out", str(tmp_path / "x")]
    )  # fmt: skip
    assert transformed.exit_code == 0, transformed.output
    assert "200 broken" in transformed.stderr
