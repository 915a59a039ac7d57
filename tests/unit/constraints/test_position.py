import pytest

from adhere.constraints import conflict, make
from adhere.errors import BadParameter

CASES = [
    ("position:nth_word", {"word": "cats", "number": 3}, "Well, **the** *cats* sleep.", "pass"),
    ("position:nth_word", {"word": "cats", "number": 3}, "The cats' cats", "pass"),
    ("position:nth_word", {"word": "cats", "number": 3}, "Cats", "fail"),
    ("position:nth_paragraph", {"word": "dogs", "number": 2}, "Cats.\r\n \r\nDOGS bark.", "pass"),
    ("position:nth_paragraph", {"word": "dogs", "number": 2}, "Cats.\n***\nDogs.", "fail"),
    ("position:first_half", {"word": "cats"}, "Cats cats sleep long.", "pass"),
    ("position:first_half", {"word": "cats"}, "Cats sleep. Cats!", "fail"),
    ("position:first_half", {"word": "cats"}, "Cats", "pass"),
    ("position:before", {"first": "cat", "second": "dog"}, "The cat saw a dog and a cat.", "pass"),
    ("position:before", {"first": "cat", "second": "dog"}, "cats and a dog", "fail"),
    ("position:apart", {"first": "cat", "second": "dog", "distance": 2}, "A dog is no cat.", "pass"),
    ("position:apart", {"first": "cat", "second": "dog", "distance": 2}, "A dog, a cat.", "fail"),
    ("position:near", {"first": "cat", "second": "dog", "distance": 1}, "A dog, a cat.", "pass"),
    ("position:near", {"first": "cat", "second": "dog", "distance": 1}, "A dog is no cat.", "fail"),
    ("position:near", {"first": "Zürich", "second": "sea", "distance": 1}, "Zu\u0308rich by sea", "pass"),
    ("position:first_and_last", {"word": "cat"}, "A cat.\nA dog.\nNo cat", "pass"),
    ("position:first_and_last", {"word": "cat"}, "My cat is a cat.", "fail"),
    ("position:every_sentence", {"word": "cat", "count": 2}, "A cat! The cat's bowl.", "pass"),
    ("position:every_sentence", {"word": "cat", "count": 2}, "A cat! A dog.", "fail"),
    ("position:every_paragraph", {"word": "cat", "count": 2}, "A cat.\n\n\n\nMy cat.", "pass"),
    ("position:every_paragraph", {"word": "cat", "count": 2}, "A cat.\n\nMy cat.\n\nA cat.", "fail"),
    ("position:only_last_sentence", {"word": "cat"}, "Who? A cat?", "pass"),
    ("position:only_last_sentence", {"word": "cat"}, "A cat.", "fail"),
    ("position:last_line", {"word": "sea level"}, "It rises.\n\n**Sea level**\n", "pass"),
    ("position:last_line", {"word": "cats"}, "They sleep.\nCats sleep", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_point_at_the_place():
    finding = make("position:nth_word", word="cats", number=2).check("The dogs sleep.")
    assert finding.reason == 'word 2 is "dogs", needed "cats"'
    assert finding.span == (4, 8)
    finding = make("position:before", first="cat", second="dog").check("Birds")
    assert finding.reason == 'missing "cat"'
    assert finding.score == 0
    assert make("position:near", first="cat", second="dog", distance=1).check("dog and one cat").measured == 2


def test_repairs_keep_the_text():
    text = "Dogs bark. They run."
    assert "bark" in make("position:first_and_last", word="cat").repair(text)
    assert make("position:nth_word", word="cat", number=2).repair(text) == "Dogs (cat) bark. They run."
    repaired = make("position:only_last_sentence", word="dogs").repair(text)
    assert repaired.startswith("It bark. They run. ")
    assert repaired.count("ogs") == 1


def test_parameters_that_cannot_be_met_are_refused():
    with pytest.raises(BadParameter, match="must be one word"):
        make("position:nth_word", word="sea level", number=2)
    with pytest.raises(BadParameter, match="must not contain each other"):
        make("position:before", first="sea", second="sea level")
    with pytest.raises(BadParameter, match="must hold a letter or digit"):
        make("position:last_line", word="…")


@pytest.mark.parametrize("name", ["position:near", "position:apart"])
def test_every_wording_says_that_the_first_uses_count(name):
    one = make(name, first="sun", second="moon", distance=3)
    assert one.check("Sun and moon. So far is the moon from where the sun is.").outcome == (
        "pass" if name == "position:near" else "fail"
    )
    assert all("first" in one.describe(number) for number in range(len(one.phrasings)))


@pytest.mark.parametrize(("one", "other", "excludes"), [
    (make("position:only_last_sentence", word="Sun"), make("keywords:opening", word="sun"), True),
    (make("position:only_last_sentence", word="sun"), make("keywords:opening", word="moon"), False),
    (make("position:first_and_last", word="sun"), make("keywords:exactly", word="sun", count=1), True),
    (make("position:before", first="sun", second="moon"), make("startend:first_word", word="moon"), True),
    (make("position:first_and_last", word="sun"), make("length:sentences", count=1), True),
    (make("position:first_and_last", word="sun"), make("length:sentences", count=2), False),
    (make("counting:questions", count=2), make("length:sentences", count=1), True),
    (make("copying:first_is_last"), make("length:sentences", count=2), True),
    (make("counting:marks", mark="-", count=1), make("copying:spelled", word="bread"), True),
    (make("counting:marks", mark="?", count=1), make("counting:questions", count=2), True),
])  # fmt: skip
def test_what_excludes_each_other_is_not_asked_together(one, other, excludes):
    assert conflict(one, other) is excludes
