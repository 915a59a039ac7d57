"""The model that is a function, loaded by path: the process that gets killed runs the same file."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def fakes() -> SimpleNamespace:
    """`FunctionModel`, `everyday`, `answer`."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("function_model.py"))))
