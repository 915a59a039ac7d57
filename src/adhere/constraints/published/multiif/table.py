# ruff: noqa: RUF001, RUF002 - full-width and curly marks are what is counted and matched
"""Multi-IF's three kinds that differ from IFEval's, profile `multi-if`.

Words, sentences and quotation marks by language. The language is what langdetect says of the answer; nothing counts as
English. Chinese and Japanese words are characters, plus the other words, plus emoji; their sentences are what stands
between `!?。.！？．` and line breaks; Hindi sentences end in `।`, `!` or `?`. Everything else is counted as IFEval counts
it. The other 22 ids are IFEval's own kinds: a prompt of this profile takes them from there.

Thai is counted with PyThaiNLP, which is no part of this package: undecided, with that reason. Emoji of several code
points (flags, skin tones, families) are not counted here: where they could turn the verdict it is undecided.

Known defects, kept: Korean words are runs of word characters; a `first_word` of several words never passes (32 of 749
slots of the published file) and three are blank; `。`-free Chinese text is one sentence a line.

Source: Y. He et al., arXiv 2410.15553; `ifeval.py` in facebookresearch/Multi-IF, written anew.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifbench.english.emoji import is_emoji
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.ifeval.table import RELATION, whole
from adhere.constraints.published.ifeval.words import LESS_THAN, Values
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, declare, judge_by, register

PROFILES = ("multi-if",)
CHARACTER_LANGUAGES = frozenset({"zh", "zh-cn", "zh-tw", "ja"})

_THAI = Finding(
    "undecided", "the answer is in Thai, which the published code counts with PyThaiNLP, no part of this package"
)
_MARKS = str.maketrans("", "", "\\.!?．/_,{}<>:;$%^&*(+\"'—！，。？、`~@#￥…（）：；《》“”)[]»〔〕-「」")
_ASIAN = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\u3040-\u309f\u30a0-\u30ff\uac00-\ud7af]")
_PIECES = re.compile("[^!?。.！？．\n]+")
_AFTER_STOPS = re.compile(r"(?<=[।!?])\s*")
# Code points that join with others to one emoji: joiner, keycap, halves of flags, skin tones, tags.
_JOINING = re.compile("[\u200d\u20e3\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_VARIATION = "\ufe0f"


class Count(NamedTuple):
    """Holds the bounds of a count, both included."""

    low: int
    high: int


def count_characters(raw: str) -> Count:
    """Count Chinese, Japanese and Korean characters, other words, and emoji, all without punctuation.

    The bounds differ if emoji are joined.
    """
    text = raw.translate(_MARKS)
    without = "".join(character for character in text if not is_emoji(character))
    sure, joined = len(text) - len(without), len(_JOINING.findall(text))
    without = without.replace(_VARIATION, "") if sure else without
    asian = len(_ASIAN.findall(without))
    others = len(_ASIAN.sub(" ", without).split())
    exact = asian + others + sure
    if not joined:
        return Count(exact, exact)
    return Count(max(0, exact - sure - joined), exact + joined)


def count_hindi_sentences(raw: str) -> int:
    """Count the pieces between `।`, `!` and `?`, without blank ones."""
    return sum(bool(piece.strip()) for piece in _AFTER_STOPS.split(raw))


def count_pieces(raw: str) -> int:
    """Count the runs without a stop in each line."""
    return sum(len(_PIECES.findall(line.strip())) for line in raw.splitlines())


def _judge_count(count: Count, relation: str, limit: int, unit: str) -> Finding:
    verdicts = [(number < limit) if relation == LESS_THAN else (number >= limit) for number in count]
    count_text = (
        f"found {amount(count.low, unit)}" if count.low == count.high else f"found {count.low} to {count.high} {unit}"
    )
    reason = f"{count_text}, needed {'fewer than' if relation == LESS_THAN else 'at least'} {limit}"
    if verdicts[0] != verdicts[1]:
        return Finding("undecided", f"{reason}: emoji of several code points are not counted here", count.low, limit)
    return verdict(verdicts[0], reason, count.low, limit)


def word_count(values: Values) -> Check:
    """Make a check of the number of words, counted by the language of the answer."""
    elsewhere = words.word_count(values)
    relation, limit = values["relation"], values["num_words"]

    def check(text: Text) -> Finding:
        if text.language == "th":
            return _THAI
        if text.language in CHARACTER_LANGUAGES:
            return _judge_count(count_characters(text.raw), relation, limit, "words")
        return Finding(*elsewhere(text))  # a variant may be of another language, so no failure is final

    return check


def sentence_count(values: Values) -> Check:
    """Make a check of the number of sentences, counted by the language of the answer."""
    elsewhere = words.sentence_count(values)
    relation, limit = values["relation"], values["num_sentences"]

    def check(text: Text) -> Finding:
        if text.language == "th":
            return _THAI
        if text.language == "hi":
            total = count_hindi_sentences(text.raw)
        elif text.language in CHARACTER_LANGUAGES:
            total = count_pieces(text.raw)
        else:
            return Finding(*elsewhere(text))
        return _judge_count(Count(total, total), relation, limit, "sentences")

    return check


_QUOTES = (('"', '"'), ("“", "”"), ("「", "」"))


@judge_by
def quotation(text: Text, _values: Values) -> Finding:
    """Check that the first and last visible character are a pair of double, curly or corner marks."""
    answer = text.stripped
    if len(answer) > 1 and (answer[0], answer[-1]) in _QUOTES:
        return Finding("pass", "the answer stands in quotation marks")
    return Finding("fail", "the answer does not start and end with a pair of quotation marks")


register(
    declare(
        "length_constraints:number_words",
        PROFILES,
        word_count,
        "Answer with {relation} {num_words} words.",
        num_words=whole(100, 500),
        relation=RELATION,
    ),
    declare(
        "length_constraints:number_sentences",
        PROFILES,
        sentence_count,
        "Your response should contain {relation} {num_sentences} sentences.",
        num_sentences=whole(1, 20),
        relation=RELATION,
    ),
    declare("startend:quotation", PROFILES, quotation, "Wrap your entire response with double quotation marks."),
)
