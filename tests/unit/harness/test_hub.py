"""A run's number as the Hugging Face hub reads it: by its own parser."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from huggingface_hub import parse_eval_result_entries
from tests.unit.harness.harness_runs import make_run

from adhere.cli import adhere
from adhere.errors import UsageError
from adhere.store.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("run"))


def command(run: Run, out: Path, *more: str, to: str = "hub") -> str:
    """What the command says, or why it refuses."""
    done = CliRunner().invoke(adhere, ["export", str(run.directory), "--to", to, "--out", str(out), *more])
    assert isinstance(done.exception, UsageError) == bool(done.exit_code)
    return str(done.exception) if done.exit_code else done.output


def test_the_hub_s_own_parser_finds_the_number(run: Run, tmp_path: Path) -> None:
    said = command(run, tmp_path, "--dataset", "google/IFEval", "--task", "no")
    (file,) = tmp_path.rglob("*.yaml")
    assert said.strip() == str(file)
    assert file.relative_to(tmp_path).parts[-2:] == (".eval_results", "ifeval.yaml")
    (entry,) = parse_eval_result_entries(yaml.safe_load(file.read_text()))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("google/IFEval", "no", 50.0)
    assert entry.date == run.manifest.created
    assert entry.notes is not None
    assert "in percent; 95 % interval 9.45 to 90.55; 2 answers judged, 4 prompts asked" in entry.notes
    assert str(run.directory.parent) not in file.read_text()
    assert command(run, tmp_path, "--dataset", "google/IFEval", "--task", "no") == said, "the same again is no loss"
    assert "holds another result" in command(run, tmp_path, "--dataset", "google/IFEval", "--task", "other")


@pytest.mark.parametrize("more", [(), ("--dataset", "google/IFEval"), ("--task", "ifeval")])
def test_a_benchmark_has_a_data_set_and_a_task(run: Run, tmp_path: Path, more: tuple[str, ...]) -> None:
    assert "--dataset OWNER/NAME and --task ID name the benchmark" in command(run, tmp_path, *more)
    assert not list(tmp_path.rglob("*"))


def test_what_is_no_benchmark_s_is_refused(run: Run, tmp_path: Path) -> None:
    assert "both; got --to inspect" in command(run, tmp_path, "--task", "ifeval", to="inspect")
    assert "OWNER/NAME, as google/IFEval" in command(run, tmp_path, "--dataset", "IFEval", "--task", "ifeval")
    done = CliRunner().invoke(
        adhere, ["export", "--suite", "core", "--to", "lm-eval", "--out", str(tmp_path / "o"), "--task", "x"]
    )
    assert "not of --suite" in str(done.exception)
    assert not list(tmp_path.rglob("*"))
