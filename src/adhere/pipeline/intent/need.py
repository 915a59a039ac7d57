"""Tell what a prompt needs: how many words of its own an answer has at least, and what kind of answer is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, wraps
from typing import Literal, TypeVar

from adhere.schema import ConstraintRef, Json
from adhere.text.words import words

_REQUESTS, _LONGEST = 2048, 4000  # whose kind is remembered, and in how many characters at most

T = TypeVar("T")


def _once(function: Callable[[str], T]) -> Callable[[str], T]:
    """Cache a function of a request, for a batch or a run asks the same requests again and again.

    Long requests are not cached, so that no long text is held.
    """
    remember = lru_cache(maxsize=_REQUESTS)(function)

    @wraps(function)
    def of(request: str) -> T:
        return remember(request) if len(request) <= _LONGEST else function(request)

    return of


LONGEST_LITERAL = 60  # a longer one is a text to repeat, whose words are the prompt's topic

_LONG = re.compile(
    r"\b(?:write|compose|draft|create|generate|make|give|tell|need|produce|rewrite|wrote|"
    r"come up)\b[^.?!\n]{0,120}?\b(?:essay|story|stories|poem|song|letter|"
    r"e-?mail|blog|article|post|report|speech|script|resume|cv|review|biography|bio|itinerary|dialogue|play|novel|"
    r"paragraphs?|description|"
    r"summary|plan|proposal|rap|rant|advertisement|ad|lyrics|announcement|press release|cover letter|pitch|limerick|"
    r"ode|brochure|critique|tutorial|guide)\b",
    re.IGNORECASE,
)
# What asks for more than a word or two; a question that one word may answer comes first.
_OPEN = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:please|you|to)\s+)(?:describe|explain|discuss|list|suggest|recommend|plan|design|compare|"
    r"structure|teach|propose|outline|"
    r"prepare|help me|tell me (?:about|how|why)|(?:write|create|generate|make|provide|"
    r"give)(?: me| us)?(?: an?| some| the)? (?!answer|at |exactly|in |only|words|"
    r"everything|plain|whole|so |every|your|two diff|no |\d))|\bhow (?:do|does|did|to|can|could|would|should|is|"
    r"are)\b|\bwhy\b|\bwhat are\b|"
    r"\b(?:ways|tips|steps|ideas|recipe|instructions) (?:to|for|on)\b",
    re.IGNORECASE,
)
_WORD_OR_TWO = (
    r"(?:who|when|where|which|what(?:'s| is| was| were)?(?! are\b| an?\b| if\b)|how (?:many|much|old|long|far|tall|big|"
    r"often))\b"
)
# Where a sentence or what stands behind a label begins; some tables and transcripts write their line breaks out.
_BEGIN = r"(?:\A|[.!?:,\n]\s*|\\n)[^\w\n]*"
_TO_ITS_END = r"[^.?!\n]*(?:\.\d[^.?!\n]*)*\?"
_TERSE = re.compile(
    rf"\A\W*{_WORD_OR_TWO}|{_BEGIN}{_WORD_OR_TWO}{_TO_ITS_END}|"
    r"\b(?:give|write|name|tell|provide|suggest|pick|choose|create|generate|make|find|"
    r"come up)\b[^.?!\n]{0,40}\b(?:names?|number|synonyms?|antonyms?|category|"
    r"label|tagline|slogan|year|date|haiku|riddle|hashtags?|score|rating|emojis?|url|code|function|query|formula|"
    r"equation|expression|palindrome|acronym|nicknames?|motto|compliment|html|syntax|tweet|jokes?|"
    r"translation|sequence|test)\b",
    re.IGNORECASE,
)
# What a word or two may answer: who, when, how many; a name, a category, a sum.
_BRIEF = re.compile(
    r"\b(?:categori[sz]e|classif\w*|category|offensive|spam|sentiment|part of speech|determine (?:whether|if|an|the)|"
    r"decide (?:whether|if|which|what)|"
    r"belongs? to|guess|calculate|compute|solve|evaluate|convert|translate|rhymes?|pronunciation|alternatives|extract|"
    r"one word|call you|predict|identify|"
    r"multiple choice|correct option|true or false|fill in|complet(?:e|ing) the|maths?|percentage|probability|"
    r"title for|answer (?:is|with)|in short|briefly|unscramble|repeat|algebra|find (?:an?|the)|"
    r"[TF] (?:if|for))\b|[\"“][^\"”\n]{1,20}[\"”]\s*$|"
    r"\b(?:who|which|when|where|what(?! are\b| an?\b| if\b))\b[^.?!\n]{3,200}(?:\?|$)|"
    r"[:,=]\s*(?:\n\n|\Z)|\d\s*[-+*/×^=]\s*\d|\\$\d|\b(?:how many|"
    r"how much|how old|how long)\b",
    re.IGNORECASE,
)
_OF_EACH = re.compile(r"\b(?:each|given|associated|based)\b", re.IGNORECASE)
_ASKS_WHO = re.compile(r"\W*(?:who|when|where|which)\b", re.IGNORECASE)
Wanted = Literal["long", "open", "some", "brief"]
FEWEST: dict[Wanted, int] = {"long": 5, "open": 3, "some": 3, "brief": 1}
_ABOUT_A_TEXT = re.compile(
    r"\b(?:re-?write|re-?phrase|paraphrase|summari[sz]e|summary|translate|edit|improve|proofread|correct|convert|"
    r"expand|elaborate|brainstorm|"
    r"sound|following|given the|the given|this (?:text|sentence|paragraph|passage|email|article)|turn|make the|rubric|"
    r"headline|title for|extract|retrieve|capitali[sz]e|"
    r"classify|categori[sz]e|identify|predict|rank|sort|reorder|given information|change the|conversation|"
    r"review\b[^.?!]{0,20}:)|[\"“][^\"”]{25,}[\"”]|\b_{1,}(?!\w)|"
    r"(?:(?:\A|\n|\\n|[.?!]\s)[\w][\w ]{0,20}:\s(?s:.*?)){2}",  # a blank to fill, or several parts with labels
    re.IGNORECASE,
)
# What is answered by signs, and what by yes or no.
_IS_SIGNS = re.compile(
    r"\b(?:ascii art|regex|regular expression|sudoku|abc notation|sheet music|chords|crossword)\b", re.IGNORECASE
)
_IS_CLOSED = re.compile(
    r"\byes\b.{0,30}\bno\b|\btrue\b.{0,20}\bfalse\b|\b(?:decide|determine|check) (?:if|whether)\b|_{3,}|"
    r"\beither ['\"]?\w{1,20}['\"]? or ['\"]?\w{1,20}['\"]?|\b[Aa][).:]\s(?s:.{1,300}?)\b[Bb][).:]\s|"
    rf"{_BEGIN}(?:(?:is|are|was|were|do|does|did|has|have|should)\b|(?:can|could|will|"
    r"would)\b(?! you))[^.?!\n]{3,200}\?",
    re.IGNORECASE,
)
# What may be answered without any of the prompt's words.
_IS_FREE = re.compile(
    r"\b(?:jokes?|riddles?|limericks?|songs?|lyrics|rap|poems?|haiku|names?|tagline|slogan|itinerary|monologue|"
    r"story|stories|adjectives|adverbs|verbs|synonyms|words (?:to|that|for)|exercise)\b",
    re.IGNORECASE,
)


@_once
def class_of(request: str) -> Wanted:
    """Tell what kind of answer a prompt wants; `brief` means that a word or two may do."""
    long, closed_at = _LONG.search(request), _last(request, _TERSE, _IS_CLOSED, _IS_SIGNS)
    if long is not None and not (
        _ASKS_WHO.match(request) or _OF_EACH.search(long[0]) or (closed_at > long.start() and is_about_a_text(request))
    ):
        return "long"
    if _last(request, _OPEN) > closed_at and not is_about_a_text(request):
        return "open"
    return "brief" if closed_at >= 0 or _BRIEF.search(request) else "some"


def _last(request: str, *patterns: re.Pattern[str]) -> int:
    """Return where the last match of any pattern begins; -1 without a match."""
    return max((match.start() for pattern in patterns for match in pattern.finditer(request)), default=-1)


def need_of(request: str, refs: Sequence[ConstraintRef] = ()) -> int:
    """Return how many different words of its own an answer to the prompt needs at least.

    The number is small, so that a terse answer is no trap.
    """
    limits = [limit for ref in refs if (limit := _most_words(ref)) is not None]
    return max(1, min([FEWEST[class_of(request)], *(limit // 3 for limit in limits)]))


@_once
def is_about_a_text(request: str) -> bool:
    """Tell whether an answer is about a text that the prompt holds, and so made of the text's words."""
    return _ABOUT_A_TEXT.search(request) is not None


@_once
def is_signs(request: str) -> bool:
    """Tell whether a request is answered by signs."""
    return _IS_SIGNS.search(request) is not None


@_once
def is_closed(request: str) -> bool:
    """Tell whether a request is answered by yes or no."""
    return _IS_CLOSED.search(request) is not None


@_once
def is_free(request: str) -> bool:
    """Tell whether a request may be answered without any of its words."""
    return is_about_a_text(request) or _IS_FREE.search(request) is not None


def _most_words(ref: ConstraintRef) -> int | None:
    """Return the upper limit of words that a constraint sets, or None.

    It is found by the names of parameters, of own and published kinds.
    """
    params = ref.params
    number = next(
        (
            params[name]
            for name in ("num_words", "limit", "most", "max_words", "high")
            if isinstance(params.get(name), int)
        ),
        None,
    )
    is_upper = params.get("relation", "less than") in {"less than", "at most"} and "least" not in ref.id
    return number if isinstance(number, int) and is_upper and "length" in ref.id else None


def params_of(refs: Sequence[ConstraintRef]) -> frozenset[str]:
    """Return the words in the values of the constraints' parameters, in lower case."""
    return frozenset(
        word.lower()
        for ref in refs
        for value in ref.params.values()
        for text in texts_in(value)
        if len(text) <= LONGEST_LITERAL
        for word in words(text)
    )


def texts_in(value: Json) -> Iterator[str]:
    """Yield every text in a parameter's value, the keys of mappings included, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def names_of(refs: Sequence[ConstraintRef]) -> frozenset[str]:
    """Return the constraints' parameter names and the words in them, in lower case; no reader was told them."""
    return frozenset(
        word.lower() for ref in refs for name in ref.params for word in (name, *words(name.replace("_", " ")))
    )
