"""IFEval's rules about words: keywords, lengths, letters, capitals, language.

Each function makes the check of one kind.

Source: google-research `instruction_following_eval` at 26d8ccdab, quirks included; each quirk is named where it acts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from adhere.constraints.finding import FinalFailure, Finding, amount, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.language import NO_LETTERS
from adhere.constraints.published.shared.patterns import Pattern, Undecidable, keyword_pattern, word_pattern
from adhere.constraints.published.shared.registry import Check, judge_by
from adhere.constraints.published.shared.whole_words import find

Values = Mapping[str, Any]
LESS_THAN, AT_LEAST = "less than", "at least"
RELATIONS = (LESS_THAN, AT_LEAST)


def check_count(
    count: Callable[[Text], int], relation: str, limit: int, unit: str, *, only_shrinks: bool = False
) -> Check:
    """Make a check of a count against `less than` or `at least` `limit`; the score says how near it comes.

    `only_shrinks`: removing lines, or all stars, from a text never makes its count higher.
    """
    is_fewer = relation == LESS_THAN
    failure = FinalFailure if only_shrinks and not is_fewer else Finding

    def check(text: Text) -> Finding:
        total = count(text)
        reason = f"found {amount(total, unit)}, needed {'fewer than' if is_fewer else 'at least'} {limit}"
        if (total < limit) == is_fewer:
            return Finding("pass", reason, total, limit, None, 1.0)
        score = max(0, limit - 1) / max(total, 1) if is_fewer else total / limit
        return failure("fail", reason, total, limit, None, score)

    return check


def unless_undecidable(judge: Check) -> Check:
    """Make a check that is undecided if a keyword cannot be run as a regular expression."""

    def check(text: Text) -> Finding:
        try:
            return judge(text)
        except Undecidable as reason:
            return Finding("undecided", str(reason))

    return check


def keywords_exist(values: Values) -> Check:
    """Look for each keyword as an unescaped pattern, anywhere (`art` in `party`)."""
    names = sorted(values["keywords"])
    patterns = [keyword_pattern(name) for name in names]
    total = len(patterns)
    complete = Finding("pass", f"found all {total} keywords", total, total, None, 1.0)

    def check(text: Text) -> Finding:
        missing: list[str] = []
        try:
            for name, pattern in zip(names, patterns, strict=True):
                if not pattern.is_in(text):
                    missing.append(name)  # what is missing before one that cannot be read decides
        except Undecidable as reason:
            if not missing:
                return Finding("undecided", str(reason))
        if not missing:
            return complete
        n_found = total - len(missing)
        return Finding("fail", f"keyword {missing[0]!r} is missing", n_found, total, None, n_found / total)

    return check


def keyword_count(values: Values) -> Check:
    """Count the stripped, unescaped keyword without overlaps, anywhere."""
    keyword = values["keyword"].strip()
    count = keyword_pattern(keyword).count
    return unless_undecidable(check_count(count, values["relation"], values["frequency"], f"times {keyword!r}"))


def no_forbidden_words(values: Values) -> Check:
    r"""Look for each word between `\b` and `\b`: `cat` does not find `cats` nor `cat_food`."""
    return forbid(values["forbidden_words"], word_pattern)


def forbid(words: Iterable[str], pattern_of: Callable[[str], Pattern]) -> Check:
    """Make a check that none of the words is found by its pattern; it is undecided if a pattern cannot be run."""
    patterns = [(word, pattern_of(word)) for word in sorted(set(words))]
    clean = Finding("pass", "found none of the forbidden words", 0, 0)

    def check(text: Text) -> Finding:
        for word, pattern in patterns:
            match = find(pattern, text)
            if match is not None:
                return Finding("fail", f"found the forbidden word {word!r}", 1, 0, match.span())
        return clean

    return unless_undecidable(check)


def letter_count(values: Values) -> Check:
    """Count the lower-cased letter in the lower-cased text."""
    letter = values["letter"].strip().lower()
    return check_count(
        lambda text: text.lower.count(letter),
        values["let_relation"],
        values["let_frequency"],
        f"times {letter!r}",
        only_shrinks=True,
    )


def letter_is_drawn(letter: Any, values: Values) -> bool:  # noqa: ARG001 - the protocol of Param.is_drawn
    """Tell whether the published code draws a random letter instead: the value is not one letter from a to z."""
    return not letter or len(letter) > 1 or not "a" <= letter.lower() <= "z" or len(letter.lower()) > 1


def word_count(values: Values) -> Check:
    r"""Count runs of `\w`: `don't` is two, `snake_case` one, a run of Chinese characters one."""
    return check_count(
        lambda text: text.word_count, values["relation"], values["num_words"], "words", only_shrinks=True
    )


def sentence_count(values: Values) -> Check:
    """Count sentences by Punkt: a line break ends none."""
    limit, relation = values["num_sentences"], values["relation"]
    judge = check_count(lambda text: text.sentence_count, relation, limit, "sentences")
    if relation == LESS_THAN:
        return judge

    def check(text: Text) -> Finding:
        finding = judge(text)
        if finding.outcome == "fail" and sum(map(text.raw.count, ".?!")) + 1 < limit:  # each but the last ends with one
            return FinalFailure(*finding)
        return finding

    return check


def capital_word_count(values: Values) -> Check:
    """Count Treebank tokens in capitals: `DON'T` is two, `U.S.A.` one."""
    limit = values["capital_frequency"]
    return check_count(lambda text: text.capital_count, values["capital_relation"], limit, "words in capitals")


@judge_by
def paragraph_count(text: Text, values: Values) -> Finding:
    """Count pieces between `***` dividers, anywhere; blank pieces are allowed only at the ends."""
    target = values["num_paragraphs"]
    tail = f" between *** dividers, needed exactly {target}"
    pieces = text.raw.split("***")
    total = len(pieces)
    for piece in {0: pieces[0], total - 1: pieces[-1]}.values():
        total -= not piece or piece.isspace()
    if any(not piece or piece.isspace() for piece in pieces[1:-1]):
        return Finding("fail", "a piece between two *** dividers is blank", None, target)
    return verdict(total == target, f"found {amount(total, 'paragraphs')}{tail}", total, target)


_FIRST_WORD_ENDS = re.compile(r"""[.,?!'"]""")


@judge_by
def nth_paragraph_first_word(text: Text, values: Values) -> Finding:
    r"""Check the first word of one of the pieces between `\n\n`.

    The count leaves out blank pieces, the index does not. A mark inside the word cuts it.
    """
    total, nth, expected = values["num_paragraphs"], values["nth_paragraph"], values["first_word"].lower()
    pieces = text.raw.split("\n\n")
    n_pieces = len(pieces) - sum(not piece or piece.isspace() for piece in pieces)
    if nth > n_pieces:
        return Finding(
            "fail",
            f"found {amount(n_pieces, 'paragraphs')}, needed {total}, the {nth}. to judge",
            n_pieces,
            total,
        )
    piece = pieces[nth - 1]
    if not piece or piece.isspace():
        return Finding("fail", f"paragraph {nth} is blank", n_pieces, total)
    word = first_word(piece)
    if n_pieces != total:
        return Finding("fail", f"found {amount(n_pieces, 'paragraphs')}, needed exactly {total}", n_pieces, total)
    reason = f"paragraph {nth} starts with {word[:40]!r}, needed {expected!r}"
    return verdict(word == expected, reason, word[:40], expected)


def first_word(piece: str) -> str:
    """Return the first chunk without leading quotes, up to the first of `.,?!'"`, in lower case (letter by letter)."""
    chunk = piece.split(None, 1)[0].lstrip("'").lstrip('"')
    end = _FIRST_WORD_ENDS.search(chunk)
    return "".join(map(str.lower, chunk[: end.start()] if end else chunk))


@judge_by
def response_language(text: Text, values: Values) -> Finding:
    """Judge by what langdetect says of the whole; a text without letters passes in any language."""
    language = values["language"]
    answer_language = text.language
    if answer_language is None:
        return Finding("pass", f"{NO_LETTERS}, which counts as {language!r}", None, language)
    reason = f"detected language {answer_language!r}, needed {language!r}"
    return verdict(answer_language == language, reason, answer_language, language)


_SMALL, _CAPITAL = re.compile("[a-z]"), re.compile("[A-Z]")
_NO_LANGUAGE = f"{NO_LETTERS}, which counts as English"


@judge_by
def english_capitals(text: Text, _values: Values) -> Finding:
    """Check `str.isupper`, and that the language is detected as English."""
    if not text.raw.isupper():
        return _not_all(text.raw, _SMALL, "lower-case")
    return english(text.language)


@judge_by
def english_lowercase(text: Text, _values: Values) -> Finding:
    """Check `str.islower`, and that the language is detected as English."""
    if not text.raw.islower():
        return _not_all(text.raw, _CAPITAL, "capital")
    return english(text.language)


def _not_all(raw: str, ascii_wrong: re.Pattern[str], wrong: str) -> Finding:
    match = ascii_wrong.search(raw)
    if match:
        return Finding("fail", f"found the {wrong} letter {match.group()!r}", match.group(), None, match.span())
    return Finding("fail", f"found no letters, or one beyond ASCII, where no {wrong} letters are allowed")


def english(language: str | None) -> Finding:
    """Judge a detected language; None counts as English."""
    if language == "en":
        return _ENGLISH
    if language is None:
        return Finding("pass", _NO_LANGUAGE, None, "en")
    return Finding("fail", f"detected language {language!r}, needed 'en'", language, "en")


_ENGLISH = Finding("pass", "all letters are in the wanted case, and the language is English", "en", "en")
