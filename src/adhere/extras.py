"""Imports optional packages by name where they are used, and names the command that installs an absent one."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from adhere.errors import MissingExtra

# fmt: off
BRINGS = {
    "local": ("openvino_genai",),
    "train": ("accelerate", "gguf", "huggingface_hub", "safetensors", "tokenizers", "torch", "transformers"),
    "tracking": ("mlflow", "tensorboard", "trackio", "wandb"),
    "vllm": ("vllm",),
    "claims": ("lxml", "markdown_it", "pdfminer", "pdfplumber"),
    "parquet": ("duckdb",),
    "needlebench": ("tiktoken",),
    "worlds": ("gymnasium",),
    "pictures": ("PIL", "resvg_py"),
    "schemas": (
        "fqdn", "isoduration", "jsonpointer", "rfc3339_validator", "rfc3986_validator", "rfc3987_syntax",
        "uri_template", "webcolors", "yaml",
    ),
    "mifeval": ("ja_sentence_segmenter", "janome", "spacy"),
    "datatrove": ("datatrove", "orjson", "regex"),
    "ray": ("ray",),
    "remote": ("fsspec", "pyarrow"),
    "environments": ("datasets", "openenv", "uv", "verifiers"),
}
# fmt: on
"""The modules that each extra installs (`pyproject.toml`)."""


def missing(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error for an optional package that an import did not find; None if no extra installs it.

    Modules that cannot work without torch import it at the top, and such an import may fail. The command line catches
    this in one place for all commands and calls this function.
    """
    name = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in BRINGS.items() if name in modules), None)
    return None if extra is None else _absent(name, extra)


def _absent(package: str, extra: str) -> MissingExtra:
    return MissingExtra(f"This needs the package {package!r}, which is not installed. Run: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that installs an extra. It works in a checkout, too."""
    return f"pip install 'adhere[{extra}]'"


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say how to install it.

    Args:
        module: Dotted name, e.g. `"torch"`.
        extra: The extra of this package that brings it, e.g. `"train"`.

    Raises:
        MissingExtra: The module, or one that it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _absent(error.name or module, extra) from error


_SLOW = "rfc3987_syntax"


@cache
def import_jsonschema() -> ModuleType:
    """Import `jsonschema` without the two seconds that the checker of one format takes, if installed.

    It imports `rfc3987_syntax` for the formats `iri` and `iri-reference`, which builds forty parsers at once (2.2 s,
    and 0.2 s for all the rest, on two AVX2 cores). Few schemas use these formats; so the parsers are built when one
    does. Validation gives the same results.
    """
    if "jsonschema" in sys.modules or _SLOW in sys.modules or find_spec(_SLOW) is None:
        return importlib.import_module("jsonschema")
    stand_in = ModuleType(_SLOW)
    stand_in.is_valid_syntax = _is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[_SLOW] = stand_in
    try:
        return importlib.import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(importlib.import_module(_SLOW).is_valid_syntax(term, value))
