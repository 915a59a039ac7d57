"""Whatever bytes lie where a store was: they are read, counted as damage, or refused in words.

Nothing else is raised.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from adhere.errors import AdhereError
from adhere.models.catalog import open_model
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import Response
from adhere.store.follow import Follower
from adhere.store.run import Run
from adhere.store.seals.examine import examine
from adhere.store.segments import Damage, read_segments
from adhere.store.tables.cells import Reader
from adhere.store.tables.readout import RunReader
from adhere.suites import load

SPICES = (
    b"\n", b"\r", b"\0", b"\x85", b"\xe2\x80\xa8", b"\xff", b'"', b"}", b"{", b"[", b"null", b"1e999", b"NaN", b"-1",
    b"\\ud800",
    b'"text":null', b'"draw":99999999999999999999', b"9" * 400, b"[" * 900, b"",
)  # fmt: skip


def spoilt(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, cut out, doubled or put in."""
    found = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at, size = rng.randrange(len(found) + 1), rng.choice((0, 1, 2, 8, 60))
        found[at : at + size] = rng.choice((rng.choice(SPICES), bytes(found[at : at + size]) * 2, rng.randbytes(size)))
    return bytes(found[: rng.randrange(len(found) + 1)] if rng.random() < 0.15 else found)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("made") / "run"
    evaluate_sync(open_model("scripted/echo"), load("core", limit=3), directory)
    return directory


def check(made: Path, tmp_path: Path, cases: int, seed: int) -> set[str]:
    rng = random.Random(seed)
    files = [file.relative_to(made) for file in sorted(made.rglob("*.json*")) if file.is_file()]
    assert files
    whole = {file: (made / file).read_bytes() for file in files}
    directory = tmp_path / "run"
    shutil.copytree(made, directory)
    outcomes = set()
    for number in range(cases):
        file = files[number % len(files)]
        (directory / file).write_bytes(spoilt(whole[file], rng))
        for read in (
            lambda: [Run.load(directory).verdicts(), Run.load(directory).missing()],
            lambda: Run.load(directory).summary(),
            lambda: RunReader().read(directory),
            lambda: Reader(directory).cells(),
            lambda: examine(directory),
            lambda: list(read_segments(directory / "responses", Response, Damage())),
            lambda: Follower(directory / "responses", Response).fresh(),
        ):
            try:
                read()
                outcomes.add("read")
            except AdhereError:
                outcomes.add("refused")
        (directory / file).write_bytes(whole[file])
    return outcomes


def test_no_bytes_of_a_store_raise_anything_but_our_errors(made: Path, tmp_path: Path) -> None:
    assert check(made, tmp_path, 600, seed=1) == {"read", "refused"}


@pytest.mark.slow
def test_no_bytes_of_a_store_raise_anything_but_our_errors_in_100_000_cases(made: Path, tmp_path: Path) -> None:
    assert check(made, tmp_path, 100_000, seed=2) == {"read", "refused"}
