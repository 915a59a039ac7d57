import pytest

from adhere.constraints import conflict, make
from adhere.errors import BadParameter

GERMAN = "Katzen schlafen den größten Teil des Tages."
ENGLISH = "Cats sleep for most of the day, and nobody minds."
CASES = [
    ("language:answer_in", {"language": "German"}, GERMAN, "pass"),
    ("language:answer_in", {"language": "Dutch"}, GERMAN, "fail"),
    ("language:answer_in", {"language": "Japanese"}, "猫は一日のほとんどを眠って過ごすものです。", "pass"),
    ("language:answer_in", {"language": "English"}, "Yes.", "fail"),
    ("language:two_languages", {"first": "English", "second": "German"}, f"{ENGLISH}\r\n\r\n{GERMAN}", "pass"),
    ("language:two_languages", {"first": "English", "second": "German"}, f"{ENGLISH}\n{GERMAN}", "fail"),
    ("language:script_share", {"script": "Cyrillic", "percent": 50}, "кот cat 123!", "pass"),
    ("language:script_share", {"script": "Cyrillic", "percent": 51}, "кот cat", "fail"),
    ("language:script_share", {"script": "Greek", "percent": 100}, "12 γάτες – 3!", "pass"),
    ("language:script_share", {"script": "Latin", "percent": 1}, "123", "fail"),
    ("language:script_share", {"script": "Devanagari", "percent": 100}, "नमस्ते दुनिया।", "pass"),
    ("language:ascii", {}, "Cats (2) - ok?\r\n", "pass"),
    ("language:ascii", {}, "Cats\u00a0sleep", "fail"),
    ("language:ascii", {}, "a\ud800b", "fail"),
    ("language:accents", {"count": 2}, "Café à", "pass"),
    ("language:accents", {"count": 1}, "Cafe – 5²", "fail"),
    ("language:accents", {"count": 1}, "① done, ⅓ of it, Ⅻ, ⓐ", "fail"),
    ("language:accents", {"count": 1}, "Hawaiʻi", "fail"),
    ("language:accents", {"count": 2}, "кот", "pass"),
    ("language:script_share", {"script": "Latin", "percent": 100}, "Hawaiʻi, ⅓ of ① and Ⅻ: ªº", "pass"),
    ("language:script_share", {"script": "Latin", "percent": 100}, "①⅓", "fail"),
    ("language:script_share", {"script": "Greek", "percent": 100}, "γάτες ⅓ ①", "pass"),
    ("language:spelling", {"variety": "American"}, "My favorite color", "pass"),
    ("language:spelling", {"variety": "American"}, "My FAVOURITE one", "fail"),
    ("language:spelling", {"variety": "British"}, "Colorado", "pass"),
    ("language:spelling", {"variety": "British"}, "Organized and realize: Oxford spelling is British", "pass"),
    ("language:spelling", {"variety": "British"}, "Analyzed", "fail"),
    ("language:spelling", {"variety": "American"}, "Organised", "fail"),
    ("language:no_contractions", {}, "The cat's bowl, its rim.", "pass"),
    ("language:no_contractions", {}, "It’s late", "fail"),
    ("language:no_contractions", {}, "CAN'T", "fail"),
    ("language:no_contractions", {}, "He’ll sleep.", "fail"),
    ("language:no_contractions", {}, "They should've slept.", "fail"),
    ("language:contractions", {"count": 2}, "She'd run, how's that?", "pass"),
    ("language:contractions", {"count": 2}, "We're here, don’t worry", "pass"),
    ("language:contractions", {"count": 2}, "We're here. The cat's bowl.", "fail"),
    ("language:no_latin_abbreviations", {}, "Etcetera is a word; eg too", "pass"),
    ("language:no_latin_abbreviations", {}, "cats, E. g. Tom", "fail"),
    ("language:no_latin_abbreviations", {}, "cats, e.g Tom", "fail"),
    ("language:no_latin_abbreviations", {}, "the e.go", "pass"),
    ("language:no_latin_abbreviations", {}, "cats, dogs, etc", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_say_what_was_seen():
    assert (
        make("language:answer_in", language="French").check(GERMAN).reason
        == "the answer looks like German, needed French"
    )
    assert make("language:answer_in", language="French").check("Oui.").reason == (
        "3 letters are too few to tell the language (at least 20)"
    )
    finding = make("language:script_share", script="Latin", percent=100).check("cat кот")
    assert finding.reason == "50.0 % of 6 letters are Latin, needed at least 100 %"
    assert finding.span == (4, 5)
    assert make("language:spelling", variety="British").check("A Gray cat").reason == (
        'found "Gray", in British spelling "Grey"'
    )


def test_repairs_change_words_only():
    assert make("language:no_contractions").repair("It's so. I don’t know.") == "It is so. I do not know."
    assert make("language:contractions", count=2).repair("It is so. I do not know.") == "It's so. I don't know."
    assert make("language:spelling", variety="American").repair("Grey colours") == "Gray colors"
    assert make("language:ascii").repair("“Café” – yes…") == '"Cafe" - yes...'
    assert make("language:no_latin_abbreviations").repair("Pets, e.g. cats.") == "Pets, for example cats."
    assert make("language:answer_in", language="German").repair(ENGLISH) is None


def test_conflicts():
    assert conflict(make("language:ascii"), make("language:accents", count=1))
    assert conflict(make("language:ascii"), make("keywords:include", words=["Zürich"]))
    assert conflict(make("language:no_contractions"), make("keywords:include", words=["don't"]))
    assert conflict(
        make("language:answer_in", language="German"), make("language:script_share", script="Han", percent=9)
    )


def test_parameters_that_contradict_each_other_are_refused():
    with pytest.raises(BadParameter, match="first and second must differ"):
        make("language:two_languages", first="German", second="German")
