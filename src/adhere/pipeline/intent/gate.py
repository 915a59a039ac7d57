"""The intent gate: what an answer does to pass its checks without doing what was asked.

Seven traps. Three are judged by taking something away: where a constraint passes on the answer and fails on what a
reader sees of it, the pass rests on what was taken away.

* `hidden`     comments, invisible characters, empty code fences
* `look-alike` letters of another script and full-width signs in place of the Latin ones that they look like
* `padding`    words, lines or list items at the end that say nothing: a list of keywords, empty bullets, one word many times

Four are measured against what the prompt needs:

* `echo`       most of the answer is the prompt
* `empty`      fewer words of its own than the prompt needs: the phrase alone, headings without text
* `off-topic`  a text that has none of the prompt's words in it
* `repeat`     most of the answer was said before

A rule that itself asks for such a form (repeat the request, copy a span, end with a phrase) is not held against it: see
`_ASKS_FOR`. The numbers were set on one half of the stored answers of `docs/reference/traps.md`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from adhere.pipeline.judge import judge_of
from adhere.schema import ConstraintRef, Json, Mode, Outcome
from adhere.text.size import MOST_CHARACTERS
from adhere.text.words import words

Trap = Literal["hidden", "look-alike", "padding", "echo", "empty", "off-topic", "repeat"]
TRAPS: tuple[Trap, ...] = ("hidden", "look-alike", "padding", "echo", "empty", "off-topic", "repeat")

Outcomes = Callable[[str], list[Outcome]]
"""What each constraint says of a text, strictly."""


def traps_of(
    asked: str,
    text: str,
    refs: Iterable[ConstraintRef] = (),
    *,
    mode: Mode = "reference",
    profile: str | None = None,
) -> tuple[Trap, ...]:
    """The traps that an answer takes, in the order of TRAPS; none for an empty answer, which passes nothing.

    Args:
        asked: The prompt's text.
        text: The answer, without reasoning.
        refs: The prompt's constraints. Without them only what is measured against the prompt is looked at.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    refs, text = tuple(refs), text[:MOST_CHARACTERS]
    if not text.strip():
        return ()
    judge = judge_of(refs, mode=mode, profile=profile)

    def outcomes(one: str) -> list[Outcome]:
        return [verdict.outcome for verdict in judge.verdicts(one, ("strict",))]

    taken = {*_by_taking_away(asked, text, refs, outcomes), *_by_measure(asked, text, refs)}
    return tuple(trap for trap in TRAPS if trap in taken)


# What some rules ask for is no trap there: families (the part of the id before the colon) and whole ids.
_TO_CHOOSE: frozenset[Trap] = frozenset(("empty", "echo", "off-topic", "padding"))
_TO_COPY: frozenset[Trap] = _TO_CHOOSE | {"repeat"}
_ASKS_FOR: dict[str, frozenset[Trap]] = {
    "copying": _TO_COPY,
    "copy": _TO_COPY,
    "repeat": _TO_COPY,
    "new:copy_span_idx": _TO_COPY,
    "combination:repeat_prompt": frozenset(("echo",)),
    "combination:two_responses": frozenset(("repeat",)),
    "startend": frozenset(("padding",)),
    "last_word": frozenset(("padding",)),
    "keywords:start_end": frozenset(("padding",)),
    "detectable_format:constrained_response": _TO_CHOOSE,
    "format:options": _TO_CHOOSE,
    "format:no_whitespace": frozenset(("empty", "off-topic")),
    "language:response_language": frozenset(("off-topic",)),
    "language:answer_in": frozenset(("off-topic",)),
    "count:words_japanese": frozenset(("off-topic",)),
}


_LANGUAGE = re.compile(r"^[a-z]{2}:(?=[a-z_]+:)")


def dictates(ref: ConstraintRef) -> bool:
    """Whether a rule says what the whole answer is, so that its letter is its intent."""
    return "empty" in _asked_for((ref,))


def _asked_for(refs: Sequence[ConstraintRef]) -> frozenset[Trap]:
    found: set[Trap] = set()
    for ref in refs:
        # Published kinds of another language have it in front: `fr:detectable_format:title`.
        plain = _LANGUAGE.sub("", ref.id)
        for name in (plain, plain.partition(":")[0]):
            found |= _ASKS_FOR.get(name, frozenset())
    return frozenset(found)


# -- by taking away -------------------------------------------------------------------------------------------------

_COMMENT = re.compile(r"<!--(?:(?!-->)[\s\S])*+(?:-->)?|^\[[^\]\n]*\]:[ \t]*(?:#|<>)[ \t]*[(\"'][^\n]*$", re.MULTILINE)
# Elements that no browser draws, and any element whose own attributes say that it is not to be seen; one never closed goes to the end.
_UNDRAWN = re.compile(
    r"<(?:input|meta|img|link)\b[^<>]*\bhidden\b[^<>]*>|<(script|style|template|noscript|datalist)\b[^<>]*>(?:(?!</\1)[\s\S])*+(?:</\1\s*>)?|"
    r"<(?!input|meta|img|link)(\w{1,10})\b[^<>]*?(?:\bhidden\b|display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0|"
    r"color\s*[:=]\s*[\"']?(?:white|transparent|#fff))[^<>]*>(?:(?!</\2)[\s\S])*+(?:</\2\s*>)?",
    re.IGNORECASE,
)
_EMPTY_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n`]*\n\s*\1[ \t]*$\n?", re.MULTILINE)
# Format characters and fillers that are drawn as nothing. The joiners stay: emoji and several scripts need them.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)


def seen_of(text: str) -> str:
    """What a reader sees of a text: without comments, invisible characters, hidden spans and empty code fences."""
    for pattern in (_COMMENT, _UNDRAWN, _EMPTY_FENCE, _UNSEEN):
        text = pattern.sub("", text)
    return text


# Words that are glued together by characters that nobody sees are one word for a reader, several for a program, or the other way round.
_GLUED = re.compile(rf"(?<=[^\W\d_]){_UNSEEN.pattern}+(?=[^\W\d_])")
_MOST_GLUED = 5
# Letters that look like Latin ones (Cyrillic, Greek, a few others).
_LOOKS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανυɑɡıⅼ",
    "ABESIJKMHOPCTYXaeopcyxijshdqwlABEZHIKMNOPTYXoavuagil",
)
_OTHER = "\u0250-\u02af\u0370-\u058f\u13a0-\u13ff\u1d00-\u1dbf\u2160-\u217f\ua730-\ua7ff\uab30-\uabbf"
_FOLDS = "\uff21-\uff5a\u249c-\u24e9\U0001d400-\U0001d7cb"
_OTHER_WORD = re.compile(rf"[^\W\d_]*[\u0131{_OTHER}{_FOLDS}](?:[^\W\d_]|[\u249c-\u24e9])*")
# A word of Latin letters and others: no language has them, units of one or two letters aside.
_MIXED = re.compile(rf"(?=[^\W\d_]*[a-zA-Z])[^\W\d_]*[{_OTHER}{_FOLDS}][^\W\d_]*")
_MOST_MIXED = 5


class _Signs(dict[int, int | str]):
    """Each sign as the ASCII one that it looks like, by its name; anything else as it is."""

    def __missing__(self, code: int) -> int | str:
        sign = chr(code)
        found: int | str = code
        if code >= 128 and unicodedata.category(sign)[0] in "PSL":
            folded, name = unicodedata.normalize("NFKC", sign), unicodedata.name(sign, "")
            plain = next((plain for part, plain in _NAMED if part in name and "INVERTED" not in name), None)
            is_sign = len(folded) == 1 and folded.isascii() and not folded.isalnum()
            found = folded if is_sign else (plain or code)
        self[code] = found
        return found


_NAMED = (
    ("SEMICOLON", ";"), ("COLON", ":"), ("COMMA", ","), ("LOW-9", ","), ("FULL STOP", "."), ("QUESTION MARK", "?"), ("EXCLAMATION MARK", "!"),
    ("RETROFLEX CLICK", "!"), ("HYPHEN", "-"), ("DIVISION SLASH", "/"), ("FRACTION SLASH", "/"), ("ASTERISK", "*"), ("OPEN BOX", "_"),
)  # fmt: skip
_SIGNS = _Signs()


def plain_of(text: str) -> str:
    """The text with look-alikes as the Latin letters and signs that they look like.

    A text in another script stays as it is.
    """
    if text.isascii():
        return text
    letters = sum(one.isalpha() for one in text)
    latin = sum((one.isascii() and one.isalpha()) or "\u00c0" <= one <= "\u024f" for one in text)

    def plain(match: re.Match[str]) -> str:
        folded = unicodedata.normalize("NFKC", match[0]).translate(_LOOKS)
        return folded if folded.isascii() else match[0]

    text = _OTHER_WORD.sub(plain, text)
    return text.translate(_SIGNS) if latin * 2 > letters else text


def _is_mixed(text: str) -> bool:
    """Whether words are spelt in letters of several scripts, five of them or more."""
    return not text.isascii() and len({word for word in _MIXED.findall(text) if len(word) >= 4}) >= _MOST_MIXED


_SAME_WORD = re.compile(r"\b(\w{1,30})(?:(?:[^\w\n]{1,3}\1\b){3,}|(?:[ ,]{1,2}\1\b){2,})", re.IGNORECASE)
_SAME_PAIR = re.compile(r"\b(\w{1,30}[^\w\n]{1,3}\w{1,30})(?:[^\w\n]{1,3}\1\b){3,}", re.IGNORECASE)
_FEWEST_BEFORE, _FEWEST_LINES = 8, 15


def without_padding(text: str, known: frozenset[str], listed: frozenset[str], *, lines: bool = True) -> str:
    """The text without what says nothing.

    One of each run of one word stays; labelled keywords around it and empty lines at its end go.

    Args:
        text: The answer.
        known: Lower-case words that the prompt has.
        listed: Those that its rules name.
        lines: Take away any line that says nothing; else only those that call themselves keywords.
    """
    text = _SAME_PAIR.sub(r"\1", _SAME_WORD.sub(r"\1", text))
    kept = text.strip().split("\n")
    while len(kept) > 1 and (_LABEL.match(kept[-1]) or (lines and _says_nothing(kept[-1], known, listed))):
        kept.pop()
    while len(kept) > 1 and (_LABEL.match(kept[0]) or not kept[0].strip()):
        kept.pop(0)
    return "\n".join(kept).rstrip()


_LABEL = re.compile(
    r"\W*(?:related |search )?(?:key ?words?|tags?|terms|words|phrases?|hashtags?|seo)\b[^\n:]{0,20}(?::|\s[-–—]\s)",
    re.IGNORECASE,
)


def _says_nothing(line: str, known: frozenset[str], listed: frozenset[str]) -> bool:
    """Whether a line is no sentence.

    Blank, signs alone, a list of keywords, or nothing but words of the prompt without a verb.
    """
    said = words(line)
    if _EMPTY_ITEM.fullmatch(line):
        return True
    if not said or _CLOSES.search(line) or any(word.lower() in _GLUE - listed for word in said):
        return False
    return sum(word.lower() not in known | listed for word in said) * 3 <= len(said)


_EMPTY_ITEM = re.compile(r"[\s>*•+#|_-]*(?:\d{1,3}[.)])?\s*")
_CLOSES = re.compile(r"[\]}>\"'`”’]\W*$|[\"'“]")


# Words that make a sentence of a list of words; a line with one of them is left alone.
_GLUE = frozenset(
    "is are was were be been am do does did has have had will would can could should may might must the this that these those i you he she it "
    "we they my your his her its our their me him us them what who how why when where if because but so with for from to of in on at by as not "
    "please let thank thanks".split()
)


def _by_taking_away(asked: str, text: str, refs: Sequence[ConstraintRef], outcomes: Outcomes) -> Iterable[Trap]:
    if not refs:
        return
    exempt = _asked_for(refs)
    if len(_GLUED.findall(text)) >= _MOST_GLUED:
        yield "hidden"
    if _is_mixed(text):
        yield "look-alike"
    seen = seen_of(text)
    plain = plain_of(seen)
    held: list[Outcome] = []

    def rests_on_it(after: str) -> bool:
        held.extend(outcomes(text) if not held else ())
        return any(one == "pass" and other == "fail" for one, other in zip(held, outcomes(after), strict=True))

    steps: tuple[tuple[Trap, str, str], ...] = (("hidden", text, seen), ("look-alike", seen, plain))
    for trap, before, after in steps:
        if before != after and trap not in exempt and rests_on_it(after):
            yield trap
    listed = _params(refs) | _names(refs)
    known = frozenset(word.lower() for word in words(asked)) | listed
    is_asked = "padding" in exempt
    shorter = without_padding(plain, known, listed, lines=not is_asked)
    if len(words(shorter)) < _FEWEST_LINES:  # a short list may be of the prompt's words
        shorter = without_padding(plain, known, listed, lines=False)
    if shorter != plain.rstrip() and len(words(shorter)) >= _FEWEST_BEFORE and rests_on_it(shorter):
        yield "padding"


# -- by measure -----------------------------------------------------------------------------------------------------

_LONG = re.compile(
    r"\b(?:write|compose|draft|create|generate|make|give|tell|need|produce|rewrite|wrote|come up)\b[^.?!\n]{0,120}?\b(?:essay|story|stories|poem|song|letter|"
    r"e-?mail|blog|article|post|report|speech|script|resume|cv|review|biography|bio|itinerary|dialogue|play|novel|paragraphs?|description|"
    r"summary|plan|proposal|rap|rant|advertisement|ad|lyrics|announcement|press release|cover letter|pitch|limerick|ode|brochure|critique|tutorial|guide)\b",
    re.IGNORECASE,
)
# What asks for more than a word or two; a question that one word may answer comes first.
_OPEN = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:please|you|to)\s+)(?:describe|explain|discuss|list|suggest|recommend|plan|design|compare|structure|teach|propose|outline|"
    r"prepare|help me|tell me (?:about|how|why)|(?:write|create|generate|make|provide|give)(?: me| us)?(?: an?| some| the)? (?!answer|at |exactly|in |only|words|"
    r"everything|plain|whole|so |every|your|two diff|no |\d))|\bhow (?:do|does|did|to|can|could|would|should|is|are)\b|\bwhy\b|\bwhat are\b|"
    r"\b(?:ways|tips|steps|ideas|recipe|instructions) (?:to|for|on)\b",
    re.IGNORECASE,
)
_TERSE = re.compile(
    r"^\W*(?:who|when|where|which|what(?:'s| is| was| were)?(?! are\b)|how (?:many|much|old|long|far|tall|big|often))\b|"
    r"\b(?:give|write|name|tell|provide|suggest|pick|choose|create|generate|make|find|come up)\b[^.?!\n]{0,40}\b(?:names?|number|synonyms?|antonyms?|category|"
    r"label|tagline|slogan|year|date|haiku|riddle|hashtags?|score|rating|emojis?|url|code|function|query|formula|equation|expression|palindrome|acronym|nicknames?|motto|compliment|html|syntax|tweet|jokes?|translation|sequence|test)\b",
    re.IGNORECASE,
)
_ASKS_WHO = re.compile(r"\W*(?:who|when|where|which)\b", re.IGNORECASE)
FEWEST_LONG, FEWEST_OPEN, FEWEST_SOME = 5, 3, 1
_ABOUT_A_TEXT = re.compile(
    r"\b(?:re-?write|re-?phrase|paraphrase|summari[sz]e|summary|translate|edit|improve|proofread|correct|convert|expand|elaborate|brainstorm|"
    r"sound|following|given the|this (?:text|sentence|paragraph|passage|email|article)|turn|make the|rubric|headline|title for|extract|retrieve|capitali[sz]e|"
    r"classify|categori[sz]e|identify|predict|rank|sort|reorder|given information|change the|conversation|review\b[^.?!]{0,20}:)|[\"“][^\"”]{25,}[\"”]",
    re.IGNORECASE,
)
# What is answered by signs, and what by yes or no.
_IS_SIGNS = re.compile(r"\b(?:ascii art|regex|regular expression)\b", re.IGNORECASE)
_IS_CLOSED = re.compile(
    r"\byes\b.{0,30}\bno\b|\btrue\b.{0,20}\bfalse\b|"
    r"(?:^|[.!?\n]\s*)(?:(?:is|are|was|were|do|does|did|has|have|should)\b|(?:can|could|will|would)\b(?! you))[^.?!\n]{3,200}\?",
    re.IGNORECASE,
)
# What may be answered without any of the prompt's words.
_IS_FREE = re.compile(
    r"\b(?:jokes?|riddles?|limericks?|songs?|lyrics|rap|poems?|haiku|names?|tagline|slogan|itinerary)\b", re.IGNORECASE
)


def need_of(asked: str, refs: Sequence[ConstraintRef] = ()) -> int:
    """How many different words of its own an answer to the prompt needs at least.

    Small, so that a terse answer is no trap.
    """
    is_open = _OPEN.search(asked) and not (
        _TERSE.search(asked) or _IS_CLOSED.search(asked) or _ABOUT_A_TEXT.search(asked) or _IS_SIGNS.search(asked)
    )
    need = (
        FEWEST_LONG if _LONG.search(asked) and not _ASKS_WHO.match(asked) else FEWEST_OPEN if is_open else FEWEST_SOME
    )
    limits = [limit for ref in refs if (limit := _most_words(ref)) is not None]
    return max(1, min([need, *(limit // 3 for limit in limits)]))


def _most_words(ref: ConstraintRef) -> int | None:
    """An upper limit of words that a rule sets, by the names of parameters that own and published kinds have."""
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


def _params(refs: Sequence[ConstraintRef]) -> frozenset[str]:
    """The words in the constraints' parameters, lower case."""

    def texts(value: Json) -> Iterable[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield name
                yield from texts(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                yield from texts(inner)

    return frozenset(
        word.lower() for ref in refs for value in ref.params.values() for text in texts(value)
        if len(text) <= _LONGEST_LITERAL for word in words(text)
    )  # fmt: skip


def _names(refs: Sequence[ConstraintRef]) -> frozenset[str]:
    """The names of the constraints' parameters, which no reader was told."""
    return frozenset(
        word.lower() for ref in refs for name in ref.params for word in (name, *words(name.replace("_", " ")))
    )


_LONGEST_LITERAL = 60  # a longer one is a text to repeat, whose words are the prompt's topic
# Words of prompts that are about the answer's form, and the commonest others: they tell no topic.
_NO_TOPIC = frozenset(
    "about above after again also answer answers back because been before being below between both bullet bullets capital case characters comma "
    "commas complete contain contains could different does doing double down during each ending english entire every exact exactly examples "
    "explain fewer finish first following format from give given have having here highlight include including instruction into items just keep "
    "keyword keywords language last least less letter letters like line lines list lowercase make marks more most much must name need only other "
    "over paragraph paragraphs phrase phrases placeholders please point points postscript quotation reply request respond response same section "
    "sections sentence sentences separate separated should some start such symbol tell than that their them then there these they this those "
    "three times title total twice uppercase used using very want well were what when where which while will with within without word words "
    "work would wrap wrapped write your yours abbreviations actually adverbs angular appear average avoid basically blog brackets digits excluding "
    "filler hedge important interesting latest long markdown negations neighbouring news number person perspective plain pretend quite quoted "
    "really short stories story such tense total weird".split()
)
_FEWEST_TOPICS = 7
_FEWEST_FOR_TOPIC = 40
_STEM = 4


def _by_measure(asked: str, text: str, refs: Sequence[ConstraintRef]) -> Iterable[Trap]:
    exempt = _asked_for(refs)
    plain = plain_of(seen_of(text))
    said = [word.lower() for word in words(plain)]
    prompt = [word.lower() for word in words(asked)]
    runs = {tuple(prompt[at : at + 4]) for at in range(len(prompt) - 3)}
    held = runs & {tuple(said[at : at + 4]) for at in range(len(said) - 3)}
    # An answer about a text that the prompt holds is made of its words.
    is_about_a_text = _ABOUT_A_TEXT.search(asked) is not None
    need = need_of(asked, refs)
    own = {word for word in said if word not in prompt}
    is_copied = (
        (len(held) >= 5 and len(held) * 10 >= len(runs) * 7 and len(own) < (max(need, 3) if need > FEWEST_SOME else 1))
        or _is_the_prompt(asked, text)
        or (not is_about_a_text and (_is_its_question(asked, text) or _is_made_of(said, prompt, runs)))
        or (
            not is_about_a_text
            and not _IS_CLOSED.search(asked)
            and _has_its_words(prompt, own - _params(refs), said, need)
        )
    )
    if "echo" not in exempt and is_copied:
        yield "echo"
    is_signs = _IS_SIGNS.search(asked) is not None
    known = (frozenset() if is_about_a_text or need == 1 else frozenset(prompt)) | _params(refs) | _names(refs)
    is_latin = _LATIN.fullmatch("".join(said)) is not None
    if "empty" not in exempt and is_latin and not is_signs and len(_own_words(asked, plain, known, need)) < need:
        yield "empty"
    if "repeat" not in exempt and not (is_signs and len(said) < 20) and _is_repetitive(said):
        yield "repeat"
    is_free = is_about_a_text or _IS_FREE.search(asked) is not None
    if "off-topic" not in exempt and not is_free and _is_off_topic(prompt, said, _params(refs)):
        yield "off-topic"


# What is said where nothing is said.
_FILLERS = frozenset(
    "yes no ok okay word words title text answer none good section item you your and but or the it is tbd todo done note bold heading quote "
    "end null key here etc above see".split()
)
_LATIN = re.compile(r"[\x00-\u024f]*")
_NUMBERED = re.compile(
    r"^\s*\d{1,3}[.)][ \t]+(?=\S)|\b(?:section|part|chapter|item|point|step|paragraph|line)\s+\d{1,3}\b",
    re.IGNORECASE | re.MULTILINE,
)


_TAG = re.compile(r"(?<!<)</?[A-Za-z][\w:-]{0,20}(?:\s[^<>\n]{0,200}=[^<>\n]{0,200})?\s*/?>(?!>)")


def _own_words(asked: str, plain: str, known: frozenset[str], need: int) -> set[str]:
    """The different words of an answer that tell something.

    No filler, no number of a list, none that the prompt gave it.
    """
    said = [word.lower() for word in words(_NUMBERED.sub("", _TAG.sub(" ", plain)))]
    # A closed question is answered by a filler.
    empty = (_FILLERS - {"yes", "no"} if _IS_CLOSED.search(asked) else _FILLERS) | _GLUE | known
    shortest = 2 if need == 1 else 3
    takes_numbers = need == 1 and not _counts_up([word for word in said if word.isdecimal()])
    numbers = {
        word for before, word in pairwise(["", *said]) if word.isdigit() and takes_numbers and before not in known
    }
    return numbers | {word for word in said if word not in empty and not word.isdigit() and len(word) >= shortest}


def _counts_up(numbers: Sequence[str]) -> bool:
    """Whether numbers are those of a list, 1 first and each next to the one before it; one alone is an answer."""
    values = [int(number) for number in numbers if len(number) <= 4]
    steps = pairwise(values)
    return (
        len(values) == len(numbers) > 1
        and values[0] == 1
        and all(after in {1, before, before + 1} for before, after in steps)
    )


def _is_made_of(said: Sequence[str], prompt: Sequence[str], runs: set[tuple[str, ...]]) -> bool:
    """Whether a text is most of the prompt, bent: it has the prompt's runs of words, and hardly a word beside them."""
    fours = [tuple(said[at : at + 4]) for at in range(len(said) - 3)]
    if len(said) < 8 or sum(four in runs for four in fours) * 2 < len(fours):
        return False
    own = {word for word in said if word not in prompt} - _GLUE - _FILLERS
    begins_alike = tuple(prompt[:3]) in {tuple(said[at : at + 3]) for at in range(4)}
    return len(own) <= (max(2, len(said) // 6) if begins_alike else 0)


_REPORTS = frozenset("asked told said prompt question request task sure".split())


def _has_its_words(prompt: Sequence[str], own: set[str], said: Sequence[str], need: int) -> bool:
    """Whether a text is the prompt's words in any order, most of them, and hardly others."""
    wanted = {word for word in prompt if len(word) >= 3}
    own = {word for word in own if len(word) >= 3} - _GLUE - _FILLERS - _REPORTS
    most = 0 if need == FEWEST_SOME else max(2, len(wanted) // 6)
    return len(wanted) >= 6 and len(own) <= most and len(wanted & set(said)) * 5 >= len(wanted) * 4


def _is_its_question(asked: str, text: str) -> bool:
    """Whether a text is a question of the prompt."""
    one, other = (_NOT_WORD.sub("", part).lower() for part in (asked, text))
    return text.rstrip(" \n\"'*`>").endswith("?") and len(other) >= 15 and other in one


_NOT_WORD = re.compile(r"[\W_]+")


def _is_the_prompt(asked: str, text: str) -> bool:
    """Whether a text is the prompt with hardly anything beside it. Blanks, capitals and marks do not count."""
    one, other = (_NOT_WORD.sub("", part).lower() for part in (asked, text))
    return len(one) >= 30 and len(other) < len(one) * 1.4 and one in other


def _is_repetitive(said: Sequence[str]) -> bool:
    """Whether most of a text's runs of four words occurred before, or it has hardly any different words.

    Its numbers are left aside.
    """
    if len(said) < 20:
        return len(set(said)) * (4 if len(said) >= 8 else 5) <= len(said) and len(said) >= 5
    bare = [stem for word in said if (stem := word.rstrip("0123456789"))] or list(said)
    fours = [tuple(bare[at : at + 4]) for at in range(max(1, len(bare) - 3))]
    return len(set(fours)) * 3 < len(fours)


def _is_off_topic(prompt: Sequence[str], said: Sequence[str], params: frozenset[str]) -> bool:
    if len(said) < _FEWEST_FOR_TOPIC or not "".join(said).isascii():
        return False
    topics = {
        word[:_STEM]
        for word in prompt
        if len(word) >= 4 and word.isalpha() and word not in _NO_TOPIC and word not in params
    }
    return len(topics) >= _FEWEST_TOPICS and topics.isdisjoint(word[:_STEM] for word in said)
