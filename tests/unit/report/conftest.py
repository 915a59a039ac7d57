"""The made-up study, loaded by path: the browser test in tests/integration uses the same file."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def factory() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("study_factory.py"))))
