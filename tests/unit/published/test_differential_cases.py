"""Texts on which ours once differed from the published code, found by `benchmarks/judge/differential/compare.py`.

Verdicts are the reference's.
"""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

from adhere.constraints import published
from adhere.constraints.published.ifbench.english.tokens import first_tokens, last_tokens, leading_tokens
from adhere.constraints.published.shared.features import Text
from adhere.errors import BadParameter

NO_BREAK = "\u00a0"
LONG = NO_BREAK.join(["stay", "home.", "Now", "we", "may", "rest."]) + "\n\n" + "More of it is here. " * 50
FIFTH = (
    "Rotor people I friend she refer! About end madam world to said well text. About end. "
    "Ate sat work quickly a tomorrow! madam quickly first they E.G.? But refer cat! See people."
)
OTHERS = {"phrase": "as well as the others", "small_n": 1}

# id, profile, parameters, text, strict, loose
CASES: list[tuple[str, str, dict[str, Any], str, bool, bool]] = [
    # The 2026 checkers replace straight quotes by straight ones, where those of 2025 replaced curly ones.
    ("format:quote_unquote", "ifbench-2026", {}, "He said “yes”", True, True),
    ("format:quote_unquote", "ifbench-2026", {}, "“a” “b” are quotes", True, True),
    ("format:quote_unquote", "ifbench-2026", {}, 'He said "yes"', False, False),
    ("format:quote_unquote", "ifbench-2025", {}, "He said “yes”", False, False),
    ("format:quote_unquote", "ifbench-2025", {}, "“a” “b” are quotes", False, False),
    # A sentence whose last word a no-break space and a closing mark follow.
    ("count:pronouns", "ifbench-2026", {"N": 1}, f"«all-in\n\nme{NO_BREAK}»", True, True),
    ("count:pronouns", "ifbench-2026", {"N": 2}, f"«all-in\n\nme{NO_BREAK}»", False, False),
    # A sentence alone can be two: the tokenizer looks for sentences again.
    ("words:keywords_specific_position", "ifbench-2026", {"keyword": "e.g.", "n": 5, "m": 5}, FIFTH, False, False),
    ("words:keywords_specific_position", "ifbench-2026", {"keyword": "e.g", "n": 5, "m": 5}, FIFTH, True, True),
    # The first missing keyword decides, before one that is no regular expression is read.
    ("keywords:existence", "ifeval", {"keywords": ["'s", "?"]}, "And so on", False, False),
    # A copy that lost a word is no copy.
    ("copy:repeat_phrase", "iftrain", OTHERS, "as well as  others", False, False),
    ("copy:repeat_phrase", "iftrain", OTHERS, "as well as some others", True, True),
    # Some published rows give a list of one word.
    ("first_word:first_word_sent", "iftrain", {"first_word": ["The"]}, "The cat. the dog.", True, True),
    ("first_word:first_word_sent", "iftrain", {"first_word": ["The"]}, "The cat. A dog.", False, False),
]


@pytest.mark.parametrize(("id_", "profile", "kwargs", "text", "strict", "loose"), CASES)
def test_the_verdict_is_the_references(
    id_: str, profile: str, kwargs: dict[str, Any], text: str, strict: bool, loose: bool
) -> None:
    found = published.constraint(id_, kwargs, profile=profile).both_views(Text(text))
    assert tuple(view.outcome == "pass" for view in found) == (strict, loose), [view.reason for view in found]
    assert {view.outcome for view in found} <= {"pass", "fail"}


def test_words_between_no_break_spaces_are_one_to_punkt() -> None:
    """Only its last full stop ends a sentence, and the one after "home" stays on its word."""
    assert first_tokens(Text(LONG), 3) == ["stay", "home.", "Now"]
    assert leading_tokens(LONG, 2) == ["stay", "home."]
    assert last_tokens(Text(LONG + NO_BREAK.join(["see", "home.", "Now", "x."])), 3) == ["Now", "x", "."]


@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_letter_is_the_one_that_the_published_code_draws(seed: int) -> None:
    letter = random.Random(seed).choice(string.ascii_letters).lower()
    for id_, profile in (("letters:letter_counting2", "iftrain"), ("keywords:letter_frequency", "ifeval")):
        given = {"letter": "#", "let_frequency": 1, "let_relation": "at least"}
        constraint = published.constraint(id_, given, profile=profile, random_seed=seed)
        assert constraint.check(f"only {letter}").outcome == "pass"
        assert constraint.check("".join(x for x in string.ascii_letters if x.lower() != letter)).outcome == "fail"


@pytest.mark.parametrize("given", [{}, {"N": 0}])
def test_every_nth_word_needs_an_n(given: dict[str, Any]) -> None:
    """The published code raises without one, and divides by 0."""
    for profile in ("ifbench-2025", "ifbench-2026"):
        with pytest.raises(BadParameter, match="missing parameter N"):
            published.constraint("count:words_japanese", given, profile=profile)
