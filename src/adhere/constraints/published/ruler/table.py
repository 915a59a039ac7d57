"""RULER's `string_match_all` and `string_match_part`, profile `ruler`.

A reference stands somewhere in the answer, case ignored. `ruler:holds` is one reference; a prompt has one for each, so
that the mean over prompts of the share that passes is `string_match_all`. `ruler:holds_any` is the question answering
tasks' `string_match_part`. Control characters in an answer become line breaks first.

Known defect, kept: a reference matches inside a longer number or word (`12` in `312`).

Source: `scripts/eval/synthetic/constants.py` and `scripts/eval/evaluate.py` at c3f5e3b, written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adhere.constraints.finding import Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Param, declare, register
from adhere.schema import Json

PROFILES = ("ruler",)
_CONTROL = re.compile(r"[\x00-\x1f]")


def _clean(text: Text) -> str:
    return _CONTROL.sub("\n", text.raw.strip()).strip().lower()


def _holds(values: Mapping[str, Json]) -> Check:
    reference = str(values["text"])
    yes, no = Finding("pass", f"holds {reference[:80]!r}"), Finding("fail", f"does not hold {reference[:80]!r}")
    return lambda text: yes if reference.lower() in _clean(text) else no


def _holds_any(values: Mapping[str, Json]) -> Check:
    texts = values["texts"]
    references = [str(reference) for reference in texts] if isinstance(texts, list | str) else []
    no = Finding("fail", f"holds none of {len(references)} references")

    def check(text: Text) -> Finding:
        cleaned = _clean(text)
        hit = next((reference for reference in references if reference.lower() in cleaned), None)
        return no if hit is None else Finding("pass", f"holds {hit[:80]!r}")

    return check


register(
    declare("ruler:holds", PROFILES, _holds, "Give {text} in your answer.", text=Param("string", required=True)),
    declare(
        "ruler:holds_any",
        PROFILES,
        _holds_any,
        "Give one of {texts} in your answer.",
        texts=Param("strings", required=True),
    ),
)
