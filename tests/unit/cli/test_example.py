"""`adhere example` writes every spec of `examples/`, with what it reads, and overwrites nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import AdhereError

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = {file.stem: file for file in [*sorted(EXAMPLES.glob("*.toml")), *sorted(EXAMPLES.glob("notebooks/*.ipynb"))]}
NAMES = list(FILES)


def run(*words: str) -> str:
    done = CliRunner().invoke(adhere, ["example", *words])
    assert done.exit_code == 0, done.exception
    return done.output


def refusal(*words: str) -> str:
    done = CliRunner().invoke(adhere, ["example", *words])
    assert isinstance(done.exception, AdhereError)
    return str(done.exception)


def test_the_list_names_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run().splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == [*NAMES, "rules"]
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_written_with_what_it_reads(name: str, tmp_path: Path) -> None:
    written = Path(run(name, "--out", str(tmp_path / "new")).strip())
    assert written == tmp_path / "new" / FILES[name].name
    if written.suffix == ".ipynb":
        assert written.read_bytes() == FILES[name].read_bytes()
        return
    spec = tomllib.loads(written.read_text(encoding="utf-8"))
    data = spec.get("data")
    if isinstance(data, str):
        assert (written.parent / data).is_dir()


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    written = Path(run("rules", "--out", str(tmp_path)).strip())
    here = {file.name: file.read_bytes() for file in (EXAMPLES / "rules").iterdir() if file.is_file()}
    assert here
    assert {file.name: file.read_bytes() for file in written.iterdir() if file.is_file()} == here


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "quickstart.toml").write_text("mine")
    assert "is there already" in refusal("quickstart", "--out", str(tmp_path))
    assert (tmp_path / "quickstart.toml").read_text() == "mine"


def test_a_wrong_name_is_told() -> None:
    assert "Did you mean 'quickstart'?" in refusal("quickstrat")


def test_the_list_says_a_whole_sentence_of_each() -> None:
    said = " ".join(CliRunner().invoke(adhere, ["example"]).output.split())
    assert "eight times the answers that the online stages learn from. study " in said
    assert "sized for two CPU cores and a few minutes question " in said, "the command behind it is no part of it"
