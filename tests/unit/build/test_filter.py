"""Which answers are kept: worked by hand."""

from __future__ import annotations

import pytest

from adhere.build.filter import (
    Answer,
    Candidate,
    diverse,
    find_passing,
    is_sound,
    judge_draws,
    keeps_all,
    repair_answers,
)
from adhere.build.pairs import Pair, pairs
from adhere.schema import ConstraintRef, Prompt, Response, Turn

LOWER = Prompt(id="p", turns=(Turn("Why? Use small letters.", (ConstraintRef("case:lower", {}),)),))


def drawn(*texts: str, status: str = "ok") -> list[Answer]:
    responses = [Response("p", 0, draw, text, status) for draw, text in enumerate(texts)]  # type: ignore[arg-type]
    return judge_draws(LOWER, responses, kind="dense")


def test_a_complete_answer_that_keeps_the_rule_is_kept_once() -> None:
    answers = drawn("so the old road goes on.", "So the old road goes on.", " so the old road goes on. ")
    assert [answer.passed for answer in answers] == [True, False, True]
    assert [answer.score for answer in answers] == [1.0, 0.0, 1.0]
    assert find_passing(LOWER, answers) == [Candidate(0, "so the old road goes on.", None)]


def test_a_cut_answer_fails_even_where_its_text_keeps_the_rule() -> None:
    (answer,) = drawn("so the old road goes on and", status="truncated")
    assert (answer.passed, answer.score) == (False, 0.0)
    assert find_passing(LOWER, [answer]) == []
    assert repair_answers(LOWER, [answer], enough=4) == []  # one sentence, and that was cut


def test_a_failed_call_is_no_answer() -> None:
    assert drawn("", status="error") == []


def test_an_answer_is_repaired_and_keeps_its_original() -> None:
    (found,) = repair_answers(LOWER, drawn("So the old road goes on."), enough=4)
    assert found == Candidate(0, "so the old road goes on.", "So the old road goes on.")


def test_a_cut_answer_is_repaired_without_its_last_sentence() -> None:
    (found,) = repair_answers(LOWER, drawn("It rains a lot. Then the sun comes out and", status="truncated"), enough=4)
    assert found == Candidate(0, "it rains a lot.", "It rains a lot.")
    assert keeps_all(LOWER, found.text)


def test_complete_answers_are_repaired_before_cut_ones() -> None:
    answers = drawn("It rains a lot. Then the", status="truncated") + [
        answer._replace(draw=5) for answer in drawn("It snows a lot.")
    ]
    assert [candidate.draw for candidate in repair_answers(LOWER, answers, enough=4)] == [5, 0]


def test_what_says_nothing_is_not_kept() -> None:
    assert not is_sound(LOWER, "yes it")
    assert not is_sound(LOWER, "we go on and " * 12)
    assert is_sound(LOWER, "we go on because the road is long and the day is young")
    assert find_passing(LOWER, drawn("well, yes")) == []
    parrot = Prompt(id="q", turns=(Turn('Compare a and b. End with the phrase "Good luck with it".'),))
    assert not is_sound(parrot, "Good luck with it.")
    assert is_sound(parrot, "They are nearly alike. Good luck with it.")


def test_repairing_stops_when_there_are_enough() -> None:
    answers = drawn("It rains a lot.", "It snows a lot.", "The wind blows hard.")
    assert [len(repair_answers(LOWER, answers, enough=count)) for count in (1, 2, 9)] == [1, 2, 3]


def test_the_first_choice_is_of_median_length_and_never_the_shortest_of_many() -> None:
    texts = ["one two three", "one two three four", "one two three four five", "six seven", "six"]
    candidates = [Candidate(draw, text, None) for draw, text in enumerate(texts)]
    chosen = diverse(candidates, 2)
    assert chosen[0].text == "one two three"
    assert chosen[1].text == "six seven"  # shares nothing with the first, and is longer than "six"
    assert len(diverse(candidates, 9)) == 5
    assert diverse([], 3) == []


def test_a_pair_is_of_near_length_and_prefers_complete_answers() -> None:
    passing = "so the rain falls on the land."
    answers = drawn(passing, "So the rain falls on the sea.", "No.") + [
        answer._replace(draw=9) for answer in drawn("So the rain falls on a", status="truncated")
    ]
    found = pairs(LOWER, answers, find_passing(LOWER, answers), [], 1)
    assert found == [Pair(passing, "So the rain falls on the sea.", "sampled")]


def test_a_cut_answer_that_breaks_no_rule_is_never_rejected_text() -> None:
    answers = drawn("so the rain falls on the land.") + drawn("so the rain falls and", status="truncated")
    assert pairs(LOWER, answers, find_passing(LOWER, answers), [], 1) == []


def test_a_repaired_pair_only_where_no_sampled_pair_is() -> None:
    failing = drawn("So the rain falls.")
    repairs = repair_answers(LOWER, failing, enough=4)
    assert pairs(LOWER, failing, [], repairs, 1) == [Pair("so the rain falls.", "So the rain falls.", "repaired")]
    answers = drawn("so the sun shines.", "So the rain falls.")
    assert pairs(LOWER, answers, find_passing(LOWER, answers), repairs, 1)[0].origin == "sampled"


def test_a_repair_that_the_judge_does_not_pass_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adhere.build.filter.repair_all", lambda text, constraints: "This Is No Repair At All.")
    assert repair_answers(LOWER, drawn("So the old road goes on."), enough=4) == []
