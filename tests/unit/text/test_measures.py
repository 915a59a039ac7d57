"""Markdown, scripts and syllables: the measures that the own kinds count with."""

import pytest

from adhere.text.markdown import (
    Bullet,
    CodeBlock,
    Heading,
    Table,
    bullets,
    cells,
    code_blocks,
    headings,
    prose_lines,
    tables,
)
from adhere.text.scripts import SCRIPTS, count_letters, first_foreign
from adhere.text.syllables import reading_ease, syllables
from adhere.text.words import word_lines, word_spans


def test_code_blocks_are_closed_fences():
    assert code_blocks("a\n```Py x\nb\n```\nc") == [CodeBlock("py", "b")]
    assert code_blocks("```\n~~~\n```") == [CodeBlock("", "~~~")]
    assert code_blocks("````\n```\nb\n````") == [CodeBlock("", "```\nb")]
    assert code_blocks("```\nnever closed") == []
    assert prose_lines("a\n```\nb\n```\nc") == ["a", "c"]
    assert prose_lines("a\n```\nb") == ["a", "```", "b"]


def test_headings_and_bullets_stand_outside_code():
    assert headings("# A #\n####### B\n###\n```\n# C\n```\n  ## *D*") == [Heading(1, "A"), Heading(2, "D")]
    assert bullets("- a\n\t* b\n-c\n- …\n```\n- d\n```") == [Bullet(0, "-", "a"), Bullet(4, "*", "b")]


def test_tables():
    assert tables("| a | b |\n|---|:-:|\n| 1 | 2 |\nend") == [Table(("a", "b"), (("1", "2"),))]
    assert tables("a | b\n--|--") == [Table(("a", "b"), ())]
    assert tables("| a | b |\n|---|\n| 1 |") == []
    assert cells(r"| a \| b | |") == ("a | b", "")


def test_letters_of_scripts():
    assert count_letters("cat кот 猫 123") == (7, 7)
    assert count_letters("cat кот 猫 123", "Cyrillic") == (3, 7)
    assert count_letters("", "Latin") == (0, 0)
    assert first_foreign("cat кот", "Latin") == (4, 5)
    assert first_foreign("12 cats!", "Latin") is None
    for script, text in zip(SCRIPTS, ("ßé", "ёЖ", "άΩ", "猫々", "ねコ", "고양", "قط", "חת", "बल", "แม"), strict=True):
        assert count_letters(text, script) == (2, 2), script


@pytest.mark.parametrize(
    ("word", "count"),
    [("the", 1), ("cats", 1), ("make", 1), ("table", 2), ("jumped", 1), ("wanted", 2), ("houses", 2), ("idea", 3),
     ("people", 2), ("science", 2), ("Beautiful", 3), ("energy", 3), ("usually", 4), ("xyz", 1), ("123", 1)],
)  # fmt: skip
def test_syllables(word, count):
    assert syllables(word) == count


def test_reading_ease():
    # 6 words of one syllable in one sentence: 206.835 - 1.015 * 6 - 84.6
    assert reading_ease("The cat sat on the mat.", most_sentences=9) == pytest.approx(116.145)
    assert reading_ease("…", most_sentences=9) is None
    # the second sentence is left out
    assert reading_ease("The cat sat. Institutional!", most_sentences=1) == pytest.approx(206.835 - 3.045 - 84.6)


def test_word_lines_and_spans_stop_when_told():
    assert word_lines("a\r\n…\n\nb\nc") == ["a", "b", "c"]
    assert word_lines("a\nb\nc", most=2) == ["a", "b"]
    assert word_spans("a b c", most=2) == [(0, 1), (2, 3)]
