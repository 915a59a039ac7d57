import pytest

from adhere.constraints import conflict, make
from adhere.errors import BadParameter

CASES = [
    ("copying:repeat_line", {"phrase": "Go on", "count": 2}, "Go on\r\nyes\r\n  Go on", "pass"),
    ("copying:repeat_line", {"phrase": "Go on", "count": 2}, "go on\nGo on", "fail"),
    ("copying:repeat_line", {"phrase": "Go on", "count": 2}, "Go on\nGo on\nGo on", "fail"),
    ("copying:quote_first", {"sentence": "Why me?"}, "“Why me?”\r\nBecause.", "pass"),
    ("copying:quote_first", {"sentence": "Why me?"}, '"Why me?"', "fail"),
    ("copying:quote_first", {"sentence": "Why me?"}, '"why me?"\nBecause.', "fail"),
    ("copying:first_is_last", {}, "Cats nap.\nDogs run.\nCats nap.", "pass"),
    ("copying:first_is_last", {}, "Cats nap. Dogs run. Cats nap!", "fail"),
    ("copying:acrostic", {"word": "Zoë"}, "- zebras\n- old\n- ëtc", "pass"),
    ("copying:acrostic", {"word": "cat"}, "Cold\n\nAir\nTonight\n...", "pass"),
    ("copying:acrostic", {"word": "cat"}, "Cold\nAir\nTonight\nMore", "fail"),
    ("copying:initials", {"word": "cat"}, "Cold it is. (And so?) Tonight!", "pass"),
    ("copying:initials", {"word": "cat"}, "Cold it is. Tonight! And so.", "fail"),
    ("copying:refrain", {"phrase": "Time will tell.", "count": 2}, "So: Time will tell.\n\nTime will tell!", "pass"),
    ("copying:refrain", {"phrase": "Time will tell", "count": 2}, "Time will tell.\n\nNo.", "fail"),
    ("copying:list", {"items": ["b", "a"]}, "b\n\na\nThen text.", "pass"),
    ("copying:list", {"items": ["b", "a"]}, "b\na", "fail"),
    ("copying:list", {"items": ["b", "a"]}, "- b\n- a\nText", "fail"),
    ("copying:reversed", {"words": ["a1", "b1", "c1"]}, "C1, b1 and a1; then b1.", "pass"),
    ("copying:reversed", {"words": ["a1", "b1", "c1"]}, "c1 a1 b1", "fail"),
    ("copying:sorted", {"words": ["pear", "Apple", "fig"]}, "Here:\napple,fig , pear\nDone.", "pass"),
    ("copying:sorted", {"words": ["pear", "Apple", "fig"]}, "Here: Apple, fig, pear", "fail"),
    ("copying:spelled", {"word": "cat"}, "Spell it: C-A-T!", "pass"),
    ("copying:spelled", {"word": "cat"}, "c-a-t-s", "pass"),
    ("copying:spelled", {"word": "cat"}, "c a t", "fail"),
    ("copying:backwards", {"word": "cats"}, "It reads STAC.", "pass"),
    ("copying:backwards", {"word": "cats"}, "stack", "fail"),
    ("copying:code", {"code": "AB-12"}, "Text.\n AB-12 \n", "pass"),
    ("copying:code", {"code": "AB-12"}, "AB-12\nText.\nAB-12", "fail"),
    ("copying:echo", {"count": 2}, "Cats sleep. So do dogs? Cats SLEEP.", "pass"),
    ("copying:echo", {"count": 2}, "Cats sleep cats.", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_say_what_was_copied():
    finding = make("copying:acrostic", word="cat").check("Cold\nNight")
    assert finding.reason == 'the first letters of the lines spell "CN", needed "cat"'
    assert finding.score == pytest.approx(1 / 3)
    finding = make("copying:reversed", words=["red", "blue"]).check("red and blue")
    assert finding.reason == 'found the order "red" and "blue", needed "blue" and "red"'
    assert make("copying:list", items=["x", "y"]).check("x\nz\nSo.").reason == 'line 2 is not "y"'


def test_repairs_copy_exactly():
    assert make("copying:code", code="AB-12").repair("Cats sleep.") == "Cats sleep.\nAB-12"
    assert make("copying:echo", count=2).repair("Cats sleep a lot.") == "Cats sleep a lot. Cats sleep."
    assert make("copying:sorted", words=["pear", "fig"]).repair("Fruit.") == "Fruit.\nfig, pear"
    assert make("copying:code", code="AB-12").repair("AB-12 is the code.") is None


def test_copies_keep_their_case_so_rules_on_case_conflict():
    assert conflict(make("copying:code", code="AB-12"), make("case:lower"))
    assert conflict(make("copying:quote_first", sentence="Why?"), make("startend:first_word", word="So"))
    assert not conflict(make("copying:backwards", word="cat"), make("case:lower"))


def test_parameters_that_cannot_be_met_are_refused():
    with pytest.raises(BadParameter, match="no palindrome"):
        make("copying:backwards", word="level")
    with pytest.raises(BadParameter, match="letters only"):
        make("copying:acrostic", word="a-b")
    with pytest.raises(BadParameter, match="is part of another one"):
        make("copying:reversed", words=["ice", "ice cream"])
