"""Compositions: what decides, what is said, what is stored, what is refused."""

import json

import pytest

from adhere.constraints import make
from adhere.constraints.nested import DEEPEST, LARGEST, NestedRule
from adhere.constraints.resolve import resolve
from adhere.errors import AdhereError, BadParameter, UnknownName
from adhere.pipeline.judge import Judge
from adhere.schema import ConstraintRef, decode, encode

LOWER = {"id": "case:lower", "params": {}}
NO_COMMAS = {"id": "punctuation:no_commas", "params": {}}
SHORT = {"id": "length:at_most", "params": {"limit": 4}}
LONG = {"id": "length:at_least", "params": {"least": 4}}
PUBLISHED = {"id": "length_constraints:number_words", "params": {"num_words": 3, "relation": "at least"}}
# The published code draws the missing threshold at random, so nobody can decide this one.
UNDECIDED = {"id": "length_constraints:number_words", "params": {"relation": "at least"}}


def all_of(*of):
    return make("compose:all_of", of=list(of))


def any_of(*of):
    return make("compose:any_of", of=list(of))


def if_then(condition, consequence):
    return make("compose:if_then", condition=condition, consequence=consequence)


def within(place, constraint):
    return make("scope:within", place=place, constraint=constraint)


def outcome(constraint, text):
    return constraint.check(text).outcome


CASES = [
    (all_of(LOWER, NO_COMMAS), "cats sleep", "pass"),
    (all_of(LOWER, UNDECIDED), "cats sleep", "undecided"),
    (all_of(UNDECIDED, LOWER), "Cats sleep", "fail"),
    (any_of(LOWER, NO_COMMAS), "Cats sleep", "pass"),
    (any_of(LOWER, NO_COMMAS), "Cats, dogs", "fail"),
    (any_of(LOWER, UNDECIDED), "Cats", "undecided"),
    (any_of(UNDECIDED, LOWER), "cats", "pass"),
    (if_then(LOWER, NO_COMMAS), "cats, dogs", "fail"),
    (if_then(LOWER, NO_COMMAS), "Cats, dogs", "pass"),
    (if_then(UNDECIDED, NO_COMMAS), "cats, dogs", "undecided"),
    (if_then(UNDECIDED, NO_COMMAS), "cats", "pass"),
    (if_then(LOWER, UNDECIDED), "cats", "undecided"),
    (if_then(LOWER, UNDECIDED), "Cats", "pass"),
    (all_of(PUBLISHED, NO_COMMAS), "one two three", "pass"),
    (all_of(PUBLISHED, NO_COMMAS), "one two", "fail"),
    (all_of(any_of(LOWER, SHORT), if_then(LOWER, NO_COMMAS)), "Cats, dogs", "pass"),
    (all_of(any_of(LOWER, SHORT), if_then(LOWER, NO_COMMAS)), "cats, dogs", "fail"),
    (within("first paragraph", LOWER), "cats.\n\nDogs.", "pass"),
    (within("first paragraph", LOWER), "***\n\nDogs.\n\ncats", "fail"),
    (within("last paragraph", LOWER), "Cats.\r\n\r\ndogs.", "pass"),
    (within("last line", LOWER), "Cats.\ndogs.\n---\n", "pass"),
    (within("first sentence", LOWER), "cats sleep. Dogs run.", "pass"),
    (within("last sentence", LOWER), "cats sleep. Dogs run.", "fail"),
    (within("first sentence", UNDECIDED), "cats sleep.", "undecided"),
    (within("text outside code blocks", LOWER), "cats\n```\nX = 1\n```\ndogs", "pass"),
    (within("text outside code blocks", LOWER), "cats\n```\nX = 1", "fail"),
    (within("text outside code blocks", LOWER), "```\nx = 1\n```\n", "fail"),
    (make("scope:nth", unit="bullet point", number=2, constraint=LOWER), "- Cats\n- dogs", "pass"),
    (make("scope:nth", unit="bullet point", number=3, constraint=LOWER), "- cats\n- dogs", "fail"),
    (make("scope:nth", unit="code block", number=1, constraint=LOWER), "A\n```py\nx = 1\n```", "pass"),
    (make("scope:each", unit="bullet point", constraint=LOWER), "Here:\n- cats\n- dogs", "pass"),
    (make("scope:each", unit="bullet point", constraint=LOWER), "no bullets at all", "fail"),
    (make("scope:each", unit="sentence", constraint=SHORT), "Cats sleep. Dogs run far.", "pass"),
    (make("scope:each", unit="sentence", constraint=SHORT), "Cats sleep. Dogs run far away now.", "fail"),
    (make("scope:each", unit="paragraph", constraint=UNDECIDED), "a\n\nb", "undecided"),
    (make("scope:each", unit="line", constraint=LOWER), "x\n" * 1001, "fail"),
    (make("scope:each", unit="line", constraint=LOWER), "x\n" * 1000, "pass"),
    (make("compose:in_order", parts="lines", of=[LOWER, LONG]), "cats\nCATS\nfour words are here", "pass"),
    (make("compose:in_order", parts="lines", of=[LOWER, LONG]), "four words are here\ncats", "fail"),
    (make("compose:in_order", parts="lines", of=[LOWER, LOWER]), "cats", "fail"),
    (make("compose:in_order", parts="lines", of=[LOWER, UNDECIDED]), "cats\ndogs", "undecided"),
    (make("compose:in_order", parts="lines", of=[LOWER, UNDECIDED]), "dogs", "fail"),
]


@pytest.mark.parametrize(("constraint", "text", "wanted"), CASES)
def test_verdict(constraint, text, wanted):
    assert outcome(constraint, text) == wanted, constraint.check(text)


def test_all_of_names_who_decides():
    finding = all_of(LOWER, NO_COMMAS).check("cats, dogs")
    assert finding.reason == "punctuation:no_commas: found 1 comma, allowed none"
    assert (finding.measured, finding.needed, finding.span) == (1, 0, (4, 5))
    assert all_of(LOWER, NO_COMMAS).check("cats").reason == "all 2 rules hold: case:lower, punctuation:no_commas"


def test_scores_are_means_and_maxima_where_all_have_one():
    long, longer = ({"id": "length:at_least", "params": {"least": least}} for least in (4, 8))
    assert all_of(long, longer).check("one two").score == pytest.approx((0.5 + 0.25) / 2)
    assert all_of(long, longer).check("a b c d").score == pytest.approx((1 + 0.5) / 2)
    assert any_of(long, longer).check("one two").score == 0.5
    assert all_of(long, {"id": "case:upper", "params": {}}).check("one two").score is None
    assert make("scope:each", unit="line", constraint=long).check("a b\na b c d").score == pytest.approx(0.75)


def test_a_condition_that_does_not_hold_is_said():
    reason = if_then(LOWER, NO_COMMAS).check("Cats, dogs").reason
    assert reason.startswith("the condition does not hold, so nothing is asked (case:lower: ")


def test_spans_lie_in_the_whole_answer():
    text = "Well.\n\nCats, dogs."
    start, end = within("last paragraph", NO_COMMAS).check(text).span
    assert text[start:end] == ","
    text = "a\n```\nb,\n```\nc, d"
    start, end = within("text outside code blocks", NO_COMMAS).check(text).span
    assert (start, text[start:end]) == (14, ",")
    finding = make("scope:each", unit="bullet point", constraint=NO_COMMAS).check("- a\n- b, c")
    assert (finding.span, finding.reason) == (
        (7, 8),
        "in bullet point 2 of 2: punctuation:no_commas: found 1 comma, allowed none",
    )


def test_what_is_not_there_is_said():
    assert make("scope:each", unit="bullet point", constraint=LOWER).check("a").reason == "found no bullet point"
    assert (
        within("text outside code blocks", LOWER).check("```\nx\n```").reason == "there is no text outside code blocks"
    )
    nth = make("scope:nth", unit="paragraph", number=3, constraint=LOWER)
    assert nth.check("a\n\nb").reason == "found 2 paragraphs, so there is none with the number 3"
    in_order = make("compose:in_order", parts="lines", of=[LOWER, {"id": "case:upper", "params": {}}]).check(
        "DOGS\ncats"
    )
    assert in_order.reason == "line 2 keeps to rule 1, but no later line keeps to rule 2 of 2 (case:upper)"
    assert (in_order.measured, in_order.needed, in_order.score) == (1, 2, 0.5)


def test_the_reasoning_is_judged_where_it_is_known():
    constraint = within("reasoning", SHORT)
    assert constraint.reads_reasoning
    assert not within("first line", SHORT).reads_reasoning
    assert constraint.check("A long answer of many words.").outcome == "undecided"
    assert constraint.check_with("A long answer of many words.", "I think.").outcome == "pass"
    assert constraint.check_with("Short.", "I think that this is long.").outcome == "fail"
    assert constraint.check_with("Short.", " ").reason == "the reasoning is empty"
    both = all_of(constraint.ref(), LOWER)
    assert both.reads_reasoning
    assert both.check_with("cats", "I think.").outcome == "pass"
    assert both.check_with("Cats", None).outcome == "fail"
    assert both.check_with("cats", None).outcome == "undecided"
    nested = within("reasoning", within("last line", SHORT).ref())
    assert nested.check_with("x", "a b c d e\nshort").outcome == "pass"


def test_the_judge_passes_the_reasoning_on():
    judge = Judge([within("reasoning", SHORT).ref()])
    assert [finding.outcome for finding in judge.findings("x", reasoning="I think.")[0]] == ["pass", "pass"]
    assert [finding.outcome for finding in judge.findings("x")[0]] == ["undecided", "undecided"]


def test_it_is_stored_and_fits_ifeval_rows():
    constraint = all_of(within("first line", SHORT).ref(), PUBLISHED)
    ref = constraint.ref()
    assert ref.params == {
        "of": [
            {"id": "scope:within", "params": {"constraint": SHORT, "place": "first line"}},
            PUBLISHED,
        ]
    }
    assert resolve(decode(encode(ref), ConstraintRef)) == constraint
    row = json.loads('{"of": [{"id": "case:lower"}, {"id": "length:at_most", "params": {"limit": 4, "words": null}}]}')
    assert make("compose:all_of", **row) == all_of(LOWER, SHORT)


def test_inner_constraints_may_be_given_as_objects():
    assert all_of(make("case:lower"), ConstraintRef("length:at_most", {"limit": 4})) == all_of(LOWER, SHORT)


def test_descriptions_are_sentences():
    assert within("first paragraph", SHORT).describe() == "In the first paragraph: Answer in at most 4 words."
    assert all_of(LOWER, SHORT).describe() == (
        "Follow all of these rules: (1) Write your whole answer in lower case. (2) Answer in at most 4 words."
    )
    assert within("last line", LOWER).describe() == "In the last line: Write it in lower case."


def test_a_parameter_that_holds_the_words_is_left_alone():
    phrase = {"id": "startend:end_phrase", "params": {"phrase": "This is the answer"}}
    assert "This is the answer" in within("last line", phrase).describe()


def test_the_last_wording_keeps_the_last_wording_inside():
    last = make("case:lower").phrasings[-1]
    constraint = all_of(LOWER, NO_COMMAS)
    said = [constraint.describe(number) for number in range(len(constraint.phrasings))]
    assert last in said[-1]
    assert not any(last in sentence for sentence in said[:-1])


BAD = [
    (
        {"of": [LOWER, {"id": "case:lowr"}]},
        UnknownName,
        r"compose:all_of: of\[1\]: Unknown constraint 'case:lowr'.* Did you",
    ),
    ({"of": [LOWER, {"id": "length:at_most"}]}, BadParameter, r"of\[1\]: length:at_most: missing parameter limit"),
    (
        {"of": [LOWER, {"id": "length:at_most", "params": {"limit": 0}}]},
        BadParameter,
        r"of\[1\]: length:at_most: limit=0",
    ),
    ({"of": [LOWER]}, BadParameter, "must be a list of 2 to 10 constraints"),
    ({"of": [LOWER, {"name": "x"}]}, BadParameter, "must be a list of 2 to 10 constraints"),
    ({"of": "case:lower"}, BadParameter, "must be a list of 2 to 10 constraints"),
]


@pytest.mark.parametrize(("params", "error", "message"), BAD)
def test_bad_inner_constraints_are_named(params, error, message):
    with pytest.raises(error, match=message):
        make("compose:all_of", **params)


def nested(depth):
    ref = LOWER
    for _ in range(depth):
        ref = {"id": "compose:all_of", "params": {"of": [ref, NO_COMMAS]}}
    return ref


def test_depth_and_size_are_limited():
    assert make("compose:all_of", **nested(DEEPEST)["params"]).depth == DEEPEST
    for depth in (DEEPEST + 1, 12, 5000):
        with pytest.raises(BadParameter, match=f"must be at most {DEEPEST} deep"):
            make("compose:all_of", **nested(depth)["params"])
    wide = {"id": "compose:any_of", "params": {"of": [LOWER] * 10}}
    with pytest.raises(BadParameter, match=f"must hold at most {LARGEST} constraints, this one holds 45. Split it"):
        make("compose:all_of", of=[wide] * 4)


def test_parts_of_parts_are_refused():
    each = {"id": "scope:each", "params": {"unit": "line", "constraint": LOWER}}
    with pytest.raises(BadParameter, match="scope:each looks at many parts of the answer, so it must not stand inside"):
        make("scope:each", unit="paragraph", constraint=each)
    assert outcome(within("first paragraph", each), "cats\ndogs\n\nX") == "pass"
    reasoning = within("reasoning", LOWER).ref()
    with pytest.raises(BadParameter, match="about the reasoning, which is no part of the answer"):
        within("first line", all_of(reasoning, LOWER).ref())


def test_mode_and_profile_reach_inner_constraints():
    words_published = {"id": "keywords:existence", "params": {"keywords": ["cat"]}}
    inside = all_of(within("first line", words_published).ref(), LOWER)
    fixed = inside.with_mode(mode="fixed")
    assert (outcome(inside, "catalogue"), outcome(fixed, "catalogue")) == ("pass", "fail")
    assert fixed == inside
    assert fixed.ref() == inside.ref()
    assert fixed.with_mode(mode="fixed") is fixed
    drawn = all_of(UNDECIDED, LOWER).with_mode(random_seed=3)
    assert outcome(drawn, "cats") == "fail"
    assert drawn.ref().params["of"][0] == UNDECIDED


def test_repairs():
    assert all_of(LOWER, NO_COMMAS).repair("Cats, dogs and mice sleep") == "cats dogs and mice sleep"
    assert any_of(LOWER, NO_COMMAS).repair("Cats, dogs") == "cats, dogs"
    assert within("first line", LOWER).repair("Cats\nDogs") == "cats\nDogs"
    assert make("scope:each", unit="bullet point", constraint=LOWER).repair("A:\n- B\n- C") == "A:\n- b\n- c"
    upper = {"id": "case:upper", "params": {}}
    in_order = make("compose:in_order", parts="paragraphs", of=[LOWER, upper])
    assert in_order.repair("Cats sleep a lot. They hunt at night.") == "cats sleep a lot.\n\nTHEY HUNT AT NIGHT."
    assert within("first line", PUBLISHED).repair("one") is None
    assert make("scope:each", unit="bullet point", constraint=LOWER).repair("Cats") is None


def test_conflicts():
    upper = make("case:upper")
    assert all_of(LOWER, NO_COMMAS).conflicts_with(upper)
    assert not any_of(LOWER, NO_COMMAS).conflicts_with(upper)
    assert any_of(LOWER, {"id": "case:title", "params": {}}).conflicts_with(upper)
    assert within("first line", LOWER).conflicts_with(upper)
    assert not within("reasoning", LOWER).conflicts_with(upper)
    assert all_of(SHORT, LOWER).conflicts_with(make("length:at_least", least=50))


def test_no_witness_is_an_error_that_says_so():
    with pytest.raises(AdhereError, match="found no text that passes it, with case:lower, case:upper inside"):
        all_of(LOWER, {"id": "case:upper", "params": {}}).witness()


def test_a_composition_is_never_trained_on():
    assert NestedRule.part == "held-out"
    assert within("first line", LOWER).part == "held-out"
