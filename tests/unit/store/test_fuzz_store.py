"""Damaged journals and manifests: reading them never raises anything but an error that says what is wrong."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhere.errors import AdhereError
from adhere.progress import Silent
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Usage, encode
from adhere.store.run import Run, RunSpec
from adhere.store.segments import Damage, read_segments
from adhere.store.spending import SpentSoFar
from adhere.store.tables.cells import Reader
from adhere.suites.base import Suite
from adhere.sweep.keeper import Keeper
from adhere.sweep.record import load_sweep
from adhere.sweep.rows import Entry, Liveness, Snapshot
from adhere.sweep.spec import Filter, SweepSpec

URL = "http://127.0.0.1:1/v1"
ENGINE = EngineInfo("endpoint", "1", "none")
PROMPTS = (Prompt("p0", (Turn("say yes", (ConstraintRef("length:words", {"at_least": 1}),)),)),)
SUITE = Suite("tiny", "1", PROMPTS)
SPEC = SweepSpec(URL, ENGINE, Filter(), (("tiny", "1", SUITE.sha256),), Sampling())
ENTRIES = b"".join(
    encode(Entry(model, 0, Response("p0", 0, 0, text, status, usage=Usage(1, 2, None, 0.1)))) + b"\n"
    for model in ("a", "b")
    for text, status in (("yes", "ok"), ("", "error"), ("é \u2028", "truncated"))
)
SNAPSHOT = Snapshot(0.0, URL, "openai-compatible", ({"id": "a"}, {"id": "b"}), ("a", "b"), {})
FILES = {
    "sweep.json": encode(SPEC),
    "models.json": encode(SNAPSHOT),
    "journal/1.jsonl": ENTRIES,
    "liveness/1.jsonl": encode(Liveness("a", True, "", Response("liveness", 0, 0, "Paris", "ok"))) + b"\n",
    "spend/1.jsonl": encode(SpentSoFar(0.0, 1.0, 0.5)) + b"\n",
}


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with some of them changed, cut, doubled or put in."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.integers(0, 20)))
        pieces = (
            b"",
            b"\n",
            b"\x00",
            b"\xff",
            b"{",
            b"[" * 2000,
            b"null",
            b"-1",
            b"1e999",
            b'"',
            b"9" * 30,
            data[at:end] * 2,
        )
        data = data[:at] + draw(st.sampled_from(pieces)) + data[end:]
    return data


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory where the system has such a place: thousands of directories are written."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield root
    shutil.rmtree(root)


def a_sweep(root: Path, files: dict[str, bytes]) -> None:
    directory = root / "sweep"
    shutil.rmtree(directory, ignore_errors=True)
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    damage = Damage()
    lines = files["journal/1.jsonl"].count(b"\n")
    assert len(list(read_segments(directory / "journal", Entry, damage))) + len(damage.corrupt) == lines
    with suppress(AdhereError):
        load_sweep(directory)
    with suppress(AdhereError):
        reader = Reader(directory)
        cells, journal = reader.cells()
        for cell in cells:
            reader.responses(cell, journal)
    keeper = Keeper(directory, SPEC, [SUITE], Silent())
    with suppress(AdhereError):
        keeper.open()
        keeper.liveness()
        assert keeper.spent_before() >= 0
        for model in ("a", "b"):
            assert len(keeper.wanting(model)) <= 1
    keeper.close()


def a_run(root: Path, files: dict[str, bytes]) -> None:
    directory = root / "run"
    for name, data in files.items():
        (directory / name).write_bytes(data)
    with suppress(AdhereError):
        run = Run.load(directory)
        run.missing()
        run.verdicts()
        run.summary()


quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
long = settings(max_examples=12_500, deadline=None, suppress_health_check=list(HealthCheck))
sweeps = st.fixed_dictionaries({name: damaged(data) for name, data in FILES.items()})


@pytest.fixture(scope="module")
def run_files(folder: Path) -> dict[str, bytes]:
    spec = RunSpec(f"{URL}#a", ENGINE, "tiny", "1", SUITE.sha256, Sampling())
    with Run.open(folder / "run", spec, PROMPTS) as run:
        run.append_response(Response("p0", 0, 0, "yes", "ok"))
    (responses,) = (folder / "run" / "responses").glob("*.jsonl")
    names = ("manifest.json", "prompts.jsonl", f"responses/{responses.name}")
    return {name: (folder / "run" / name).read_bytes() for name in names}


@quick
@given(sweeps)
def test_no_damage_to_a_sweep_makes_a_reader_raise(folder: Path, files: dict[str, bytes]):
    a_sweep(folder, files)


@quick
@given(st.data())
def test_no_damage_to_a_run_makes_a_reader_raise(folder: Path, run_files: dict[str, bytes], data: st.DataObject):
    a_run(folder, {name: data.draw(damaged(whole)) for name, whole in run_files.items()})


@pytest.mark.slow
@long
@given(sweeps)
def test_12_500_damaged_sweeps(folder: Path, files: dict[str, bytes]):
    a_sweep(folder, files)


@pytest.mark.slow
@long
@given(st.data())
def test_12_500_damaged_runs(folder: Path, run_files: dict[str, bytes], data: st.DataObject):
    a_run(folder, {name: data.draw(damaged(whole)) for name, whole in run_files.items()})
