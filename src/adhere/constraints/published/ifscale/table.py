r"""IFScale's keyword rule, profile `ifscale`: the word stands in the answer, case ignored, between word boundaries.

A word that is missing is *distorted* where another word begins with its first four fifths (at least three letters), and
*omitted* otherwise; the finding says which, and so do the summary's measures.

Known defects, kept: `\b` takes `customer-driven` for `customer`, which the prompt forbids; the whole answer counts,
also the text outside its `<report>` tags. The published repository has two other rules that its tables do not use: the
runner's own (words cut at blanks, so that `customer-driven` is none) and its printed summary's (the word as any part of
the text).

Source: D. Jaroslawicz et al., arXiv 2507.11538; `src/analysis.py` in DistylAI/distylai.github.io at 5f4051f (MIT),
written anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from adhere.constraints.finding import FinalFailure, Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Param, declare, register
from adhere.schema import Json

PROFILES = ("ifscale",)
WORD = "ifscale:word"
_SAME_SHARE, _FEWEST_SAME = 0.8, 3


def is_distorted(word: str, text: str) -> bool:
    """Tell whether a word that is missing from a lower-case text occurs there in another form."""
    start = word[: max(_FEWEST_SAME, int(len(word) * _SAME_SHARE))]
    return re.search(rf"\b{re.escape(start)}[a-z]*\b", text) is not None


def _compile(values: Mapping[str, Json]) -> Check:
    word = str(values["word"]).strip().lower()
    exact = re.compile(rf"\b{re.escape(word)}\b")
    success = Finding("pass", f"{word!r} stands there")

    def check(text: Text) -> Finding:
        if not text.is_blank and exact.search(text.lower):
            return success
        how = "distorted" if is_distorted(word, text.lower) else "omitted"
        return FinalFailure("fail", f"{word!r} is {how}", how)

    return check


register(declare(WORD, PROFILES, _compile, "Use the exact word {word!r}.", word=Param("string", required=True)))
