"""The twelve kinds that IFEval++ decides otherwise than IFEval, profile `ifevalpp`; its other thirteen are IFEval's.

Known defects, kept: a section's mark may be followed by anything; a repeated request may lose its punctuation; a first
word with a capital is never found; a `letter` of several characters is counted 0 times. Different here: langdetect is
seeded; reasoning is taken away by a run, not by the checker; a missing parameter ends the published code. No defect is
listed, so fixed mode judges these as reference mode does.

Source: J. Dong et al., arXiv 2512.14754; `src/instructions.py` of jianshuod/IFEval-pp at 722fe95, written anew.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from functools import partial

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifeval import format as form
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.ifeval.words import AT_LEAST, LESS_THAN, Values
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, find, judge_by, register

RELATIONS = ("at most", AT_LEAST, "around", LESS_THAN)
_SIX_STARS = re.compile(r"(?<!\*)\*{6}(?!\*)")
_TITLE_BEGINS = re.compile("<<[^<]")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _whole_word(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(keyword)}\b", re.IGNORECASE)


def _keyword_count(values: Values) -> Callable[[Text], int]:
    pattern = _whole_word(values["keyword"].strip())
    return lambda text: len(pattern.findall(text.raw))


def _letter_count(values: Values) -> Callable[[Text], int]:
    letter = values["letter"].strip().lower()
    return lambda text: text.lower.count(letter) if len(letter) == 1 else 0


_COUNTS: Mapping[str, tuple[Callable[[Values], Callable[[Text], int]], str, int]] = {
    "keywords:frequency": (_keyword_count, "times the keyword", 5),
    "keywords:letter_frequency": (_letter_count, "times the letter", 5),
    "length_constraints:number_sentences": (lambda _: lambda text: text.sentence_count, "sentences", 2),
    "length_constraints:number_words": (lambda _: lambda text: text.word_count, "words", 25),
    "change_case:capital_word_frequency": (lambda _: lambda text: text.capital_count, "words in capitals", 5),
}
"""Kinds that count: id -> what counts, the unit, and the distance that is still `around` the number."""


def _check_count(name: str, values: Values) -> Check:
    count_of, unit, within = _COUNTS[name]
    count = count_of(values)
    relation = next(value for key, value in values.items() if key.endswith("relation"))
    target = next(value for value in values.values() if isinstance(value, int))
    if relation != "around":
        few = LESS_THAN if relation != AT_LEAST else AT_LEAST
        return words.check_count(count, few, target + (relation == "at most"), unit)

    def around(text: Text) -> Finding:
        total = count(text)
        near = abs(total - target) <= within
        score = 1.0 if near else max(0, min(total, target)) / max(total, target, 1)
        reason = f"found {amount(total, unit)}, needed {target}, give or take {within}"
        return Finding("pass" if near else "fail", reason, total, target, None, score)

    return around


def _keywords_exist(values: Values) -> Check:
    patterns = {keyword: _whole_word(keyword) for keyword in sorted(values["keywords"])}

    def check(text: Text) -> Finding:
        missing = [keyword for keyword, pattern in patterns.items() if not pattern.search(text.raw)]
        n_found, total = len(patterns) - len(missing), len(patterns)
        reason = f"the word {missing[0]!r:.80} is missing" if missing else f"found all {total} keywords"
        return Finding("fail" if missing else "pass", reason, n_found, total, None, n_found / total)

    return check


def _sections(values: Values) -> Check:
    mark = re.compile(rf"\s?{re.escape(values['section_spliter'].strip())}\s?\S+\s?")
    return words.check_count(lambda text: len(mark.findall(text.raw)), AT_LEAST, values["num_sections"], "sections")


def _two_responses(values: Values) -> Check:
    """Judge by IFEval's rule, with all runs of stars hidden that are not exactly six long."""
    judge = form.two_responses(values)
    return lambda text: judge(Text("******".join(piece.replace("*", "\ue000") for piece in _SIX_STARS.split(text.raw))))


@judge_by
def _repeat_prompt(text: Text, values: Values) -> Finding:
    request = values["prompt_to_repeat"].strip().lower().translate(_NO_PUNCTUATION)
    if text.stripped_lower.translate(_NO_PUNCTUATION).startswith(request):
        return Finding("pass", "the answer starts with the request, punctuation left aside")
    return Finding("fail", "the answer does not start with the request, word for word")


def _has_title(line: str) -> bool:
    """Tell whether `<<([^<][^>]*)>>` finds something visible, in one pass: `>>` is an empty part between two `>`."""
    parts = line.split(">")
    for before, run, after in zip(["", *parts], parts, parts[1:-1], strict=False):
        begins = _TITLE_BEGINS.search(run)
        if not after and (before.endswith("<<") or (begins and run[begins.start() + 2 :].strip())):
            return True
    return False


@judge_by
def _title(text: Text, _values: Values) -> Finding:
    if any(">>" in line and _has_title(line) for line in text.raw.split("\n")):
        return Finding("pass", "found a title in double angular brackets")
    return Finding("fail", "found no title in double angular brackets")


def _unless(judge: Check, is_lost: Callable[[Text], bool], reason: str) -> Check:
    """Make a check by IFEval's rule that fails texts for which `is_lost` is true."""

    def check(text: Text) -> Finding:
        finding = judge(text)
        return Finding("fail", reason) if finding.outcome == "pass" and is_lost(text) else finding

    return check


def _response_language(values: Values) -> Check:
    return _unless(words.response_language(values), lambda text: text.language is None, "there are no letters")


def _first_word(values: Values) -> Check:
    has_capital = values["first_word"] != values["first_word"].lower()
    judge = words.nth_paragraph_first_word(values)
    return _unless(judge, lambda _: has_capital, "first words are compared in small letters; this one has a capital")


_TEXTS = ("keyword", "letter", "language", "first_word", "section_spliter", "prompt_to_repeat")
_PARAMS = {
    "keywords": Param("strings", required=True),
    **dict.fromkeys(_TEXTS, Param("string", required=True)),
    **dict.fromkeys(
        ("relation", "let_relation", "capital_relation"), Param("string", required=True, choices=RELATIONS)
    ),
}
_COMPILE: Mapping[str, Callable[[Values], Check]] = {
    **{name: partial(_check_count, name) for name in _COUNTS},
    "keywords:existence": _keywords_exist,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeat_prompt,
    "language:response_language": _response_language,
    "length_constraints:nth_paragraph_first_word": _first_word,
}
for _name, _make in _COMPILE.items():
    _ifeval = find(_name, profile="ifeval")
    _params = {param: _PARAMS.get(param, Param("integer")) for param in _ifeval.params}
    register(Kind(_name, ("ifevalpp",), _params, _make, _ifeval.describe))
