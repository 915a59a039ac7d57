"""Find text that an answer holds only for the words of a constraint: lists of words, and words repeated again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from operator import eq
from typing import NamedTuple

from adhere.text.words import words

# Tags, and what TeX sets as it stands.
MARK = re.compile(
    r"\\(?:begin|end)\{\w{1,20}\}|\\verb\b|(?<!<)</?[A-Za-z][\w:-]{0,20}(?:\s[^<>\n]{0,200}=[^<>\n]{0,200})?\s*/?>(?!>)"
)


def counts_up(numbers: Sequence[str]) -> bool:
    """Tell whether numbers are those of a list: 1 first, then each is 1, the same or one more; at least two.

    Numbers of more than four digits are never those of a list.
    """
    values = [int(number) for number in numbers if len(number) <= 4]
    steps = pairwise(values)
    return (
        len(values) == len(numbers) > 1
        and values[0] == 1
        and all(after in {1, before, before + 1} for before, after in steps)
    )


# Words that make a sentence of a list of words; a line with one of them is left alone.
GLUE = frozenset(
    "is are was were be been am do does did has have had will would can could should may might must the this that "
    "these those i you he she it we they my your his her its our their me him us them what who how why when where if "
    "because but so with for from to of in on at by as not please let thank thanks".split()
)
# What a sentence has that only tells that the rules' words are in it.
_ABOUT_THE_TASK = frozenset(
    "word words keyword keywords term terms phrase phrases tag tags label labels answer text response requested asked "
    "required needed included include includes including contains mention mentioned used use using appear appears "
    "mandatory instruction instructed requirement".split()
)

_SAYS_NO_MORE = GLUE | frozenset("also here there say said note noted more again way done yes no okay".split())

_SAME_WORD = re.compile(r"\b(\w{1,30})(?:(?:[^\w\n]{1,3}\1\b){3,}|(?:[ ,]{1,2}\1\b){2,})", re.IGNORECASE)
_SAME_PAIR = re.compile(r"\b(\w{1,30}(?:[^\w\n]{1,3}\w{1,30}){1,3}?)(?:[^\w\n]{1,3}\1\b){3,}", re.IGNORECASE)


class RuleWords(NamedTuple):
    """Holds lower-case words by what they belong to.

    `known` are the prompt's and the rules' words, `listed` the words that the rules name, and `secret` those of them
    that no reader was told.
    """

    known: frozenset[str]
    listed: frozenset[str]
    secret: frozenset[str]

    def is_told(self, text: str) -> bool:
        """Tell whether a text has a word that is neither the rules' nor about the task."""
        return any(not word.isdigit() for word in self._others(text))

    def is_idle(self, text: str) -> bool:
        """Tell whether a piece has words of the rules and says nothing about them, or only that they are there."""
        label = _LABEL.match(text)
        rest = text[label.end() :] if label else text
        piece_words = {word.lower() for word in words(MARK.sub(" ", rest))}
        if piece_words.isdisjoint(self.listed) or self._others(rest):
            return False
        return bool(label) or not (piece_words - self.listed) & GLUE or not _ABOUT_THE_TASK.isdisjoint(piece_words)

    def without_list(self, text: str) -> str:
        """Mask the rules' words of a piece if it is idle, or else in the list before its sentence, if there is one."""
        if self.is_idle(text):
            return self.masked(text)
        first = next((word for word in _WORD.finditer(text) if word[0].lower() not in self.listed), None)
        run = text[: first.start()] if first else ""
        is_list = first is not None and first[0][0].isupper() and _LISTED.search(run) is not None
        return self.masked(run) + text[len(run) :] if is_list else text

    def is_listing(self, text: str) -> bool:
        """Tell whether a piece has two words of the rules, or one of them twice, and no other word."""
        piece_words = [word.lower() for word in words(text)]
        return len(piece_words) >= 2 and self.listed.issuperset(piece_words)

    def masked(self, text: str) -> str:
        """Return a piece with another word in place of each of the rules' words."""
        other = next((word for word in _OTHERS if self.listed.isdisjoint(word)), _OTHERS[0])
        return _WORD.sub(lambda match: _in_case(other, match[0]) if match[0].lower() in self.listed else match[0], text)

    def _others(self, text: str) -> list[str]:
        return [
            low
            for word in words(MARK.sub(" ", text))
            if (low := word.lower()) not in self.listed and low not in _SAYS_NO_MORE and low not in _ABOUT_THE_TASK
        ]


_LISTED = re.compile(r"[,;|]\s*\w.*[^,;|\s]\s*\Z", re.DOTALL)
_OTHERS = ("one", "such", "many")  # of other letters each, where a rule counts a letter


def _in_case(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word.capitalize() if like.istitle() else word


def without_padding(text: str, words_of: RuleWords, *, lines: bool = True) -> str:
    """Return the text without padding: runs of one word become one word, and lists of the rules' words are left out.

    Args:
        text: The answer.
        words_of: The words of the prompt and its rules.
        lines: Leave out any line at the end that says nothing. If False, only what calls itself a list of words, or
            repeats one, is left out.
    """
    text_lines = text.strip().split("\n")
    end = len(text_lines)
    while end > 1 and _only_names(text_lines[end - 1], words_of):
        end -= 1
    # The last items of a list of something else are a part of it.
    is_part = (
        end < len(text_lines)
        and _ITEM.match(text_lines[end]) is not None
        and _ITEM.match(text_lines[end - 1]) is not None
    )
    if not is_part and _is_hung_on(text_lines[end:], words_of, plain=lines):
        text_lines = text_lines[:end]
    while lines and len(text_lines) > 1 and _says_nothing(text_lines[-1], words_of):
        text_lines.pop()
    text_lines[-1] = _without_tail(text_lines[-1], words_of, plain=lines)
    return _without_runs("\n".join(text_lines).strip("\n")).rstrip()


def _without_runs(text: str) -> str:
    """Return the text with each run of one word, or of one pair, triple or quadruple of words, reduced to one."""
    text_words = [word.lower() for word in _PLAIN_WORD.findall(text)]
    if any(map(eq, text_words, text_words[1:])):
        text = _SAME_WORD.sub(r"\1", text)
    pairs = list(pairwise(text_words))
    if any(any(map(eq, pairs, pairs[step:])) for step in (2, 3, 4)):
        text = _SAME_PAIR.sub(r"\1", text)
    return text


_PLAIN_WORD = re.compile(r"\w+")

_LABEL = re.compile(r"\W*((?:[\w-]+[ \t]+){0,4}[\w-]+)[ \t]*(?::|[-=]+>|[ \t][-–—][ \t])[ \t]*(?=\S)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")


def _only_names(line: str, words_of: RuleWords) -> bool:
    """Tell whether a line has only words that the rules name, only counts, or hardly a different word.

    The words may follow a label.
    """
    line_words = [word.lower() for word in words(line)]
    if words_of.listed.issuperset(line_words):
        return bool(line_words) or _EMPTY_ITEM.fullmatch(line) is not None
    if len(line_words) >= _FEWEST_LOOP and (
        len(set(line_words)) * 3 <= len(line_words) or (all(map(str.isdecimal, line_words)) and counts_up(line_words))
    ):
        return True
    label = _LABEL.match(line)
    rest = [word.lower() for word in words(line[label.end() :])] if label else []
    return bool(rest) and words_of.listed.issuperset(rest)


_FEWEST_LOOP = 4


def _is_hung_on(lines: Sequence[str], words_of: RuleWords, *, plain: bool) -> bool:
    """Tell whether lines that only name words are a list and no sentence.

    With `plain` they are. Otherwise they follow a label, repeat a word, or hold a name that no reader was told.
    """
    line_words = [word.lower() for line in lines for word in words(line)]
    if not line_words:
        return plain
    return (
        plain
        or len(set(line_words)) < len(line_words)
        or not words_of.secret.isdisjoint(line_words)
        or any("|" in line or not words_of.listed.issuperset(word.lower() for word in words(line)) for line in lines)
    )


_WORD = re.compile(r"[\w'-]*\w")
_LONGEST_TAIL = 500


def _without_tail(line: str, words_of: RuleWords, *, plain: bool) -> str:
    """Return a line without words of the rules that follow its last sentence, or stand in brackets at its end."""
    matches = list(_WORD.finditer(line, max(0, len(line) - _LONGEST_TAIL)))
    first = len(matches)
    while first > 1 and words_of.listed.issuperset(word.lower() for word in words(matches[first - 1][0])):
        first -= 1
    between = line[matches[first - 1].end() : matches[first].start()] if 0 < first < len(matches) else ""
    tail = line[matches[first].start() :] if between else ""
    if not re.search(r"[,;|/(\[{<—–]", between) or not _is_hung_on(
        [tail], words_of, plain=plain and re.search(r"[.!?…]", between) is not None
    ):
        return line
    return line[: matches[first - 1].end()] + (match[0] if (match := re.match(r"[.!?…]+[\"'”’)]*", between)) else "")


def _says_nothing(line: str, words_of: RuleWords) -> bool:
    """Tell whether a line is no sentence.

    Such a line is blank, has signs alone, is a list of keywords, or has nothing but words of the prompt without a verb.
    """
    line_words = words(line)
    if _EMPTY_ITEM.fullmatch(line):
        return True
    if not line_words or _CLOSES.search(line) or any(word.lower() in GLUE - words_of.listed for word in line_words):
        return False
    return sum(word.lower() not in words_of.known for word in line_words) * 3 <= len(line_words)


_EMPTY_ITEM = re.compile(r"[\s>*•+#|_-]*(?:\d{1,3}[.)])?\s*")
_CLOSES = re.compile(r"[\]}>\"'`”’]\W*$|[\"'“]")

# A sentence, or a piece of a line; what stands in brackets or between dashes.
_SENTENCE = re.compile(r"(?:[^.!?…]++|(?<=\b[A-Z])\.|[.!?…]++(?=[^\s\"'”’)\]]))++[.!?…]*+[\"'”’)\]]*+")
_ASIDE = re.compile(r"\([^()\n]+\)|\[[^\[\]\n]+\](?!\()|\s[–—]\s[^–—\n]+[–—]")


def without_mentions(text: str, words_of: RuleWords) -> str:
    """Return the text with the rules' words masked where no sentence about anything uses them.

    A piece uses them for the rule alone if it has no other words, or says only that they are there. An item like its
    neighbours in a list or a table is a part of that list and is left alone, and so is a heading.
    """
    lines = text.split("\n")
    whole = list(lines)
    for at, line in enumerate(whole):
        if words_of.listed.isdisjoint(word.lower() for word in words(line)):
            continue  # there is nothing to mask
        beside = [
            words_of.is_told(whole[other])
            for other in (at - 1, at + 1)
            if 0 <= other < len(whole) and whole[other].strip()
        ]
        is_part = _PART_OF_LIST.match(line) or len(words(line)) <= _MOST_OF_AN_ITEM
        if _HEADING.match(line) or (is_part and True in beside):
            continue
        lines[at] = _ASIDE.sub(
            lambda aside: words_of.masked(aside[0]) if words_of.is_listing(aside[0]) else aside[0],
            _SENTENCE.sub(lambda piece: words_of.without_list(piece[0]), line),
        )
    return "\n".join(lines)


_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\*\*[^*]*\*\*:?[ \t]*$|[^|]*:[ \t]*$)")
_PART_OF_LIST = re.compile(r"[ \t]*(?:[-*+•|]|\d{1,3}[.)])")
_MOST_OF_AN_ITEM = 6
