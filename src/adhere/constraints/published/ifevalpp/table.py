"""The twelve kinds that IFEval++ decides otherwise than IFEval, profile `ifevalpp`; its other thirteen are IFEval's.

Five that count take two more relations: `at most`, and `around`, which allows what `AROUND` says. Keywords are whole
words, taken literally. A title has no `<` at its beginning and no `>` inside. Nothing is drawn at random: without a
parameter the published code ends.

Known defects, kept: a section's mark may be followed by anything (`Section: `); the punctuation of a repeated request
is ignored; a first word with a capital is never found; a `letter` of several characters is counted 0 times. Different
here: langdetect is seeded, there it is not; reasoning before `</think>` is taken away by a run, there by the checker.
No defect is listed, so fixed mode judges these as reference mode does.

Source: J. Dong et al., arXiv 2512.14754; `src/instructions.py` of jianshuod/IFEval-pp at 722fe95, written anew.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.ifeval.words import AT_LEAST, LESS_THAN, Values
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, find, register

RELATIONS = ("at most", AT_LEAST, "around", LESS_THAN)
AROUND = {
    "keywords:frequency": 5,
    "keywords:letter_frequency": 5,
    "length_constraints:number_sentences": 2,
    "length_constraints:number_words": 25,
    "change_case:capital_word_frequency": 5,
}
"""How far from the number asked for a count may be and still be `around` it."""
_SIX_STARS = re.compile(r"(?<!\*)\*{6}(?!\*)")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _check_count(count: Callable[[Text], int], relation: str, needed: int, unit: str, within: int) -> Check:
    """Judge a count by one of four relations."""
    if relation != "around":
        few = relation != AT_LEAST
        return words.check_count(count, LESS_THAN if few else AT_LEAST, needed + (relation == "at most"), unit)

    def around(text: Text) -> Finding:
        found = count(text)
        near = abs(found - needed) <= within
        score = 1.0 if near else max(0, min(found, needed)) / max(found, needed, 1)
        reason = f"found {amount(found, unit)}, needed {needed}, give or take {within}"
        return Finding("pass" if near else "fail", reason, found, needed, None, score)

    return around


def _whole_word(keyword: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(keyword)}\b", re.IGNORECASE)


def _keywords_exist(values: Values) -> Check:
    patterns = {keyword: _whole_word(keyword) for keyword in sorted(values["keywords"])}

    def check(text: Text) -> Finding:
        missing = [keyword for keyword, pattern in patterns.items() if not pattern.search(text.raw)]
        found, needed = len(patterns) - len(missing), len(patterns)
        reason = f"the word {missing[0]!r:.80} is missing" if missing else f"found all {needed} keywords"
        return Finding("fail" if missing else "pass", reason, found, needed, None, found / needed)

    return check


def _keyword_count(values: Values) -> Callable[[Text], int]:
    pattern = _whole_word(values["keyword"].strip())
    return lambda text: len(pattern.findall(text.raw))


def _letter_count(values: Values) -> Callable[[Text], int]:
    letter = values["letter"].strip().lower()
    return lambda text: text.lower.count(letter) if len(letter) == 1 else 0


_COUNTS: Mapping[str, tuple[Callable[[Values], Callable[[Text], int]], str, str, str]] = {
    "keywords:frequency": (_keyword_count, "relation", "frequency", "times the keyword"),
    "keywords:letter_frequency": (_letter_count, "let_relation", "let_frequency", "times the letter"),
    "length_constraints:number_sentences": (
        lambda _: lambda text: text.sentence_count, "relation", "num_sentences", "sentences",
    ),
    "length_constraints:number_words": (lambda _: lambda text: text.word_count, "relation", "num_words", "words"),
    "change_case:capital_word_frequency": (
        lambda _: lambda text: text.capital_count, "capital_relation", "capital_frequency", "words in capitals",
    ),
}  # fmt: skip
"""Of each kind that counts: how, by which parameters, and what."""


def _counted(name: str) -> Callable[[Values], Check]:
    count_of, relation, needed, unit = _COUNTS[name]
    return lambda values: _check_count(count_of(values), values[relation], values[needed], unit, AROUND[name])


def _sections(values: Values) -> Check:
    mark = values["section_spliter"].strip()
    pattern = re.compile(rf"\s?{re.escape(mark)}\s?\S+\s?")
    return words.check_count(
        lambda text: len(pattern.findall(text.raw)), AT_LEAST, values["num_sections"], f"sections marked {mark!r:.80}"
    )


def _two_responses(values: Values) -> Check:  # noqa: ARG001 - no parameters
    def check(text: Text) -> Finding:
        pieces = [piece.strip() for piece in _SIX_STARS.split(text.raw)]
        answers = [piece for piece in pieces if piece]
        if not all(pieces[1:-1]):
            return Finding("fail", "a piece between two ****** dividers is blank")
        if len(answers) != 2 or answers[0] == answers[1]:
            return Finding("fail", f"found {amount(len(set(answers)), 'different answers')}, needed 2")
        return Finding("pass", "found two different answers divided by ******", 2, 2)

    return check


def _repeat_prompt(values: Values) -> Check:
    wanted = values["prompt_to_repeat"].strip().lower().translate(_NO_PUNCTUATION)

    def check(text: Text) -> Finding:
        if text.stripped_lower.translate(_NO_PUNCTUATION).startswith(wanted):
            return Finding("pass", "the answer starts with the request, punctuation left aside")
        return Finding("fail", "the answer does not start with the request, word for word")

    return check


def _title_of(line: str) -> str | None:
    """The first visible title of a line, as the pattern `<<([^<][^>]*)>>` finds it; in one pass."""
    start, close = line.find("<<"), 0
    while 0 <= start < len(line) - 4:
        if line[start + 2] != "<":
            close = close if close >= start + 3 else line.find(">", start + 3)
            if close < 0:
                return None
            if line.startswith(">>", close) and (name := line[start + 2 : close].strip()):
                return name
        start = line.find("<<", start + 1)
    return None


def _title(values: Values) -> Check:  # noqa: ARG001 - no parameters
    def check(text: Text) -> Finding:
        titles = map(_title_of, text.raw.split("\n")) if ">>" in text.raw else ()
        name = next((name for name in titles if name), None)
        if name is None:
            return Finding("fail", "found no title in double angular brackets")
        return Finding("pass", f"found the title {name[:60]!r}", name[:60])

    return check


def _response_language(values: Values) -> Check:
    judge = words.response_language(values)

    def check(text: Text) -> Finding:
        if text.language is None:
            return Finding("fail", "no language can be told: there are no letters", None, values["language"])
        return judge(text)

    return check


def _first_word(values: Values) -> Check:
    judge, wanted = words.nth_paragraph_first_word(values), values["first_word"]
    never = Finding("fail", f"the first word is compared in small letters, and {wanted!r:.80} has capitals")

    def check(text: Text) -> Finding:
        finding = judge(text)
        return never if finding.outcome == "pass" and wanted != wanted.lower() else finding

    return check


_TEXT = Param("string", required=True)
_RELATION = Param("string", required=True, choices=RELATIONS)
_PARAMS = {
    "keywords": Param("strings", required=True), "keyword": _TEXT, "letter": _TEXT, "language": _TEXT,
    "first_word": _TEXT, "section_spliter": _TEXT, "prompt_to_repeat": _TEXT, "relation": _RELATION,
    "let_relation": _RELATION, "capital_relation": _RELATION,
}  # fmt: skip
_COMPILE: Mapping[str, Callable[[Values], Check]] = {
    **{name: _counted(name) for name in _COUNTS},
    "keywords:existence": _keywords_exist,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeat_prompt,
    "language:response_language": _response_language,
    "length_constraints:nth_paragraph_first_word": _first_word,
}


def _kind(name: str, compile: Callable[[Values], Check]) -> Kind:  # noqa: A002 - Kind's word
    theirs = find(name, profile="ifeval")
    params = {param: _PARAMS.get(param, Param("integer")) for param in theirs.params}
    return Kind(name, ("ifevalpp",), params, compile, theirs.describe)


register(*(_kind(name, make) for name, make in _COMPILE.items()))
