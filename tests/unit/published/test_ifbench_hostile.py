"""Texts made to hang, crash or overflow a checker: 1 MB each, every IFBench and IFTrain kind, under two seconds.

By default both views are asked of a tenth of the texts, an eighth as long, in an eighth of the time; the rest is slow.
"""

from __future__ import annotations

import pytest

from adhere.constraints.published.shared import registry as published
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import in_fixed_mode
from timing import MEGABYTE_S, assert_quick

PROFILES = ("ifbench-2026", "ifbench-2025", "iftrain")
SIZE = 1_000_000
EVERY_TENTH = 10
PART = 8
HOSTILE = {
    "newlines": "\n" * SIZE + "x",
    "blanks": "x" + " " * SIZE + "x",
    "blank lines": " \n" * (SIZE // 2),
    "brackets": "[" * SIZE,
    "stars": "*" * SIZE,
    "double quotes": '"' * SIZE,
    "commas": "," * SIZE,
    "closed parentheses": "(" * (SIZE // 2) + ")" * (SIZE // 2),
    "abbreviations": "Mr. " * (SIZE // 4),
    "question and exclamation": "!?" * (SIZE // 2),
    "addresses": "http://a@b.c." * (SIZE // 13),
    "English": "The quick brown fox jumps over the lazy dog. " * (SIZE // 45),
    "one word": "a" * SIZE,
    "emoji": "😀 " * (SIZE // 2),
    "accents": "Zimbabwe e" + "\u0301\u0323" * (SIZE // 2),
    "countries": "Zimbabwe\n" * (SIZE // 9),
    "right to left": "שלום עולם. " * (SIZE // 11),
    "lone surrogates": "\ud800" * SIZE,
    "NUL": "\x00" * SIZE,
    "CRLF": "a b.\r\n" * (SIZE // 6),
    "questions": "Question 1" + "\n" * SIZE + "Question 2",
    "open phrase": "the " * (SIZE // 4),
    "one csv field": '"' + "a," * (SIZE // 2),
    "quoted csv fields": "ProductID,Category,Brand,Price,Stock\n" + ('"' + "#" * 131_000 + ",b,c,d,e\n") * 7,
    "hyphens": "a-" * (SIZE // 2),
    "digits": "1" * SIZE,
}
MORE = {
    repr(unit): unit * (SIZE // len(unit))
    for unit in (
        "a.b.", "x.)", "x.) ", "\"'", "e.g. ", "...", ". ", "!\n", "*\n", "- \n", "<<>>", ",\n", "\u0301", "a,b,c\n",
        '[{"a":', "* x\n", "\r", "\u2028", "\x85", "1. ", "P.S. x\n", "a? ", ".:", "don't ", "WE'LL ", "👍🏽", "İ ",
        "Inc. He ",
    )
}  # fmt: skip
MORE |= {
    repr(unit): unit * (SIZE // len(unit))
    for unit in (
        "* A. b.\n", "* A b.\n\n", "*a* b. C? D!\n", '"A b" c.\n', "*A. ", "p. s.", "A. ", "A.B.", "[\n", "[]\n", "?\n",
        "x. ", "x\n", "x.)", "*a\n", "a*b. ", "O'Neil's. ", "*\n.\n", "Emma\n",
    )
}  # fmt: skip
MORE["distinct sentences"] = " ".join(f"w{n}." for n in range(120_000))
MORE["distinct quotations"] = " ".join(f'"W{n}."' for n in range(110_000))
MORE["distinct bullets"] = "\n".join(f"* A{n}. b{n}." for n in range(70_000))
ODD = [
    "",
    " \n\t ",
    "\ud800",
    "\x00",
    "\r\n\r\n",
    "\u202e\u200f",
    "(" * 1000,
    ".",
    '"',
    "'",
    "*",
    "-",
    "\u0130",
    "\u03a3",
    "1" * 5000,
]
PARAMS = {
    "min_words": 100, "max_words": 200, "N": 3, "small_n": 2, "percentage": 50, "keyword": "fox", "word": "fox",
    "n": 3, "m": 2, "options": "yes/no/maybe", "sep": "...", "n_start": 2, "n_end": 9, "first_word": "the",
    "last_word": "dog", "phrase": "the quick brown fox", "relation": "at least", "frequency": 3, "letter": "a",
    "let_frequency": 3, "let_relation": "at least", "n_sent": 2, "n_words": 3, "keyword1": "fox", "keyword2": "dog",
    "keyword3": "the", "keyword4": "quick", "keyword5": "lazy", "prompt_to_repeat": "the quick brown fox jumps over",
    "reference_text": "the quick brown fox jumps over",
}  # fmt: skip


def constraints(profile: str) -> list[published.PublishedConstraint]:
    """Every kind of a profile, and those with mended defects a second time.

    What IFBench kept from 2025 is one object with the kind of 2026, and asked under that alone.
    """
    found = []
    for kind in published.kinds(profile):
        if kind.profiles[0] != profile:
            continue
        params = {name: PARAMS[name] for name in kind.params}
        found.append(published.fill(kind, params))
        if in_fixed_mode(kind) is not kind:
            found.append(published.fill(in_fixed_mode(kind), params, mode="fixed"))
    return found


def judge(text: str, profile: str, *, views: bool, limit_s: float = MEGABYTE_S) -> None:
    """Every check within the limit: of the features that all checks share, or with `views` from nothing, both views."""
    shared = Text(text)
    for constraint in constraints(profile):
        work = (lambda: constraint.both_views(Text(text))) if views else (lambda: (constraint.judge(shared),))  # noqa: B023
        for finding in assert_quick(work, f"{constraint.id} ({constraint.mode})", limit_s=limit_s):
            assert finding.outcome in {"pass", "fail", "undecided"}
            assert len(finding.reason) < 500


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_part_of_a_megabyte_keeps_the_pace_of_two_seconds_a_megabyte(name: str, profile: str) -> None:
    text = HOSTILE[name]
    judge(text[: len(text) // PART], profile, views=False, limit_s=MEGABYTE_S / PART)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HOSTILE)
def test_one_megabyte_takes_under_two_seconds(name: str, profile: str) -> None:
    judge(HOSTILE[name], profile, views=False)


@pytest.mark.parametrize("name", [*(HOSTILE | MORE)][::EVERY_TENTH])
@pytest.mark.parametrize("profile", PROFILES)
def test_both_views_of_some_texts_keep_the_pace_of_two_seconds_a_megabyte(name: str, profile: str) -> None:
    text = (HOSTILE | MORE)[name]
    judge(text[: len(text) // PART], profile, views=True, limit_s=MEGABYTE_S / PART)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", HOSTILE | MORE)
def test_both_views_of_any_megabyte_take_under_two_seconds(name: str, profile: str) -> None:
    judge((HOSTILE | MORE)[name], profile, views=True)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_an_outcome_in_both_views(text: str) -> None:
    for profile in PROFILES:
        for constraint in constraints(profile):
            strict, loose = constraint.both_views(Text(text))
            assert {strict.outcome, loose.outcome} <= {"pass", "fail", "undecided"}
            assert constraint.judge(Text(text)) == constraint.judge(Text(text))
