"""Every published kind answers the questions of `adhere.testing`, in every profile that has its own, mended or not."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhere.constraints.published import Text, kinds
from adhere.constraints.published.shared.fixes import in_fixed_mode
from adhere.constraints.published.shared.registry import PROFILES, fill, ids
from adhere.testing import (
    HOSTILE,
    MEGABYTE,
    PUBLISHED_QUESTIONS,
    published,
    published_hostile_texts_take_no_time,
    published_params,
)

# A kind of several profiles is one object, and counts once.
PUBLISHED = list({id(kind): kind for profile in PROFILES for kind in kinds(profile)}.values())
MENDED = [other for kind in PUBLISHED if (other := in_fixed_mode(kind)) is not kind]
KINDS = [*PUBLISHED, *MENDED]
EVERY_SIXTEENTH = 16
# AgentIF's kind starts a sandbox for each text, which takes minutes of questions and fuzzing.
QUICK = [kind for kind in KINDS if kind.id != "agentif:code"]
SLOW = [pytest.param(kind, marks=pytest.mark.slow, id=kind.id) for kind in KINDS if kind not in QUICK]


def name_of(kind):
    return f"{kind.id}-{'fixed' if kind in MENDED else kind.profiles[0]}"


def test_all_published_kinds_are_here():
    assert {kind.id for kind in PUBLISHED} == set(ids())
    assert all(ids(profile) for profile in PROFILES)
    assert [len(ids(profile)) for profile in ("ifeval", "ifbench-2026")] == [25, 58], "as their papers count them"


@pytest.mark.parametrize("kind", [*QUICK, *SLOW], ids=name_of)
def test_contract(kind):
    for question in PUBLISHED_QUESTIONS:  # what is violated names the question
        question(kind)


@pytest.mark.parametrize("kind", [*QUICK, *SLOW], ids=name_of)
def test_some_hostile_texts_take_no_time(kind):
    # Each kind gets other texts, a quarter of a megabyte in a quarter of the time; the slow test has all, whole.
    names = HOSTILE[KINDS.index(kind) % EVERY_SIXTEENTH :: EVERY_SIXTEENTH]
    published_hostile_texts_take_no_time(kind, names=names, size=MEGABYTE // 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_all_hostile_texts_take_no_time(kind):
    published_hostile_texts_take_no_time(kind)


PIECES = st.sampled_from(
    ["The fox", "jumps", "DOG", "a", "I", "\n", "\n\n", "\r\n", " ", ". ", ".", "! ", "?", "!?", ",", ", ", ";", "- ",
        "* ", "1. ",
     "*", "***", '"', "“", "<<", ">>", "[", "]", "(", ")", "{", "}", ":", "P.S.", "P.P.S", "Section 1", "******", "3.5",
     "1990-01-01", "\r", "\0", "é", "\ud800", "```json\n", "```", "|", "Mr. ", '{"a": 1}', "http://a.b", "İ", "\u0301",
     "\u202e", "你好。", "👍",
     "My answer is yes.", "ProductID,Category,Brand,Price,Stock", "\u2028", "\x1c", "\u00a0"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join))


def gets_findings(text, seed):
    """Every kind with drawn parameters, both views: an outcome, a reason, no strict pass that fails loosely."""
    shared = Text(text)
    for kind in QUICK:
        strict, loose = fill(kind, published_params(kind, seed)).both_views(shared)
        assert strict.reason, kind.id
        assert loose.reason, kind.id
        assert {strict.outcome, loose.outcome} <= {"pass", "fail", "undecided"}, kind.id
        assert strict.outcome != "pass" or loose.outcome == "pass", kind.id
        for finding in (strict, loose):
            assert finding.score is None or 0 <= finding.score <= 1, kind.id
            assert finding.span is None or 0 <= finding.span[0] <= finding.span[1] <= len(text), kind.id


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, seed=st.integers(0, 5))
def test_any_text_gets_a_finding(text, seed):
    gets_findings(text, seed)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(TEXTS, st.lists(PIECES, max_size=300).map("".join)), seed=st.integers(0, 1000))
def test_many_texts_get_a_finding(text, seed):
    gets_findings(text, seed)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS)
def test_findings_do_not_depend_on_what_was_judged_before(text):
    """A text whose features are shared, and one of its own for each kind, are judged alike."""
    shared = Text(text)
    for kind in QUICK:
        one = published(kind, count=1)[0]
        assert one.both_views(shared) == one.both_views(Text(text)), kind.id
