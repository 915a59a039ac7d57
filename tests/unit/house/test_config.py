"""TOML errors name the file, the line, the key and the nearest valid name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from adhere.config import load_toml, parse_toml
from adhere.errors import SpecError
from adhere.schema import Record


class Inner(Record, frozen=True):
    learning_rate: float = 1.0
    steps: int = 3


class Choice(Record, frozen=True):
    axis: Literal["", "rows", "columns"] = ""


class Outer(Record, frozen=True):
    name: str
    stages: list[Inner] = []
    named: dict[str, Inner] = {}
    inner: Inner = Inner()


def test_reads_what_is_right() -> None:
    spec = parse_toml('name = "a"\n[[stages]]\nsteps = 1\n[inner]\nlearning_rate = 0.5\n', Outer, name="f.toml")
    assert spec == Outer("a", [Inner(steps=1)], inner=Inner(0.5))


@pytest.mark.parametrize(
    ("text", "line", "key", "nearest"),
    [
        ('nam = "a"\n', 1, "nam", "name"),
        ('name = "a"\n[inner]\nlearning_rte = 3\n', 3, "learning_rte", "learning_rate"),
        ('name = "a"\n[[stages]]\nsteps = 1\n\n[[stages]]\nstepz = 2\n', 6, "stepz", "steps"),
        ('name = "a"\ninner = { learning_rate = 1.0, stepz = 2 }\n', 2, "stepz", "steps"),
        ('name = "a"\n[named.first]\nsteps = 1\n[named.second]\nstepz = 2\n', 5, "stepz", "steps"),
    ],
)
def test_unknown_key(text: str, line: int, key: str, nearest: str) -> None:
    with pytest.raises(SpecError, match=rf"f\.toml:{line}: unknown key '{key}'.*Did you mean '{nearest}'\?"):
        parse_toml(text, Outer, name="f.toml")


def test_wrong_type_names_the_line() -> None:
    with pytest.raises(SpecError, match=r"f\.toml:4: steps: Expected `int`, got `str`"):
        parse_toml('name = "a"\n[[stages]]\n\nsteps = "x"\n', Outer, name="f.toml")


def test_missing_key_is_named() -> None:
    with pytest.raises(SpecError, match="missing required field `name`"):
        parse_toml("[inner]\nsteps = 1\n", Outer, name="f.toml")


def test_not_toml_and_no_file(tmp_path) -> None:
    with pytest.raises(SpecError, match="not valid TOML"):
        parse_toml("name = ", Outer, name="f.toml")
    with pytest.raises(SpecError, match="no such file"):
        load_toml(tmp_path / "absent.toml", Outer)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(SpecError, match="UTF-8"):
        load_toml(tmp_path / "latin.toml", Outer)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000])
def test_what_python_itself_refuses_is_one_line(text: str) -> None:
    with pytest.raises(SpecError, match=r"f\.toml: not valid TOML"):
        parse_toml(text, Outer, name="f.toml")


@pytest.mark.parametrize(
    ("stage", "line", "what"),
    [
        ('stage = "sftt"', 4, "sftt"),
        ('stage = "sft"\nsettings = { learning_rte = 1.0 }', 5, "has no setting 'learning_rte'"),
        ('stage = "sft"\n[stages.settings]\nepochs = 2\nlearning_rate = "fast"', 7, "learning_rate"),
    ],
)
def test_a_recipe_names_file_and_line(stage: str, line: int, what: str, tmp_path: Path) -> None:
    from adhere.train.recipe.load import load_recipe

    file = tmp_path / "r.toml"
    file.write_text(f'name = "r"\n\n[[stages]]\n{stage}\n')
    with pytest.raises(SpecError, match=rf"r\.toml:{line}: stage 1: .*{what}"):
        load_recipe(str(file))


def test_a_wrong_word_names_the_right_ones() -> None:
    with pytest.raises(
        SpecError, match=r"f.toml:1: axis: no such value 'row'. Did you mean 'rows'\? Valid values: rows, columns$"
    ):
        parse_toml('axis = "row"', Choice, name="f.toml")
