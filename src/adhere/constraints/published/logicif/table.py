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
    """Return the last object or list in the text that is JSON, or a private mark if there is none.

    Only outermost brackets count. A piece ends where a closing bracket closes its first bracket; a closing bracket that
    fits nothing is ignored.
    """
    last: Any = _NONE
    open_brackets: list[str] = []
    start = 0
    for at, character in enumerate(text):
        if character in "{[":
            if not open_brackets:
                start = at
            open_brackets.append(character)
        elif character in _CLOSES and open_brackets:
            if open_brackets[-1] == _CLOSES[character]:
                open_brackets.pop()
            if not open_brackets:
                piece = text[start : at + 1]
                try:
                    last = last if is_deep(piece) else json.loads(piece)
                except ValueError:
                    continue
    return last


def _compile(part: str) -> Callable[[Mapping[str, Json]], Check]:
    def compile_here(values: Mapping[str, Json]) -> Check:
        try:
            expected = json.loads(str(values["expected"]))
        except ValueError as error:
            raise BadParameter(f"logicif:{part}: expected={values['expected']!r:.80} must be JSON: {error}") from error
        target = str(values["expected"])[:200]

        def check(text: Text) -> Finding:
            answer = last_json(text.raw)
            if answer is _NONE and expected is None:
                return Finding("pass", f"the answer holds no JSON, which counts as {part} null", None, target)
            if not isinstance(answer, dict) or not {"output", "stats"} <= set(answer):
                return Finding("fail", "the answer holds no JSON object with output and stats at its end", None, target)
            value = json.dumps(answer[part], ensure_ascii=True)[:200]
            return verdict(answer[part] == expected, f"{part} is {value}, needed {target}", value, target)

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
