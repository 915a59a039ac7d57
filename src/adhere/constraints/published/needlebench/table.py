r"""NeedleBench V2's two rules, profile `needlebench`.

A keyword stands in the answer, and a name stands in its last box. `needlebench:keyword` is the retrieval tasks' match:
the keyword stands anywhere in the answer, in its own case. `needlebench:boxed` is that of reasoning and of the
Ancestral Trace Challenge: what stands in the answer's last `\boxed{…}`, cleaned, is the name. There is no loose view.

Known defects, kept: a keyword matches inside a longer word or number; quotation marks are taken out of the box, not of
the name, so that a name with an apostrophe never matches; a `\fbox` behind the last `\boxed` is not read, and one
without any `\boxed` neither.

Source: M. Li et al., arXiv 2407.11963; `needlebench_v2/{origin,parallel,atc_elder_only}.py` and `extract_boxed_answer`
in `math.py` of OpenCompass 0.5.4, written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adhere.constraints.finding import FinalFailure, Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, judge_by, register
from adhere.schema import Json

PROFILES = ("needlebench",)
KEYWORD, BOXED = "needlebench:keyword", "needlebench:boxed"
_BOX = "\\boxed"
_TWICE = re.compile(r"\{(.*)\}\n?")


def last_box(text: str) -> str | None:
    r"""Return the text between the braces of the last `\boxed{…}`, nested braces included.

    None: there is no box, or its brace is never closed.
    """
    start = text.rfind(_BOX)
    if start < 0:
        return None
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "{}":
            depth += 1 if text[at] == "{" else -1
            if depth == 0 and text[at] == "}":
                inside = text[start : at + 1]
                return inside[len(_BOX) + 1 : -1] if inside.startswith(_BOX + "{") else None
    return None


def clean_box(inside: str) -> str:
    """Return the name in a box, without commands, backslashes, quotation marks and doubled blanks."""
    twice = _TWICE.fullmatch(inside)
    text = inside if twice is None else twice[1]
    for command in ("text", "boxed"):  # one after the other: a box in a text
        text = re.sub(rf"\\{command}\{{([^}}]+)\}}", r"\1", text)
    text = re.sub(r"\\[\[\]]", "", text).replace("\\", "")
    text = re.sub(r"\s+", " ", text).strip()
    return text.replace('"', "").replace("'", "").replace("~", " ").strip()


def _keyword(values: Mapping[str, Json]) -> Check:
    keyword = str(values["text"])
    yes, no = Finding("pass", f"holds {keyword[:80]!r}"), FinalFailure("fail", f"does not hold {keyword[:80]!r}")
    return lambda text: yes if not text.is_blank and keyword in text.raw else no


@judge_by
def _check_box(text: Text, values: Mapping[str, Json]) -> Finding:
    expected = str(values["text"]).strip()
    inside = last_box(text.raw)
    name = clean_box(inside) if inside else ""
    if not name:
        return FinalFailure("fail", "no answer in \\boxed{}", None, expected)
    if name == expected:
        return Finding("pass", f"the last box says {expected[:80]!r}", name[:200], expected)
    return FinalFailure("fail", f"the last box says {name[:80]!r}, needed {expected[:80]!r}", name[:200], expected)


_TEXT = {"text": Param("string", required=True)}
register(
    Kind(KEYWORD, PROFILES, _TEXT, _keyword, lambda values: f"Give {values['text']} in your answer."),
    Kind(BOXED, PROFILES, _TEXT, _check_box, lambda values: f"Give {values['text']} in \\boxed{{}} at the end."),
)
