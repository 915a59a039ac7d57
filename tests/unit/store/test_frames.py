"""A Run as a DataFrame: a row a prompt, an answer, a constraint; nothing is filled in."""

from __future__ import annotations

from typing import Any

import pytest

import adhere
from adhere.errors import MissingExtra, UsageError
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.store.frames import frame_of
from adhere.store.run import Run
from adhere.suites import Suite

pandas = pytest.importorskip("pandas")
LOWER, COMMAS = ConstraintRef("case:lower", {}), ConstraintRef("punctuation:no_commas", {})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    turns = (Turn("Say a.", (LOWER, COMMAS)), Turn("Say b.", (LOWER,)))
    prompts = (Prompt("p0", turns, tags={"slice": "s"}), Prompt("p1", turns[:1]), Prompt("p2", turns[1:]))

    def answer(messages: list[dict[str, str]], seed: int) -> str:
        last = messages[-1]["content"]
        if last == "Say b." and len(messages) == 1:
            raise ConnectionError("gone")
        return "cats, sleep" if len(messages) == 1 and seed % 2 else "cats sleep"

    return adhere.evaluate(answer, Suite("mine", "1", prompts), tmp_path_factory.mktemp("runs"), draws=2, name="m")


def test_a_row_a_prompt(run: Run) -> None:
    frame = run.to_frame()
    assert list(frame["prompt_id"]) == ["p0", "p1", "p2"]
    assert list(frame["slice"]) == ["s", "", ""]
    answers = run.to_frame(level="answer")
    for name in ("p0", "p1"):
        mine = answers[(answers["prompt_id"] == name)]
        kept = [all(mine[mine["draw"] == draw]["strict"]) for draw in (0, 1)]
        assert frame.set_index("prompt_id")["strict"][name] == sum(kept) / 2
    assert frame.set_index("prompt_id")["strict"].isna()["p2"], "a failed call is no measurement"
    assert frame.set_index("prompt_id")["answered"]["p2"] == 0


def test_a_row_an_answer_and_a_constraint(run: Run) -> None:
    answers = run.to_frame(level="answer")
    assert len(answers) == 8
    assert set(answers["model"]) == {"m"}
    failed = answers[answers["status"] == "error"]
    assert len(failed) == 2
    assert failed["strict"].isna().all()
    assert set(answers[answers["status"] == "ok"]["words"]) == {2}
    constraints = run.to_frame(level="constraint")
    assert len(constraints) == 2 * (3 + 2 + 1)
    commas = constraints[constraints["constraint"] == "punctuation:no_commas"]
    assert set(commas["strict"]) <= {"pass", "fail"}
    assert constraints[constraints["prompt_id"] == "p2"]["strict"].isna().all()


def test_several_runs_and_a_readable_name(run: Run) -> None:
    assert len(frame_of([run, run], level="answer")) == 16
    assert repr(run).startswith("<Run m on mine: ")
    assert "prompts passed (strict" in repr(run)


def test_what_cannot_be_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any = "row"
    with pytest.raises(UsageError, match="It is one of 'prompt', 'constraint', 'answer'"):
        run.to_frame(level=wrong)
    import importlib

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match="pandas or polars"):
        run.to_frame()
