"""What the published IFEval code says of single texts.

Counts and verdicts, as measured on it (NLTK 3.9.1, Python 3.11).
"""

from __future__ import annotations

from typing import Any

import pytest

from adhere.constraints.published import Text, constraint, find, ids

COUNTS: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "length_constraints:number_sentences": (
        {"num_sentences": 1, "relation": "at least"},
        {
            "Wait... what?! Yes!!!": 4,
            "1. Apples\n2. Pears\n3. Figs": 4,
            "Dr. Smith e.g. went. He left.": 3,
            "* One.\n* Two.\n* Three.": 3,
            "Mr. Smith vs. Jones. OK.": 2,
            "Hello world\n\nThis is a title without a period": 1,
            "你好。再见。谢谢。": 1,
            "He said “Go.” Then left.": 1,
        },
    ),
    "length_constraints:number_words": (
        {"num_words": 1, "relation": "at least"},
        {
            "don't": 2,
            "3.14": 2,
            "state-of-the-art": 4,
            "snake_case": 1,
            "你好世界。再见": 2,
            "①②": 1,
            "½": 1,
            "e\u0301tude": 2,
            "a\u200db": 2,
            "a\xadb": 2,
        },
    ),
    "change_case:capital_word_frequency": (
        {"capital_frequency": 1, "capital_relation": "at least"},
        {
            "I am": 1,
            "DON'T": 2,
            "IT'S": 2,
            "CANNOT": 2,
            "GONNA": 2,
            "O'BRIEN": 1,
            "WE’LL": 2,
            "HELLO/WORLD": 1,
            "HELLO-WORLD": 1,
            "U.S.A.": 1,
            "A1 B2B C-3PO U.S.A. Ⅷ": 5,
            "**HELLO** *WORLD*": 2,
        },
    ),
    "length_constraints:number_paragraphs": (
        {"num_paragraphs": 1},
        {
            "a *** b": 2,
            "a\n\n***\n\nb": 2,
            "***\na\n***\nb\n***": 2,
            "a\n****\nb": 2,
            "***bold***": 1,
            "plain text": 1,
            "a\n* * *\nb": 1,
            "a\n---\nb": 1,
            "***": 0,
        },
    ),
    "detectable_format:number_bullet_lists": (
        {"num_bullets": 1},
        {
            "---": 1,
            "-": 1,
            "-5 degrees": 1,
            "*italic* start of a line": 1,
            "* \n": 1,
            "*a": 1,
            "*\nfoo": 1,
            "*\nfoo\n* bar": 2,
            "- a\n\n- b": 2,
            "* a\n  - b": 2,
            "* a\n* b\n\n---\n": 3,
            "**Bold heading**": 0,
            "*": 0,
            "***": 0,
            "• a\n• b": 0,
            "+ a\n+ b": 0,
            "1. a\n2. b": 0,
        },
    ),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 1},
        {
            "**bold**": 1,
            "**bold** and **bold2**": 2,
            "**a** b **c**": 2,
            "*a*": 1,
            "2 * 3 * 4": 1,
            "* a *b": 1,
            "* bullet with **bold**": 3,
            "***x***": 2,
            "* bullet one\n* bullet two": 0,
            "_italic_ __bold__": 0,
            "* *": 0,
            "****": 0,
        },
    ),
    "detectable_content:number_placeholders": (
        {"num_placeholders": 1},
        {"[]": 1, "[a [b] c]": 1, "[a\nb]": 0, "see [link](http://x) arr[0] - [x] done": 3},
    ),
}
SECTIONS = [
    ("Section", "see Section 1 and Section 1 again", 2),
    ("Day", "Day 10 Day 2 Day 3", 3),
    ("SECTION", "SECTION1SECTION2", 2),
    ("Section", "**Section 1**", 1),
    ("Section", "Section  1", 0),
    ("Ex. ", "Exx1", 1),
    ("(Part)", "(Part) 1 foo", 0),
    ("(Part)", "Part 1 foo", 2),
]
FREQUENCIES = [("cat", "concatenate the cat", 2), ("aa", "aaa", 1), (" war ", "warrior war", 2), (" ", "abc", 4)]


@pytest.mark.parametrize(
    ("name", "params", "text", "count"),
    [(name, params, text, count) for name, (params, cases) in COUNTS.items() for text, count in cases.items()],
)
def test_counts(name: str, params: dict[str, Any], text: str, count: int) -> None:
    assert constraint(name, params).check(text).measured == count


@pytest.mark.parametrize(("splitter", "text", "count"), SECTIONS)
def test_section_counts(splitter: str, text: str, count: int) -> None:
    params = {"section_spliter": splitter, "num_sections": 1}
    assert constraint("detectable_format:multiple_sections", params).check(text).measured == count


@pytest.mark.parametrize(("keyword", "text", "count"), FREQUENCIES)
def test_keyword_counts(keyword: str, text: str, count: int) -> None:
    params = {"keyword": keyword, "frequency": 1, "relation": "at least"}
    assert constraint("keywords:frequency", params).check(text).measured == count


@pytest.mark.parametrize("text", ["a\n******\nb", "a\n***\nb\n***\n\n***\nc"])
@pytest.mark.parametrize("needed", range(6))
def test_a_blank_piece_inside_fails_for_every_number_of_paragraphs(text: str, needed: int) -> None:
    assert constraint("length_constraints:number_paragraphs", {"num_paragraphs": needed}).check(text).outcome == "fail"


def exists(keyword: Any) -> tuple[str, dict[str, Any]]:
    return "keywords:existence", {"keywords": keyword if isinstance(keyword, str) else list(keyword)}


def forbidden(word: str) -> tuple[str, dict[str, Any]]:
    return "keywords:forbidden_words", {"forbidden_words": [word]}


def letter(name: str, relation: str, frequency: int) -> tuple[str, dict[str, Any]]:
    params = {"letter": name, "let_relation": relation, "let_frequency": frequency}
    return "keywords:letter_frequency", params


def language(code: str) -> tuple[str, dict[str, Any]]:
    return "language:response_language", {"language": code}


def first_word(total: int, nth: int, word: str) -> tuple[str, dict[str, Any]]:
    params = {"num_paragraphs": total, "nth_paragraph": nth, "first_word": word}
    return "length_constraints:nth_paragraph_first_word", params


def postscript(marker: str) -> tuple[str, dict[str, Any]]:
    return "detectable_content:postscript", {"postscript_marker": marker}


def sections(splitter: str) -> tuple[str, dict[str, Any]]:
    return "detectable_format:multiple_sections", {"section_spliter": splitter, "num_sections": 1}


def repeats(prompt: str) -> tuple[str, dict[str, Any]]:
    return "combination:repeat_prompt", {"prompt_to_repeat": prompt}


def ends(phrase: str) -> tuple[str, dict[str, Any]]:
    return "startend:end_checker", {"end_phrase": phrase}


def bare(name: str) -> tuple[str, dict[str, Any]]:
    return name, {}


OPTION = bare("detectable_format:constrained_response")
JSON = bare("detectable_format:json_format")
TITLE = bare("detectable_format:title")
TWO = bare("combination:two_responses")
QUOTED = bare("startend:quotation")
CAPITAL = bare("change_case:english_capital")
SMALL = bare("change_case:english_lowercase")
NO_COMMA = bare("punctuation:no_comma")

CASES = [
    (exists(["art"]), "I went to a party", True, True),
    (exists(["a.c"]), "abc", True, True),
    (exists(["C++"]), "I like C++", True, True),
    (exists(["$5"]), "costs $5", False, False),
    (exists(["(hello)"]), "hello", True, True),
    (exists(["straße"]), "STRASSE", False, False),
    (exists(["ß"]), "SS", False, False),
    (exists(["İ"]), "i\u0307", True, True),
    (exists(["k"]), "\u212a", True, True),
    (exists("cat"), "c a t", True, True),
    (exists(["member"]), "He felt remember.", True, True),
    (forbidden(".NET"), "I use .NET daily", True, True),
    (forbidden("#tag"), "a #tag b", True, True),
    (forbidden("C++"), "I like C++ .", False, False),
    (forbidden("cat"), "cats and cat_food", True, True),
    (forbidden("cat"), "the cat-like", False, False),
    (forbidden("a|b"), "xbx", True, True),
    (forbidden("猫"), "我有猫咪", True, True),
    (forbidden("thanks"), "I said thanks_a lot", True, True),
    (letter("E", "less than", 1), "é", True, True),
    (letter("i", "at least", 1), "İ", True, True),
    (language("en"), "12345 !!!", True, True),
    (language("hi"), "12345 !!!", True, True),
    (language("he"), "שלום עולם זה מבחן", True, True),
    (first_word(2, 2, "bye"), "\n\nhello\n\nbye", False, True),
    (first_word(2, 2, "bye"), "hello\n\n\n\nbye", False, False),
    (first_word(2, 2, "bye"), "hello\n\n \n\nbye", False, False),
    (first_word(2, 2, "bye"), "hello\n\n\nbye", True, True),
    (first_word(2, 2, "bye"), "hello\r\n\r\nbye", False, False),
    (first_word(1, 1, "don't"), "don't go", False, False),
    (first_word(1, 1, "hello"), "**Hello** there", False, True),
    (first_word(1, 1, "hello"), "hello: there", False, False),
    (first_word(1, 1, "weekend"), "(weekend) x", False, False),
    (postscript("P.S."), "bla p.s. in the middle\nmore text", True, True),
    (postscript("P.S."), "clip.s.x", True, True),
    (postscript("P.S."), "tips.s.x", False, False),
    (postscript("P.S."), "PS: hi", False, False),
    (postscript("P.S."), "P.P.S. hi", True, True),
    (postscript("P.P.S"), "P.P.S. hi", True, True),
    (postscript("P.P.S."), "p1p2s3", True, True),
    (postscript("P.P.S."), "ppxsx", False, False),
    (OPTION, "I will not say My answer is yes. Never.", True, True),
    (OPTION, "my answer is yes.", False, False),
    (OPTION, "My answer is yes", False, False),
    (OPTION, "My answer is yes. My answer is no.", True, True),
    (sections("Section"), "SECTION 1", False, False),
    (sections("Section"), "Section I: x", False, False),
    (JSON, '```json\n{"a":1}\n```', True, True),
    (JSON, '```JSON{"a":1}```', True, True),
    (JSON, 'Sure: ```json\n{"a":1}\n```', False, True),
    (JSON, 'Sure:\n```json\n{"a":1}\n```', False, True),
    (JSON, '```javascript\n{"a":1}\n```', False, True),
    (JSON, "```json\n```json\n{}\n```", False, True),
    (JSON, "42", True, True),
    (JSON, '"hello"', True, True),
    (JSON, "NaN", True, True),
    (JSON, '{"a":1,"a":2}', True, True),
    (JSON, '{"a": 1,}', False, False),
    (JSON, '{"a":"x\ny"}', False, False),
    (JSON, '\ufeff{"a":1}', False, False),
    (TITLE, "<<a>>", True, True),
    (TITLE, "<<<a>>>", True, True),
    (TITLE, "x << 2 and y >> 3", True, True),
    (TITLE, 'cout << "x"; cin >> y', True, True),
    (TITLE, "<< >>", False, False),
    (TITLE, "<<<>>>", False, False),
    (TITLE, "<<a\nb>>", False, False),
    (TWO, "a\n******\nb", True, True),
    (TWO, "******\na\n******\nb\n******", True, True),
    (TWO, "a\n*******\nb", True, True),
    (TWO, "a\n******\n*", True, True),
    (TWO, "a\n************\nb", False, False),
    (TWO, "a\n******\nA", True, True),
    (repeats("Write a poem."), "write a poem. Roses..", True, True),
    (repeats("Write a poem."), "Write a poem.xxx", True, True),
    (repeats("Write a poem."), '"Write a poem." Roses..', False, False),
    (repeats("Write a poem."), "Write a  poem. x", False, False),
    (ends("The end."), 'bla "The end."', True, True),
    (ends("The end."), "The end. ", True, True),
    (ends("The end."), "bla **The end.**", False, True),
    (ends("The end."), "bla “The end.”", False, False),
    (ends('"The end."'), 'bla "The end."', False, False),
    (ends("end."), "bla weekend.", True, True),
    (QUOTED, '"a" and "b"', True, True),
    (QUOTED, '""', True, True),
    (QUOTED, "“a”", False, False),
    (QUOTED, '"', False, False),
    (CAPITAL, "HELLO WORLD THIS IS A TEST", True, True),
    (CAPITAL, "HELLO", False, False),
    (CAPITAL, "123 456", False, False),
    (CAPITAL, "HELLO WORLD ß", False, False),
    (CAPITAL, "你好 A", False, False),
    (SMALL, "hello", False, False),
    (SMALL, "hello world this is a test of the system ª", True, True),
    (NO_COMMA, "a，b、c", True, True),
    (NO_COMMA, "1,000", False, False),
]


@pytest.mark.parametrize(("wanted", "text", "strict", "loose"), CASES)
def test_verdicts(wanted: tuple[str, dict[str, Any]], text: str, strict: bool, loose: bool) -> None:
    found = constraint(*wanted).both_views(Text(text))
    assert [finding.outcome == "pass" for finding in found] == [strict, loose]
    assert all(finding.reason for finding in found)


def test_there_are_25_ids_and_each_describes_itself() -> None:
    assert len(ids("ifeval")) == 25
    for name in ids("ifeval"):
        assert find(name).describe(dict.fromkeys(find(name).params, 3))


@pytest.mark.parametrize("name", ids("ifeval"))
@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0\u3000"])
def test_a_blank_answer_fails_everything(name: str, text: str) -> None:
    given = {"integer": 1, "string": "x", "strings": ["x"]}
    params = {
        key: (param.choices[0] if param.choices else given[param.type]) for key, param in find(name).params.items()
    }
    assert [found.outcome for found in constraint(name, params).both_views(Text(text))] == ["fail", "fail"]
