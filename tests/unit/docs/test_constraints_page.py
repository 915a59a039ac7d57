"""The page of kinds says what the registry holds."""

import importlib.util
from pathlib import Path

import pytest

from adhere.constraints import registry

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("constraints_page", ROOT / "benchmarks" / "constraints.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(script):
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run: python benchmarks/constraints.py"


def test_every_own_kind_has_an_entry(script):
    page = script.page()
    own = [name for name in registry if registry.get(name).__module__.startswith("adhere.constraints.")]
    assert len(own) >= 136
    assert all(f"### `{name}`\n" in page for name in own)


def test_text_with_backticks_and_line_breaks_is_shown(script):
    assert script.code("```\ncats\n```") == "```` ```⏎cats⏎``` ````"
    assert script.code("cats") == "`cats`"
