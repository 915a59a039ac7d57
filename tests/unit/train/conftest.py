"""A tiny model for every test, on one thread: at this size a second one only waits for the first (51 s became 9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny(tiny_llama_dir: Path) -> tuple[Any, Any]:
    """A fresh tiny model and its tokenizer."""
    return load(tiny_llama_dir)


def load(directory: Path) -> tuple[Any, Any]:
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype="float32")
    return model.train(mode=False), transformers.AutoTokenizer.from_pretrained(directory)
