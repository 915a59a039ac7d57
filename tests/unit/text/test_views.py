from adhere.text.reasoning import split_reasoning
from adhere.text.views import loose, strict


def test_loose_yields_the_eight_variants_without_repeats_or_blanks():
    text = " one *a*\ntwo *b*\nthree "
    assert list(loose(text)) == [
        text,
        " one a\ntwo b\nthree ",
        "two *b*\nthree",
        "one *a*\ntwo *b*",
        "two *b*",
        "two b\nthree",
        "one a\ntwo b",
        "two b",
    ]
    assert list(loose("one line")) == ["one line"]
    assert list(loose("")) == [""]
    assert strict(text) == text


def test_loose_is_lazy_and_starts_with_the_text():
    assert next(loose("x\ny")) == "x\ny"


def test_split_reasoning():
    assert split_reasoning("an answer") == (None, "an answer")
    assert split_reasoning("<think>why</think>\n\nanswer") == ("why", "answer")
    assert split_reasoning("why</think>answer") == ("why", "answer")
    assert split_reasoning("<think>never closed") == ("never closed", "")
    assert split_reasoning(" <think>a</think> <think>b</think> c") == ("a\nb", "c")
    assert split_reasoning("the tag <think> is no HTML") == (None, "the tag <think> is no HTML")
    assert split_reasoning("<think></think>x") == ("", "x")
    assert split_reasoning("<think>a</think>" * 3) == ("a\na\na", "")
