"""The judge from Python: one prompt, many, constraints alone; the same verdicts by every way."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import adhere
from adhere.errors import BadParameter, UnknownName, UsageError
from adhere.pipeline.judge import judge_text
from adhere.schema import ConstraintRef, Prompt, Turn

WORDS = ConstraintRef("length_constraints:number_words", {"num_words": 4, "relation": "at least"})
COMMA = ConstraintRef("punctuation:no_comma")
OWN = ConstraintRef("length:at_most", {"limit": 5})
PROMPT = Prompt("7", (Turn("Say something.", (WORDS, COMMA, OWN)),), tags={"key": "int", "profile": "ifeval"})
TEXTS = [
    "one two three",
    "one two three four",
    "one, two, three, four",
    "",
    "a b\nc, d\ne f g h i j",
    "*one* two, three",
]


def outcomes(verdicts):
    return [(found.index, found.view, found.outcome) for found in verdicts]


def test_a_prompt_is_judged_under_both_views():
    found = adhere.judge(PROMPT, "Sure, here it is:\none two three four")
    assert outcomes(found) == [
        (0, "strict", "pass"),
        (0, "loose", "pass"),
        (1, "strict", "fail"),
        (1, "loose", "pass"),
        (2, "strict", "fail"),
        (2, "loose", "pass"),
    ]
    assert {one.prompt_id for one in found} == {"7"}
    assert [(one.instruction_id, one.status) for one in found[:2]] == [(WORDS.id, "pass")] * 2
    assert PROMPT.key == 7
    assert "comma" in found[2].reason
    assert found[2].span == (4, 5)
    assert found[3].span is None
    assert [one.verifier_version for one in found[::2]] == ["1.ifeval.1", "1.ifeval.1", "1.2"]


def test_every_way_gives_the_same_verdicts():
    refs = PROMPT.constraints
    made = [adhere.constraint(ref.id, ref.params) for ref in refs]
    mappings = [{"id": ref.id, "params": ref.params} for ref in refs]
    many = adhere.judge_many([PROMPT] * len(TEXTS), TEXTS)
    for text, row in zip(TEXTS, many, strict=True):
        expected = outcomes(judge_text(text, refs))
        assert outcomes(adhere.judge(PROMPT, text)) == outcomes(row) == expected
        for rules in (made, mappings, refs, iter(refs)):
            assert outcomes(adhere.check(text, rules)) == expected
    assert [outcomes(row) for row in adhere.check_many(TEXTS, made)] == [outcomes(row) for row in many]


def test_processes_and_threads_judge_as_one_does():
    prompts, texts = [PROMPT] * 2200, [f"{text} {number}" for number, text in enumerate(TEXTS * 367)][:2200]
    alone = adhere.judge_many(prompts, texts)
    assert adhere.judge_many(prompts, texts, jobs=2) == alone
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: adhere.judge(PROMPT, text), texts[:200])) == alone[:200]


def test_reasoning_is_set_aside_unless_it_is_to_be_judged():
    text = "<think>well, well, well</think>one two three four"
    assert [one.outcome for one in adhere.judge(PROMPT, text, views=("strict",))] == ["pass", "pass", "pass"]
    kept = adhere.judge(PROMPT, text, views=("strict",), keep_reasoning=True)
    assert [one.outcome for one in kept] == ["pass", "fail", "fail"]
    assert adhere.check(text, [COMMA], views=("strict",))[0].outcome == "fail"  # a text by itself is judged as it is
    assert adhere.check(text, [COMMA], views=("strict",), keep_reasoning=False)[0].outcome == "pass"


def test_constraints_take_parameters_by_name_or_as_a_row():
    for made in (
        adhere.constraint("length_constraints:number_words", num_words=4, relation="at least"),
        adhere.constraint("length_constraints:number_words", {"num_words": 4, "relation": "at least", "keyword": None}),
        adhere.constraint("length_constraints:number_words", {"num_words": 4.0}, relation="at least"),
    ):
        assert made.check("one two three").outcome == "fail"
        assert made.check("one two three four").outcome == "pass"
        assert made.ref() == WORDS
        assert made.describe() == "Answer with at least 4 words."


def test_what_the_reference_draws_is_undecided_unless_a_seed_is_given():
    ref = ConstraintRef("keywords:letter_frequency", {"letter": "#", "let_frequency": 4, "let_relation": "at least"})
    prompt = Prompt("1122", (Turn("Use #.", (ref,)),))
    undecided = adhere.judge(prompt, "# # # #")
    assert {one.outcome for one in undecided} == {"undecided"}
    assert "draws one at random" in undecided[0].reason
    seeded = adhere.judge(prompt, "# # # #", random_seed=0)
    assert {one.outcome for one in seeded} == {"fail"}
    assert {one.outcome for one in adhere.judge(prompt, "# # # #", mode="fixed")} == {"pass"}


def test_what_cannot_be_judged_says_why():
    with pytest.raises(
        UnknownName, match=r"length_constraint:number_words.*Did you mean 'length_constraints:number_words'"
    ):
        adhere.constraint("length_constraint:number_words", num_words=3)
    with pytest.raises(BadParameter, match=r"number_words: unknown parameter 'words'.*It takes: num_words, relation"):
        adhere.constraint("length_constraints:number_words", words=3)
    with pytest.raises(UsageError, match="2 prompts and 1 texts"):
        adhere.judge_many([PROMPT, PROMPT], ["x"])
    with pytest.raises(UsageError, match="must be a text, got NoneType"):
        adhere.judge(PROMPT, None)
    with pytest.raises(UsageError, match="must be a text, got bytes"):
        adhere.check(b"x", [COMMA])
    with pytest.raises(UsageError, match="has 1 turns"):
        adhere.judge(PROMPT, "x", turn=1)
    with pytest.raises(UsageError, match="as a list, got str"):
        adhere.check("x", "punctuation:no_comma")
    with pytest.raises(UsageError, match="got int"):
        adhere.check("x", [3])
    with pytest.raises(UsageError, match="has `id` and `params`"):
        adhere.check("x", [{"instruction_id": "punctuation:no_comma"}])
