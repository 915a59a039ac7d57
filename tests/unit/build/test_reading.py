"""Which passing texts read as answers: worked by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from adhere.build.filter import find_passing, judge_draws, repair_answers
from adhere.build.reading import FAULTS, Fault, adds_filler, ends_whole, fault_of, keeps_sentences
from adhere.pipeline.responding.respond import Exchange, others_of
from adhere.schema import ConstraintRef, Json, Prompt, Response, Turn

SAID = "They often overlook the importance of sleep. Rest gives the body time to heal. Drink water."


def prompt(kind: str = "case:lower", text: str = "Why does a tired runner get slower?", **params: Json) -> Prompt:
    return Prompt(id="p", turns=(Turn(text, (ConstraintRef(kind, params),)),))


@pytest.mark.parametrize(
    ("edited", "is_whole"),
    [
        (SAID.lower(), True),
        ("They often overlook the importance of sleep.", True),  # a sentence left out whole
        ('"' + SAID.replace(".", "") + '"', True),  # marks may change
        ("Well then! " + SAID + " Good luck with it.", True),  # words may be added
        ("They often overlook the.", False),
        ('{"what": "They often overlook the.", "why": "Drink water."}', False),
        ('{"what": "They often overlook the importance of sleep.", "why": "Drink water."}', True),
        ('{"what": ["Rest gives the body time to heal."], "n": 3}', True),
        ("* They often overlook the importance\n* of sleep. Rest gives the body time to heal.", False),
        ("* They often overlook the importance of sleep.\n* Rest gives the body time to heal.", True),
        ("They often overlook the importance sleep.", True),  # one word, which a rule forbade
        ("Hello there.", True),
    ],
)
def test_a_repair_takes_sentences_whole(edited: str, is_whole: bool) -> None:
    assert keeps_sentences(SAID, edited) is is_whole


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("A runner who is tired has used up the sugar that the muscles burn.", True),
        ("A runner who is tired has used up the sugar that the muscles burn in", False),
        ('A runner who is tired has used up the sugar that the muscles burn!"', True),
        ("A runner who is tired has used up the sugar that the muscles burn **.**", True),
        ("Sugar", True),
        ('{"answer": "a runner who is tired has used up the sugar that the muscles burn in one hour"}', True),
        ("A runner is slow because of these things, which all come at once:\n- no sugar\n- no water", True),
    ],
)
def test_an_answer_stops_where_something_ends(text: str, is_whole: bool) -> None:
    assert ends_whole(prompt(), text) is is_whole


def test_what_a_rule_puts_at_the_end_is_taken_off_first() -> None:
    asked = prompt("startend:end_phrase", phrase="and that is that")
    whole = "A tired runner has used up the sugar that the muscles burn. And that is that"
    assert ends_whole(asked, whole)
    assert not ends_whole(asked, whole.replace(".", " so"))


def test_the_faults_are_told_apart() -> None:
    asked = prompt()
    good = "a tired runner has used up the sugar that the muscles burn."
    assert fault_of(asked, good) is None
    assert fault_of(asked, good[:-1] + " and") == "stops in a sentence"
    assert fault_of(asked, "a tired runner has used up.", original=good) == "holds a fragment"
    assert fault_of(asked, "sure, here is the answer that you asked me for.") == "does not respond"


def test_a_repair_adds_what_a_rule_says_and_nothing_else() -> None:
    asked = prompt("keywords:times", word="lamp", count=2)
    good = "A runner who is tired has used up the sugar that the muscles burn."
    assert not adds_filler(asked, good, good + " Lamp, lamp.")
    assert (
        fault_of(asked, good + " A good keyword here is lamp. So lamp matters here.", original=good) == "holds filler"
    )


def test_what_is_said_to_every_prompt_is_left_out_and_counted() -> None:
    text = "old songs return when the wheel of seasons turns."
    asked = ["Describe a lighthouse.", "Suggest a name for a bakery.", "How do I fix a flat tyre?"]
    prompts = [prompt(text=one) for one in asked]
    others = others_of(Exchange(one.text, text, one.constraints) for one in prompts)
    answers = judge_draws(prompts[0], [Response("p", 0, 0, text, "ok")], kind="dense")
    dropped: Counter[Fault] = Counter()
    assert find_passing(prompts[0], answers)
    assert find_passing(prompts[0], answers, others=others, faults=dropped) == []
    assert dropped == {"does not respond": 1}
    upper = judge_draws(prompts[0], [Response("p", 0, 0, text.title(), "ok")], kind="dense")
    assert repair_answers(prompts[0], upper, enough=1, others=others, faults=dropped) == []
    assert dropped == {"does not respond": 2}
    assert set(FAULTS) > set(dropped)


def test_a_kind_that_knows_the_answer_is_asked_nothing_else() -> None:
    assert fault_of(prompt("answer:number", value=12), "Total: 12") is None
