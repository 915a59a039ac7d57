"""Every notebook runs from its first cell to its last and prints what it shows.

As Jupyter runs it, inside an event loop.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

BOOKS = Path(__file__).parents[2] / "examples" / "notebooks"


def cells(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Source, printed text and last value (MIME type -> content) of each code cell."""
    book = json.loads((BOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    found = []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            printed = "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream")
            values = [one["data"] for one in cell["outputs"] if one["output_type"] == "execute_result"]
            found.append(("".join(cell["source"]), printed, values[0] if values else {}))
    assert len(found) >= 4
    return found


def run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return printed.getvalue(), value


async def play(name: str) -> int:
    """Run a notebook; the number of pictures that came out as stored."""
    names: dict[str, Any] = {}
    pictures = 0
    for source, printed, value in cells(name):
        said, found = run(source, names)
        assert said == printed, source
        if "image/svg+xml" in value:
            assert found._repr_svg_() == "".join(value["image/svg+xml"]), source
            pictures += 1
        elif value:
            assert repr(found) == "".join(value["text/plain"]), source
    return pictures


@pytest.mark.parametrize(("name", "pictures"), [("measure-and-compare", 3), ("read-a-study", 4)])
def test_a_notebook_prints_and_draws_what_it_shows(
    name: str, pictures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path if name == "measure-and-compare" else BOOKS)
    assert asyncio.run(play(name)) == pictures


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing\\w*` is deprecated:FutureWarning")
@pytest.mark.filterwarnings(
    "ignore:Every one of:adhere.rewards.judge.AllCut"
)  # a random model ends none of its answers
def test_the_reward_trains_in_trl(tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tiny model of random weights and two steps. What the last cell prints differs in the number of steps."""
    for name in ("trl", "datasets"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODEL", str(tiny_llama_dir))
    monkeypatch.setenv("STEPS", "2")
    names: dict[str, Any] = {}
    *first, (train, printed, _) = cells("reward-in-trl")
    for source, said, _ in first:
        assert run(source, names)[0] == said
    assert printed == "3 steps; every mean reward lies in [0, 1]: True\n"
    assert run(train, names)[0].splitlines()[-1] == "2 steps; every mean reward lies in [0, 1]: True"
