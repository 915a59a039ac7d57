"""Define what a word, a sentence, a paragraph and a line is.

Word: a longest run of letters, digits and combining marks; an apostrophe or hyphen between two such runs joins them
("don't", "well-known"), and so does a point or comma between digits ("3.5", "1,000"). Underscores and all other
characters separate. Sentence: a stretch of one line that ends in `.`, `!`, `?` or `…` (or a full-width one) followed by
a blank, or at the end of the line, and that holds a word; a line break always ends it. Lower-case texts have sentences
too, so a capital is not needed after a full stop. Paragraph: lines with no blank line between them. Line: the text
between line breaks.
"""

from __future__ import annotations

import itertools
import re

# Python's \w leaves out combining marks, which would cut Hindi or Arabic words to pieces.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0971-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe20-\ufe2f"
)
WORD_CHARACTER = rf"(?:[^\W_]|[{_MARKS}])"
# Runs of letters and digits are taken whole, and texts of ASCII read by a pattern of their own: half the time.
_WORD = re.compile(rf"[^\W_]++(?:(?:[{_MARKS}]|['’\-‐‑](?=[^\W_])|(?<=\d)[.,](?=\d))[^\W_]*+)*+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]++(?:(?:['\-](?=[A-Za-z0-9])|(?<=[0-9])[.,](?=[0-9]))[A-Za-z0-9]++)*+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

# A stop: one or more marks, then closing quotes or brackets, then a blank or the end. The look-behind makes each run
# of marks be tried once, and the possessive quantifiers keep a failed try from being walked back: linear.
_STOP = re.compile(r"""(?<![.!?…。！？])(?:[。！？]++|[.!?…]++["'”’»)\]}*_]*+(?=\s|\Z))|\n\s*+""")
# Abbreviations never end a sentence. Some are words, too ("no", "rep", "fig"), and are read by what stands around them.
_ABBREVIATIONS = frozenset("mr mrs ms dr prof vs e.g i.e cf approx dept u.s u.k a.m p.m".split())
_BEFORE_LOWER_CASE = frozenset("etc inc ltd co".split())
_BEFORE_NUMBERS = frozenset("no nos fig figs vol est p pp ch sec".split())
_TITLES = frozenset("Sr Jr St Gen Sen Rep Capt Lt Col Sgt Gov Rev Hon".split())
# A capital letter before a full stop is an initial ("George W. Bush") or the end ("Vitamin C. It helps.").
_LETTERED = frozenset(
    "a an the vitamin plan type class grade hepatitis influenza option point part section appendix exhibit group team "
    "letter step answer choice figure table model column row variable case category level phase stage unit block size "
    "generation formula factor player person item scenario note key drive brand and or".split()
)
_STARTERS = frozenset(
    "i it he she we you they this that these those there here the a an my your his her its our their in on at by for "
    "from to with of as if when while where why how what who which and but or so yet nor not no yes then than now "
    "also however therefore thus because since although though after before until unless once both each every all any "
    "some many most few one two another other such is are was were do does did can could will would should may might "
    "must have has had let please use try make take next first second third finally instead perhaps maybe".split()
)
_ROMAN = re.compile("[IVXLC]{1,6}")
_NEXT_WORD = re.compile(r"""\s{1,3}["'“‘(\[*_]*([^\W_]{0,20})""")
# No sentence goes on past so many abbreviations; without the limit, looking for the first one reads a hostile text
# whole.
_MOST_POINTS = 50
_LIST_NUMBER = re.compile(r"\s*(?:\d{1,3}|[A-Za-z])\.\Z")


def has_words(text: str) -> bool:
    """Tell whether the text holds at least one letter or digit."""
    return _LETTER_OR_DIGIT.search(text) is not None


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


def words(text: str) -> list[str]:
    """Return the words, in order, as written."""
    return _pattern(text).findall(text)


def word_spans(text: str, *, most: int | None = None) -> list[tuple[int, int]]:
    """Return (start, end), in characters, of each word, for at most `most` words."""
    return [match.span() for match in itertools.islice(_pattern(text).finditer(text), most)]


def count_words(text: str) -> int:
    """Return the number of words."""
    return len(_pattern(text).findall(text))


def sentence_spans(text: str, *, most: int | None = None) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence, without blanks around it, for at most `most` sentences."""
    spans: list[tuple[int, int]] = []
    start = points = 0
    first = _LETTER_OR_DIGIT.search(text)
    for match in _STOP.finditer(text):
        if first is None or len(spans) == most:
            return spans
        mark, end = match.start(), match.end()
        if first.start() > mark:  # no word in this piece, so it is no sentence
            start = end
            continue
        if text[mark] == "." and points < _MOST_POINTS and _goes_on(text, start, mark, end):
            points += 1
            continue
        spans.append(trim_span(text, start, end))
        start, points = end, 0
        first = _LETTER_OR_DIGIT.search(text, end)
    if first is not None and len(spans) != most:
        spans.append(trim_span(text, start, len(text)))
    return spans


def trim_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blanks at its ends; it must hold a character that is no blank."""
    piece = text[start:end].strip()
    start = text.index(piece, start)
    return start, start + len(piece)


def _goes_on(text: str, start: int, mark: int, end: int) -> bool:
    """Tell whether the sentence goes on after a full stop.

    This is so after an abbreviation, an initial, a list number, or "..." before lower case. `start` is the start of the
    sentence; `mark` and `end` bound the stop and its closing quotes.
    """
    if text[end : end + 1] in {"", "\n"}:
        return False
    if end - mark > 1:
        return text.startswith("..", mark) and text[end + 1 : end + 2].islower()
    if mark - start < 8 and _LIST_NUMBER.match(text, start, end):
        return True
    return _abbreviates(text, start, mark, end)


def _abbreviates(text: str, start: int, mark: int, end: int) -> bool:
    """Tell whether the word before a full stop is an abbreviation, by itself or by the words around it."""
    *earlier, last = text[max(start, mark - 30) : mark].split(" ")
    word = last.lstrip("(\"'“‘[")
    lower = word.lower()
    if lower in _ABBREVIATIONS or word in _TITLES:
        return True
    following = _NEXT_WORD.match(text, end)
    after = following[1] if following else ""
    if lower in _BEFORE_NUMBERS:
        return after[:1].isdigit() or (lower != "no" and word[:1].isupper() and _ROMAN.fullmatch(after) is not None)
    if lower in _BEFORE_LOWER_CASE:
        return after[:1].islower()
    return len(word) == 1 and word != "I" and _is_initial(word, earlier[-1] if earlier else "", after)


def _is_initial(letter: str, before: str, after: str) -> bool:
    """Tell whether a letter with a full stop is part of a name, by the words before and after it."""
    return (
        letter.isupper()
        and after[:1].isupper()
        and after.lower() not in _STARTERS
        and before.strip("(\"'“‘[,;:").lower() not in _LETTERED
    )


def sentences(text: str) -> list[str]:
    """Return the sentences, in order, with their closing marks."""
    return [text[start:end] for start, end in sentence_spans(text)]


def lines(text: str) -> list[str]:
    """Return the lines, empty ones too; CRLF and CR count as one line break."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def word_lines(text: str, *, most: int | None = None) -> list[str]:
    """Return the lines that hold a word, at most `most` of them."""
    return list(itertools.islice((line for line in lines(text) if line and has_words(line)), most))


def paragraphs(text: str) -> list[str]:
    """Return the stretches of lines between blank lines, each with at least one visible character."""
    all_paragraphs: list[str] = []
    current: list[str] = []
    for line in lines(text):
        if not line or line.isspace():
            if current:
                all_paragraphs.append("\n".join(current))
                current = []
        else:
            current.append(line)
    if current:
        all_paragraphs.append("\n".join(current))
    return all_paragraphs


def plural_of(noun: str) -> str:
    """Return the plural of a regular English noun, or of a phrase that ends in one: `dashes`, `families`, `words`."""
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y$", noun) else f"{noun}s"
