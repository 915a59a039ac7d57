import pytest

from adhere.constraints import make
from adhere.errors import BadParameter

CASES = [
    ("counting:number_sum", {"total": 1003}, "1,000 cats and 3 dogs", "pass"),
    ("counting:number_sum", {"total": 3}, "2.5 kg and 0.5 kg", "pass"),
    ("counting:number_sum", {"total": 3}, "three cats", "fail"),
    ("counting:number_sum", {"total": 3}, "3 " + "9" * 5000, "fail"),
    ("counting:number_sum", {"total": 5}, "the 2nd and 3rd cat", "pass"),
    ("counting:words_of_length", {"count": 2, "letters": 4}, "Über Züge", "pass"),
    ("counting:words_of_length", {"count": 2, "letters": 4}, "cafe\u0301 fre\u0300re here", "pass"),
    ("counting:words_of_length", {"count": 1, "letters": 4}, "2024", "fail"),
    ("counting:words_of_length", {"count": 1, "letters": 4}, "it's", "fail"),
    ("counting:questions", {"count": 2}, 'Why? He said "Who?" Yes.', "pass"),
    ("counting:questions", {"count": 1}, "Really?! 为什么？", "pass"),
    ("counting:questions", {"count": 1}, "Why??? No.", "pass"),
    ("counting:sentences_with_number", {"count": 2}, "One 1. Two 2.", "pass"),
    ("counting:sentences_with_number", {"count": 2}, "1 and 2 and 3.", "fail"),
    ("counting:bullet_words", {"bullets": 2, "words": 2}, "Intro line here:\r\n* Cats sleep\r\n* Dogs bark", "pass"),
    ("counting:bullet_words", {"bullets": 2, "words": 2}, "- Cats sleep\n- Dogs bark loudly", "fail"),
    ("counting:bullet_words", {"bullets": 1, "words": 2}, "```\n- in code\n```\n- Cats sleep", "pass"),
    ("counting:shrinking_sentences", {"count": 3}, "One two three. One two. One.", "pass"),
    ("counting:shrinking_sentences", {"count": 3}, "One two. One two. One.", "fail"),
    ("counting:even_paragraphs", {"paragraphs": 2, "sentences": 2}, "A. B!\r\n\r\nC? D.", "fail"),
    ("counting:even_paragraphs", {"paragraphs": 2, "sentences": 2}, "Aa. Bb!\r\n\r\nCc? Dd.", "pass"),
    ("counting:sentence_words", {"low": 2, "high": 3}, "Cats sleep. Dogs bark loudly.", "pass"),
    ("counting:sentence_words", {"low": 2, "high": 3}, "Cats sleep. No.", "fail"),
    ("counting:line_words", {"lines": 2, "words": 2}, "Cats sleep\r\n\r\nDogs bark", "pass"),
    ("counting:line_words", {"lines": 2, "words": 2}, "Cats sleep\nDogs bark\nYes yes", "fail"),
    ("counting:three_lines", {"first": 1, "second": 2, "third": 1}, "Night\nquiet snow\nfalls", "pass"),
    ("counting:three_lines", {"first": 1, "second": 2, "third": 1}, "Night\nsnow\nfalls quietly", "fail"),
    ("counting:multiple_of", {"number": 3}, "don't well-known 3.5", "pass"),
    ("counting:multiple_of", {"number": 3}, "one two three four", "fail"),
    ("counting:marks", {"mark": ",", "count": 1}, "1,000 cats", "pass"),
    ("counting:marks", {"mark": "-", "count": 1}, "one – two", "fail"),
    ("counting:balance", {"first": "cat", "second": "dog"}, "Cat dog CAT Dog, cats", "pass"),
    ("counting:balance", {"first": "cat", "second": "dog"}, "Birds", "fail"),
]


@pytest.mark.parametrize(("name", "params", "text", "outcome"), CASES)
def test_cases(name, params, text, outcome):
    assert make(name, **params).check(text).outcome == outcome


def test_findings_say_what_was_counted():
    finding = make("counting:number_sum", total=7).check("3 cats, 3 dogs")
    assert (finding.measured, finding.needed) == (6.0, 7)
    assert finding.reason == "2 numbers add up to 6, needed 7"
    assert finding.score == pytest.approx(6 / 7)
    finding = make("counting:line_words", lines=2, words=2).check("Cats sleep\nDogs bark a lot")
    assert finding.reason == "the lines have 2 and 4 words, needed 2 and 2"
    finding = make("counting:sentence_words", low=2, high=3).check("Cats sleep. Yes. Dogs bark.")
    assert finding.span == (12, 16)


def test_repairs_are_small():
    assert make("counting:number_sum", total=7).repair("We saw 3 cats.") == "We saw 3 cats (4 in all)."
    assert make("counting:multiple_of", number=4).repair("Cats sleep long.") == "Cats sleep long indeed."
    assert make("counting:marks", mark=",", count=1).repair("Red, green, blue.") == "Red, green blue."
    assert make("counting:number_sum", total=1).repair("We saw 3 cats.") is None


def test_parameters_that_contradict_each_other_are_refused():
    with pytest.raises(BadParameter, match="low=5 must be below high=5"):
        make("counting:sentence_words", low=5, high=5)
    with pytest.raises(BadParameter, match="must not contain each other"):
        make("counting:balance", first="ice", second="ice cream")
