"""LogicIFEval's comparison, profile `logicif`.

The last JSON in the answer has the result and the counters of the function. `logicif:output` is the result,
`logicif:stats` the counters ("state trackers"). Both read the last bracketed text of the answer that is JSON; it must
be an object with `output` and `stats`, else both fail. Values are compared as Python compares them, so `1` is `1.0` and
`true`.

Known defects, kept: an answer without any JSON has the result `null`, which passes where the function returns nothing;
brackets inside texts count, so a `}` in a string can hide the object; one opening bracket that is never closed hides
everything behind it; a list behind the object is the last JSON, and then there is no object.

Different here: where the last JSON is no such object the published code ends with an exception; a blank answer fails.

Source: M. Zhang et al., arXiv 2508.09125; `evaluation.py` and `jsonparse/__init__.py` in mianzhang/LogicIF at bbc553c,
written anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.ifeval.format import is_deep
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, register
from adhere.errors import BadParameter
from adhere.schema import Json

PROFILES = ("logicif",)
_CLOSES = {"}": "{", "]": "["}
_NONE = object()


def last_json(text: str) -> Any:
    """The last object or list of the text that is JSON; a private mark where there is none.

    Outermost brackets only: a closing bracket ends what was opened where it closes the first open one, and is passed
    over where it closes nothing.
    """
    found: Any = _NONE
    opened: list[str] = []
    start = 0
    for at, character in enumerate(text):
        if character in "{[":
            if not opened:
                start = at
            opened.append(character)
        elif character in _CLOSES and opened:
            if opened[-1] == _CLOSES[character]:
                opened.pop()
            if not opened:
                piece = text[start : at + 1]
                try:
                    found = found if is_deep(piece) else json.loads(piece)
                except ValueError:
                    continue
    return found


def _compile(part: str) -> Callable[[Mapping[str, Json]], Check]:
    def compile_here(values: Mapping[str, Json]) -> Check:
        try:
            wanted = json.loads(str(values["expected"]))
        except ValueError as error:
            raise BadParameter(f"logicif:{part}: expected={values['expected']!r:.80} must be JSON: {error}") from error
        needed = str(values["expected"])[:200]

        def check(text: Text) -> Finding:
            given = last_json(text.raw)
            if given is _NONE and wanted is None:
                return Finding("pass", f"the answer holds no JSON, which counts as {part} null", None, needed)
            if not isinstance(given, dict) or not {"output", "stats"} <= set(given):
                return Finding("fail", "the answer holds no JSON object with output and stats at its end", None, needed)
            shown = json.dumps(given[part], ensure_ascii=True)[:200]
            return verdict(given[part] == wanted, f"{part} is {shown}, needed {needed}", shown, needed)

        return check

    return compile_here


def _kind(part: str) -> Kind:
    return Kind(
        f"logicif:{part}",
        PROFILES,
        {"expected": Param("string", required=True)},
        _compile(part),
        lambda values: f"Give {values['expected']} as {part} of a JSON object.",
        version=2,
    )


register(_kind("output"), _kind("stats"))
