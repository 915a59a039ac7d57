"""A stage of another package inside a study.

Really installed by pip, planned by its own cost model, trained, keyed by its code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("transformers", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write

from adhere.config import parse_toml
from adhere.schema import decode
from adhere.study.design.check import validate
from adhere.study.design.plan import cell_folder
from adhere.study.design.spec import StudySpec
from adhere.study.prepared import prepare
from adhere.study.run.cells import CellRecord
from adhere.train.stages import STAGES

PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "adhere-first-few"
version = "1.0"
[project.entry-points."adhere.stages"]
first-few = "first_few:STAGE"
[tool.setuptools]
packages = ["first_few"]
"""
STAGE = '''
"""SFT on the first few rows."""
from first_few.learn import FirstFewSettings, run
from adhere.train.budget.cost import Work
from adhere.train.stages import Stage

STAGE = Stage(
    "first-few", "SFT on a few rows", "arXiv 0000.00000", FirstFewSettings, "sft", lambda pool, _: pool.sft, run,
    lambda settings, data: Work(steps=settings.rows, trained=100, processed=4321 * settings.rows), {},
)
'''
LEARN = '''
from adhere.train.methods.sft import SftSettings, sft

class FirstFewSettings(SftSettings, frozen=True):
    """`rows`: how many are learned from."""
    rows: int = 4

def run(model, tokenizer, rows, settings, *, seed, progress=None):
    return sft(model, tokenizer, rows[: settings.rows], settings, seed=seed, progress=progress)
'''
STUDY = """
name = "plugged"
start = "hf/START"
keep_weights = false
precision = "fp32"
data = { prompts = 10, draws = 2, max_new_tokens = 8, kinds = ["case:lower", "case:upper", "punctuation:no_commas", "startend:quotes"], wordings = 1, limits = { per_prompt = 1 } }
evaluation = { new_topic = { single = 4 }, new_wording = { single = 1 }, new_family = { single = 1 }, max_new_tokens = 4 }
arms = [{ name = "start" }, { name = "few", stages = ["few"] }]
[stages]
few = { method = "first-few", rows = 3, epochs = 1, learning_rate = 1e-2 }
[verdict]
question = "Does a stage of another package train?"
treatment = "few"
control = "start"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    source, into = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "first_few").mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "first_few" / "__init__.py").write_text(STAGE)
    (source / "first_few" / "learn.py").write_text(LEARN)
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet", "--target"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(into), str(source)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return into


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """This process sees the package, and has forgotten it afterwards."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(STAGES, "_points", None)
    yield site
    STAGES._things.pop("first-few", None)
    STAGES._owners.pop("first-few", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "first_few"]:
        del sys.modules[name]


def spec_of(start: Path) -> StudySpec:
    found = parse_toml(STUDY.replace("START", str(start)), StudySpec, name="plugged.toml")
    validate(found)
    return found


def test_the_command_plans_it_by_its_own_cost_model(site: Path, tiny_llama_dir: Path, tmp_path: Path) -> None:
    """`adhere study --plan`, in a process that never heard of the package.

    3 rows of 4,321 tokens: no cost model of ours says so.
    """
    file = tmp_path / "plugged.toml"
    file.write_text(STUDY.replace("START", str(tiny_llama_dir)))
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    planned = subprocess.run(
        [sys.executable, "-m", "adhere", "study", str(file), "--plan", "--out", str(tmp_path / "out")],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert planned.returncode == 0, planned.stderr
    assert "few: 13k tokens trained" in planned.stderr


def test_a_study_trains_it(installed: Path, tiny_llama_dir: Path, tmp_path: Path, monkeypatch) -> None:
    """Pool, training and evaluation of an arm whose stage a stranger wrote.

    Its settings reach it, and its weights are other weights.
    """
    draw_from_somebody_who_can_write(monkeypatch)
    prepared = prepare(spec_of(tiny_llama_dir), tmp_path)
    result = prepared.run()
    assert result.failures == []
    assert {score.arm for score in result.scores} == {"start", "few"}
    (cell,) = prepared.plan.cells
    record = decode((cell_folder(tmp_path, cell) / "cell.json").read_bytes(), CellRecord)
    assert record.method == "first-few"
    assert record.settings["rows"] == 3
    assert record.ledger.prompts == 3
    assert record.weights_sha256 != prepared.start_sha256
    assert json.loads((tmp_path / "study.json").read_bytes())["spec"]["stages"]["few"]["method"] == "first-few"


def test_its_code_is_in_the_key(installed: Path, tiny_llama_dir: Path, tmp_path: Path) -> None:
    """An edit of any module of the package trains the cell again, also of one that the entry point does not name."""
    spec, learn = spec_of(tiny_llama_dir), installed / "first_few" / "learn.py"
    (before,) = prepare(spec, tmp_path / "a").plan.cells
    (same,) = prepare(spec, tmp_path / "b").plan.cells
    assert same.key == before.key
    for module in (learn, learn.with_name("__init__.py")):
        text = module.read_text()
        module.write_text(text + "\n# edited\n")
        (after,) = prepare(spec, tmp_path / module.stem).plan.cells
        assert after.key != before.key, module.name
        module.write_text(text)
