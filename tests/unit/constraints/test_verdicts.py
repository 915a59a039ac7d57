"""Texts where a kind could easily be wrong, with the outcome that it must give."""

import json

import pytest

from adhere.constraints import make

CASES = [
    ("length:at_most", {"limit": 3}, "Don't over-think it.", "pass"),
    ("length:between", {"low": 2, "high": 3}, "One two three four.", "fail"),
    ("length:sentences", {"count": 1}, "Dr. Smith sleeps.", "pass"),
    ("length:paragraphs", {"count": 2}, "a\n\n\n\nb", "pass"),
    ("length:paragraphs", {"count": 2}, "a\n\n***\n\nb", "pass"),  # a divider holds no word
    ("keywords:include", {"words": ["cat"]}, "Concatenate cats.", "fail"),
    ("keywords:include", {"words": ["cat"]}, "The CAT's tail.", "pass"),
    ("keywords:include", {"words": ["solar energy"]}, "Solar\nenergy is fine.", "pass"),
    ("keywords:include", {"words": ["Zürich"]}, "zu\u0308rich is a city", "pass"),
    ("keywords:forbid", {"words": ["cat"]}, "Concatenate cats.", "pass"),
    ("keywords:exactly", {"word": "a", "count": 2}, "A cat and a dog.", "pass"),
    ("keywords:times", {"word": "C++", "count": 1}, "I like C++.", "pass"),
    ("keywords:opening", {"word": "milk"}, "1. Milk\n2. Tea", "pass"),
    ("case:lower", {}, "ohne großbuchstaben", "pass"),
    ("case:lower", {}, "123", "fail"),
    ("case:upper", {}, "STRAßE", "fail"),
    ("case:upper", {}, "I AM 3", "pass"),
    ("case:title", {}, "Well-known Don't 3rd", "pass"),
    ("case:title", {}, "Cats And dogs", "fail"),
    ("case:capital_words", {"count": 1}, "A I", "fail"),
    ("case:capital_words", {"count": 1}, "NASA", "pass"),
    ("case:sentences", {}, '"Yes." (No.) 1. Third', "pass"),  # a list mark is no word
    ("case:sentences", {}, '"Yes." (no.)', "fail"),
    ("case:sentences", {}, "- Cats\n- Dogs", "pass"),
    ("case:keyword", {"word": "milk"}, "MILK and milk", "fail"),
    ("punctuation:no_commas", {}, "a，b", "fail"),
    ("punctuation:no_periods", {}, "3.5 cats", "fail"),
    ("punctuation:ends_with", {"mark": "?"}, "Why? ", "pass"),
    ("punctuation:ends_with", {"mark": "?"}, '"Why?"', "fail"),
    ("punctuation:parentheses", {"count": 1}, "cats () (", "fail"),
    ("punctuation:parentheses", {"count": 1}, "[cats](https://example.com)", "fail"),
    ("punctuation:parentheses", {"count": 2}, "猫（大）, [cats] (big)", "pass"),
    ("startend:start_phrase", {"phrase": "In short"}, '"in short, yes."', "pass"),
    ("startend:start_phrase", {"phrase": "In short"}, "In shorts", "fail"),
    ("startend:end_phrase", {"phrase": "Any other questions?"}, "Yes. Any other questions", "pass"),
    ("startend:end_phrase", {"phrase": "The end"}, "The end. Bye.", "fail"),
    ("startend:end_phrase", {"phrase": "end"}, "I pretend.", "fail"),
    ("startend:quotes", {}, "“Curly.”", "pass"),
    ("startend:quotes", {}, '"Only one', "fail"),
    ("startend:same_word", {}, "Cats.", "fail"),
    ("startend:first_word", {"word": "cats"}, "**Cats** sleep.", "pass"),
    ("structure:bullets", {"count": 2}, "Here:\n* a\n  - b", "pass"),
    ("structure:bullets", {"count": 1}, "**bold** text", "fail"),
    ("structure:bullets", {"count": 1}, "- \n-", "fail"),
    ("structure:bullets", {"count": 2}, "---\n- a\n- b", "pass"),
    ("structure:numbered", {"count": 2}, "1) a\n2) b", "pass"),
    ("structure:numbered", {"count": 2}, "2. a\n1. b", "fail"),
    ("structure:numbered", {"count": 2}, "1. a\r2. b\n```\n1. c\n```", "pass"),
    ("structure:numbered", {"count": 2}, "```\n1. a\n2. b\n```", "fail"),
    ("structure:lines", {"count": 2}, "a\rb\r\n", "pass"),
    (
        "code:form",
        {"function": "f", "form": "no import"},
        "```\nimport math\ndef f(n):\n    return math.pi\n```",
        "fail",
    ),
    (
        "code:form",
        {"function": "f", "form": "type hints for every argument and for the result"},
        "def f(*n) -> int:\n    return 1",
        "fail",
    ),
    ("answer:quotes", {"passage": "please don't go now", "count": 3}, "It says “don’t go now”.", "pass"),
    ("structure:lines", {"count": 2}, "a\n\n\nb\n***", "pass"),
    ("structure:labels", {"labels": ["Answer", "Reason"]}, "Reason: a\nAnswer: b", "fail"),
    ("structure:labels", {"labels": ["Answer", "Reason"]}, "**Answer:** a\nreason: b", "pass"),
    ("structure:labels", {"labels": ["Answer"]}, "Answer:", "fail"),
    ("structure:json_object", {"keys": ["a"]}, ' {"a": 1}\n', "pass"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": "x"} and more', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '[{"a": "x"}]', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": "x", "b": "y"}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": "x", "a": "y"}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"A": "x"}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": ""}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": null}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": {}}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": NaN}', "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": ' + "1" * 9999 + "}", "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": ' + "[" * 99_999, "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": ' + "[" * 99_999 + "]" * 99_999 + "}", "fail"),
    ("structure:json_object", {"keys": ["a"]}, '{"a": ' + "[" * 600 + "1" + "]" * 600 + "}", "pass"),
    ("format:title", {}, "<<>> no", "fail"),
    ("format:highlights", {"count": 2}, "*a* and **b c**", "pass"),
    ("format:highlights", {"count": 1}, "2 * 3 * 4", "fail"),
    ("format:highlights", {"count": 1}, "* a\n* b", "fail"),
    ("format:placeholders", {"count": 1}, "[ ] [...]", "fail"),
    ("format:postscript", {}, "P.S. only this", "fail"),
    ("format:postscript", {}, "An answer.\np.s. more", "pass"),
    ("format:sections", {"count": 2}, "a\n***\n***\nb", "pass"),
    ("format:hashtags", {"count": 1}, "# Heading and C#", "fail"),
    ("format:tags", {"tag": "answer"}, "<ANSWER>\nx\n</ANSWER>", "pass"),
    ("format:tags", {"tag": "answer"}, "<answer></answer>", "fail"),
    ("letters:avoid", {"letter": "i"}, "FIRST", "fail"),
    ("letters:first", {"letter": "c"}, "- (Cats)", "pass"),
    ("letters:no_digits", {}, "٣ cats", "fail"),
    ("letters:short_words", {"longest": 4}, "well-to-do", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_verdict(name, params, text, outcome):
    finding = make(name, **params).check(text)
    assert finding.outcome == outcome, finding


def test_reasons_say_what_was_found_and_needed():
    assert make("length:at_least", least=300).check("cat " * 212).reason == "found 212 words, needed at least 300"
    assert make("length:at_most", limit=1).check("One two.").reason == "found 2 words, allowed at most 1"
    assert make("structure:bullets", count=3).check("- a").reason == "found 1 bullet point, needed exactly 3"
    assert make("keywords:include", words=["a", "b"]).check("c b").reason == 'missing "a"'


def test_scores_say_how_close():
    half = make("length:at_least", least=4).check("one two")
    assert (half.score, half.measured, half.needed) == (0.5, 2, 4)
    assert make("keywords:include", words=["a", "b"]).check("b").score == 0.5
    assert make("punctuation:no_commas").check("a, b").span == (1, 2)


def test_the_json_repair_is_json_with_the_content():
    repaired = make("structure:json_object", keys=["fact", "why"]).repair("Cats sleep a lot. They hunt at night.")
    assert json.loads(repaired) == {"fact": "Cats sleep a lot.", "why": "They hunt at night."}
