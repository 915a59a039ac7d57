import itertools
import random

import pytest

from adhere.constraints import conflict, make, passes_all, registry, repair_all
from adhere.constraints.kinds.shared import edits
from adhere.suites.generated.core.deal import kinds_of
from adhere.text.words import words

TEXTS = (
    (
        "Cats sleep a lot because hunting takes energy. They wake up in the evening and look for food and company.",
        ("cats", "sleep", "energy"),
    ),
    ("A budget shows where your money goes. Write down what you earn, and then decide what to save.",
        ("budget", "money")),
    ("The Moon pulls on the oceans, and the water rises. Most coasts have two high tides every day.",
        ("moon", "tides")),
)  # fmt: skip
# The kinds whose answers `adhere build` makes by repair unless others are named.
TRAIN = kinds_of("train")
SEEDS = 6
# Pairs for which more than a third of the draws find no joint answer by small edits, with the reason.
HARD = {
    (
        "length:between",
        "startend:end_phrase",
    ): "a range of six words leaves no room for a sentence and a closing phrase",
}


def _draws(first, second):
    for seed in range(SEEDS):
        text, topics = TEXTS[seed % len(TEXTS)]
        rng = random.Random(seed)
        yield text, first.draw(rng, words=topics), second.draw(rng, words=topics)


def test_most_pairs_without_conflict_have_a_joint_answer():
    tried = failed = 0
    for first, second in itertools.combinations(TRAIN, 2):
        drawn = [(text, a, b) for text, a, b in _draws(first, second) if not conflict(a, b)]
        lost = [(a, b) for text, a, b in drawn if repair_all(text, [a, b]) is None]
        assert len(lost) * 3 <= len(drawn) or (first.id, second.id) in HARD, lost
        tried, failed = tried + len(drawn), failed + len(lost)
    assert tried > 2000
    assert failed <= 0.01 * tried


def test_most_triples_without_conflict_have_a_joint_answer():
    rng = random.Random(0)
    tried = failed = 0
    while tried < 400:
        text, topics = rng.choice(TEXTS)
        three = [kind.draw(rng, words=topics) for kind in rng.sample(TRAIN, 3)]
        if any(conflict(a, b) for a, b in itertools.combinations(three, 2)):
            continue
        repaired = repair_all(text, three)
        tried, failed = tried + 1, failed + (repaired is None)
        assert repaired is None or passes_all(repaired, three)
    assert failed <= 0.02 * tried


def test_conflict_is_symmetric_and_holds_for_itself():
    drawn = [registry.get(name).draw(random.Random(1), words=("cats",)) for name in registry]
    for a, b in itertools.combinations(drawn, 2):
        assert conflict(a, b) == conflict(b, a)
    assert all(conflict(one, one) for one in drawn)


CONFLICTS = [
    (("case:lower", {}), ("case:upper", {})),
    (("case:lower", {}), ("case:capital_words", {"count": 1})),
    (("structure:json_object", {"keys": ["a"]}), ("structure:bullets", {"count": 2})),
    (("structure:json_object", {"keys": ["a"]}), ("startend:quotes", {})),
    (("structure:json_object", {"keys": ["a"]}), ("startend:start_phrase", {"phrase": "In short"})),
    (("structure:json_object", {"keys": ["a", "b"]}), ("punctuation:no_commas", {})),
    (("length:at_most", {"limit": 8}), ("length:at_least", {"least": 9})),
    (("length:at_most", {"limit": 8}), ("structure:bullets", {"count": 4})),
    (("keywords:forbid", {"words": ["cats"]}), ("keywords:include", {"words": ["dogs", "Cats"]})),
    (("keywords:forbid", {"words": ["help"]}), ("startend:end_phrase", {"phrase": "Happy to help"})),
    (("punctuation:no_commas", {}), ("startend:end_phrase", {"phrase": "Well, bye"})),
    (("punctuation:no_exclamation", {}), ("punctuation:ends_with", {"mark": "!"})),
    (("punctuation:no_periods", {}), ("structure:numbered", {"count": 2})),
    (("letters:avoid", {"letter": "z"}), ("keywords:include", {"words": ["zoo"]})),
]


@pytest.mark.parametrize(("first", "second"), CONFLICTS)
def test_known_conflicts(first, second):
    assert conflict(make(first[0], **first[1]), make(second[0], **second[1]))


def test_a_passing_text_is_returned_as_it_is():
    assert repair_all("cats sleep.", [make("case:lower")]) == "cats sleep."


def test_what_cannot_be_repaired_is_none():
    assert repair_all("", [make("case:lower")]) is None
    assert repair_all("…", [make("case:lower")]) is None
    assert repair_all("Cats.", [make("case:lower"), make("case:upper")]) is None
    assert repair_all("Cats " * 9000, [make("case:lower")]) is None


def test_a_repair_keeps_the_content():
    text = TEXTS[0][0]
    rules = [make("structure:bullets", count=2), make("case:upper"), make("keywords:include", words=["milk"])]
    repaired = repair_all(text, rules)
    assert {word.lower() for word in words(text)} <= {word.lower() for word in words(repaired)}


def test_edits():
    assert edits.cut_to_words("Cats sleep a lot. They wake up late.", 5) == "Cats sleep a lot."
    assert edits.cut_to_words("Cats hunt mice for the family at night.", 5) == "Cats hunt mice."
    assert edits.plain("- one thing\n- two things") == "one thing. two things."
    assert edits.plain('{"a": "one thing", "b": "two"}') == "one thing. two."
    assert edits.split_into("Cats sleep a lot because hunting takes energy.", 2) == [
        "Cats sleep a lot.",
        "Because hunting takes energy.",
    ]
    assert edits.add_sentence("- a\n- b", "Bye.") == "- a\n- b\n\nBye."
