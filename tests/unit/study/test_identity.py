"""A cell's key names our code by declared versions, and hashes the text of other packages' code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="stages need the train extra")

import adhere
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.study.design import identity
from adhere.study.design.identity import drawing_identity, judging_identity, training_identity

PACKAGE = Path(adhere.__file__).parent
KEYS = """
import json
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.study.design.identity import drawing_identity, judging_identity, training_identity

refs = ConstraintRef("case:lower", {}), ConstraintRef("last_word:last_word_answer", {"last_word": "end"})
prompts = [Prompt("p", (Turn("x", refs),))]
print(json.dumps([drawing_identity(prompts), judging_identity(prompts), training_identity("dpo"), training_identity("grpo")]))
"""


def keys(package: Path) -> list[str]:
    """The keys that a copy of the package computes, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    ran = subprocess.run([sys.executable, "-c", KEYS], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: list[str] = json.loads(ran.stdout)
    return found


def test_moving_code_changes_no_key(tmp_path: Path) -> None:
    copy = tmp_path / "adhere"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = keys(copy)
    (copy / "train" / "losses").mkdir()
    (copy / "train" / "losses" / "__init__.py").write_text('"""Losses."""\n')
    moves = {
        "train/batch/objectives.py": "train/losses/formulas.py",
        "text/words.py": "text/counted.py",
        "models/local/decoder/pick.py": "models/local/decoder/draw.py",
    }
    modules = {
        old: ["adhere." + one.removesuffix(".py").replace("/", ".") for one in (old, new)] for old, new in moves.items()
    }
    for old, new in moves.items():
        (copy / old).rename(copy / new)
    for file in copy.rglob("*.py"):
        text = file.read_text()
        for was, now in modules.values():
            text = text.replace(f"from {was} import", f"from {now} import")
            text = text.replace(
                f"from {was.rpartition('.')[0]} import {was.rpartition('.')[2]}\n",
                f"from {now.rpartition('.')[0]} import {now.rpartition('.')[2]} as {was.rpartition('.')[2]}\n",
            )
        file.write_text(text)
    assert keys(copy) == before
    dpo = copy / "train" / "methods" / "dpo.py"
    dpo.write_text(dpo.read_text().replace("version=1", "version=2"))
    assert [one == other for one, other in zip(keys(copy), before, strict=True)] == [True, True, False, True]


def prompt(kind: str, **params) -> Prompt:
    return Prompt("p", (Turn("x", (ConstraintRef(kind, params),)),))


def test_an_iftrain_kind_brings_the_kind_that_repairs_for_it(monkeypatch) -> None:
    known = (
        drawing_identity([prompt("last_word:last_word_answer", last_word="end")]),
        drawing_identity([prompt("case:lower")]),
    )
    monkeypatch.setattr(identity.registry.get("startend:last_word"), "version", 99)
    now = (
        drawing_identity([prompt("last_word:last_word_answer", last_word="end")]),
        drawing_identity([prompt("case:lower")]),
    )
    assert now[0] != known[0]
    assert now[1] == known[1]


@pytest.mark.parametrize(
    ("name", "drawn", "judged", "trained"),
    [("DECODER_VERSION", True, True, True), ("ROWS_VERSION", True, False, False), ("LOOP_VERSION", False, False, True),
     ("VERIFIER_VERSION", True, True, True)],
)  # fmt: skip
def test_a_version_that_rises_changes_what_depends_on_it(
    monkeypatch, name: str, drawn: bool, judged: bool, trained: bool
) -> None:
    asked = [prompt("case:lower")]
    known = drawing_identity(asked), judging_identity(asked), training_identity("sft")
    monkeypatch.setattr(identity, name, 99)
    now = drawing_identity(asked), judging_identity(asked), training_identity("sft")
    assert [one != other for one, other in zip(now, known, strict=True)] == [drawn, judged, trained]


def test_prompts_of_another_profile_are_judged_by_another_version() -> None:
    old = Prompt("p", (Turn("x", (ConstraintRef("count:pronouns", {"N": 2}),)),), tags={"profile": "ifbench-2025"})
    new = Prompt("p", (Turn("x", (ConstraintRef("count:pronouns", {"N": 2}),)),))
    assert judging_identity([old]) != judging_identity([new])


def test_libraries_are_part_of_it(monkeypatch) -> None:
    before = drawing_identity([prompt("case:lower")]), training_identity("sft")
    assert (drawing_identity([prompt("case:lower")]), training_identity("sft")) == before
    monkeypatch.setattr(identity, "version", lambda name: "0.0")
    assert drawing_identity([prompt("case:lower")]) != before[0]
    assert training_identity("sft") != before[1]


def test_other_kinds_and_other_methods_are_other_code() -> None:
    assert drawing_identity([prompt("case:lower")]) != drawing_identity([prompt("startend:quotes")])
    assert len({training_identity(method) for method in ("sft", "dpo", "grpo")}) == 3


def test_a_plug_ins_code_is_part_of_it_where_it_is_used(tmp_path, monkeypatch) -> None:
    module = tmp_path / "plugged.py"
    module.write_text("def check(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import plugged  # type: ignore[import-not-found]

    before = identity._foreign([plugged.check])
    module.write_text("def check(): return 2\n")
    assert identity._foreign([plugged.check]) != before
    module.rename(tmp_path / "elsewhere.py")
    monkeypatch.setattr(identity, "_sources", lambda _: [tmp_path / "elsewhere.py"])
    assert "elsewhere" not in str(identity._foreign([plugged.check])), "no name of a file is in a key"
    assert identity._foreign([prompt]) != [], "a function of another package"


def test_constraints_inside_others_are_found() -> None:
    inner = {"of": [{"id": "plug:in", "params": {}}, {"id": "case:lower"}]}
    assert set(identity._ids("compose:all_of", inner)) == {"compose:all_of", "plug:in", "case:lower"}
