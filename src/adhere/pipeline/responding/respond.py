"""Tell whether an answer responds to its request: one answer, or all answers of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from adhere.pipeline.intent.gate import Trap, dictates, traps_of
from adhere.pipeline.intent.need import class_of, is_about_a_text, is_closed, is_free, is_signs, names_of, params_of
from adhere.pipeline.responding.content import (
    Content,
    Request,
    is_hedged,
    is_idle,
    is_question,
    is_refusal,
    is_stubs,
    pieces_of,
    request_of,
    said_by,
)
from adhere.pipeline.responding.language import is_readable, language_of, names_a_language
from adhere.pipeline.responding.others import Others
from adhere.schema import ConstraintRef, Mode
from adhere.text.size import MOST_CHARACTERS
from adhere.text.words import words

VERSION = 2
"""Goes up when the measure judges any answer differently."""

Outcome = Literal["yes", "no", "undecided"]


class Responding(NamedTuple):
    """Says whether a text responds to its request: `outcome`, and the `reason` for a person.

    The reason of a `no` names what the text does instead, that of `undecided` why nothing can be said, and that of a
    `yes` what was not looked at.
    """

    outcome: Outcome
    reason: str


class Exchange(NamedTuple):
    """Holds one answer and what it answers: the request's text, the answer, the constraints and their profile."""

    request: str
    text: str
    refs: tuple[ConstraintRef, ...] = ()
    profile: str | None = None


def responds(
    answer: Exchange, *, others: Others | None = None, mode: Mode = "reference", traps: Sequence[Trap] | None = None
) -> Responding:
    """Tell whether one answer responds to its request.

    Args:
        answer: The answer, without reasoning.
        others: The answers of the same run or batch, this one among them or not; None: they were not looked at.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        traps: The traps that the answer takes (`pipeline.intent`), if known; None: they are looked for.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    answer = answer._replace(text=answer.text[:MOST_CHARACTERS])
    if not answer.text.strip():
        return Responding("no", "it has no text")
    request = read(answer)
    if others is not None and (n := others.alike(request, answer.text)):
        return Responding("no", f"most of it is said to {n} other requests, too")
    unread = _unread(answer)
    if fault := next(_faults(answer, request, mode, traps, is_read=not unread), None):
        return Responding("no", fault)
    if unread:
        return Responding("undecided", unread)
    caveat = "no model was asked" if others is not None else "neither other answers nor a model were asked"
    return Responding("yes", f"nothing speaks against it; {caveat}")


def responds_all(answers: Sequence[Exchange], *, mode: Mode = "reference") -> list[Responding]:
    """Return what `responds` says of every answer of a run or batch, each compared with all the others."""
    others = others_of(answers)
    return [responds(answer, others=others, mode=mode) for answer in answers]


def others_of(answers: Iterable[Exchange]) -> Others:
    """Read the answers of a run or batch once, without the blank ones."""
    return Others((read(answer), answer.text) for answer in answers if answer.text.strip())


def add_to(others: Others, answer: Exchange) -> None:
    """Add one answer to `others`, unless it is blank."""
    if answer.text.strip():
        others.add(read(answer), answer.text)


def read(answer: Exchange) -> Request:
    """Return the request of an answer, with the words that its constraints name."""
    return request_of(answer.request, params_of(answer.refs) | names_of(answer.refs))


def _faults(
    answer: Exchange, request: Request, mode: Mode, traps: Sequence[Trap] | None, *, is_read: bool
) -> Iterator[str]:
    """Yield what an answer does in place of responding, the surest first."""
    if traps is None:
        traps = traps_of(answer.request, answer.text, answer.refs, mode=mode, profile=answer.profile)
    # What an English answer says is counted below, by words that would not fit any request.
    if traps and not (is_read and tuple(traps) == ("empty",) and _is_terse(request, answer.text)):
        yield f"it keeps the letter alone: {', '.join(traps)}"
    if is_hedged(answer.text):
        yield "it gives contrary answers at once"
    if any(dictates(ref) for ref in answer.refs):  # the letter is the intent
        return
    if _left_its_language(answer):
        yield "it is in another language than its request"
    if is_read:
        yield from _content_faults(request, answer.text, answer.refs)


def _is_terse(request: Request, text: str) -> bool:
    """Tell whether a text of hardly a word says something: a word that tells, or *it can* where yes or no was asked."""
    content = said_by(request, pieces_of(text))
    return bool(content.own) or (content.n <= _FEW and is_closed(request.text))


# -- language -------------------------------------------------------------------------------------------------------

_OF_LANGUAGE = ("language:", "count:words_japanese", "iheval:language")


def _unread(answer: Exchange) -> str:
    """Return why what an answer says cannot be read; empty if it can."""
    if not is_readable(answer.request):
        return "the request is in a language that this measure cannot read"
    language = language_of(answer.text)
    if language == "en" or (language is None and not _may_leave(answer)):
        return ""
    return "the answer is in a language that this measure cannot read"


def _may_leave(answer: Exchange) -> bool:
    """Tell whether an answer may be in another language than its request, or in none."""
    by_rule = any(ref.id.partition(":")[0] == "language" or ref.id in _OF_LANGUAGE for ref in answer.refs)
    return by_rule or names_a_language(answer.request) or is_signs(answer.request)


def _left_its_language(answer: Exchange) -> bool:
    return (
        not _may_leave(answer) and language_of(answer.request) == "en" and language_of(answer.text) not in {"en", None}
    )


# -- content --------------------------------------------------------------------------------------------------------

_REPEAT = "combination:repeat_prompt"
_FEWEST_OWN = {"long": 3, "open": 1, "some": 1, "brief": 0}
_TERSE = 12  # words; an answer of so many may have one that tells
_FEWEST_FOR_TOPIC = 40  # whoever answers in a sentence or two need not repeat a word of the question
_FEWEST_TOPICS, _PREFIX = 3, 4
_FEWEST_FOR_SHARE, _LEAST_SHARE = 20, 0.1
_IS_SPEECH = re.compile(
    r"\b(?:questions?|quiz|interview|riddles?|ask|asks|trivia|survey|tweet|slogan|jokes?|e-?mail|letter|dialogue|"
    r"conversation|story|poem|song|lyrics|chat|play|script|post|speech|advert\w*|ad|message|questionnaire)\b",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\byes and no\b|\bit depends\b|\b(?:both|either|neither)\b[^.!?\n]{0,40}\b(?:or|nor|and)\b|\bor\b[^.!?\n]+\bor\b",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"[\"“][^\"”\n]{12,}[\"”]")
_LONG_REQUEST, _FEW, _FEWEST_IDLE = 40, 4, 10
_CHOICE = re.compile(r"\b(?:which|who|where|whose|or|if|part of speech|category|class)\b", re.IGNORECASE)
_BEHIND_A_COLON = re.compile(r":\s+(?:\S+\s+){7,}\S")
_BEGINNING, _MUCH = 500, 10
_ANY = "it says nothing that would not fit any request"


def _content_faults(request: Request, text: str, refs: Sequence[ConstraintRef]) -> Iterator[str]:
    """Yield what is wrong with the content of an English answer."""
    if is_stubs(text):
        yield "its items differ by their number alone"
    if len(text) > _BEGINNING and _says_much(request, text[:_BEGINNING]):
        return
    pieces, is_speech = pieces_of(text), _IS_SPEECH.search(request.text) is not None
    live = [piece for piece in pieces if not is_idle(piece, is_speech=is_speech)]
    if not pieces and any(map(str.isalpha, text)):
        yield "it has blanks to fill in alone"
    if pieces and not live:
        yield "it promises, asks back or speaks of its own form"
    if not is_speech and len(pieces) > 1 and all(map(is_question, pieces)):
        yield "it asks back"
    if holds_a_text(request.text) or is_signs(request.text) or any(ref.id == _REPEAT for ref in refs):
        return
    content = said_by(request, live)._replace(taken=said_by(request, pieces).taken)
    is_whole = len(live) == len(pieces)
    if not content.own and _HEDGES.search(text):
        yield "it leaves open what was asked"
    if class_of(request.text) == "brief":
        if _is_idle_answer(request, content, live):
            yield _ANY
    else:
        yield from _thin_faults(request, content, is_whole=is_whole)
    is_numbers = sum(map(str.isdigit, text)) * 20 > len(text)
    is_thin = content.n >= _FEWEST_FOR_SHARE and len(content.own) < _LEAST_SHARE * content.n
    if is_thin and not content.taken and not is_numbers:
        yield "hardly a word of it would not fit any request"
    if is_off_topic(request, content):
        yield "it takes up nothing of its request"


def _says_much(request: Request, start: str) -> bool:
    """Tell whether the beginning of a long answer says enough of its own, and takes up its request."""
    content = said_by(request, [piece for piece in pieces_of(start) if not is_idle(piece, is_speech=False)])
    return len(content.own) >= _MUCH and bool(content.taken)


def _thin_faults(request: Request, content: Content, *, is_whole: bool) -> Iterator[str]:
    """Yield what is wrong with the content if the request wants more than a word.

    Few words may be terse; a longer answer with as little content is idle.
    """
    need, is_terse = _FEWEST_OWN[class_of(request.text)], is_whole and content.n <= _TERSE
    if len(content.own) < (min(need, 1) if is_terse else need):
        yield _ANY
    if not is_terse and len(content.own) <= 1:
        yield "it says hardly a word that would not fit any request"


def holds_a_text(request: str) -> bool:
    """Tell whether a request is about a text that it holds, so that an answer is made of the request's own words."""
    return is_about_a_text(request) and (
        _QUOTE.search(request) is not None
        or _BEHIND_A_COLON.search(request) is not None
        or "\n" in request.strip()
        or len(words(request)) >= _LONG_REQUEST
    )


def is_off_topic(request: Request, content: Content) -> bool:
    """Tell whether an answer of some length has no word of its request's subject."""
    return (
        not content.taken
        and content.n >= _FEWEST_FOR_TOPIC
        and len(request.topics) >= _FEWEST_TOPICS
        and not is_free(request.text)
        and not {topic[:_PREFIX] for topic in request.topics} & {word[:_PREFIX] for word in content.own}
    )


def _is_idle_answer(request: Request, content: Content, live: Sequence[str]) -> bool:
    """Tell whether an answer to a request for a word or two has several words, and none that answers."""
    if content.own or content.n <= _FEW:
        return False
    live_words = {word.lower() for piece in live for word in words(piece)}
    if not live_words.isdisjoint(("yes", "no", "neither", "both")) or any(map(_is_sign, live_words)):
        return False
    if any(map(is_refusal, live)):
        return True
    return not content.taken or (content.n >= _FEWEST_IDLE and _CHOICE.search(request.text) is None)


def _is_sign(word: str) -> bool:
    """Tell whether a word is a number, or a letter that may be a choice."""
    return word.isdecimal() or (len(word) == 1 and word not in {"i", "a"})
