"""The nineteen rule functions of MM-IFEval, profile `mmifeval`.

Each a kind, `mmifeval:` and the function's name without `check_`. Parameters have the published names; `ranges`, a list
of pairs there, is a list of texts here ("2 3"). A blank answer fails, as everywhere.

Known defects, kept: words are counted after every mark but full stop and hyphen is taken out, so a lone "-" is a word;
keywords end at borders of words, so one that ends in a mark is never found before a blank; "1." at the start of a list
is a number.

Source: S. Ding et al., arXiv 2504.07957; `data_gen/utils/function_and_compare.py` in SYuan03/MM-IFEngine at bb844a7,
written anew. Sentences are NLTK's (`shared/punkt.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, is_never_drawn, register
from adhere.errors import BadParameter
from adhere.schema import Json

PROFILES = ("mmifeval",)
Rule = Callable[..., bool]
_NOT_COUNTED = re.compile(r"[^\w\s.-]")
_BLANK_LINE = re.compile(r"\n\s*\n")
_PERCENTAGE = re.compile(
    r"(?<!\d)(\d+(?:\.\d+)?)\s*%"
)  # from the start of a run of digits alone, so that long runs are read once
_NUMBER = re.compile(r"(?<!\w)[+-]?(?:\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?%?(?!\w)")
_ARABIC = re.compile(
    r"(?<![.\w])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?%?|\d+\.\d+%?|\d+%?|\d+(?:\.\d+)?[eE][+-]?\d+)(?![.\w])"
)


class _Answer:
    """Holds an answer with the pieces that rules look at; each line without blanks at its ends."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.clean = "\n".join(line.strip() for line in raw.splitlines()).strip()
        self.paragraphs = [part for part in _BLANK_LINE.split(self.clean) if part.strip()]

    @property
    def sentences(self) -> list[str]:
        return _sentences(self.clean)


def _sentences(text: str) -> list[str]:
    return Text(text).sentences


def _words(text: str) -> int:
    return len(_NOT_COUNTED.sub("", text).split())


def _times(answer: _Answer, keyword: str) -> int:
    return len(re.findall(rf"\b{re.escape(keyword.lower())}\b", answer.clean.lower()))


def _decimals(number: str) -> int:
    return len(number.rpartition(".")[2]) if "." in number else 0


def _in(count: int, low: int, high: int) -> bool:
    return low <= count <= high


def _each(texts: list[str], low: int, high: int, count: Callable[[str], int]) -> bool:
    return all(_in(count(text), low, high) for text in texts)


def _sentence_count(text: str) -> int:
    return len(_sentences(text))


def _ranges(answer: _Answer, ranges: list[str]) -> bool:
    pairs = [[int(part) for part in text.split()] for text in ranges]
    return len(pairs) == len(answer.paragraphs) and all(
        _in(_sentence_count(part), low, high) for part, (low, high) in zip(answer.paragraphs, pairs, strict=True)
    )


def _precise(answer: _Answer, precision: int) -> bool:
    mantissas = (re.split("[eE]", match[0].replace(",", "").rstrip("%"))[0] for match in _NUMBER.finditer(answer.raw))
    return all(_decimals(mantissa) == precision for mantissa in mantissas)


_BOUNDS = {"lower_bound": "integer", "upper_bound": "integer"}
_TIMES = {"keywords": "strings", "lower_bound_times": "integer", "upper_bound_times": "integer"}
_TEXT = {"substring": "string"}
RULES: dict[str, tuple[dict[str, Any], Rule]] = {
    "whether_response_paragraph_number_in_range": (_BOUNDS, lambda a, low, high: _in(len(a.paragraphs), low, high)),
    "whether_response_sentence_number_in_range": (_BOUNDS, lambda a, low, high: _in(len(a.sentences), low, high)),
    "whether_each_paragraph_sentence_number_in_range": (_BOUNDS, lambda a, low,
        high: _each(a.paragraphs, low, high, _sentence_count)),
    "whether_each_paragraph_sentence_number_in_range_list": ({"ranges": "strings"}, _ranges),
    "whether_response_word_count_in_range": (_BOUNDS, lambda a, low, high: _in(_words(a.raw), low, high)),
    "whether_each_paragraph_word_count_in_range": (_BOUNDS, lambda a, low,
        high: _each(a.paragraphs, low, high, _words)),
    "whether_whole_response_not_contain_certain_substrings": ({"substrings": "strings"}, lambda a,
        texts: not any(text in a.raw for text in texts)),
    "whether_whole_response_not_contain_certain_substring": (_TEXT, lambda a, text: text not in a.raw),
    "whether_each_sentence_begin_with_certain_substring": (_TEXT, lambda a,
        text: all(sentence.startswith(text) for sentence in a.sentences)),
    "whether_each_paragraph_begin_with_certain_substring": (_TEXT, lambda a,
        text: all(paragraph.startswith(text) for paragraph in a.paragraphs)),
    "whether_each_paragraph_end_with_certain_substring": (_TEXT, lambda a,
        text: all(paragraph.endswith(text) for paragraph in a.paragraphs)),
    "whether_each_sentence_end_with_certain_substring": (_TEXT, lambda a,
        text: all(sentence.endswith(text) for sentence in a.sentences)),
    "whether_whole_response_begin_with_certain_substring": (_TEXT, lambda a, text: a.raw.strip().startswith(text)),
    "whether_whole_response_end_with_certain_substring": (_TEXT, lambda a, text: a.raw.strip().endswith(text)),
    "whether_each_keyword_in_list_metioned_in_range": (_TIMES, lambda a, words, low,
        high: all(_in(_times(a, word), low, high) for word in words)),
    "whether_total_keyword_in_list_metioned_in_range": (_TIMES, lambda a, words, low,
        high: _in(sum(_times(a, word) for word in words), low, high)),
    "percentage_number_precision_in_response": (
        {"precision": "integer"}, lambda a,
        places: all("." in share and _decimals(share) == places for share in _PERCENTAGE.findall(a.raw)),
    ),
    "number_precision_in_response": ({"precision": "integer"}, _precise),
    "whether_has_no_arabic_number_in_response": ({}, lambda a: _ARABIC.search(a.raw) is None),
}  # fmt: skip
"""The published functions in their order: name -> the types of its parameters, and its rule about an answer.

The name `metioned` is spelt so in the published code.
"""


def id_of(function: str) -> str:
    """Return the kind's id for a published function's name."""
    return f"mmifeval:{function.removeprefix('check_')}"


_ABSENT: dict[str, Any] = {"integer": 0, "string": "", "strings": []}


def _compile(values: Mapping[str, Json], name: str) -> Check:
    params, rule = RULES[name]
    arguments = [
        values.get(key, _ABSENT[kind]) for key, kind in params.items()
    ]  # 0 and an empty text are published values, too
    if name.endswith("_range_list"):
        _check_ranges(arguments[0])

    def check(text: Text) -> Finding:
        holds = rule(_Answer(text.raw), *arguments)
        call = f"check_{name} of {', '.join(f'{key}={value!r}' for key, value in values.items()) or 'nothing'}"[:400]
        return verdict(holds, f"{call}: {'holds' if holds else 'does not hold'}")

    return check


def _check_ranges(ranges: Json) -> None:
    if not isinstance(ranges, list) or not all(re.fullmatch(r"\d{1,6} \d{1,6}", str(bounds)) for bounds in ranges):
        raise BadParameter(
            f"{id_of('whether_each_paragraph_sentence_number_in_range_list')}: "
            f'ranges={ranges!r:.80} must be texts like "2 3"'
        )


def _kind(name: str) -> Kind:
    params = {key: Param(kind, is_drawn=is_never_drawn) for key, kind in RULES[name][0].items()}
    words = name.replace("_", " ")
    return Kind(
        id_of(name),
        PROFILES,
        params,
        lambda values: _compile(values, name),
        lambda values: f"Keep to this ({words}): {', '.join(f'{key} {value}' for key, value in values.items())}.",
    )


register(*map(_kind, RULES))
