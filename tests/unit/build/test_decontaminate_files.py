"""`adhere decontaminate`: kept rows byte for byte, drops with their item, and again after a kill."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.build.decontaminate import files
from adhere.build.decontaminate.files import decontaminate_file
from adhere.build.decontaminate.rows import Decontaminate
from adhere.build.decontaminate.rows import TestItem as Item
from adhere.cli import adhere
from adhere.errors import ResourceError, SpecError, UsageError
from adhere.lines.blocks import LineFile
from adhere.lines.step import SortedBlock

LONG = "please explain to a new colleague in plain words how the old printer in the hall really works"
OTHER = "write a friendly note to the neighbours about the noise that the builders will make next week"
ITEMS = [Item("mine", 7, LONG), Item("yours", "k-2", OTHER)]


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, *found: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def test_kept_rows_are_untouched_and_drops_name_their_item(tmp_path: Path) -> None:
    train = tmp_path / "train.jsonl"
    odd = '{ "prompt" : "Sing.",\t"n": 1.0 }\n'
    train.write_text(
        odd + json.dumps({"prompt": f"Hey! {LONG.upper()}?"}) + "\n\n" + json.dumps({"prompt": OTHER, "x": None})
    )
    done = decontaminate_file(train, ITEMS, out=tmp_path / "kept.jsonl", drops=tmp_path / "drops.jsonl")
    assert (tmp_path / "kept.jsonl").read_text() == odd
    assert rows(tmp_path / "drops.jsonl") == [
        {"line": 2, "against": "mine", "item": 7, "lcs": 18, "ratio": 1.0},
        {"line": 4, "against": "yours", "item": "k-2", "lcs": 17, "ratio": 1.0},
    ]
    assert (done.rows, done.kept, done.dropped, done.skipped, done.columns) == (3, 1, 2, 0, ("prompt",))
    assert [(one.suite, one.items, one.dropped, one.touched) for one in done.against] == [
        ("mine", 1, 1, 1),
        ("yours", 1, 1, 1),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drops.jsonl", "kept.jsonl", "train.jsonl"]


def test_the_ngram_rule(tmp_path: Path) -> None:
    train = write(tmp_path / "t.jsonl", {"text": "so, " + LONG}, {"text": " ".join(LONG.split()[::2] * 3)})
    done = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", rule="ngram")
    drop = rows(tmp_path / "d.jsonl")
    assert drop == [{"line": 1, "against": "mine", "item": 7, "ngram": " ".join(LONG.split()[:13])}]
    assert done.contaminated == {"mine": (7,), "yours": ()}
    assert [one.touched_share for one in done.against] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": LONG}]}, ()),
        ({"conversations": [{"from": "human", "value": LONG}]}, ()),
        ({"instruction": LONG, "input": ""}, ()),
        ({"prompt": [{"role": "user", "content": LONG}], "completion": "yes"}, ()),
        (
            {
                "a": "please explain to a new colleague in plain words",
                "b": "how the old printer in the hall really works",
            },
            ("a", "b"),
        ),
    ],
)
def test_what_a_rows_text_is(tmp_path: Path, row: dict, columns: tuple[str, ...]) -> None:
    train = write(tmp_path / "t.jsonl", row)
    done = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", columns=columns)
    assert done.dropped == 1


@pytest.mark.parametrize(
    ("text", "columns", "part"),
    [
        (b'{"prompt": "a"}\n{"prompt": 3}\n', (), r"t\.jsonl:2: column 'prompt' holds 3"),
        (b'{"prompt": "a"}\n{"promt": "b"}\n', (), r"t\.jsonl:2: no column 'prompt'. Did you mean 'promt'"),
        (b'{"prompt": "a"}\n[1]\n', (), r"t\.jsonl:2: found a list"),
        (b'{"prompt": "a"}\n{"prompt": "\xff"}\n', (), r"t\.jsonl:2: not UTF-8"),
        (b'{"prompt": "a"}\n{"prompt": "b', (), r"t\.jsonl:2: the last line looks cut off"),
        (b'{"body": "a"}\n', (), r"t\.jsonl:1: none of the usual columns"),
        (b'{"body": "a"}\n', ("bdy",), r"t\.jsonl:1: no column 'bdy'. Did you mean 'body'"),
        (b'{"prompt": [{"role": "user"}]}\n', (), r"t\.jsonl:1: column 'prompt' holds"),
    ],
)
def test_rows_that_cannot_be_used_are_named(tmp_path: Path, text: bytes, columns: tuple[str, ...], part: str) -> None:
    train = tmp_path / "t.jsonl"
    train.write_bytes(text)
    with pytest.raises(SpecError, match=part):
        decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", columns=columns)
    assert not (tmp_path / "k.jsonl").exists()


def test_bad_rows_can_be_skipped_and_are_counted(tmp_path: Path) -> None:
    train = tmp_path / "t.jsonl"
    train.write_bytes(b'{"prompt": "a"}\n{"prompt": "\xff"}\n{"prompt": null}\n')
    done = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", bad_rows="skip")
    assert (done.rows, done.kept, done.dropped, done.skipped) == (3, 1, 0, 2)
    assert "t.jsonl:2" in done.skipped_lines[0]
    assert (tmp_path / "k.jsonl").read_text() == '{"prompt": "a"}\n'


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    train = write(tmp_path / "t.jsonl", {"prompt": "a"})
    for arguments, part in (
        ((tmp_path / "none.jsonl", tmp_path / "k.jsonl"), "no such file"),
        ((tmp_path, tmp_path / "k.jsonl"), "directory"),
        ((empty, tmp_path / "k.jsonl"), "has no rows"),
        ((train, train), "three different files"),
        ((train, tmp_path), "is a directory"),
        ((train, tmp_path / "k.parquet"), "format"),
    ):
        with pytest.raises(UsageError, match=part):
            decontaminate_file(arguments[0], ITEMS, out=arguments[1], drops=tmp_path / "d.jsonl")


def many(path: Path, count: int) -> Path:
    return write(
        path, *({"prompt": f"{LONG} and more" if number % 10 == 3 else f"Say {number}."} for number in range(count))
    )


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_processes_and_compression_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(files, "_SMALL", 0)
    monkeypatch.setattr(files, "_BLOCK_BYTES", 4000)
    train = many(tmp_path / "t.jsonl", 600)
    once = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl")
    if ending == ".gz":
        train = tmp_path / "t.jsonl.gz"
        train.write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    out = tmp_path / f"k2.jsonl{ending}"
    again = decontaminate_file(train, ITEMS, out=out, drops=tmp_path / "d2.jsonl", jobs=2)
    assert once == again
    assert (tmp_path / "d.jsonl").read_bytes() == (tmp_path / "d2.jsonl").read_bytes()
    kept = b"".join(line for block in LineFile(out).blocks() for line in block.data)
    assert kept == (tmp_path / "k.jsonl").read_bytes()
    assert once.dropped == 60


def test_after_an_interruption_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = many(tmp_path / "t.jsonl", 400)
    whole = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl")
    monkeypatch.setattr(files, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(files, "_SAVE_EVERY_S", 0.0)
    judged: list[int] = []
    real = Decontaminate.sort

    def judge(desk: Decontaminate, block: object) -> SortedBlock:
        judged.append(block.first_line)
        if len(judged) == 8:
            raise KeyboardInterrupt
        return real(desk, block)

    monkeypatch.setattr(Decontaminate, "sort", judge)
    with pytest.raises(KeyboardInterrupt):
        decontaminate_file(train, ITEMS, out=tmp_path / "k2.jsonl", drops=tmp_path / "d2.jsonl")
    assert not (tmp_path / "k2.jsonl").exists()
    with (tmp_path / ".k2.jsonl.part").open("ab") as torn:
        torn.write(b"half a li")  # what a kill may leave behind the last saved place
    first = list(judged)
    again = decontaminate_file(train, ITEMS, out=tmp_path / "k2.jsonl", drops=tmp_path / "d2.jsonl")
    assert judged[len(first)] == first[-1], "only what was not saved is compared again"
    assert again == whole
    for name in ("k", "d"):
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (tmp_path / f"{name}2.jsonl").read_bytes()


def test_another_rule_does_not_go_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = many(tmp_path / "t.jsonl", 100)
    monkeypatch.setattr(files, "_SAVE_EVERY_S", 0.0)
    monkeypatch.setattr(files, "_BLOCK_BYTES", 2000)
    real = SortedBlock.lines
    monkeypatch.setattr(
        SortedBlock,
        "lines",
        lambda found, block: (_ for _ in ()).throw(KeyboardInterrupt) if block.first_line > 60 else real(found, block),
    )
    with pytest.raises(KeyboardInterrupt):
        decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl")
    monkeypatch.setattr(SortedBlock, "lines", real)
    done = decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", rule="ngram")
    assert (done.rows, done.dropped) == (100, 10)
    assert len(rows(tmp_path / "d.jsonl")) == 10


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = many(tmp_path / "t.jsonl", 20)
    monkeypatch.setattr(
        files, "_packer", lambda name: lambda data: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(ResourceError, match="No space left"):
        decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl")


def test_kill_9_and_again(tmp_path: Path) -> None:
    """The process is killed for real, somewhere in the middle."""
    train = many(tmp_path / "t.jsonl", 3000)
    script = (
        "import time\nfrom pathlib import Path\nfrom adhere.build.decontaminate import files\n"
        "files._BLOCK_BYTES, files._SAVE_EVERY_S = 4000, 0.0\n"
        "real = files.Decontaminate.sort\n"
        "def judge(desk, block):\n    time.sleep(0.02)\n    return real(desk, block)\n"
        "files.Decontaminate.sort = judge\n"
        f"files.decontaminate_file(Path({str(train)!r}), [files.TestItem('mine', 7, {LONG!r})], "
        f"out=Path({str(tmp_path / 'k.jsonl')!r}), drops=Path({str(tmp_path / 'd.jsonl')!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    state = tmp_path / ".k.jsonl.state.json"
    until = time.monotonic() + 60
    while not state.exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert state.exists()
    assert not (tmp_path / "k.jsonl").exists()
    items = [Item("mine", 7, LONG)]
    lines: list[str] = []

    class Said:
        def say(self, line: str) -> None:
            lines.append(line)

        def step(self, label: str, total: int | None, unit: str = "") -> object:
            from adhere.progress import Silent

            return Silent().step(label, total, unit)

    done = decontaminate_file(train, items, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", progress=Said())
    assert lines
    assert "Going on at line" in lines[0]
    assert (done.rows, done.dropped) == (3000, 300)
    assert [row["line"] for row in rows(tmp_path / "d.jsonl")] == [n + 1 for n in range(3000) if n % 10 == 3]
    assert len(rows(tmp_path / "k.jsonl")) == 2700


def test_parquet(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    train = many(tmp_path / "t.jsonl", 5000)
    database = duckdb.connect()
    parquet = tmp_path / "t.parquet"
    database.execute(
        f"COPY (SELECT prompt, row_number() OVER () AS n FROM read_json('{train}')) TO '{parquet}' (FORMAT parquet)"
    )
    done = decontaminate_file(parquet, ITEMS, out=tmp_path / "k.parquet", drops=tmp_path / "d.jsonl")
    assert (done.rows, done.dropped, done.columns) == (5000, 500, ("prompt",))
    kept = database.execute(f"SELECT prompt, n FROM read_parquet('{tmp_path / 'k.parquet'}')").fetchall()
    source = database.execute(f"SELECT prompt, n FROM read_parquet('{parquet}')").fetchall()
    gone = {row["line"] for row in rows(tmp_path / "d.jsonl")}
    assert kept == [row for number, row in enumerate(source, start=1) if number not in gone]
    broken = tmp_path / "broken.parquet"
    broken.write_text("no")
    with pytest.raises(UsageError, match="cannot be read as Parquet"):
        decontaminate_file(broken, ITEMS, out=tmp_path / "k.parquet", drops=tmp_path / "d.jsonl")


def test_parquet_of_any_name_and_any_columns(tmp_path: Path) -> None:
    """`a[1].parquet` is a pattern for duckdb, and `file_row_number` a column of its own."""
    duckdb = pytest.importorskip("duckdb")
    database = duckdb.connect()
    for name, text in (("a[1].parquet", "its own"), ("a1.parquet", "of another")):
        plain = tmp_path / "plain.parquet"
        database.execute(
            f"COPY (SELECT 7 AS file_row_number, '{text}' AS prompt, 'x' AS \"keep\") TO '{plain}' (FORMAT parquet)"
        )
        plain.rename(tmp_path / name)
    out = tmp_path / "k[1].parquet"
    done = decontaminate_file(tmp_path / "a[1].parquet", ITEMS, out=out, drops=tmp_path / "d.jsonl")
    assert (done.rows, done.kept) == (1, 1)
    out.rename(tmp_path / "k.parquet")
    kept = database.execute(f"SELECT * FROM read_parquet('{tmp_path / 'k.parquet'}', file_row_number = false)")
    assert kept.fetchall() == [(7, "its own", "x")]
    assert [column[0] for column in kept.description] == ["file_row_number", "prompt", "keep"]


def test_parquet_whose_data_is_damaged_is_one_clear_line(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT 'text number ' || range AS prompt FROM range(20000)) TO '{path}' (FORMAT "
        "parquet, COMPRESSION zstd)"
    )
    data = bytearray(path.read_bytes())
    data[200:4000] = bytes(3800)
    path.write_bytes(data)
    with pytest.raises(UsageError, match="cannot be read as Parquet"):
        decontaminate_file(path, ITEMS, out=tmp_path / "k.parquet", drops=tmp_path / "d.jsonl")
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def invoke(*arguments: object) -> object:
    return CliRunner().invoke(adhere, ["decontaminate", *map(str, arguments)])


def test_the_command(tmp_path: Path) -> None:
    from adhere import suites

    item = suites.load("core").prompts[5]
    train = write(tmp_path / "t.jsonl", {"prompt": item.text}, {"prompt": "Say something."})
    done = invoke(train, "--against", "core", "--out", tmp_path / "k.jsonl", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {name: found[name] for name in ("rows", "kept", "dropped")} == {"rows": 2, "kept": 1, "dropped": 1}
    drop = rows(tmp_path / "k.jsonl.drops.jsonl")[0]
    assert (drop["line"], drop["against"], drop["item"]) == (1, "core", item.id)
    assert drop["ratio"] >= 0.6
    shown = invoke(train, "--against", "core", "--out", tmp_path / "k.jsonl", "--rule", "ngram")
    assert "2 rows: 1 kept, 1 dropped" in shown.stdout
    assert (tmp_path / "k.jsonl").exists()


def test_both_parts_of_a_run(tmp_path: Path) -> None:
    from adhere import suites
    from adhere.models.catalog import open_model
    from adhere.pipeline.evaluate import evaluate_sync
    from adhere.schema import Sampling

    suite = suites.load("core:20+4")
    run = evaluate_sync(open_model("scripted/echo"), suite, tmp_path / "run", sampling=Sampling())
    train = write(tmp_path / "t.jsonl", *({"prompt": prompt.text} for prompt in suite.prompts[:6]))
    done = invoke(
        train,
        "--against",
        "core:20+4",
        "--rule",
        "ngram",
        "--run",
        run.directory,
        "--out",
        tmp_path / "k.jsonl",
        "--json",
    )
    assert done.exit_code == 0, done.output
    part = json.loads(done.stdout)["runs"][0]
    assert part["n_all"] == 24
    touched = json.loads(done.stdout)["against"][0]["touched"]
    assert touched >= 1
    assert part["n_clean"] == 24 - touched
    assert part["difference"] == pytest.approx(part["clean"] - part["all"])
    wrong = invoke(train, "--against", "core", "--run", run.directory, "--out", tmp_path / "x.jsonl")
    assert "--rule ngram" in str(wrong.exception)
