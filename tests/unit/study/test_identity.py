"""A cell's key holds what can change weights, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="stages need the train extra")

import adhere
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.study.design import identity
from adhere.study.design.identity import source_hash, weights_identity

PACKAGE = Path(adhere.__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("copy") / "adhere"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.mark.parametrize(
    "file",
    ["schema.py", "constraints/kinds/trained/case.py", "train/methods/dpo.py", "models/chat.py", "models/local/decoder/decode.py",
     "pipeline/judge.py", "build/filter.py", "study/run/training.py", "text/words.py"],
)  # fmt: skip
def test_what_can_change_weights_changes_the_hash(copy: Path, file: str) -> None:
    before = source_hash(copy)
    text = (copy / file).read_text()
    (copy / file).write_text(text + "\n# edited\n")
    source_hash.cache_clear()
    assert source_hash(copy) != before
    (copy / file).write_text(text)
    source_hash.cache_clear()
    assert source_hash(copy) == before


@pytest.mark.parametrize(
    "file", ["sweep/stages.py", "report/study/html.py", "study/outcome/verdict.py", "cli/study.py", "store/run.py", "stats/crossed.py", "train/budget/estimate.py", "train/budget/memory.py"]
)  # fmt: skip
def test_other_edits_do_not(copy: Path, file: str) -> None:
    before = source_hash(copy)
    with (copy / file).open("a") as opened:
        opened.write("\n# edited\n")
    source_hash.cache_clear()
    assert source_hash(copy) == before


def test_every_named_source_exists() -> None:
    assert [source for source in (*identity.SOURCES, *identity.EXCEPT) if not (PACKAGE / source).exists()] == []


def prompt(kind: str, **params) -> Prompt:
    return Prompt("p", (Turn("x", (ConstraintRef(kind, params),)),))


def test_libraries_are_part_of_it(monkeypatch) -> None:
    prompts = [prompt("case:lower")]
    before = weights_identity(prompts, ["sft"])
    assert weights_identity(prompts, ["sft"]) == before
    monkeypatch.setattr(identity, "version", lambda name: "0.0")
    assert weights_identity(prompts, ["sft"]) != before


def test_a_plug_ins_code_is_part_of_it_where_it_is_used(tmp_path, monkeypatch) -> None:
    module = tmp_path / "plugged.py"
    module.write_text("def check(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import plugged  # type: ignore[import-not-found]

    before = identity._foreign([plugged.check])
    module.write_text("def check(): return 2\n")
    assert identity._foreign([plugged.check]) != before
    assert identity._foreign([prompt]) != {}, "a function of another package"


def test_constraints_inside_others_are_found() -> None:
    inner = {"of": [{"id": "plug:in", "params": {}}, {"id": "case:lower"}]}
    assert set(identity._ids("compose:all_of", inner)) == {"compose:all_of", "plug:in", "case:lower"}
