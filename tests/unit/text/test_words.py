import itertools
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhere.text.words import (
    _MARKS,
    count_words,
    has_words,
    lines,
    paragraphs,
    sentence_spans,
    sentences,
    word_spans,
    words,
)
from timing import assert_quick


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("don't stop", ["don't", "stop"]),
        ("it’s a well-known fact", ["it’s", "a", "well-known", "fact"]),
        ("3.5 and 1,000, or 2.", ["3.5", "and", "1,000", "or", "2"]),
        ("one--two — three", ["one", "two", "three"]),
        ("_snake_case_ *bold*", ["snake", "case", "bold"]),
        ("'quoted'", ["quoted"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("🙂 … ---", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected
    assert count_words(text) == len(expected)
    assert [text[start:end] for start, end in word_spans(text)] == expected
    assert has_words(text) == bool(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith went home. He slept!", ["Dr. Smith went home.", "He slept!"]),
        ("It is 3.5 m long. Yes.", ["It is 3.5 m long.", "Yes."]),
        ("Use tools, e.g. a saw. Done.", ["Use tools, e.g. a saw.", "Done."]),
        ("Wait... what? No!", ["Wait... what?", "No!"]),
        ("I see... Then go.", ["I see...", "Then go."]),
        ('"Stop." He left.', ['"Stop."', "He left."]),
        ("1. Buy milk.\n2. Go home.", ["1. Buy milk.", "2. Go home."]),
        ("all lower case. still two.", ["all lower case.", "still two."]),
        ("So do I. You too.", ["So do I.", "You too."]),
        ("J. R. Tolkien wrote it.", ["J. R. Tolkien wrote it."]),
        ("Is it safe? No. It is not.", ["Is it safe?", "No.", "It is not."]),
        ("He said no. I agree.", ["He said no.", "I agree."]),
        ("See no. 5 and No. 12. Good.", ["See no. 5 and No. 12.", "Good."]),
        (
            "See Fig. 3 in Vol. II. He ate a fig. It was ripe.",
            ["See Fig. 3 in Vol. II.", "He ate a fig.", "It was ripe."],
        ),
        (
            "Rep. Smith met Gen. Lee. Do one more rep. Then rest.",
            ["Rep. Smith met Gen. Lee.", "Do one more rep.", "Then rest."],
        ),
        ("Vitamin C. It helps.", ["Vitamin C.", "It helps."]),
        ("Eat vitamin C. Oranges have it.", ["Eat vitamin C.", "Oranges have it."]),
        ("She got an A. Bob got a B. All passed.", ["She got an A.", "Bob got a B.", "All passed."]),
        ("Go to plan B. We leave now.", ["Go to plan B.", "We leave now."]),
        (
            "George W. Bush met John F. Kennedy Jr. in Ohio. Why?",
            ["George W. Bush met John F. Kennedy Jr. in Ohio.", "Why?"],
        ),
        ("A book by J. Smith. It sells.", ["A book by J. Smith.", "It sells."]),
        ("We met at 5 p.m. in Rome. Fine.", ["We met at 5 p.m. in Rome.", "Fine."]),
        ("Solve for x. The rest follows.", ["Solve for x.", "The rest follows."]),
        ("Is it A or B. Neither.", ["Is it A or B.", "Neither."]),
        (
            "Cats, dogs, etc. are fine. Birds, etc. They sing.",
            ["Cats, dogs, etc. are fine.", "Birds, etc.", "They sing."],
        ),
        ("no end", ["no end"]),
        ("one\ntwo", ["one", "two"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("***\n. . .", []),
        ("你好。再见！", ["你好。", "再见！"]),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected
    assert sentence_spans(text, most=1) == sentence_spans(text)[:1]


def test_paragraphs_and_lines():
    assert paragraphs("a\nb\n\n \n\nc\r\n\r\nd\n") == ["a\nb", "c", "d"]
    assert paragraphs(" \n\n") == []
    assert lines("a\r\nb\rc\n") == ["a", "b", "c", ""]


@given(st.text(alphabet="aB .!?…\n\"'1Mr*", max_size=60))
def test_sentences_lose_no_word(text):
    assert [word for sentence in sentences(text) for word in words(sentence)] == words(text)
    spans = sentence_spans(text)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(has_words(text[start:end]) for start, end in spans)


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 10**6,
        "[" * 10**6,
        " " * 10**6 + "x",
        "\0" * 10**6,
        "\ud800" * 10**6,
        "\u202eش" * 500_000,
        "." * 10**6 + "x",
        '."' * 500_000 + "x",
        "x\u0301" * 500_000,
        "a'" * 500_000,
        "1," * 500_000,
    ],
)
def test_hostile_texts_take_linear_time(text):
    for measure in (count_words, paragraphs, lambda text: sentence_spans(text, most=1000)):
        assert_quick(partial(measure, text), f"{text[:2]!r} repeated")


BY_CHARACTER = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}]|['’\-‐‑](?=[^\W_])|(?<=\d)[.,](?=\d))*")


@given(st.one_of(st.text("aB1 _'-.,0\n"), st.text("ab1 _'’-‐.,0٣²é\u093e\u0301\u200d中\n٫"), st.text()))
def test_words_are_those_of_the_definition_read_by_character(text):
    """What takes runs of letters whole, and reads ASCII by a pattern of its own, finds no other words."""
    assert words(text) == BY_CHARACTER.findall(text)
    assert count_words(text) == len(words(text))
    assert [text[start:end] for start, end in word_spans(text)] == words(text)
