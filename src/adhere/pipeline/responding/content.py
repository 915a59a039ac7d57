"""Find what an answer says of its own: words that neither the request has nor any answer may be made of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from adhere.pipeline.responding.vocabulary import NOTHING
from adhere.text.words import words

_ENDING = re.compile(r"(?:'s|ies|es|s|ing|ed|er|ly|y|e)$")
_SHORTEST_STEM = 3
_RUN = 4
_LONGEST = 4000


class Request(NamedTuple):
    """Holds a request as the measure reads it, once for all its answers.

    Attributes:
        text: The request as it was asked.
        stems: Stems of all words of the request.
        topics: Stems of the words that may name the subject.
        listed: Words that the constraints name, in lower case.
        runs: Hashes of the runs of four words, which take less room than the words.
    """

    text: str
    stems: frozenset[str]
    topics: frozenset[str]
    listed: frozenset[str]
    runs: frozenset[int]


class Content(NamedTuple):
    """Holds the words and stems that an answer is made of.

    Attributes:
        n: Number of words.
        own: Stems that tell something and are not in the request.
        taken: Stems of the request's topics that the answer takes up.
    """

    n: int
    own: frozenset[str]
    taken: frozenset[str]


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word in lower case without its commonest endings, so that *rivers* becomes *river*."""
    short = _ENDING.sub("", word)
    if len(short) > _SHORTEST_STEM and short[-1] == short[-2]:  # *planning* is *plan*
        short = short[:-1]
    return short if len(short) >= _SHORTEST_STEM else word


_STEMS_OF_NOTHING = frozenset(map(stem, NOTHING)) | NOTHING


def tells(word: str) -> bool:
    """Tell whether a word in lower case may say what a text is about."""
    bare = word.rstrip("0123456789")  # *step1* is *step*
    return len(bare) > 2 and bare not in NOTHING and stem(bare) not in _STEMS_OF_NOTHING


def request_of(text: str, rule_words: frozenset[str] = frozenset()) -> Request:
    """Read a request; of a long request only the beginning and the end, so that no long text is held."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    return _request_of(text, rule_words)


@lru_cache(maxsize=64)
def _request_of(text: str, rule_words: frozenset[str]) -> Request:
    request_words = [word.lower() for word in words(text)]
    topics = frozenset(stem(word) for word in request_words if tells(word) and word not in rule_words)
    runs = frozenset(hash(tuple(request_words[at : at + _RUN])) for at in range(len(request_words) - _RUN + 1))
    return Request(text, frozenset(map(stem, request_words)), topics, rule_words, runs)


def said_by(request: Request, pieces: Iterable[str]) -> Content:
    """Return the content of pieces of an answer to `request`."""
    answer_words = [word.lower() for piece in pieces for word in words(piece)]
    stems = {word: stem(word) for word in answer_words}
    own = frozenset(
        short
        for word, short in stems.items()
        if short not in request.stems and word not in request.listed and tells(word)
    )
    return Content(len(answer_words), own, request.topics.intersection(stems.values()))


# -- pieces that promise, ask back or refuse ------------------------------------------------------------------------

_PIECE = re.compile(r"(?:[^.!?。！？…:\n]|[.:](?=\w))+[.!?。！？…:]*[\"'”’)\]*_]*")
_BEFORE = r"^\W*(?:(?:sure|certainly|absolutely|of course|okay|ok|great|yes|no problem|alright|happily)\b\W*)*"
_WILL = r"(?:i|we)(?:'ll|'d|'m| am| will| would| can| shall| could| have| promise| hope| plan| intend)\b[^.!?]{0,40}?\b"
_MAKE = (
    r"(?:come up|write|compose|draft|craft|create|generate|produce|provide|deliver|written|prepare|explain|describe)\b"
)
_PROMISE = re.compile(
    rf"{_BEFORE}(?:(?:here|this|that|below|above)\s+(?:is|are|was|will be|follows|you go|comes?)\b|{_WILL}(?:{_MAKE}|"
    r"(?:give|send|make|list|help|assist|do|get|start|begin|work|finish|answer|respond|share|tell|think|come|put|keep|"
    r"cover|follow|take|include|included|try|add|complete|look|let|offer|present|outline|design|handle|return|back|"
    r"soon)\b)|let me\b|(?:allow|give) me\b|please (?:wait|stand by|hold|let|find|see|note|tell|provide|share|give)\b|"
    r"(?:coming|working|just a moment|one moment|stay tuned|more to follow)\b)",
    re.IGNORECASE,
)
# A letter or a speech may promise a good deal; that itself will be written is no part of it.
_PROMISE_OF_A_TEXT = re.compile(rf"{_BEFORE}(?:here\s+(?:is|are)\b|{_WILL}{_MAKE})", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:unable|cannot|can't|can not|could not|couldn't|won't|not able|not possible|impossible|refuse|decline|"
    r"unavailable|not allowed|not permitted|do not have|don't have|not available|sorry|apologi[sz]e|as an ai|"
    r"language model|no (?:answer|response|information|data|result)s?|not (?:found|applicable|supported))\b",
    re.IGNORECASE,
)
_TO_READER = re.compile(r"\b(?:you|your|yours|you'd|me|shall i|should i|i)\b", re.IGNORECASE)
_FORM_SPEECH = re.compile(
    r"\b(?:th(?:is|e) (?:above |whole |entire |following )?(?:text|answer|response|reply|message|sentence|paragraph|"
    r"letter|poem|slogan|essay|piece|list|output|content|email|story|post|note|section|line|word)s?|"
    r"(?:my|our) (?:answer|response|reply|text|output|message)s?|i (?:have |'ve |did )?(?:use|used|wrote|written|"
    r"follow|followed|include|included|avoid|avoided|kept|put|wrap|wrapped|made sure|obeyed|added|ended|finished|"
    r"started))\b",
    re.IGNORECASE,
)
_FORM_WORDS = re.compile(
    r"\b(?:words?|letters?|capitals?|capitali[sz]ed|upper ?case|lower ?case|all caps|commas?|punctuation|paragraphs?|"
    r"bullets?|bullet points?|lists?|format(?:ted|ting)?|json|sections?|titles?|headings?|highlight(?:ed|s)?|"
    r"placeholders?|postscript|p\.s\.|keywords?|phrases?|quotation|quotes?|sentences?|lines?|numbered|length|"
    r"instruct(?:ed|ions?)|requirements?|requested|required|constraints?|rules?|guidelines|follows?|followed|contains?|"
    r"includes?|satisf(?:y|ies|ied)|asterisks?|brackets?|english|language|exactly|twice|double|vowels?|symbols?)\b",
    re.IGNORECASE,
)


def pieces_of(text: str) -> list[str]:
    """Return the sentences and lines of a text that hold a word outside of blanks to fill in, such as *[name]*."""
    return [piece for piece in _PIECE.findall(_BLANK.sub(" ", text)) if any(map(str.isalnum, piece))]


_BLANK = re.compile(r"\[[A-Za-z][A-Za-z '/-]{0,30}\](?!\()")


def is_idle(piece: str, *, is_speech: bool) -> bool:
    """Tell whether a sentence promises something, asks its reader, or speaks of the text's own form.

    `is_speech`: the request is for somebody's words to somebody (a letter, a quiz), which may promise and ask.
    """
    if (_PROMISE_OF_A_TEXT if is_speech else _PROMISE).match(piece):
        return True
    if _FORM_SPEECH.search(piece) and _FORM_WORDS.search(piece):
        return len({word.lower() for word in words(piece) if tells(word.lower())}) <= 1
    return not is_speech and is_question(piece) and _TO_READER.search(piece) is not None


def is_question(piece: str) -> bool:
    """Tell whether a sentence is a question."""
    return piece.rstrip("\"'”’)]*_ ").endswith("?")


def is_refusal(piece: str) -> bool:
    """Tell whether a sentence refuses to answer."""
    return _REFUSAL.search(piece) is not None


# -- lists of stubs ------------------------------------------------------------------------------------------------

_ITEM = re.compile(
    r"^[ \t]*(?:[-*+•]|\(?\d{1,3}[.):])[ \t]+((?:\S+[ \t]+){0,3}\S+)[ \t]*$|"
    r"^[ \t]*((?:\S+[ \t]+){1,3}\d{1,3})[ \t]*$",
    re.MULTILINE,
)
_IN_QUOTES = re.compile(r"\"([^\"\n]{1,40} \d{1,3})\"(?!\s*:)")
_LAST_LETTER = re.compile(r" [a-z]$| (?:one|two|three|four|five|six|seven|eight|nine|ten)$")
_NOT_LETTER = re.compile(r"[\W\d_]+")
_FEWEST_ITEMS = 3


def is_stubs(text: str) -> bool:
    """Tell whether most lines of a text are one item with another number each time: *Mom 1*, *Mom 2*."""
    is_json = text.lstrip()[:1] in {"[", "{"}
    pieces = _IN_QUOTES.findall(text) if is_json else ["".join(parts) for parts in _ITEM.findall(text)]
    items = [_LAST_LETTER.sub("", _NOT_LETTER.sub(" ", piece).strip().lower()) for piece in pieces]
    lines = len(items) if is_json else sum(any(map(str.isalnum, line)) for line in text.splitlines())
    if len(items) < _FEWEST_ITEMS or len(items) * 4 < lines * 3 or not any(items):
        return False
    return len(set(items)) * 3 <= len(items)


_HEDGED = re.compile(r"\b(?:my answer is|answer is|say|it is|it's|is)\s+(yes|no|maybe)\b", re.IGNORECASE)


def is_hedged(text: str) -> bool:
    """Tell whether a text gives contrary answers in one breath, such as *My answer is yes. My answer is no*."""
    return len({word.lower() for word in _HEDGED.findall(text)}) >= 2
