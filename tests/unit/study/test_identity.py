"""A cell's key holds what can change weights, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="stages need the train extra")

import adhere
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.study.design import identity
from adhere.study.design.identity import drawing_identity, source_hash, training_identity

PACKAGE = Path(adhere.__file__).parent
# A pool of `case:lower` prompts, and a cell that DPO trains.
ROOTS = {
    "drawn": (*identity.DRAWING, "constraints/kinds/trained/case.py"),
    "trained": (*identity.TRAINING, "train/methods/dpo.py"),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("copy") / "adhere"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    forget()


def forget() -> None:
    source_hash.cache_clear()


def hashed(copy: Path, of: str) -> str:
    forget()
    return source_hash(ROOTS[of], copy)


def edited(copy: Path, file: str, of: str, *, before: str = "", after: str = "\nEDITED = 1\n") -> bool:
    """Whether putting something before and behind a file's text changes the hash."""
    known, text = hashed(copy, of), (copy / file).read_text()
    (copy / file).write_text(before + text + after)
    found = hashed(copy, of)
    (copy / file).write_text(text)
    assert hashed(copy, of) == known
    return found != known


@pytest.mark.parametrize(
    ("of", "file"),
    [
        ("drawn", "schema.py"),
        ("drawn", "constraints/kinds/trained/case.py"),
        ("drawn", "constraints/base.py"),
        ("drawn", "constraints/kinds/shared/edits.py"),
        ("drawn", "constraints/repair.py"),
        ("drawn", "models/chat.py"),
        ("drawn", "models/local/decoder/decode.py"),
        ("drawn", "pipeline/judge.py"),
        ("drawn", "build/filter.py"),
        ("drawn", "text/words.py"),
        ("trained", "train/methods/dpo.py"),
        ("trained", "train/loop.py"),
        ("trained", "train/batch/pairs.py"),
        ("trained", "pipeline/reward.py"),
        ("trained", identity.TRAINING[0]),
    ],
)
def test_what_can_change_weights_changes_the_hash(copy: Path, of: str, file: str) -> None:
    assert edited(copy, file, of)


@pytest.mark.parametrize("of", ["drawn", "trained"])
@pytest.mark.parametrize(
    "file", ["sweep/stages.py", "report/study/html.py", "study/outcome/verdict.py", "cli/study.py", "store/run.py",
             "stats/crossed.py", "train/budget/estimate.py", "train/budget/memory.py",
             "constraints/kinds/trained/length.py",
             "constraints/kinds/held_out/code.py", "constraints/published/ifbench/__init__.py",
             "constraints/published/iftrain/words.py", "train/methods/grpo.py"]
)  # fmt: skip
def test_what_is_not_used_does_not(copy: Path, of: str, file: str) -> None:
    assert not edited(copy, file, of)


@pytest.mark.parametrize("file", ["constraints/kinds/trained/case.py", "text/words.py"])
def test_comments_and_docstrings_do_not(copy: Path, file: str) -> None:
    assert not edited(copy, file, "drawn", before="# why\n", after='\n# how\n"""and what for"""\n')
    docstring = (copy / file).read_text().partition('"""')[2].partition('"""')[0]
    text = (copy / file).read_text()
    known = hashed(copy, "drawn")
    (copy / file).write_text(text.replace(docstring, "Said otherwise.", 1))
    assert hashed(copy, "drawn") == known
    (copy / file).write_text(text)


def test_a_data_file_beside_the_code_is_part_of_it(copy: Path) -> None:
    file = next(path for path in (copy / "constraints/published/shared").iterdir() if path.suffix not in {".py", ""})
    known = hashed(copy, "drawn")
    data = file.read_bytes()
    file.write_bytes(data + b"x")
    assert hashed(copy, "drawn") != known
    file.write_bytes(data)


def test_every_named_source_exists() -> None:
    named = (*identity.DRAWING, *identity.TRAINING, *identity.ROOMS, *identity.EXCEPT, *identity.IFTRAIN)
    assert [source for source in named if not (PACKAGE / source).exists()] == []


def prompt(kind: str, **params) -> Prompt:
    return Prompt("p", (Turn("x", (ConstraintRef(kind, params),)),))


def test_an_iftrain_kind_brings_its_rules_and_its_twin(monkeypatch) -> None:
    roots: list[tuple[str, ...]] = []
    monkeypatch.setattr(identity, "source_hash", lambda found: roots.append(found) or "")
    drawing_identity([prompt("last_word:last_word_answer", last_word="end")])
    drawing_identity([prompt("case:lower")])
    rules = {"constraints/published/iftrain/words.py", "constraints/kinds/trained/start_end.py"}
    assert rules <= set(roots[0])
    assert rules.isdisjoint(roots[1])


def test_libraries_are_part_of_it(monkeypatch) -> None:
    before = drawing_identity([prompt("case:lower")]), training_identity("sft")
    assert (drawing_identity([prompt("case:lower")]), training_identity("sft")) == before
    monkeypatch.setattr(identity, "version", lambda name: "0.0")
    assert drawing_identity([prompt("case:lower")]) != before[0]
    assert training_identity("sft") != before[1]


def test_other_kinds_and_other_methods_are_other_code() -> None:
    assert drawing_identity([prompt("case:lower")]) == drawing_identity([prompt("case:upper")]), "one file defines both"
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
    assert identity._foreign([prompt]) != {}, "a function of another package"


def test_constraints_inside_others_are_found() -> None:
    inner = {"of": [{"id": "plug:in", "params": {}}, {"id": "case:lower"}]}
    assert set(identity._ids("compose:all_of", inner)) == {"compose:all_of", "plug:in", "case:lower"}
