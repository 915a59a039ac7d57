"""The 25 kinds of IFEval (arXiv 2311.07911) under their published ids and parameter names.

Source: google-research `instruction_following_eval` at 26d8ccdab, with NLTK 3.8.1 to 3.9.x and langdetect seeded with
0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adhere.constraints.published.ifeval import format as form
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.shared.registry import (
    Check,
    Kind,
    Param,
    declare,
    is_absent_or_negative,
    is_falsy,
    register,
)
from adhere.schema import Json

PROFILES = ("ifeval",)
LANGUAGES = {
    "en": "English", "es": "Spanish", "pt": "Portuguese", "ar": "Arabic", "hi": "Hindi", "fr": "French",
    "ru": "Russian", "de": "German", "ja": "Japanese", "it": "Italian", "bn": "Bengali", "uk": "Ukrainian",
    "th": "Thai", "ur": "Urdu", "ta": "Tamil", "te": "Telugu", "bg": "Bulgarian", "ko": "Korean", "pl": "Polish",
    "he": "Hebrew", "fa": "Persian", "vi": "Vietnamese", "ne": "Nepali", "sw": "Swahili", "kn": "Kannada",
    "mr": "Marathi", "gu": "Gujarati", "pa": "Punjabi", "ml": "Malayalam", "fi": "Finnish",
}  # fmt: skip
"""Language code -> the published code's name of the language."""


def is_no_such_paragraph(value: Any, values: Mapping[str, Any]) -> bool:
    """Tell for `Param.is_drawn` that a paragraph's number is absent, below 1 or above `num_paragraphs`."""
    total = values.get("num_paragraphs")
    return value is None or value <= 0 or (total is not None and value > total)


def whole(low: int, high: int) -> Param:
    """Declare a whole number; an absent or negative one is drawn from `low` to `high`."""
    return Param("integer", is_drawn=is_absent_or_negative, draw=lambda rng, _: rng.randint(low, high))


def _one_of(*options: str) -> Param:
    """Declare a text; an absent one is drawn from `options`."""
    return Param("string", draw=lambda rng, _: rng.choice(options))


RELATION = Param("string", choices=words.RELATIONS, draw=lambda rng, _: rng.choice(words.RELATIONS))
_KEYWORDS = Param("strings", is_drawn=is_falsy)
_NTH = Param(
    "integer",
    is_drawn=is_no_such_paragraph,
    draw=lambda rng, values: rng.randint(1, int(str(values["num_paragraphs"])) + 1),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER = Param("string", is_drawn=words.letter_is_drawn, draw=lambda rng, _: rng.choice(_LETTERS))


def _kind(
    id: str,  # noqa: A002 - the field's word
    compile: Callable[[words.Values], Check],  # noqa: A002 - Kind's word
    description: str,
    **params: Param,
) -> Kind:
    return declare(id, PROFILES, compile, description, version=1, **params)


def _say_language(values: Mapping[str, Json]) -> str:
    code = str(values.get("language"))
    return f"Your ENTIRE response should be in {LANGUAGES.get(code, code)} language, no other language is allowed."


register(
    _kind(
        "keywords:existence", words.keywords_exist, "Include keywords {keywords} in the response.", keywords=_KEYWORDS
    ),
    _kind(
        "keywords:frequency",
        words.keyword_count,
        "In your response, the word {keyword} should appear {relation} {frequency} times.",
        keyword=Param("string", is_drawn=is_falsy),
        frequency=whole(1, 3),
        relation=RELATION,
    ),
    _kind(
        "keywords:forbidden_words",
        words.no_forbidden_words,
        "Do not include keywords {forbidden_words} in the response.",
        forbidden_words=_KEYWORDS,
    ),
    _kind(
        "keywords:letter_frequency",
        words.letter_count,
        "In your response, the letter {letter} should appear {let_relation} {let_frequency} times.",
        letter=_LETTER,
        let_frequency=whole(1, 10),
        let_relation=RELATION,
    ),
    Kind(
        "language:response_language",
        PROFILES,
        {"language": Param("string", choices=tuple(LANGUAGES), draw=lambda rng, _: rng.choice(list(LANGUAGES)))},
        words.response_language,
        _say_language,
    ),
    _kind(
        "length_constraints:number_sentences",
        words.sentence_count,
        "Your response should contain {relation} {num_sentences} sentences.",
        num_sentences=whole(1, 20),
        relation=RELATION,
    ),
    _kind(
        "length_constraints:number_paragraphs",
        words.paragraph_count,
        "There should be {num_paragraphs} paragraphs. Paragraphs are separated with the markdown divider: ***",
        num_paragraphs=whole(1, 5),
    ),
    _kind(
        "length_constraints:number_words",
        words.word_count,
        "Answer with {relation} {num_words} words.",
        num_words=whole(100, 500),
        relation=RELATION,
    ),
    _kind(
        "length_constraints:nth_paragraph_first_word",
        words.nth_paragraph_first_word,
        "There should be {num_paragraphs} paragraphs. Paragraphs and only paragraphs are separated with each other by "
        "two new lines as if it was '\\n\\n' in python. Paragraph {nth_paragraph} must start with word {first_word}.",
        num_paragraphs=whole(1, 5),
        nth_paragraph=_NTH,
        first_word=Param("string"),
    ),
    _kind(
        "detectable_content:number_placeholders",
        form.placeholders,
        "The response must contain at least {num_placeholders} placeholders represented by square brackets, such as "
        "[address].",
        num_placeholders=whole(1, 4),
    ),
    _kind(
        "detectable_content:postscript",
        form.postscript,
        "At the end of your response, please explicitly add a postscript starting with {postscript_marker}",
        postscript_marker=_one_of("P.S.", "P.P.S"),
    ),
    _kind(
        "detectable_format:number_bullet_lists",
        form.bullets,
        "Your answer must contain exactly {num_bullets} bullet points. Use the markdown bullet points such as:\n"
        "* This is point 1. \n* This is point 2",
        num_bullets=whole(1, 5),
    ),
    _kind(
        "detectable_format:constrained_response",
        form.constrained_response,
        f"Answer with one of the following options: {form.OPTIONS}",
    ),
    _kind(
        "detectable_format:number_highlighted_sections",
        form.highlights,
        "Highlight at least {num_highlights} sections in your answer with markdown, i.e. *highlighted section*.",
        num_highlights=whole(1, 4),
    ),
    _kind(
        "detectable_format:multiple_sections",
        form.sections,
        "Your response must have {num_sections} sections. Mark the beginning of each section with {section_spliter} X, "
        "such as:\n{section_spliter} 1\n[content of section 1]\n{section_spliter} 2\n[content of section 2]",
        section_spliter=_one_of("Section", "SECTION"),
        num_sections=whole(1, 5),
    ),
    _kind(
        "detectable_format:json_format",
        form.json_format,
        "Entire output should be wrapped in JSON format. You can use markdown ticks such as ```.",
    ),
    _kind(
        "detectable_format:title",
        form.title,
        "Your answer must contain a title, wrapped in double angular brackets, such as <<poem of joy>>.",
    ),
    _kind(
        "combination:two_responses",
        form.two_responses,
        "Give two different responses. Responses and only responses should be separated by 6 asterisk symbols: ******.",
    ),
    _kind(
        "combination:repeat_prompt",
        form.repeat_prompt,
        "First repeat the request word for word without change, then give your answer (1. do not say any words or "
        "characters before repeating the request; 2. the request you need to repeat does not include this sentence)",
        prompt_to_repeat=Param("string", required=True),
    ),
    _kind(
        "startend:end_checker",
        form.end_phrase,
        "Finish your response with this exact phrase {end_phrase}. No other words should follow this phrase.",
        end_phrase=_one_of("Any other questions?", "Is there anything else I can help with?"),
    ),
    _kind("startend:quotation", form.quotation, "Wrap your entire response with double quotation marks."),
    _kind(
        "change_case:capital_word_frequency",
        words.capital_word_count,
        "In your response, words with all capital letters should appear {capital_relation} {capital_frequency} times.",
        capital_frequency=Param("integer", draw=lambda rng, _: rng.randint(1, 20)),
        capital_relation=RELATION,
    ),
    _kind(
        "change_case:english_capital",
        words.english_capitals,
        "Your entire response should be in English, and in all capital letters.",
    ),
    _kind(
        "change_case:english_lowercase",
        words.english_lowercase,
        "Your entire response should be in English, and in all lowercase letters. No capital letters are allowed.",
    ),
    _kind("punctuation:no_comma", form.no_comma, "In your entire response, refrain from the use of any commas."),
)
