"""The 15 kinds of MathIF, profile `mathif`.

IFEval's checks on the answer, or on what stands between its `<answer>` tags. `length_constraint_checkers:number_words`
is IFEval's `length_constraints:number_words` under another name. Parameters that are false (0, an empty text) count as
absent, as the published code drops them.

Known defects, kept: as IFEval's; what stands behind a second `</think>`, or behind a `<think>` in the answer, is not
looked at. Different here: an answer whose `<think>` is never closed is no answer and fails; the published code takes
the reasoning for the answer then.

Source: T. Fu et al., arXiv 2505.14810; `code/constraint_checker.py` and `code/eval_if.py` in TingchenFu/MathIF, written
anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from adhere.constraints.finding import Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import EMPTY, Check, Kind, Param, find, register
from adhere.schema import Json

PROFILES = ("mathif",)
IDS = {
    **{
        name: name
        for name in (
            "keywords:existence", "keywords:frequency", "keywords:forbidden_words", "language:response_language",
            "detectable_format:number_bullet_lists", "detectable_format:number_highlighted_sections",
            "detectable_format:multiple_sections", "combination:repeat_prompt", "startend:end_checker",
            "startend:quotation", "change_case:capital_word_frequency", "change_case:english_capital",
            "change_case:english_lowercase", "punctuation:no_comma",
        )
    },
    "length_constraint_checkers:number_words": "length_constraints:number_words",
}  # fmt: skip
"""Published id -> the kind of IFEval that it is."""
_OPEN, _CLOSE = "<answer>", "</answer>"
_THINKS = ("</think>", "<think>")
_TAGS = (_OPEN, _CLOSE, *_THINKS)


def answer_of(raw: str) -> str:
    """Return what follows the first `<answer>`, up to the next `<answer>` or `</answer>`.

    A missing tag cuts nothing. The reasoning before the answer is already removed, so the text ends at any further
    `<think>` or `</think>`.
    """
    for tag in _THINKS:
        raw = raw.split(tag, maxsplit=1)[0]
    if _OPEN in raw:
        raw = raw.split(_OPEN)[1]
    return raw.split(_CLOSE)[0]


def _param(param: Param) -> Param:
    return param._replace(is_drawn=lambda value, params: not value or param.is_drawn(value, params))


def _kind(name: str, original: Kind) -> Kind:
    def compile_here(values: Mapping[str, Json]) -> Check:
        judge = original.compile(values)

        def check(text: Text) -> Finding:
            if not any(tag in text.raw for tag in _TAGS):
                return judge(text)
            answer = Text(answer_of(text.raw))
            return EMPTY if answer.is_blank else Finding(*judge(answer))._replace(span=None)

        return check

    params = {key: _param(param) for key, param in original.params.items()}
    return Kind(name, PROFILES, params, compile_here, original.describe, original.version + 1)


register(*(_kind(name, find(original, profile="ifeval")) for name, original in IDS.items()))
