"""1 MB of anything takes under two seconds, in both views, and nothing raises.

By default each text is an eighth as long, in an eighth of the time; whole megabytes are slow.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhere.constraints.published import Text, constraint, ids
from timing import MEGABYTE_S, assert_quick

MEGABYTE = 1_000_000
PART = 8
PARAMS: dict[str, dict[str, Any]] = {
    "keywords:existence": {"keywords": ["fox", "zebra"]},
    "keywords:frequency": {"keyword": "fox", "frequency": 3, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["zebra", "ox"]},
    "keywords:letter_frequency": {"letter": "q", "let_frequency": 40, "let_relation": "at least"},
    "language:response_language": {"language": "de"},
    "length_constraints:number_sentences": {"num_sentences": 30, "relation": "at least"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 3},
    "length_constraints:number_words": {"num_words": 300, "relation": "less than"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "x"},
    "detectable_content:number_placeholders": {"num_placeholders": 12},
    "detectable_content:postscript": {"postscript_marker": "P.P.S"},
    "detectable_format:number_bullet_lists": {"num_bullets": 5},
    "detectable_format:constrained_response": {},
    "detectable_format:number_highlighted_sections": {"num_highlights": 5},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 3},
    "detectable_format:json_format": {},
    "detectable_format:title": {},
    "combination:two_responses": {},
    "combination:repeat_prompt": {"prompt_to_repeat": "Write a poem."},
    "startend:end_checker": {"end_phrase": "The end."},
    "startend:quotation": {},
    "change_case:capital_word_frequency": {"capital_frequency": 20, "capital_relation": "at least"},
    "change_case:english_capital": {},
    "change_case:english_lowercase": {},
    "punctuation:no_comma": {},
}
REPEATED = (
    "*", "[", "<", ">", '"', "'", ",", "(", ")", "{", "]", ".", "-", "`", "\x00", "\n", " ", "a", "A", "1", "\ufeff",
    "\u202e", "[]", "<>", "!?", "a@", "a.b.", "http://", "Mr. ", "p.p.", "-\n", "*\n", "* ", "*a\n", "***\n", "<<\n",
    "[\n", "'S ", "a b.\r\n", "\ud800 ", "שלום עולם. ", "👨\u200d👩\u200d👧 ", "İ",
    "The quick brown fox jumps over the lazy dog. ", "THE QUICK BROWN FOX DOESN'T JUMP. ",
    "A line of plain words, with a comma.\n", '{"a":', "Section 1\n",
)  # fmt: skip
TEXTS = {
    "newlines, then a letter": "\n" * MEGABYTE + "x",
    "blanks between letters": "x" + " " * MEGABYTE + "x",
    "nested brackets": "[" * (MEGABYTE // 2) + "]" * (MEGABYTE // 2),
    "nested objects": '{"a":' * (MEGABYTE // 6) + "1" + "}" * (MEGABYTE // 6),
    **{f"{unit!r} repeated": unit * (MEGABYTE // len(unit)) for unit in REPEATED},
}


def test_every_kind_has_parameters_here() -> None:
    assert sorted(PARAMS) == ids("ifeval")


@pytest.mark.parametrize("part", [PART, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PARAMS)
def test_a_megabyte_of_anything_is_judged_in_two_seconds(name: str, part: int) -> None:
    judged = constraint(name, PARAMS[name])
    for what, whole in TEXTS.items():
        text = whole[: len(whole) // part]
        work = lambda: judged.both_views(Text(text))  # noqa: B023, E731
        strict, loose = assert_quick(work, f"{name} on {what}", limit_s=MEGABYTE_S / part)
        assert {strict.outcome, loose.outcome} <= {"pass", "fail"}
        assert (strict.outcome, loose.outcome) != ("pass", "fail")


ALPHABET = st.sampled_from(
    list("aAzZ1 \n\t\r.,:;!?'\"`*-_[](){}<>#@$%&|/\\~^=+İßſΣ你م\u0301\u200d\u00a0\x00\x1c\ud800👍")
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(ALPHABET, st.sampled_from(["***", "<<", ">>", "P.S.", "Mr.", "Section 1", "```"])), max_size=40)
)
def test_no_kind_raises_and_loose_is_never_stricter(parts: list[str]) -> None:
    text = Text("".join(parts))
    for name, params in PARAMS.items():
        strict, loose = constraint(name, params).both_views(text)
        assert strict.reason
        assert strict.outcome == "fail" or loose.outcome == "pass", name
        fresh = constraint(name, params).both_views(Text(text.raw))
        assert (strict, loose) == fresh, name
