"""The package's stages and transforms as pip would register them, and a tiny model; run from the repository's root."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="stages need the train extra")
pytest.importorskip("transformers", reason="stages need the train extra")

from tests.conftest import tiny_llama_dir  # noqa: F401
from tests.unit.train.conftest import one_thread, tiny  # noqa: F401

from adhere.build.transforms import TRANSFORMS
from adhere.train.stages import STAGES

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
REGISTRIES: dict[str, Any] = {"adhere.stages": STAGES, "adhere.transforms": TRANSFORMS}


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """Every entry point's thing under its name, while this folder's tests run."""
    for group, registry in REGISTRIES.items():
        for name, place in PROJECT["entry-points"][group].items():
            module, _, thing = place.partition(":")
            registry.add(name, getattr(importlib.import_module(module), thing), owner=PROJECT["name"])
    yield
    for group, registry in REGISTRIES.items():
        for name in PROJECT["entry-points"][group]:
            registry._things.pop(name, None)
            registry._owners.pop(name, None)
