# ruff: noqa: RUF001 - Japanese marks and letters are what is counted and matched
"""The Japanese kinds of M-IFEval, profile `m-ifeval`.

Scripts, Japanese marks and lists, and IFEval's checks where they are the same. Relations are `未満` (<) and `以上` (>=).
Keywords, forbidden words and nominal endings are words as Janome finds them, sentences those of ja_sentence_segmenter
(`analysers`); without these packages they are undecided.

Known defects, kept: a bullet is `・` alone; a line break behind a last `。` is a sentence that does not end as asked;
furigana are those of whole runs of kanji; a letter counts as hiragana and katakana, half-width katakana do not.

Source: shisa-ai/M-IFEval, `instructions/ja_instructions.py` at 0a9f2cd and `instruction_utils/ja_instructions_util.py`,
written anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifeval import format as form
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.mifeval.analysers import (
    Compile,
    Values,
    compile_test,
    count_japanese_sentences,
    counted_with,
    japanese_tokens,
)
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Param, judge_by

RELATIONS = {"未満": words.LESS_THAN, "以上": words.AT_LEAST}
OPTIONS = ("はい、そうです。", "いいえ、違います。", "どちらとも言えません。")
SPLITTERS = ("章", "節", "項")
_KATAKANA = 96  # code points from a hiragana letter to its katakana letter
_KANJI = re.compile("[\u4e00-\u9faf]")
_KANJI_RUN = re.compile("[\u4e00-\u9faf]+")
_FURIGANA = re.compile("（[ぁ-ん]+）")
_HIGHLIGHT = re.compile("《[^\n《》]*》")
_BULLET = re.compile("\n[^\\S\n]*・[^・].*")
_NUMBERED = re.compile("\n[^\\S\n]*\\d+\\.\\s.*")
_POSTSCRIPT = {"P.P.S": re.compile(r"p\.\s?p\.\s?s", re.IGNORECASE), "P.S.": re.compile(r"p\.\s?s\.", re.IGNORECASE)}
_STOPS = re.compile("[。！？]")
_SCRIPTS: dict[str, Callable[[str], bool]] = {
    "hiragana": lambda char: "ぁ" <= char <= "ん" or char == "ー",
    "katakana": lambda char: "ァ" <= char <= "ン" or char in "ー・" or "ｦ" <= char <= "ﾟ",
}


def _with_janome(compile_installed: Compile) -> Compile:
    return counted_with("janome", "Janome", compile_installed)


@judge_by
def keywords_exist(text: Text, values: Values) -> Finding:
    """Check that each keyword is a word of the text."""
    surfaces = {token.surface for token in japanese_tokens(text.raw)}
    missing = [word for word in values["keywords"] if word not in surfaces]
    return (
        Finding("fail", f"no word is {missing[0]!r}") if missing else Finding("pass", "every keyword is a word of it")
    )


@judge_by
def no_forbidden_words(text: Text, values: Values) -> Finding:
    """Check that no word of the text is forbidden."""
    surfaces = {token.surface for token in japanese_tokens(text.raw)}
    hits = [word for word in values["forbidden_words"] if word in surfaces]
    return Finding("fail", f"the word {hits[0]!r} is forbidden") if hits else Finding("pass", "no word is forbidden")


def keyword_count(values: Values) -> Check:
    """Make a check of the number of words that are the keyword."""
    keyword = values["keyword"]
    return words.check_count(
        lambda text: sum(token.surface == keyword for token in japanese_tokens(text.raw)),
        RELATIONS[values["relation"]],
        values["frequency"],
        f"times {keyword!r}",
    )


def nominal_endings(values: Values) -> Check:
    """Make a check of the number of stops behind a noun, outside quotations."""

    def count(text: Text) -> int:
        tokens = japanese_tokens(without_quotes(text.raw))
        return sum(
            token.surface in "。！？" and before.part_of_speech.startswith("名詞") for before, token in pairwise(tokens)
        )

    return words.check_count(count, words.AT_LEAST, values["count"], "nominal endings")


def _compile_count(count: Callable[[Text], int], threshold: str, unit: str) -> Compile:
    def compile_here(values: Values) -> Check:
        return words.check_count(count, RELATIONS[values["relation"]], values[threshold], unit)

    return compile_here


def _exactly(count: Callable[[str], int], threshold: str, unit: str) -> Compile:
    def compile_here(values: Values) -> Check:
        target = values[threshold]

        def check(text: Text) -> Finding:
            total = count(text.raw)
            reason = f"found {amount(total, unit)}, needed exactly {target}"
            return verdict(total == target, reason, total, target)

        return check

    return compile_here


def count_bullets(raw: str) -> int:
    """Count lines that begin with one `・`; as published, a line of nothing else takes the next line along."""
    return len(_BULLET.findall(f"\n{raw}"))


def count_numbered(raw: str) -> int:
    """Count lines that begin with a number, a stop and a blank, which may be the line's end.

    In that case the line takes the next one along, as published.
    """
    return len(_NUMBERED.findall(f"\n{raw}"))


def without_quotes(raw: str) -> str:
    """Remove the text in `「」` on one line, then the text in `『』`."""
    for opening, closing in ("「」", "『』"):
        raw = "\n".join(_without(line, opening, closing) for line in raw.split("\n"))
    return raw


def _without(line: str, opening: str, closing: str) -> str:
    pieces, at = [], 0
    while (start := line.find(opening, at)) >= 0 and (end := line.find(closing, start)) >= 0:
        pieces.append(line[at:start])
        at = end + 1
    return "".join(pieces) + line[at:]


def _has_title(raw: str) -> bool:
    for line in raw.split("\n"):
        start, end = line.find("『"), line.rfind("』")
        if end > start + 1 and start >= 0 and line[start : end + 1].lstrip("『").rstrip("』").strip():
            return True
    return False


def _has_furigana(raw: str) -> bool:
    return all(_FURIGANA.match(raw, run.end()) for run in _KANJI_RUN.finditer(raw))


def _only(script: str) -> Compile:
    belongs = _SCRIPTS[script]
    return compile_test(
        lambda raw: all(belongs(char) or not unicodedata.category(char).startswith("L") for char in raw),
        f"all letters are {script}",
        f"holds a letter that is no {script}",
    )


def _highlights(text: Text) -> int:
    return sum(bool(highlight.strip("《》").strip()) for highlight in _HIGHLIGHT.findall(text.raw))


def highlights(values: Values) -> Check:
    """Make a check of the number of pieces in `《》` on one line with something visible inside."""
    return words.check_count(_highlights, words.AT_LEAST, values["num_highlights"], "highlighted sections")


def sections(values: Values) -> Check:
    """Make a check of the number of places with `第`, digits (full-width ones too) and the splitter."""
    mark = re.compile(f"第[\\d\uff10-\uff19]+{re.escape(values['section_spliter'].strip())}")
    return words.check_count(
        lambda text: len(mark.findall(text.raw)), words.AT_LEAST, values["num_sections"], "sections"
    )


def postscript(values: Values) -> Check:
    """Make a check for the marker anywhere, in any case."""
    marker = values["postscript_marker"].strip()
    pattern = _POSTSCRIPT.get(marker) or re.compile(re.escape(marker), re.IGNORECASE)
    right, wrong = Finding("pass", f"found {marker!r}"), Finding("fail", f"found no {marker!r}")
    return lambda text: right if pattern.search(text.raw) else wrong


@judge_by
def first_word(text: Text, values: Values) -> Finding:
    r"""Check the first word of one of the pieces between `\n\n`, counted as in IFEval; opening quotes are ignored."""
    total, nth, expected = values["num_paragraphs"], values["nth_paragraph"], values["first_word"].lower()
    pieces = text.raw.split("\n\n")
    n_pieces = sum(bool(piece.strip()) for piece in pieces)
    piece = pieces[nth - 1].strip() if nth <= n_pieces else ""
    if not piece:
        return Finding("fail", f"found {amount(n_pieces, 'paragraphs')}, and none with number {nth}", n_pieces, total)
    begins = piece.lstrip("「").lstrip("『")[: len(expected)]
    reason = f"found {amount(n_pieces, 'paragraphs')}, number {nth} begins with {begins[:40]!r}, needed {total} and {expected!r}"
    return verdict(n_pieces == total and begins == expected, reason, n_pieces, total)


def repeat_prompt(values: Values) -> Check:
    """Make a check that the answer starts with the request, case kept."""
    request = values["prompt_to_repeat"].strip()
    right = Finding("pass", "the answer starts with the request")
    wrong = Finding("fail", "the answer does not start with the request, word for word")
    return lambda text: right if text.stripped.startswith(request) else wrong


@judge_by
def end_phrase(text: Text, values: Values) -> Finding:
    """Check that the answer ends with the phrase, both without closing quotes."""
    phrase = values["end_phrase"].strip().strip("」』")
    end = text.stripped.strip("」』")
    return verdict(end.endswith(phrase), f"ends with {end[-40:]!r}, needed {phrase!r}")


def letter_count(values: Values) -> Check:
    """Make a check of the number of the hiragana letter and its katakana letter together."""
    letter = values["letter"].strip()
    other = chr(ord(letter) + _KATAKANA)
    return words.check_count(
        lambda text: text.raw.count(letter) + text.raw.count(other),
        RELATIONS[values["let_relation"]],
        values["let_frequency"],
        f"times {letter!r} or {other!r}",
    )


def sentences_end(values: Values) -> Check:
    """Make a check that every piece between `。`, `！` and `？` ends as asked, outside quotations; blanks count."""
    ending = values["ending"]
    right = Finding("pass", f"every sentence ends with {ending!r}")

    def check(text: Text) -> Finding:
        pieces = _STOPS.split(without_quotes(text.raw))
        wrong = next((piece for piece in pieces if piece and not piece.endswith(ending)), None)
        return (
            right
            if wrong is None
            else Finding("fail", f"{wrong[-40:]!r} does not end with {ending!r}", wrong[-40:], ending)
        )

    return check


def _letter_is_drawn(value: Any, _: Values) -> bool:
    return not value or len(value) > 1 or not "ぁ" <= value <= "ん"


def kinds(
    whole: Param, text: Param, texts: Param, nth: Mapping[str, Param]
) -> dict[str, tuple[Compile, dict[str, Param]]]:
    """Return the kinds by their names without `ja:`; `table` gives the parameters that the languages share."""
    relation = Param("string", choices=tuple(RELATIONS))
    return {
        "language:response_language": (words.response_language, {"language": Param("string")}),
        "length_constraints:number_sentences": (
            counted_with(
                "ja_sentence_segmenter",
                "ja_sentence_segmenter",
                _compile_count(lambda answer: count_japanese_sentences(answer.raw), "num_sentences", "sentences"),
            ),
            {"num_sentences": whole, "relation": relation},
        ),
        "length_constraints:number_paragraphs": (words.paragraph_count, {"num_paragraphs": whole}),
        "length_constraints:number_letters": (
            _compile_count(lambda answer: len(answer.raw), "num_letters", "characters"),
            {"num_letters": whole, "relation": relation},
        ),
        "length_constraints:nth_paragraph_first_word": (first_word, dict(nth)),
        "detectable_content:number_placeholders": (form.placeholders, {"num_placeholders": whole}),
        "detectable_content:postscript": (postscript, {"postscript_marker": Param("string")}),
        "detectable_format:number_bullet_lists": (
            _exactly(count_bullets, "num_bullets", "bullets"),
            {"num_bullets": whole},
        ),
        "detectable_format:number_numbered_lists": (
            _exactly(count_numbered, "num_items", "numbered items"),
            {"num_items": whole},
        ),
        "detectable_format:constrained_response": (
            compile_test(
                lambda raw: any(option in raw for option in OPTIONS),
                "holds one of the options",
                "holds none of the options",
            ),
            {},
        ),
        "detectable_format:number_highlighted_sections": (highlights, {"num_highlights": whole}),
        "detectable_format:multiple_sections": (
            sections,
            {"section_spliter": Param("string", choices=SPLITTERS), "num_sections": whole},
        ),
        "detectable_format:json_format": (form.json_format, {}),
        "detectable_format:title": (compile_test(_has_title, "holds a 『title』", "holds no 『title』"), {}),
        "detectable_format:nominal_ending": (_with_janome(nominal_endings), {"count": whole}),
        "keywords:existence": (_with_janome(keywords_exist), {"keywords": texts}),
        "keywords:frequency": (
            _with_janome(keyword_count),
            {"keyword": text, "frequency": whole, "relation": relation},
        ),
        "keywords:forbidden_words": (_with_janome(no_forbidden_words), {"forbidden_words": texts}),
        "keywords:letter_frequency": (
            letter_count,
            {"letter": Param("string", is_drawn=_letter_is_drawn), "let_frequency": whole, "let_relation": relation},
        ),
        "combination:two_responses": (form.two_responses, {}),
        "combination:repeat_prompt": (repeat_prompt, {"prompt_to_repeat": Param("string", required=True)}),
        "startend:end_checker": (end_phrase, {"end_phrase": Param("string")}),
        "startend:quotation": (
            compile_test(_is_quoted, "the answer stands in 「」", "the answer does not stand in 「」"),
            {},
        ),
        "startend:sentence_unified_end": (sentences_end, {"ending": Param("string")}),
        "punctuation:no_period": (compile_test(lambda raw: "。" not in raw, "holds no 。", "holds a 。"), {}),
        "punctuation:no_comma": (compile_test(lambda raw: "、" not in raw, "holds no 、", "holds a 、"), {}),
        "letters:furigana": (
            compile_test(_has_furigana, "every run of kanji has its furigana", "a run of kanji has no furigana"),
            {},
        ),
        "letters:kanji": (
            _compile_count(lambda answer: len(_KANJI.findall(answer.raw)), "kanji_limit", "kanji"),
            {"kanji_limit": whole, "relation": relation},
        ),
        "letters:no_hiragana": (
            compile_test(
                lambda raw: not any("ぁ" <= char <= "ゖ" for char in raw), "holds no hiragana", "holds hiragana"
            ),
            {},
        ),
        "letters:no_katakana": (
            compile_test(
                lambda raw: not any("ァ" <= char <= "ヺ" or "ｦ" <= char <= "ﾟ" for char in raw),
                "holds no katakana",
                "holds katakana",
            ),
            {},
        ),
        "letters:hiragana_only": (_only("hiragana"), {}),
        "letters:katakana_only": (_only("katakana"), {}),
        "letters:kansuuji": (
            compile_test(lambda raw: not re.search(r"\d", raw), "holds no digit", "holds a digit"),
            {},
        ),
    }


def _is_quoted(raw: str) -> bool:
    plain = raw.strip()
    return len(plain) > 1 and plain[0] == "「" and plain[-1] == "」"
