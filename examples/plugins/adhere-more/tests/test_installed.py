"""The package as pip installs it: the zoo's file is planned, and a recipe trains, in processes that start afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.parents[2]
ZOO = ROOT / "examples" / "zoo.toml"
PAIR = {
    "prompt": "Write about the sea.",
    "chosen": "the sea is wide",
    "rejected": "The Sea",
    "instruction_id_list": ["case:lower"],
    "kwargs": [{}],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    into = tmp_path_factory.mktemp("site")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet", "--target"]
    source = tmp_path_factory.mktemp("source") / "adhere-more"
    ignored = ("tests", "build", "*.egg-info", "__pycache__")
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns(*ignored))
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, str(into), str(source)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return into


def run(site: Path | None, *words: str) -> subprocess.CompletedProcess[str]:
    """`adhere` in a process that sees the package, or in one that does not."""
    paths = os.pathsep.join(filter(None, [str(site or ""), str(ROOT / "src")]))
    return subprocess.run(
        [sys.executable, "-m", "adhere", *words],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_the_zoo_is_planned_after_pip_install(site: Path, tmp_path: Path, tiny_llama_dir: Path) -> None:
    zoo = tmp_path / "zoo.toml"
    zoo.write_text(ZOO.read_text().replace("local/smollm2-135m", f"hf/{tiny_llama_dir}"))
    without = run(None, "study", str(zoo), "--plan", "--out", str(tmp_path / "out"))
    assert without.returncode == 2
    assert "pip install ./examples/plugins/adhere-more" in without.stderr
    planned = run(site, "study", str(zoo), "--plan", "--out", str(tmp_path / "out"))
    assert planned.returncode == 0, planned.stderr
    for arm in ("sft+simpo", "sft+orpo", "sft+uft", "sft+iopo", "sft+hir"):
        assert arm in planned.stderr + planned.stdout


def test_a_recipe_trains_by_its_name(site: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = "".join(json.dumps(PAIR | {"prompt": f"Write about thing {n}."}) + "\n" for n in range(8))
    (tmp_path / "data" / "pairs.jsonl").write_text(rows)
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'name = "more"\nstart = "random/2m"\nprecision = "fp32"\nguards = "warn"\ndata = "{tmp_path}/data"\n'
        '[[stages]]\nstage = "orpo"\n[[stages]]\nstage = "simpo"\n'
    )
    done = run(site, "train", str(recipe), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "orpo" in done.stderr + done.stdout
    assert [*(tmp_path / "out").rglob("model.safetensors")]


def test_its_stages_and_transforms_are_listed(site: Path) -> None:
    listed = json.loads(run(site, "list", "transforms", "--json").stdout)
    assert {"refine", "curriculum", "hindsight"} <= {row["transform"] for row in listed}
    assert "hindsight relabelling" in run(site, "list", "stages").stdout
