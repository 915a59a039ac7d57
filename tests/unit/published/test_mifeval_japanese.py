"""M-IFEval's Japanese rules against transcriptions of the published ones, on texts that its answers do not reach."""

import re

import pytest

from adhere.constraints.published.mifeval import japanese
from adhere.constraints.resolve import resolve
from adhere.schema import ConstraintRef

TEXTS = (
    "", "・", "・\n・b", "・a\n・b\n ・・c\n  ・d", "\n\n ・a\n\n・b", "1. a\n2. b\n3.c", "1.\n2. b", " 10. a\n１. b",
    "「a」b。「c\nd」e。", "『a』。『b」。", "「「a」」です。", "『』", "『』』", "『 』x『a』", "『a\n』", "『『a』", "漢字（かんじ）と仮名（かな）", "漢字（かんじ）と字",
    "漢（かん）字", "漢字（カンジ）", "漢字(かんじ)", "です。ます。", "です。\n", "です！です？です", "。。", "ひらがな ー！1", "カタカナ・ー", "ｶﾀｶﾅ", "混ぜるabc", "ゔ",
    "一二三", "１２３", "《a》《》《 》《b\n》《《c》", "第1章a第２章 b 第3節", "第章", "p. p. s", "追伸 a", "P.ſ. x",
)  # fmt: skip


def titles(value):
    return any(title.lstrip("『").rstrip("』").strip() for title in re.findall(r"『[^\n]+』", value))


def furigana(value):
    return len(re.findall(r"[\u4e00-\u9faf]+", value)) == len(re.findall(r"[\u4e00-\u9faf]+（[ぁ-ん]+）", value))


def unified(value, ending):
    value = re.sub(r"『.*?』", "", re.sub(r"「.*?」", "", value))
    return all(not one or one.endswith(ending) for one in re.split(r"[。！？]", value))


@pytest.mark.parametrize("text", TEXTS)
def test_marks_and_lists(text):
    assert japanese.count_bullets(text) == len(re.findall(r"^\s*・[^\・].*$", text, flags=re.MULTILINE))
    assert japanese.count_numbered(text) == len(re.findall(r"^\s*\d+\.\s.*$", text, flags=re.MULTILINE))
    assert japanese.without_quotes(text) == re.sub(r"『.*?』", "", re.sub(r"「.*?」", "", text))


def judged(name, text, **params):
    return resolve(ConstraintRef(f"ja:{name}", params)).check(text).outcome == "pass"


@pytest.mark.parametrize("text", [text for text in TEXTS if text.strip()])
def test_whole_answers(text):
    assert judged("detectable_format:title", text) == titles(text)
    assert judged("letters:furigana", text) == furigana(text)
    assert judged("startend:sentence_unified_end", text, ending="です") == unified(text, "です")
    found = len(re.split(r"\s?第[\d\uFF10-\uFF19]+章\s?", text)) - 1
    assert judged("detectable_format:multiple_sections", text, section_spliter="章", num_sections=2) == (found >= 2)
    for marker, pattern in (("P.S.", r"\s*p\.\s?s\..*$"), ("P.P.S", r"\s*p\.\s?p\.\s?s.*$"), ("追伸", r"\s*追伸.*$")):
        wanted = bool(re.findall(pattern, text, flags=re.IGNORECASE | re.MULTILINE))
        assert judged("detectable_content:postscript", text, postscript_marker=marker) == wanted


def test_letters():
    assert judged("keywords:letter_frequency", "しシしｼ", letter="し", let_frequency=3, let_relation="以上")
    assert judged("keywords:letter_frequency", "しシしｼ", letter="し", let_frequency=4, let_relation="未満")
    drawn = ConstraintRef("ja:keywords:letter_frequency", {"letter": "シ", "let_frequency": 3, "let_relation": "以上"})
    assert resolve(drawn).check("シ").outcome == "undecided"


COUNTED = (
    ("keywords:existence", {"keywords": ["猫"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["犬"]}),
    ("keywords:frequency", {"keyword": "猫", "frequency": 2, "relation": "以上"}),
    ("detectable_format:nominal_ending", {"count": 1}),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "以上"}),
)


@pytest.mark.parametrize(("name", "params"), COUNTED)
def test_without_the_extra_words_are_undecided(name, params, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    found = resolve(ConstraintRef(f"ja:{name}", params)).check("猫です。")
    assert found.outcome == "undecided"
    assert "pip install 'adhere[mifeval]'" in found.reason


@pytest.mark.parametrize(("name", "params"), COUNTED)
def test_words_and_sentences(name, params):
    pytest.importorskip("janome", reason="needs adhere[mifeval]")
    pytest.importorskip("ja_sentence_segmenter", reason="needs adhere[mifeval]")
    rule = resolve(ConstraintRef(f"ja:{name}", params))
    assert rule.check("猫が好きだ。これは猫。").outcome == "pass"
    assert rule.check("犬が好きだ").outcome == "fail"


def test_english_files_have_the_kinds_of_ifeval():
    rule = resolve(ConstraintRef("en:punctuation:no_comma"), profile="m-ifeval")
    assert (rule.check("a").outcome, rule.check("a, b").outcome) == ("pass", "fail")


def test_french_sentences_are_those_of_punkt():
    """`M.` is one of the abbreviations that M-IFEval adds; `av.` and `etc.` too."""
    rule = resolve(
        ConstraintRef("fr:length_constraints:number_sentences", {"num_sentences": 3, "relation": "moins de"})
    )
    assert rule.check("M. Dupont est né en 52 av. J.-C. selon lui. Il rit.").outcome == "pass"
    assert rule.check("Il rit. Elle dort. Ils partent.").outcome == "fail"
