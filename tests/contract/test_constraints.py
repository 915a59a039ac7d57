"""The questions that every registered Constraint answers.

`QUESTIONS` knows nothing of the package's own kinds: each is a function of one kind, which a plug-in author can run too.
"""

import dataclasses
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhere.constraints import from_ref, make, registry
from adhere.errors import BadParameter
from adhere.schema import ConstraintRef, decode, encode
from adhere.text.views import loose, strict

TOPICS = (("cats", "sleep", "energy"), ("budget",), (), ("sea level", "Zürich", "don't"))
ORDINARY = (
    "Cats sleep a lot because hunting takes energy. They wake up in the evening and look for food, water and company.",
    "A budget helps you see where your money goes. Write down what you earn and spend, and then decide what to save.",
    "Paris is the capital of France, and it has about 2.1 million inhabitants.",
)
ODD = (
    "", " ", "\n", "\t\n ", "\0", "…", "🙂", "***", "{}", "[]", '""', "{", '{"a"', "\ud800", "a\ud800b", "\u202eabc", "İ",
    "ß", "ﬁ", "ǅ", "e\u0301", "1.", "- ", "-", "<<>>", "[ ]", "()", "P.S.", "<answer></answer>", '"', "“", '{"a": NaN}',
    '{"a": 1e999}', '{"a": ' + "9" * 5000 + "}", "a\r\nb\rc", "नमस्ते दुनिया।", "你好。再见！", "مرحبا بالعالم", "#", "*a", "A. B. C.",
)  # fmt: skip
MEGABYTE = 1_000_000
HOSTILE = {
    "newlines": "\n" * MEGABYTE + "x",
    "brackets": "[" * MEGABYTE + "x",
    "objects": '{"a":' * (MEGABYTE // 5),
    "angles": "<" * MEGABYTE + "x",
    "stars": "x" + "*" * MEGABYTE + "x",
    "stars and words": "*a " * (MEGABYTE // 3),
    "blanks": "x" + " " * MEGABYTE + "x",
    "blank bullet": "x\n-" + " " * MEGABYTE,
    "NUL": "x" + "\0" * MEGABYTE,
    "surrogates": "x" + "\ud800" * MEGABYTE,
    "right to left": "\u202eش" * (MEGABYTE // 2),
    "marks": "a" + "\u0301" * MEGABYTE,
    "stops": "x" + "." * MEGABYTE + "x",
    "abbreviations": "Mr. " * (MEGABYTE // 4),
    "sentences": "x. " * (MEGABYTE // 3),
    "lines": "x\n" * (MEGABYTE // 2),
    "quotes": 'x."' * (MEGABYTE // 3),
    "one word": "a" * MEGABYTE,
    "parentheses": "(x" * (MEGABYTE // 2),
    "P.S.": "p. s." * (MEGABYTE // 5),
}
LIMIT_S = 0.5


def drawn(kind, count=4):
    """Constraints drawn for several topics and seeds."""
    return [kind.draw(random.Random(seed), words=words) for seed in range(count) for words in TOPICS]


def examples_hold(kind):
    passing, failing = kind.passing, kind.failing
    assert make(kind.id, **passing[0]).check(passing[1]).outcome == "pass"
    assert make(kind.id, **failing[0]).check(failing[1]).outcome == "fail"


def declares_itself(kind):
    assert kind.id.partition(":")[0] == kind.family()
    assert kind.part in {"train", "held-out"}
    assert kind.version >= 1
    assert all("domain" in field.metadata for field in dataclasses.fields(kind))
    assert len(kind.phrasings) >= 4
    assert len(set(kind.phrasings)) == len(kind.phrasings)


def survives_storage(kind):
    for constraint in drawn(kind):
        ref = constraint.ref()
        assert from_ref(decode(encode(ref), ConstraintRef)) == constraint
        assert make(ref.id, **ref.params) == constraint


def draws_the_same_for_a_seed(kind):
    assert drawn(kind) == drawn(kind)


def says_its_parameters(kind):
    for constraint in drawn(kind):
        sentences = [constraint.describe(number) for number in range(len(kind.phrasings))]
        assert len(set(sentences)) == len(sentences)
        for value in constraint.ref().params.values():
            for part in value if isinstance(value, list) else [value]:
                said = [str(part), "once"] if part == 1 else [str(part)]
                assert all(any(form in sentence for form in said) for sentence in sentences), (part, sentences)


def witnesses_hold(kind):
    for constraint in drawn(kind):
        assert constraint.check(constraint.witness()).outcome == "pass", constraint
        counter = constraint.counter_witness()
        assert counter.strip()
        assert constraint.check(counter).outcome == "fail", constraint


def findings_are_complete(kind):
    for constraint in drawn(kind, count=2):
        for text in (*ORDINARY, constraint.witness(), constraint.counter_witness()):
            finding = constraint.check(text)
            assert finding == constraint.check(text)
            assert finding.outcome in {"pass", "fail"}
            assert finding.reason
            assert len(finding.reason) < 1000
            assert finding.score is None or 0 <= finding.score <= 1
            assert finding.score is None or (finding.score == 1) == (finding.outcome == "pass")
            assert finding.span is None or 0 <= finding.span[0] <= finding.span[1] <= len(text)
            encode(finding)


def blank_answers_fail(kind):
    for constraint in drawn(kind, count=1):
        for text in ("", " ", "\n\n", "\t", "\0", "\u200b", "..."):
            assert constraint.check(text).outcome == "fail"


def rejects_parameters(kind):
    good = drawn(kind, count=1)[0].ref().params
    for field in dataclasses.fields(kind):
        for value in field.metadata["domain"].invalid():
            with pytest.raises(BadParameter, match=rf"^{kind.id}: {field.name}=.* must be "):
                make(kind.id, **{**good, field.name: value})
    with pytest.raises(BadParameter, match="unknown parameter"):
        make(kind.id, **good, no_such_parameter=1)


def repairs_pass_or_decline(kind):
    for constraint in drawn(kind):
        for text in ORDINARY:
            repaired = constraint.repair(text)
            if repaired is not None:
                assert constraint.check(repaired).outcome == "pass"
                again = constraint.repair(repaired)
                assert again is None or constraint.check(again).outcome == "pass"


def never_raises_on_odd_texts(kind):
    for constraint in drawn(kind, count=1):
        for text in ODD:
            finding = constraint.check(text)
            assert finding.outcome in {"pass", "fail"}
            encode(finding)


def strict_pass_is_loose_pass(kind):
    for constraint in drawn(kind, count=1):
        for text in (*ORDINARY, *ODD, constraint.witness()):
            if constraint.check(strict(text)).outcome == "pass":
                assert any(constraint.check(view).outcome == "pass" for view in loose(text))


def conflicts_with_itself(kind):
    constraint = drawn(kind, count=1)[0]
    assert constraint.conflicts_with(constraint)


QUESTIONS = (
    examples_hold, declares_itself, survives_storage, draws_the_same_for_a_seed, says_its_parameters, witnesses_hold,
    findings_are_complete, blank_answers_fail, rejects_parameters, repairs_pass_or_decline, never_raises_on_odd_texts,
    strict_pass_is_loose_pass, conflicts_with_itself,
)  # fmt: skip
KINDS = [registry.get(name) for name in registry]


def test_the_registry_holds_what_it_should():
    train = [kind for kind in KINDS if kind.part == "train"]
    held_out = [kind for kind in KINDS if kind.part == "held-out" and kind.family() in {"format", "letters"}]
    assert len(KINDS) >= 30
    assert len(train) >= 22
    assert len(held_out) >= 8
    assert {kind.family() for kind in train} == {"length", "keywords", "case", "punctuation", "startend", "structure"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_contract(kind, question):
    question(kind)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_no_time(name):
    text = HOSTILE[name]
    for kind in KINDS:
        constraint = drawn(kind, count=1)[0]
        start = time.process_time()
        constraint.check(text)
        assert time.process_time() - start < LIMIT_S, kind.id


PIECES = st.sampled_from(
    ["cats", "Sleep", "a", "\n", "\n\n", " ", ". ", ".", "! ", "?", ",", ";", "- ", "* ", "1. ", "*", "***", "\"", "“", "<<",
     ">>", "[", "]", "(", ")", "{", "}", ":", "P.S.", "#tag", "<answer>", "</answer>", "3.5", "\r", "\0", "é", "\ud800"]
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join)), seed=st.integers(0, 20))
def test_any_text_gets_a_finding(text, seed):
    for kind in KINDS:
        constraint = kind.draw(random.Random(seed), words=("cats", "sleep"))
        finding = constraint.check(text)
        assert finding.outcome in {"pass", "fail"}
        assert finding.score is None or 0 <= finding.score <= 1
        repaired = constraint.repair(text)
        assert repaired is None or constraint.check(repaired).outcome == "pass"
