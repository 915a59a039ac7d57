"""The package `jsonschema`, without the two seconds that its import takes where the checker of one format is installed.

`jsonschema` imports `rfc3987_syntax` for the formats `iri` and `iri-reference`, which builds forty parsers at once (2.2
s beside 0.2 s for all the rest, on two AVX2 cores). Hardly a schema asks for these formats; so it is built when one
does.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_SLOW = "rfc3987_syntax"


@cache
def import_jsonschema() -> ModuleType:
    """`jsonschema`; what it says of any value is what it says when imported plainly."""
    if "jsonschema" in sys.modules or _SLOW in sys.modules or find_spec(_SLOW) is None:
        return import_module("jsonschema")
    stand_in = ModuleType(_SLOW)
    stand_in.is_valid_syntax = _is_valid_syntax  # type: ignore[attr-defined]
    sys.modules[_SLOW] = stand_in
    try:
        return import_module("jsonschema")
    finally:
        del sys.modules[_SLOW]


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(import_module(_SLOW).is_valid_syntax(term, value))
