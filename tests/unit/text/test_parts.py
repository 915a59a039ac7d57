"""Parts of an answer as spans; the same parts as `words` and `markdown` know."""

import pytest

from adhere.text import markdown, words
from adhere.text.parts import code_blocks, last_span, spans

PAGE = (
    "# Cats\n\nThey sleep. They hunt!\r\n\r\n- one\n- *two*\n---\n\n```python\n- no bullet\n\nx = 1\n```\nAfter it.\n\n"
    "~~~~\n```\n~~~\n~~~~\n * three\n- ...\n\n\n  Indented, the last.\n***\n```\nnever closed\n"
)


def texts_of(text, unit):
    return [text[start:end] for start, end in spans(text, unit)]


def test_each_unit_is_found():
    assert texts_of("a\n\nb c\nd\n \n***\n\ne", "paragraph") == ["a", "b c\nd", "e"]
    assert texts_of("a\n\n b c \r\n***\rd", "line") == ["a", "b c", "d"]
    assert texts_of("One two. Three?\nFour", "sentence") == ["One two.", "Three?", "Four"]
    assert texts_of("Here:\n* a\n  - b c\n-no\n- \n1. n", "bullet point") == ["a", "b c"]
    assert texts_of("x\n```\na\nb\n```\n```js\n```\n", "code block") == ["a\nb\n", ""]


@pytest.mark.parametrize("unit", ["paragraph", "line", "sentence", "bullet point", "code block"])
@pytest.mark.parametrize("text", ["", " \n\t", "\0"])
def test_nothing_has_no_parts(unit, text):
    assert spans(text, unit) == []
    assert last_span(text, unit) is None


@pytest.mark.parametrize("text", [PAGE, PAGE.replace("\n", "\r\n"), PAGE.replace("\r\n", "\n").replace("\n", "\r")])
def test_the_parts_are_those_of_words_and_markdown(text):
    def plain(parts):
        return [part.replace("\r\n", "\n").replace("\r", "\n").strip() for part in parts]

    with_words = [part.strip() for part in words.paragraphs(text) if words.has_words(part)]
    assert plain(texts_of(text, "paragraph")) == with_words
    assert texts_of(text, "line") == [line.strip() for line in words.lines(text) if words.has_words(line)]
    assert texts_of(text, "bullet point") == [bullet.text for bullet in markdown.bullets(text)]
    assert plain(texts_of(text, "code block")) == [block.body.strip() for block in markdown.code_blocks(text)]


def test_an_open_fence_is_text():
    text = "a\n```\nb\n"
    assert list(code_blocks(text)) == []
    block = next(code_blocks("a\n```\nb\n```\nc"))
    assert (block.span, block.outer) == ((6, 8), (2, 12))


@pytest.mark.parametrize(
    ("unit", "gap"), [("paragraph", "\n\n"), ("line", "\n"), ("sentence", " "), ("bullet point", "\n- ")]
)
def test_the_last_part_is_the_last_of_all(unit, gap):
    long = gap + gap.join(f"Piece number {number} of the text, e.g. this one." for number in range(2000))
    for text in (PAGE, long, long + " " * 9000, "x" * 20_000 + long):
        assert last_span(text, unit) == spans(text, unit)[-1]


def test_it_stops_after_the_most():
    assert spans("a\nb\nc", "line", most=2) == [(0, 1), (2, 3)]
