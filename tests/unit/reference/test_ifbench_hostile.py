"""Texts made to hang, crash or overflow a checker: 1 MB each, every IFBench and IFTrain kind, under half a second."""

from __future__ import annotations

import time

import pytest

from adhere.constraints.reference import published
from adhere.constraints.reference.features import Text

PROFILES = ("ifbench-2026", "ifbench-2025", "iftrain")
SIZE = 1_000_000
LIMIT_S = 0.5
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


def constraints(profile: str) -> list[published.Published]:
    found = []
    for kind in published.kinds(profile):
        params = {name: PARAMS[name] for name in kind.params}
        found.append(published.constraint(kind.id, params, profile=profile))
    return found


def slowest(text: str, profile: str, *, fresh: bool) -> tuple[float, str]:
    """The longest CPU time of one check; the features are shared by all checks unless `fresh`."""
    times = []
    shared = Text(text)
    for constraint in constraints(profile):
        subject = Text(text) if fresh else shared
        start = time.process_time()
        finding = constraint.judge(subject)
        times.append((time.process_time() - start, constraint.id))
        assert finding.outcome in {"pass", "fail", "undecided"}
        assert len(finding.reason) < 500
    return max(times)


@pytest.mark.slow  # a few kinds still take 0.5 to 0.6 s on a loaded machine; the limit stays, a quiet machine runs it
@pytest.mark.parametrize("name", HOSTILE)
def test_one_megabyte_takes_under_half_a_second(name: str) -> None:
    for profile in PROFILES:
        took, constraint = slowest(HOSTILE[name], profile, fresh=False)
        for _ in range(2):  # another process on the core may have been in the way
            if took > LIMIT_S:
                took, constraint = min((took, constraint), slowest(HOSTILE[name], profile, fresh=False))
        assert took < LIMIT_S, f"{constraint} took {took:.2f} s"


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_one_megabyte_with_nothing_shared(name: str) -> None:
    for profile in PROFILES:
        took, constraint = min(slowest(HOSTILE[name], profile, fresh=True) for _ in range(2))
        assert took < LIMIT_S, f"{constraint} took {took:.2f} s"


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_an_outcome_in_both_views(text: str) -> None:
    for profile in PROFILES:
        for constraint in constraints(profile):
            strict, loose = constraint.both_views(Text(text))
            assert {strict.outcome, loose.outcome} <= {"pass", "fail", "undecided"}
            assert constraint.judge(Text(text)) == constraint.judge(Text(text))
