"""Counting by hand: every count, both denominators, and what is not measured."""

from __future__ import annotations

from typing import Any

import pytest

from adhere.pipeline.check import check
from adhere.pipeline.guard import guard
from adhere.pipeline.outcomes import keeps_all
from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, Prompt, Response, Turn
from adhere.stats import wilson_clustered
from adhere.suites.generated.core.queries import queries


def _summary(
    prompts: list[Prompt],
    responses: list[Response],
    *,
    draws: int = 1,
    cut: str = "fail",
    slices: Any = ("plain", "other"),
):
    by_id = {prompt.id: prompt for prompt in prompts}
    verdicts = [
        verdict for response in responses for verdict in check(by_id[response.prompt_id], response, cut_answers=cut)
    ]
    return summarize(prompts, draws, responses, verdicts, slices)


def test_the_account_adds_up_and_rates_are_of_what_was_measured(house: Any):
    """Eight prompts with one constraint.

    2 pass, 1 fails, 1 passes loosely, 1 cut, 1 empty, 1 failed call, 1 missing.
    """
    prompts = [house.prompt(name) for name in "abcdefgh"]
    texts = {"a": "yes", "b": "also", "c": "no, no", "d": "Sure, yes:\nCats sleep.", "e": "cut off", "f": "", "g": ""}
    status = {"e": "truncated", "f": "empty", "g": "error"}
    responses = [Response(name, 0, 0, text, status.get(name, "ok")) for name, text in texts.items()]
    found = _summary(prompts, responses)
    account = found.accounting
    assert (account.n, account.ok, account.truncated, account.empty, account.refused) == (8, 4, 1, 1, 0)
    assert (account.error, account.missing, account.checked) == (1, 1, 6)
    strict, loose = found.overall.prompt_strict, found.overall.prompt_loose
    assert (strict.passed, strict.n, strict.of_all) == (2, 6, pytest.approx(1 / 3))
    assert (strict.passed_completed, strict.n_completed, strict.of_completed) == (2, 4, 0.5)
    assert (strict.low, strict.high) == pytest.approx(wilson_clustered([1, 1, 0, 0, 0, 0], [1] * 6))
    assert (strict.low_completed, strict.high_completed) == pytest.approx(wilson_clustered([1, 1, 0, 0], [1] * 4))
    assert (loose.passed, loose.n) == (3, 6)
    assert found.coverage == 6 / 8
    tally = found.overall.kinds["punctuation:no_commas"]
    assert (tally.checked, tally.passed, tally.failed, tally.undecided) == (6, 2, 4, 0)
    assert found.overall.families["punctuation"] == tally
    assert found.overall.guard.truncated_share == pytest.approx(1 / 6)
    assert found.overall.guard.n == 5
    assert found.verifier_versions == {"punctuation:no_commas": "1.2"}


def test_a_cut_answer_may_be_judged_as_it_stands(house: Any):
    responses = [Response("a", 0, 0, "yes", "truncated")]
    assert _summary([house.prompt("a")], responses, cut="judge").overall.prompt_strict.of_all == 1.0
    failed = _summary([house.prompt("a")], responses).overall.prompt_strict
    assert (failed.of_all, failed.of_completed, failed.reason) == (0.0, None, "no answer was finished")


def test_instructions_are_counted_apart_from_prompts(house: Any):
    """a: 1 of 1 passes. b: 1 of 3 passes. Micro 2/4, macro (1 + 1/3) / 2, prompts 1/2."""
    prompts = [house.prompt("a"), house.prompt("b", [house.NO_COMMAS, house.FIVE_WORDS, house.TWO_LINES])]
    found = _summary(prompts, [Response("a", 0, 0, "yes", "ok"), Response("b", 0, 0, "yes", "ok")]).overall
    assert (found.instruction_strict.passed, found.instruction_strict.n) == (2, 4)
    assert found.instruction_macro == pytest.approx(2 / 3)
    assert found.prompt_strict.of_all == 0.5
    assert found.mean_of_four == pytest.approx((0.5 + 0.5 + 0.5 + 0.5) / 4)
    assert set(found.kinds) == {"punctuation:no_commas", "length:at_least", "structure:lines"}


def test_a_known_fail_is_measured_whatever_stands_beside_it(house: Any):
    prompts = [
        house.prompt("a", [house.CRASHING, house.NO_COMMAS]),
        house.prompt("m", [house.NO_COMMAS], [house.NO_COMMAS]),
    ]
    found = _summary(prompts, [Response("a", 0, 0, "crash, crash", "ok"), Response("m", 0, 0, "a, b", "ok")])
    strict = found.overall.prompt_strict
    assert (strict.passed, strict.n, found.coverage) == (0, 2, 1.0)
    assert (found.overall.instruction_strict.passed, found.overall.instruction_strict.n) == (0, 2)
    for outcomes, wanted, expected in (
        (["pass", "undecided"], 2, None),
        (["pass"], 2, None),
        ([], 0, None),
        (["pass", "pass"], 2, True),
        (["fail", "undecided"], 2, False),
        (["fail"], 2, False),
        (["undecided", "pass", "fail"], 3, False),
    ):
        assert keeps_all(outcomes, wanted) is expected


def test_undecided_is_no_measurement(house: Any):
    prompts = [house.prompt("a", [house.CRASHING, house.NO_COMMAS]), house.prompt("b")]
    found = _summary(prompts, [Response("a", 0, 0, "crash crash", "ok"), Response("b", 0, 0, "yes", "ok")])
    strict = found.overall.prompt_strict
    assert (strict.passed, strict.n, found.coverage) == (1, 1, 0.5)
    assert (found.overall.instruction_strict.passed, found.overall.instruction_strict.n) == (2, 2)
    tally = found.overall.kinds["test:crashing"]
    assert (tally.checked, tally.passed, tally.failed, tally.undecided) == (1, 0, 0, 1)
    assert tally.strict.of_all is None
    assert tally.strict.reason == "no constraint was measured"


def test_nothing_answered_gives_no_numbers(house: Any):
    found = _summary([house.prompt("a")], [])
    strict = found.overall.prompt_strict
    assert (strict.n, strict.of_all, strict.low, strict.reason) == (0, None, None, "no prompt was measured")
    assert found.overall.mean_of_four is None
    assert found.overall.instruction_macro is None
    assert found.overall.guard.mean_words is None
    assert found.overall.guard.truncated_share is None
    assert found.coverage == 0.0
    assert found.accounting.missing == 1


def test_a_conversation_passes_as_a_whole(house: Any):
    prompt = house.prompt("m", [house.NO_COMMAS], [house.FIVE_WORDS])
    first = Response("m", 0, 0, "yes", "ok")
    assert _summary([prompt], [first]).overall.prompt_strict.n == 0, "half a conversation is no measurement"
    assert _summary([prompt], [first, Response("m", 1, 0, "one two", "ok")]).overall.prompt_strict.of_all == 0.0
    whole = _summary([prompt], [first, Response("m", 1, 0, "a b c d e", "ok")])
    assert whole.overall.prompt_strict.of_all == 1.0
    assert whole.accounting.n == 2


def test_draws_of_one_prompt_are_no_independent_trials(house: Any):
    prompts = [house.prompt(name) for name in "abcdefghij"]
    responses = [
        Response(prompt.id, 0, draw, "yes" if number < 4 else "no, no", "ok")
        for number, prompt in enumerate(prompts)
        for draw in range(8)
    ]
    strict = _summary(prompts, responses, draws=8).overall.prompt_strict
    assert (strict.passed, strict.n) == (32, 80)
    assert strict.high - strict.low > 2 * wilson_clustered([1] * 32 + [0] * 48, [1] * 80).width


def test_slices_are_reported_apart(house: Any):
    prompts = [house.prompt("a"), house.prompt("b", slice_name="other"), house.prompt("c", slice_name="third")]
    responses = [
        Response("a", 0, 0, "yes", "ok"),
        Response("b", 0, 0, "no, no", "ok"),
        Response("c", 0, 0, "yes", "ok"),
    ]
    found = _summary(prompts, responses, slices=("plain", "other", "none"))
    assert {name: score.prompt_strict.of_all for name, score in found.slices.items()} == {"plain": 1.0, "other": 0.0}
    assert found.overall.n_prompts == 3


def test_guard_measures_what_a_rate_hides():
    query = next(query for query in queries() if query.part == "held-out")
    prompt = Prompt("p", (Turn(query.text),), tags={"query": query.id})
    useful = guard(prompt, f"The {query.words[0]}s and the {query.words[1]} matter.")
    assert useful.content_share == pytest.approx(2 / len(query.words))
    assert (useful.words, useful.distinct_2) == (6, 1.0)
    assert useful.repetition is None, "six words are too few"
    stuck = guard(prompt, "no no no no no no no no no no")
    assert (stuck.is_repetitive, stuck.content_share) == (True, 0.0)
    assert stuck.distinct_2 == pytest.approx(1 / 9)
    parrot = guard(prompt, query.text)
    assert parrot.is_echo
    assert not useful.is_echo
    named = Prompt("p", (Turn(f"{query.text} Use the word {query.words[0]}."),), tags={"query": query.id})
    assert guard(named, query.words[1]).content_share == pytest.approx(1 / (len(query.words) - 1))
    assert guard(Prompt("q", (Turn("Hi."),)), "") == (0, None, None, None, None, 0)


def test_sound_is_what_passes_and_is_more_than_the_letter(house: Any):
    """Of six prompts without commas: two answers in earnest; one form alone, one loop and one echo pass, one fails."""
    asked = "Say in one sentence why cats sleep through so much of the day and use no commas."
    prompts = [Prompt(name, (Turn(asked, (house.NO_COMMAS,)),), tags={"slice": "plain"}) for name in "abcdef"]
    texts = {
        "a": "They rest most of the day because hunting costs them strength.",
        "b": "Hunting costs them strength.",
        "c": "In my.",
        "d": "Purr nap doze. " * 12,
        "e": f"{asked} Fine then friend.",
        "f": "Sleep, food, play and then some more sleep.",
    }
    responses = [Response(name, 0, 0, text, "ok") for name, text in texts.items()]
    found = _summary(prompts, responses)
    assert (found.overall.prompt_strict.passed, found.overall.prompt_strict.n) == (5, 6)
    assert found.overall.guard.sound_share == pytest.approx(2 / 6)
    assert found.overall.guard.form_share == pytest.approx(1 / 6)
    # A conversation is sound where each of its answers is; what was not decided is in no share.
    twice = [house.prompt(name, [house.NO_COMMAS], [house.NO_COMMAS]) for name in "ab"]
    talk = [
        Response("a", 0, 0, texts["a"], "ok"), Response("a", 1, 0, texts["b"], "ok"),
        Response("b", 0, 0, texts["a"], "ok"), Response("b", 1, 0, texts["c"], "ok"),
    ]  # fmt: skip
    assert _summary(twice, talk).overall.guard.sound_share == 0.5
    assert _summary(prompts, responses[:2]).overall.guard.sound_share == 1.0
    assert _summary(prompts, []).overall.guard.sound_share is None
    # What is done by calls or moves is not said in words.
    move = Prompt("m", (Turn("Go.", (ConstraintRef("calls:never", {"tools": ["open"]}),)),), tags={"slice": "plain"})
    moved = _summary([move], [Response("m", 0, 0, "Go north.", "ok")]).overall
    assert (moved.prompt_strict.passed, moved.guard.sound_share, moved.guard.form_share) == (1, None, 1.0)


def test_no_headline_where_a_tenth_is_undecided():
    """What a program could not decide is never dropped from a rate without a word.

    What a judge has yet to read is no such thing.
    """
    from adhere.constraints.published.judged.table import JUDGED
    from adhere.pipeline.outcomes import Slot
    from adhere.pipeline.summarize.counts import Counts

    def counted(undecided, kind="a:b"):
        counts = Counts()
        for at in range(100):
            outcome = "undecided" if at < undecided else "pass"
            counts.add(str(at), [Slot(kind, outcome, outcome, completed=True)], 1, is_completed=True)
        return counts.finish()

    assert counted(9).prompt("strict").of_all == counted(9).instruction("loose").of_all == 1.0
    for rate in (counted(10).prompt("strict"), counted(10).instruction("loose")):
        assert (rate.passed, rate.n, rate.of_all, rate.low, rate.of_completed) == (90, 90, None, None, None)
        assert rate.reason == "10 of 100 are undecided, and the rest would be another measurement"
    assert counted(10).instruction_macro() is None
    assert counted(10, JUDGED).prompt("strict").of_all == 1.0
