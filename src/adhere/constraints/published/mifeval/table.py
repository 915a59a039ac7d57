"""The Spanish and French kinds of M-IFEval, profile `m-ifeval`.

IFEval's checks where they are the same, and those of the languages. `japanese.py` has the Japanese ones.

French relations are `moins de` (<) and `au moins` (>=); Spanish ones `como máximo` (<=) and `al menos` (>=), where
IFEval has < for the upper one. Spanish words, and words with accents, are counted with spaCy's tokenizer (`analysers`),
and undecided without it. Spanish sentences are those of a model's parser, and always undecided. English files (`en:`)
have IFEval's own kinds.

Known defects, kept: Spanish bullets are stars only; a relation of sections, highlights and placeholders is always
judged as "at least"; a Spanish end phrase that itself ends in a full stop never passes; a text whose language cannot be
told passes.

Source: shisa-ai/M-IFEval, `instructions/es_instructions.py` at a8a4fe2 and `fr_instructions.py` at b31d914, written
anew.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Mapping

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifeval import format as form
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.ifeval.table import is_no_such_paragraph
from adhere.constraints.published.mifeval import japanese
from adhere.constraints.published.mifeval.analysers import (
    Compile,
    Values,
    compile_test,
    counted_with,
    never_counted,
    number_of_words,
    spanish_words,
)
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.language import detect
from adhere.constraints.published.shared.punkt import french
from adhere.constraints.published.shared.registry import (
    Check,
    Kind,
    Param,
    is_absent_or_negative,
    is_falsy,
    judge_by,
    kinds,
    register,
)
from adhere.schema import Json

PROFILES = ("m-ifeval",)

_FRENCH = {"moins de": ("less than", 0), "au moins": ("at least", 0)}
_SPANISH = {"como máximo": ("less than", 1), "al menos": ("at least", 0)}


def _translate_relation(
    compile_ifeval: Compile, relations: Mapping[str, tuple[str, int]], relation: str, threshold: str
) -> Compile:
    """Compile IFEval's check with the relation in its words; `<= n` becomes `< n + 1`."""

    def compile_here(values: Values) -> Check:
        name, more = relations[values[relation]]
        return compile_ifeval({**values, relation: name, threshold: values[threshold] + more})

    return compile_here


def _check_case(is_cased: Callable[[str], bool], language: str) -> Compile:
    """Compile a check of the case and the detected language; as published, an undetected language passes."""

    def check(text: Text) -> Finding:
        if not is_cased(text.raw):
            return Finding("fail", "found letters in the other case, or none")
        # Capitals are detected as German; the published code lowers them for this.
        answer_language = detect(text.raw.lower())
        if answer_language in {language, None}:
            return Finding("pass", "all letters have the case, and the language fits")
        return Finding("fail", f"detected {answer_language!r}, needed {language!r}", answer_language, language)

    return lambda _: check


def _one_of(*options: str) -> Compile:
    return compile_test(
        lambda raw: any(option in raw.strip() for option in options),
        "holds one of the options",
        f"holds none of {options}",
    )


def _postscript(usual: Mapping[str, str]) -> Compile:
    def compile_marker(values: Values) -> Check:
        marker = str(values["postscript_marker"]).strip()
        if marker not in usual:
            return form.postscript(values)
        pattern = re.compile(usual[marker])
        return lambda text: (
            Finding("pass", f"found {marker!r}")
            if pattern.search(text.raw.lower())
            else Finding("fail", f"found no {marker!r}")
        )

    return compile_marker


@judge_by
def _french_title(text: Text, _values: Values) -> Finding:
    titles = _HASHES.findall(text.raw)
    holds = any(title.strip("#").strip() for title in titles)
    return Finding("pass", "holds a title") if holds else Finding("fail", "found no ##title##")


@judge_by
def _spanish_end(text: Text, values: Values) -> Finding:
    """Judge the end as IFEval does, but forgive one full stop behind the phrase.

    As published, a phrase that itself ends in a full stop never passes.
    """
    phrase = str(values["end_phrase"]).strip().lower()
    end = text.raw.strip().strip('"').lower().removesuffix(".")
    return verdict(end.endswith(phrase), f"ends with {end[-40:]!r}, needed {phrase!r}")


_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _spanish_first_words(values: Values) -> Check:
    """Compile IFEval's check, but the paragraph must begin with all words of the phrase, without punctuation marks."""
    total, nth = values["num_paragraphs"], values["nth_paragraph"]
    expected = str(values["first_word"]).lower().split()

    def check(text: Text) -> Finding:
        pieces = text.raw.split("\n\n")
        count = sum(bool(piece.strip()) for piece in pieces)
        if nth > count or not pieces[nth - 1].strip():
            return Finding("fail", f"found {count} paragraphs, and none with number {nth}", count, total)
        begins = [word.translate(_PUNCTUATION).lower() for word in pieces[nth - 1].split()[: len(expected)]]
        holds = count == total and begins == expected
        return verdict(
            holds, f"found {count} paragraphs, number {nth} begins with {' '.join(begins)[:60]!r}", count, total
        )

    return check


_HASHES = re.compile(r"##[^\n]+##")
_STARS = re.compile(r"^\s*\*[^\*].*$", re.MULTILINE)
_MARKS = {"question": (re.compile(r"¿[^?]*\?"), "¿", "?"), "exclamation": (re.compile(r"¡[^!]*!"), "¡", "!")}


@judge_by
def _star_bullets(text: Text, values: Values) -> Finding:
    target = values["num_bullets"]
    total = len(_STARS.findall(text.raw))
    return verdict(total == target, f"found {total} bullets, needed exactly {target}", total, target)


def _compile_mark(mark: str) -> Compile:
    pattern, first, last = _MARKS[mark]
    return compile_test(
        lambda raw: any(piece.lstrip(first).rstrip(last).strip() for piece in pattern.findall(raw)),
        f"holds a {mark}",
        f"holds no {mark}",
    )


_TU = re.compile(r"\btu\b|\bte\b|\bt'\b|\btoi\b|\bton\b|\bta\b|\btes\b", re.IGNORECASE)
_ACCENTS = re.compile(r"[àáâãäåçèéêëìíîïñòóôõöùúûüýÿÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝ]")
_QUOTES = (('"', '"'), ("'", "'"), ("«", "»"))


def _is_quoted(raw: str) -> bool:
    plain = raw.strip()
    return len(plain) > 1 and any(plain.startswith(first) and plain.endswith(last) for first, last in _QUOTES)


def _forbidden_character(values: Values) -> Check:
    pattern = re.compile(re.escape(str(values["forbidden_char"])), re.IGNORECASE)
    wrong = Finding("fail", f"found {values['forbidden_char']!r}")
    return lambda text: wrong if pattern.search(text.raw) else Finding("pass", f"holds no {values['forbidden_char']!r}")


def _plain(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", word) if unicodedata.category(char) != "Mn")


@judge_by
def _accents(text: Text, values: Values) -> Finding:
    accents: Mapping[str, str] = values["word_to_accentuate"]
    for word in re.findall(r"\w+", text.raw.lower()):
        right = accents.get(_plain(word))
        if right is not None and word != right:
            return Finding("fail", f"found {word!r}, needed {right!r}", word, right)
    return Finding("pass", "every word that was named has its accents")


_WHOLE = Param("integer", is_drawn=is_absent_or_negative)
_TEXT = Param("string", is_drawn=is_falsy)
_LIST = Param("strings", is_drawn=is_falsy)
_LETTER = Param("string", is_drawn=words.letter_is_drawn)


_NTH = {
    "num_paragraphs": _WHOLE,
    "nth_paragraph": Param("integer", is_drawn=is_no_such_paragraph),
    "first_word": Param("string"),
}


def _common(language: str, relations: Mapping[str, tuple[str, int]]) -> dict[str, tuple[Compile, dict[str, Param]]]:
    """Return the kinds that both languages take over from IFEval."""
    relation = Param("string", choices=tuple(relations))
    # Spanish files name a relation where the code judges "at least" whatever it says.
    also: dict[str, Param] = {"relation": relation} if language == "es" else {}
    return {
        "keywords:existence": (words.keywords_exist, {"keywords": _LIST}),
        "keywords:forbidden_words": (words.no_forbidden_words, {"forbidden_words": _LIST}),
        "keywords:frequency": (
            _translate_relation(words.keyword_count, relations, "relation", "frequency"),
            {"keyword": _TEXT, "frequency": _WHOLE, "relation": relation},
        ),
        "keywords:letter_frequency": (
            _translate_relation(words.letter_count, relations, "let_relation", "let_frequency"),
            {"letter": _LETTER, "let_frequency": _WHOLE, "let_relation": relation},
        ),
        "language:response_language": (words.response_language, {"language": Param("string")}),
        "length_constraints:number_paragraphs": (words.paragraph_count, {"num_paragraphs": _WHOLE}),
        "length_constraints:nth_paragraph_first_word": (words.nth_paragraph_first_word, _NTH),
        "detectable_content:number_placeholders": (form.placeholders, {"num_placeholders": _WHOLE, **also}),
        "detectable_format:number_highlighted_sections": (form.highlights, {"num_highlights": _WHOLE, **also}),
        "detectable_format:multiple_sections": (
            form.sections,
            {"section_spliter": Param("string"), "num_sections": _WHOLE, **also},
        ),
        "detectable_format:json_format": (form.json_format, {}),
        "detectable_format:title": (form.title, {}),
        "combination:two_responses": (form.two_responses, {}),
        "combination:repeat_prompt": (form.repeat_prompt, {"prompt_to_repeat": Param("string", required=True)}),
        "startend:end_checker": (form.end_phrase, {"end_phrase": Param("string")}),
        "punctuation:no_comma": (form.no_comma, {}),
    }


def _kinds(language: str) -> list[Kind]:
    if language == "ja":
        every = japanese.kinds(_WHOLE, _TEXT, _LIST, _NTH)
    else:
        own = _SPANISH_KINDS if language == "es" else _FRENCH_KINDS
        every = {**_common(language, _SPANISH if language == "es" else _FRENCH), **own}

    def describe(name: str) -> Callable[[Mapping[str, Json]], str]:
        return lambda values: f"{language}:{name} " + ", ".join(f"{key} {value}" for key, value in values.items())

    return [
        Kind(f"{language}:{name}", PROFILES, params, compile_one, describe(name), 2)
        for name, (compile_one, params) in every.items()
    ]


def _spanish(count: Callable[[Text], int], relation: str, threshold: str, unit: str) -> Compile:
    """Compile a check of a number of words with a Spanish relation; `<= n` becomes `< n + 1`."""

    def compile_here(values: Values) -> Check:
        name, more = _SPANISH[values[relation]]
        return words.check_count(count, name, values[threshold] + more, unit)

    return counted_with("spacy", "spaCy's Spanish tokenizer", compile_here)


def _words_with(letter: str) -> Compile:
    """Compile a check for exactly `let_frequency` words with the letter."""
    count = number_of_words(lambda word: letter in word.lower())

    def compile_here(values: Values) -> Check:
        target = values["let_frequency"]

        def check(text: Text) -> Finding:
            total = count(text)
            reason = f"found {amount(total, f'words with {letter}')}, needed exactly {target}"
            return verdict(total == target, reason, total, target)

        return check

    return counted_with("spacy", "spaCy's Spanish tokenizer", compile_here)


# Bullets and numbers at the beginning of lines are no words.
_LINE_MARKS = re.compile(r"(^\s*[\d]+\.\s*)|(^\s*[-*]\s*)", re.MULTILINE)


def _spanish_word_count(text: Text) -> int:
    return len(spanish_words(_LINE_MARKS.sub("", text.raw).replace("\n", " ")))


def _french_sentences(values: Values) -> Check:
    name, more = _FRENCH[values["relation"]]
    limit = values["num_sentences"] + more
    return words.check_count(lambda text: len(french.sentence_spans(text.raw)), name, limit, "sentences")


_SPANISH_RELATION = Param("string", choices=tuple(_SPANISH))
_SPANISH_KINDS: dict[str, tuple[Compile, dict[str, Param]]] = {
    "change_case:spanish_capital": (_check_case(str.isupper, "es"), {}),
    "change_case:spanish_lowercase": (_check_case(str.islower, "es"), {}),
    "change_case:capital_word_frequency": (
        _spanish(number_of_words(str.isupper), "capital_relation", "capital_frequency", "words in capitals"),
        {"capital_frequency": _WHOLE, "capital_relation": _SPANISH_RELATION},
    ),
    "detectable_content:postscript": (
        _postscript({"P.D.": r"p\.\s?d\.", "Nota": "nota"}),
        {"postscript_marker": Param("string")},
    ),
    "detectable_format:constrained_response": (_one_of("Sí.", "No.", "Quizás."), {}),
    "detectable_format:number_bullet_lists": (_star_bullets, {"num_bullets": _WHOLE}),
    "length_constraints:number_sentences": (
        never_counted("the parser of spaCy's es_core_news_sm"),
        {"num_sentences": _WHOLE, "relation": _SPANISH_RELATION},
    ),
    "length_constraints:number_words": (
        _spanish(_spanish_word_count, "relation", "num_words", "words"),
        {"num_words": _WHOLE, "relation": _SPANISH_RELATION},
    ),
    "punctuation:question_marks": (_compile_mark("question"), {}),
    "punctuation:exclamation_marks": (_compile_mark("exclamation"), {}),
    "special_character:enie": (_words_with("ñ"), {"let_frequency": _WHOLE}),
    "special_character:dieresis": (_words_with("ü"), {"let_frequency": _WHOLE}),
    "special_character:tildes": (
        _spanish(
            number_of_words(lambda word: any(char in "áéíóúÁÉÍÓÚ" for char in word)),
            "relation",
            "num_words",
            "words with accents",
        ),
        {"num_words": _WHOLE, "relation": _SPANISH_RELATION},
    ),
    "startend:quotation": (form.quotation, {}),
    "startend:end_checker": (_spanish_end, {"end_phrase": Param("string")}),
    "length_constraints:nth_paragraph_first_word": (_spanish_first_words, _NTH),
}
_FRENCH_RELATION = Param("string", choices=tuple(_FRENCH))
_FRENCH_KINDS: dict[str, tuple[Compile, dict[str, Param]]] = {
    "change_case:french_capital": (_check_case(str.isupper, "fr"), {}),
    "change_case:french_lowercase": (_check_case(str.islower, "fr"), {}),
    "change_case:capital_word_frequency": (
        _translate_relation(words.capital_word_count, _FRENCH, "capital_relation", "capital_frequency"),
        {"capital_frequency": Param("integer"), "capital_relation": _FRENCH_RELATION},
    ),
    "detectable_content:postscript": (form.postscript, {"postscript_marker": Param("string")}),
    "detectable_format:title": (_french_title, {}),
    "detectable_content:informal_address": (
        compile_test(
            lambda raw: _TU.search(raw) is not None, "addresses the reader as tu", "does not address the reader as tu"
        ),
        {},
    ),
    "detectable_content:no_digits": (
        compile_test(lambda raw: not re.search(r"\d", raw), "holds no digit", "holds a digit"),
        {},
    ),
    "detectable_format:constrained_response": (_one_of("Oui.", "Non.", "Peut-être."), {}),
    "detectable_format:number_bullet_lists": (form.bullets, {"num_bullets": _WHOLE}),
    "length_constraints:number_sentences": (_french_sentences, {"num_sentences": _WHOLE, "relation": _FRENCH_RELATION}),
    "length_constraints:number_words": (
        _translate_relation(words.word_count, _FRENCH, "relation", "num_words"),
        {"num_words": _WHOLE, "relation": _FRENCH_RELATION},
    ),
    "special_character:accents": (_accents, {"word_to_accentuate": Param("pairs", required=True)}),
    "special_character:ethel_or_cedilla": (
        _forbidden_character,
        {"forbidden_char": Param("string", is_drawn=is_falsy)},
    ),
    "special_character:no_accents": (
        compile_test(lambda raw: not _ACCENTS.search(raw), "holds no accent", "holds an accent"),
        {},
    ),
    "startend:quotation": (
        compile_test(_is_quoted, "stands between quotation marks", "does not stand between quotation marks"),
        {},
    ),
}

_ENGLISH = [Kind(f"en:{kind.id}", PROFILES, kind.params, kind.compile, kind.describe) for kind in kinds("ifeval")]

register(*_ENGLISH, *_kinds("es"), *_kinds("fr"), *_kinds("ja"))
