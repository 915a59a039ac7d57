"""The command line starts fast, leaves with the right code and explains itself."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from adhere.cli import COMMANDS, EXAMPLES, GROUPS, adhere
from command_line import run_here

HEAVY = ("torch", "transformers", "openvino_genai", "scipy", "numpy", "msgspec", "rich")


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_help_imports_no_engine_and_is_fast() -> None:
    program = (
        "import sys; sys.argv = ['adhere', '--help']\n"
        "from adhere.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('HEAVY', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = start("-c", program)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )  # a busy machine's clock says nothing
    assert done.stdout.rstrip().endswith("HEAVY []")
    assert all(name in done.stdout for name in COMMANDS)
    assert min(seconds) < 0.3, f"{seconds} s of processor time"


def test_help_has_examples_groups_and_eighty_columns() -> None:
    lines = CliRunner().invoke(adhere, ["--help"]).output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in {f"{group}:" for group in GROUPS}] == [f"{group}:" for group in GROUPS]
    for command, _ in EXAMPLES:
        (line,) = [line for line in lines if command in line]
        assert lines.index(line) < lines.index("Measure:")
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("words", [["list", "constraints"], ["list", "constraints", "--json"]])
def test_a_reader_who_leaves_is_no_finding(words: list[str]) -> None:
    """Exit code 1 means that something was found."""
    program = [sys.executable, "-m", "adhere", *words]
    done = subprocess.run(
        ["bash", "-c", 'set -o pipefail; "$@" | head -c 1', "-", *program],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself(name: str) -> None:
    from click.testing import CliRunner

    done = CliRunner().invoke(adhere, [name, "--help"])
    assert done.exit_code == 0, done.output
    assert "Usage:" in done.output


def test_unknown_command_suggests_and_exits_2() -> None:
    done = start("-m", "adhere", "studdy")
    assert done.returncode == 2
    assert "Did you mean 'study'?" in done.stderr


def test_a_user_error_has_no_traceback(tmp_path) -> None:
    done = run_here("study", str(tmp_path / "absent.toml"))
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "no such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_list_constraints_as_json() -> None:
    import json

    from adhere.constraints.published.shared.registry import PROFILES

    done = run_here("list", "constraints", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    parts = {row["id"]: row["part"] for row in rows}
    assert len(parts) == len(rows)
    places = {part.partition(": ")[0] for part in parts.values()}
    profiles = {name for part in parts.values() for name in part.partition(": ")[2].split(", ") if name}
    assert places == {"train", "held-out", "published"}
    assert profiles == set(PROFILES)
    assert parts["length:at_most"] == "train"
    assert parts["length_constraints:number_words"] == "published: ifeval, multi-if, ifevalpp"
    assert all("None" not in row["says"] for row in rows)


def test_messages_advise_what_works_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a file that only a checkout has, but where `doctor` stands in one: there with the tested versions."""
    from adhere import extras
    from adhere.cli import doctor
    from adhere.errors import MissingExtra, MissingModel
    from adhere.models.local.fetch import model_dir

    assert "-c " in doctor._command("local")
    monkeypatch.setattr(doctor, "__file__", str(tmp_path / "site-packages" / "adhere" / "cli" / "doctor.py"))
    assert doctor._command("local") == "pip install 'adhere[local]'"
    with pytest.raises(MissingExtra, match=r"Run: pip install 'adhere\[local\]'$"):
        extras.need("no_such_module", extra="local")
    with pytest.raises(MissingModel, match=r"Run: pip install 'adhere\[train\]' && adhere fetch"):
        model_dir("local/smollm2-135m", tmp_path)


def test_a_damaged_run_hides_no_other(tmp_path: Path) -> None:
    import json

    from adhere.models.catalog import open_model
    from adhere.pipeline.evaluate import evaluate_sync
    from adhere.suites import load

    for name in ("good", "spoilt"):
        evaluate_sync(open_model("scripted/echo"), load("core", limit=2), tmp_path / name)
    (tmp_path / "spoilt" / "manifest.json").write_bytes(b"{rubbish")
    done = run_here("list", "runs", "--dir", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    rows = {Path(row["run"]).name: row for row in json.loads(done.stdout)}
    assert (rows["good"]["state"], rows["good"]["missing"]) == ("complete", 0)
    assert rows["spoilt"]["state"].startswith("damaged: ")


def test_a_disk_in_trouble_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import errno

    from adhere import cli

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "out/x.json")

    monkeypatch.setattr(cli, "adhere", full)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 5
    assert capsys.readouterr().err.startswith("Error: out/x.json: Read-only file system. ")


def test_a_path_through_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "rows.jsonl").write_text('{"key": 1, "response": "x"}\n')
    (tmp_path / "own.jsonl").write_text(
        '{"key": 1, "prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}\n'
    )
    suite = f"my:{tmp_path / 'own.jsonl'}"
    for arguments in (
        ("verify", tmp_path / "rows.jsonl", "--suite", suite, "--verdicts", tmp_path / "file" / "v.jsonl"),
        ("verify", "x" * 300, "--suite", suite),
    ):
        done = run_here(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.endswith("Give another path\n")


def test_no_option_takes_what_is_no_number() -> None:
    """A cap of `nan` stops nothing, and a coverage of `nan` is never too low."""
    options = 0
    for name in COMMANDS:
        group = adhere.get_command(click.Context(adhere), name)
        for command in getattr(group, "commands", {name: group}).values():
            for one in command.params:
                if isinstance(one.type, click.types.FloatParamType):
                    options += 1
                    with pytest.raises(click.BadParameter, match=r"no finite number|not in the range"):
                        one.type.convert("nan", one, None)
    assert options > 20


def test_a_damaged_summary_says_where_and_what_mends_it(tmp_path: Path) -> None:
    done = run_here("eval", "scripted/echo", "--suite", "core", "--limit", "2", "--out", tmp_path)
    assert done.returncode == 0
    run = next(tmp_path.iterdir())
    (run / "summary.json").write_text("{}")
    done = run_here("report", run)
    assert done.returncode == 5
    assert str(run / "summary.json") in done.stderr
    assert "adhere rescore" in done.stderr


def test_a_directory_where_a_summary_should_be(tmp_path: Path) -> None:
    from adhere.models.catalog import open_model
    from adhere.pipeline.evaluate import evaluate_sync
    from adhere.suites import load

    evaluate_sync(open_model("scripted/echo"), load("core", limit=2), tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    (tmp_path / "run" / "summary.json").mkdir()
    done = run_here("compact", "--groups", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (5, 1), done.stderr
    assert "is no regular file" in done.stderr


def complete(*words: str) -> list[str]:
    environment = {**os.environ, "_ADHERE_COMPLETE": "bash_complete", "COMP_CWORD": str(len(words))}
    environment["COMP_WORDS"] = " ".join(("adhere", *words))
    code = "import sys; sys.argv = ['adhere']; from adhere.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_a_shell_completes_suites_and_models() -> None:
    assert complete("eval", "loc") == ["local/smollm2-135m"]
    assert complete("eval", "local/smollm2-135m", "--suite", "multi-") == ["multi-if", "multi-turn"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_suite_and_model_is_completed(name: str) -> None:
    """Whichever command asks for one."""
    found = adhere.get_command(click.Context(adhere), name)
    assert found is not None
    for parameter in found.params:
        metavar = parameter.metavar or ""
        for start, whole, is_one in (
            ("local/", "local/smollm2-135m", metavar in {"MODEL", "MODEL..."}),
            ("cor", "core", "--suite" in parameter.opts or metavar.startswith("SUITE")),
        ):
            if is_one:
                assert [one.value for one in parameter.shell_complete(click.Context(found), start)] == [whole], (
                    parameter.name
                )


@pytest.mark.parametrize("what", ["constraints", "suites", "models", "stages", "transforms"])
def test_lists_fit_eighty_columns_and_break_no_name(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(adhere, ["list", what])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80
    rows = json.loads(CliRunner().invoke(adhere, ["list", what, "--json"]).stdout)
    assert {row[lines[0].split()[0]] for row in rows} <= {line.split("  ")[0].strip() for line in lines}
