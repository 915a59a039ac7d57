"""Every registered Constraint answers the questions of `adhere.testing`, which plug-ins are asked, too."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhere.constraints import registry
from adhere.constraints.published import Text
from adhere.constraints.published.shared import registry as published
from adhere.testing import HOSTILE, MEGABYTE, QUESTIONS, hostile_texts_take_no_time

KINDS = [registry.get(name) for name in registry]
EVERY_EIGHTH = 8


def test_the_registry_holds_what_it_should():
    own = [kind for kind in KINDS if kind.__module__.startswith("adhere.constraints.")]
    parts = {part: {kind.family() for kind in own if kind.part == part} for part in ("train", "held-out")}
    train = {
        "length",
        "keywords",
        "case",
        "punctuation",
        "startend",
        "structure",
        "copying",
        "counting",
        "data",
        "position",
    }
    held_out = {"format", "letters", "language", "markdown", "style"}
    assert train <= parts["train"]
    assert held_out <= parts["held-out"]
    assert parts["train"].isdisjoint(parts["held-out"])
    assert not {kind.id for kind in own} & set(published.ids())


def test_the_questions_are_the_contract():
    assert [question.__name__ for question in QUESTIONS] == [
        "declares_itself",
        "examples_hold",
        "survives_storage",
        "draws_the_same_for_a_seed",
        "says_its_parameters",
        "witnesses_hold",
        "findings_are_complete",
        "blank_answers_fail",
        "rejects_parameters",
        "repairs_pass_or_decline",
        "never_raises_on_odd_texts",
        "strict_pass_is_loose_pass",
        "conflicts_with_itself",
    ]
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_contract(kind):
    for question in QUESTIONS:  # what is violated names the question
        question(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_some_hostile_texts_take_no_time(kind):
    # Each kind gets other texts, a quarter of a megabyte in a quarter of the time; the slow test has all, whole.
    names = HOSTILE[KINDS.index(kind) % EVERY_EIGHTH :: EVERY_EIGHTH]
    hostile_texts_take_no_time(kind, names=names, size=MEGABYTE // 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_all_hostile_texts_take_no_time(kind):
    hostile_texts_take_no_time(kind)


PIECES = st.sampled_from(
    ["cats", "Sleep", "SEA", "a", "\n", "\n\n", "\r\n", " ", ". ", ".", "! ", "?", ",", ";", "- ", "* ", "1. ", "*",
        "***", '"',
     "“", "<<", ">>", "[", "]", "(", ")", "{", "}", ":", "P.S.", "#tag", "# ", "<answer>", "</answer>", "3.5", "\r",
     "\0", "é",
     "\ud800", "```", "```\n", "|", "|-|\n", "Mr. ", '{"a": 1}', "http://a.b", "İ", "\u0301", "\u202e", "你好。", "👍"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join))
SEEDS = st.integers(0, 20)


def gets_findings(text, seed):
    """Every kind, every view: pass or fail, a fitting score, a span inside the text, and repairs that pass."""
    views = [text, *(variant.raw for variant in Text(text).variants())]
    for kind in KINDS:
        constraint = kind.draw(random.Random(seed), words=("cats", "sleep"))
        for view in views:
            finding = constraint.check(view)
            assert finding.outcome in {"pass", "fail"}, (constraint, view)
            assert finding.reason
            assert finding.score is None or 0 <= finding.score <= 1, (constraint, view)
            assert finding.score is None or (finding.score == 1) == (finding.outcome == "pass"), (constraint, view)
            assert finding.span is None or 0 <= finding.span[0] <= finding.span[1] <= len(view), (constraint, view)
        repaired = constraint.repair(text)
        assert repaired is None or constraint.check(repaired).outcome == "pass"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, seed=SEEDS)
def test_any_text_gets_a_finding(text, seed):
    gets_findings(text, seed)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(TEXTS, st.lists(PIECES, max_size=300).map("".join)), seed=st.integers(0, 1000))
def test_many_texts_get_a_finding(text, seed):
    gets_findings(text, seed)
