"""The intent gate: what an answer does to pass its checks without doing what was asked.

Seven traps. Three are judged by taking something away: where a constraint passes on the answer and fails on what a
reader sees of it, the pass rests on what was taken away.

* `hidden`     comments, invisible characters, empty code fences
* `look-alike` letters of another script and full-width signs in place of the Latin ones that they look like
* `padding`    words, lines or list items at the end that say nothing: a list of keywords, empty bullets, one word many
               times

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
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from adhere.pipeline.intent.need import (
    class_of,
    is_about_a_text,
    is_closed,
    is_free,
    is_signs,
    names_of,
    need_of,
    params_of,
)
from adhere.pipeline.intent.seen import is_glued, is_mixed, plain_of, seen_of, with_stops
from adhere.pipeline.judge import judge_of
from adhere.schema import ConstraintRef, Mode, Outcome
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

_SAME_WORD = re.compile(r"\b(\w{1,30})(?:(?:[^\w\n]{1,3}\1\b){3,}|(?:[ ,]{1,2}\1\b){2,})", re.IGNORECASE)
_SAME_PAIR = re.compile(r"\b(\w{1,30}[^\w\n]{1,3}\w{1,30})(?:[^\w\n]{1,3}\1\b){3,}", re.IGNORECASE)
_FEWEST_BEFORE, _FEWEST_LINES = 8, 15


class _Words(NamedTuple):
    """Lower-case words.

    Those that the prompt has, those that its rules name, and of these names that no reader was told.
    """

    known: frozenset[str]
    listed: frozenset[str]
    secret: frozenset[str]


def without_padding(text: str, words_of: _Words, *, lines: bool = True) -> str:
    """The text with one of each run of one word, and without what stands around it that only names words of its rules.

    Args:
        text: The answer.
        words_of: See there.
        lines: Take away any line at the end that says nothing; else only what calls itself a list of words, or says one
            twice.
    """
    kept = text.strip().split("\n")
    end = len(kept)
    while end > 1 and _only_names(kept[end - 1], words_of):
        end -= 1
    # The last items of a list of something else are a part of it.
    is_part = end < len(kept) and _ITEM.match(kept[end]) is not None and _ITEM.match(kept[end - 1]) is not None
    if not is_part and _is_hung_on(kept[end:], words_of, plain=lines):
        kept = kept[:end]
    while lines and len(kept) > 1 and _says_nothing(kept[-1], words_of):
        kept.pop()
    start = 0
    while start < len(kept) - 1 and _only_names(kept[start], words_of):
        start += 1
    if _is_hung_on(kept[:start], words_of, plain=False):
        kept = kept[start:]
    kept[-1] = _without_tail(kept[-1], words_of, plain=lines)
    return _SAME_PAIR.sub(r"\1", _SAME_WORD.sub(r"\1", "\n".join(kept).strip("\n"))).rstrip()


_LABEL = re.compile(r"\W*((?:[\w-]+[ \t]+){0,4}[\w-]+)[ \t]*(?::|[-=]+>|[ \t][-–—][ \t])[ \t]*(?=\S)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")


def _only_names(line: str, words_of: _Words) -> bool:
    """Whether a line has nothing but words that the rules name, or counts, or says hardly a different word.

    The words may stand behind a label.
    """
    said = [word.lower() for word in words(line)]
    if words_of.listed.issuperset(said):
        return bool(said) or _EMPTY_ITEM.fullmatch(line) is not None
    if len(said) >= _FEWEST_LOOP and (
        len(set(said)) * 3 <= len(said) or (all(map(str.isdecimal, said)) and _counts_up(said))
    ):
        return True
    label = _LABEL.match(line)
    rest = [word.lower() for word in words(line[label.end() :])] if label else []
    return bool(rest) and words_of.listed.issuperset(rest)


_FEWEST_LOOP = 4


def _is_hung_on(lines: Sequence[str], words_of: _Words, *, plain: bool) -> bool:
    """Whether lines that only name words are a list and no sentence.

    Behind a label, with a word twice, or a name that nobody was told.
    """
    said = [word.lower() for line in lines for word in words(line)]
    if not said:
        return plain
    return (
        plain
        or len(set(said)) < len(said)
        or not words_of.secret.isdisjoint(said)
        or any("|" in line or not words_of.listed.issuperset(word.lower() for word in words(line)) for line in lines)
    )


_WORD = re.compile(r"[\w'-]*\w")
_LONGEST_TAIL = 500


def _without_tail(line: str, words_of: _Words, *, plain: bool) -> str:
    """A line without what stands behind its last sentence, or in brackets at its end.

    Only what names words of the rules goes.
    """
    found = list(_WORD.finditer(line, max(0, len(line) - _LONGEST_TAIL)))
    first = len(found)
    while first > 1 and words_of.listed.issuperset(word.lower() for word in words(found[first - 1][0])):
        first -= 1
    between = line[found[first - 1].end() : found[first].start()] if 0 < first < len(found) else ""
    tail = line[found[first].start() :] if between else ""
    if not re.search(r"[,;|/(\[{<—–]", between) or not _is_hung_on(
        [tail], words_of, plain=plain and re.search(r"[.!?…]", between) is not None
    ):
        return line
    return line[: found[first - 1].end()] + (match[0] if (match := re.match(r"[.!?…]+[\"'”’)]*", between)) else "")


def _says_nothing(line: str, words_of: _Words) -> bool:
    """Whether a line is no sentence.

    Blank, signs alone, a list of keywords, or nothing but words of the prompt without a verb.
    """
    said = words(line)
    if _EMPTY_ITEM.fullmatch(line):
        return True
    if not said or _CLOSES.search(line) or any(word.lower() in _GLUE - words_of.listed for word in said):
        return False
    return sum(word.lower() not in words_of.known for word in said) * 3 <= len(said)


_EMPTY_ITEM = re.compile(r"[\s>*•+#|_-]*(?:\d{1,3}[.)])?\s*")
_CLOSES = re.compile(r"[\]}>\"'`”’]\W*$|[\"'“]")


# Words that make a sentence of a list of words; a line with one of them is left alone.
_GLUE = frozenset(
    "is are was were be been am do does did has have had will would can could should may might must the this that "
    "these those i you he she it we they my your his her its our their me him us them what who how why when where if "
    "because but so with for from to of in on at by as not please let thank thanks".split()
)


def _by_taking_away(asked: str, text: str, refs: Sequence[ConstraintRef], outcomes: Outcomes) -> Iterable[Trap]:
    if not refs:
        return
    exempt = _asked_for(refs)
    if is_glued(text):
        yield "hidden"
    if is_mixed(text):
        yield "look-alike"
    listed = params_of(refs) | names_of(refs)
    seen = seen_of(text, asked=asked)
    plain = plain_of(seen, listed)
    held: list[Outcome] = []

    def rests_on_it(after: str) -> bool:
        held.extend(outcomes(text) if not held else ())
        return any(one == "pass" and other == "fail" for one, other in zip(held, outcomes(after), strict=True))

    steps: tuple[tuple[Trap, str, str], ...] = (("hidden", text, seen), ("look-alike", seen, plain))
    for trap, before, after in steps:
        if before != after and trap not in exempt and rests_on_it(after):
            yield trap
    if any(map(rests_on_it, with_stops(text))):
        yield "look-alike"
    if "empty" in exempt:  # the rule says what the whole answer is
        return
    prompt = frozenset(word.lower() for word in words(asked))
    words_of = _Words(prompt | listed, listed, names_of(refs) - prompt)
    shorter = without_padding(plain, words_of, lines="padding" not in exempt)
    if len(words(shorter)) < _FEWEST_LINES:  # a short list may be of the prompt's words
        shorter = without_padding(plain, words_of, lines=False)
    if shorter != plain.rstrip() and len(words(shorter)) >= _FEWEST_BEFORE and rests_on_it(shorter):
        yield "padding"


# -- by measure -----------------------------------------------------------------------------------------------------

# Words of prompts that are about the answer's form, and the commonest others: they tell no topic.
_NO_TOPIC = frozenset(
    "about above after again also answer answers back because been before being below between both bullet bullets "
    "capital case characters comma commas complete contain contains could different does doing double down during "
    "each ending english entire every exact exactly examples explain fewer finish first following format from give "
    "given have having here highlight include including instruction into items just keep keyword keywords language "
    "last least less letter letters like line lines list lowercase make marks more most much must name need only "
    "other over paragraph paragraphs phrase phrases placeholders please point points postscript quotation reply "
    "request respond response same section sections sentence sentences separate separated should some start such "
    "symbol tell than that their them then there these they this those three times title total twice uppercase used "
    "using very want well were what when where which while will with within without word words work would wrap "
    "wrapped write your yours abbreviations actually adverbs angular appear average avoid basically blog brackets "
    "digits excluding filler hedge important interesting latest long markdown negations neighbouring news number "
    "person perspective plain pretend quite quoted really short stories story such tense total weird".split()
)
_FEWEST_TOPICS = 8
_FEWEST_FOR_TOPIC = 40
_STEM = 4


def _by_measure(asked: str, text: str, refs: Sequence[ConstraintRef]) -> Iterable[Trap]:
    exempt = _asked_for(refs)
    listed = params_of(refs) | names_of(refs)
    plain = _TAG.sub(" ", _FENCE.sub("", plain_of(seen_of(text, asked=asked))))
    said = [word.lower() for word in words(plain)]
    prompt = [word.lower() for word in words(asked)]
    need, is_drawn = need_of(asked, refs), is_signs(asked)
    is_open = class_of(asked) in {"long", "open"}
    if "echo" not in exempt and _is_echo(asked, text, prompt, said, listed, need=need if is_open else 1):
        yield "echo"
    known = (frozenset(prompt) if is_open and not is_about_a_text(asked) else frozenset()) | listed
    own = _own_words(asked, plain, listed, need)
    if "echo" in exempt or not is_about_a_text(asked):
        own &= _not_copied(said, prompt)
    n = len(own - known) + len(own & known) // _PER_WORD
    is_latin_text = _LATIN.fullmatch("".join(said)) is not None
    if "empty" not in exempt and is_latin_text and not is_drawn and n < need:
        yield "empty"
    if "repeat" not in exempt and not (is_drawn and len(said) < 20) and _is_repetitive(said, listed):
        yield "repeat"
    if "off-topic" not in exempt and not is_free(asked) and _is_off_topic(prompt, said, params_of(refs)):
        yield "off-topic"


def _is_echo(
    asked: str, text: str, prompt: Sequence[str], said: Sequence[str], listed: frozenset[str], *, need: int
) -> bool:
    """Whether an answer is the prompt and hardly anything else.

    `need` is 1 where the prompt's words may be an answer to it.
    """
    runs = {tuple(prompt[at : at + 4]) for at in range(len(prompt) - 3)}
    held = runs & {tuple(said[at : at + 4]) for at in range(len(said) - 3)}
    own = {word for word in said if word not in prompt and not word.isdecimal()}
    if len(held) >= 5 and len(held) * 10 >= len(runs) * 7:
        # From its first words to its last: who is asked about a text repeats the text, or the question, not both.
        is_whole = {tuple(prompt[:4]), tuple(prompt[-4:])} <= held
        if len(own) < (max(need, 3) if need > 1 else 1) and (is_whole or not is_about_a_text(asked)):
            return True
        if is_whole and len(own - listed - _GLUE - _FILLERS) <= max(8, len(prompt) // 6):
            return True
    if _is_the_prompt(asked, text):
        return True
    if is_about_a_text(asked):
        return False
    if _is_its_question(asked, text) or (need > 1 and _is_made_of(said, prompt, runs)):
        return True
    is_bag = len(held) < 3  # the prompt's words in another order
    return not is_closed(asked) and _has_its_words(prompt, own - listed, said, need=need, is_bag=is_bag)


_COPY = 6
_PER_WORD = 3  # so many words of the prompt, in an order of its own, are worth a word that it does not have


def _not_copied(said: Sequence[str], prompt: Sequence[str]) -> set[str]:
    """The words of a text that stand anywhere outside of what it copies from the prompt, six words at a time."""
    runs = {tuple(prompt[at : at + _COPY]) for at in range(len(prompt) - _COPY + 1)}
    copied: set[int] = set()
    for at in range(len(said) - _COPY + 1):
        if tuple(said[at : at + _COPY]) in runs:
            copied.update(range(at, at + _COPY))
    return {word for at, word in enumerate(said) if at not in copied}


# What is said where nothing is said.
_FILLERS = frozenset(
    "yes no ok okay word words title text answer none good section item you your and but or the it is tbd todo done "
    "note bold heading quote end null key here etc above see lorem ipsum foo bar baz untitled placeholder".split()
)
_LATIN = re.compile(r"[\x00-\u024f]*")
_NUMBERED = re.compile(
    r"^\s*\d{1,3}[.)][ \t]+(?=\S)|\b(?:section|part|chapter|item|point|step|paragraph|line)\s+\d{1,3}\b",
    re.IGNORECASE | re.MULTILINE,
)


_TAG = re.compile(r"(?<!<)</?[A-Za-z][\w:-]{0,20}(?:\s[^<>\n]{0,200}=[^<>\n]{0,200})?\s*/?>(?!>)")


def _own_words(asked: str, plain: str, listed: frozenset[str], need: int) -> set[str]:
    """The different words of an answer that tell something.

    No filler, no label, no number of a list, none that the rules name.
    """
    told = words(_LABELS.sub("", _NUMBERED.sub("", plain)))
    said = [word.lower() for word in told]
    # A closed question is answered by a filler.
    empty = (_FILLERS - {"yes", "no"} if is_closed(asked) else _FILLERS) | _GLUE | listed
    shortest = 2 if class_of(asked) in {"some", "brief"} else 3
    takes_numbers = need == 1 and not _counts_up([word for word in said if word.isdecimal()])
    numbers = {
        word for before, word in pairwise(["", *said]) if word.isdigit() and takes_numbers and before not in listed
    }
    found = numbers | {word for word in said if word not in empty and not word.isdigit() and len(word) >= shortest}
    if need == 1:
        found |= {word.lower() for word in set(_CHOICE.findall(asked)).intersection(told)}
    glued = (
        "|".join(map(re.escape, sorted(word for word in listed if len(word) >= 3)))
        if len(listed) <= _FEW_LISTED
        else ""
    )
    return {word for word in found if re.fullmatch(rf"(?:{glued}){{2,}}", word) is None} if glued else found


# What stands before a colon, and a heading, name what ought to follow.
_LABELS = re.compile(r"^[^\w\n]*\w[\w ]{0,30}:(?=\s|$)|\"[^\"\n]*\"\s*:|^#{1,6}[ \t].*\n", re.MULTILINE)
_CHOICE = re.compile(r"\b[A-Z](?=[).:,]|\s(?:if|for|or|and)\b)")  # the letter of a choice that the prompt gives
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_FEW_LISTED = 40


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


def _has_its_words(prompt: Sequence[str], own: set[str], said: Sequence[str], *, need: int, is_bag: bool) -> bool:
    """Whether a text is the prompt's words in any order, most of them, and hardly others."""
    wanted = {word for word in prompt if len(word) >= 3}
    own = {word for word in own if len(word) >= 3} - _GLUE - _FILLERS - _REPORTS
    most = max(2, len(wanted) // 6) if need > 1 else 4 if is_bag and len(wanted) >= 12 else 0
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


def _is_repetitive(said: Sequence[str], listed: frozenset[str]) -> bool:
    """Whether most of a text's runs of four words occurred before, or it has hardly any different words.

    Its numbers are left aside.
    """
    if _is_said_again(said) or _is_said_again([word for word in said if word not in listed]):
        return True
    if len(said) < 20:
        return len(set(said)) * (3 if len(said) >= 9 else 4 if len(said) == 8 else 5) <= len(said) and len(said) >= 5
    bare = [stem for word in said if (stem := word.rstrip("0123456789"))] or list(said)
    fours = [tuple(bare[at : at + 4]) for at in range(max(1, len(bare) - 3))]
    return len(set(fours)) * 3 < len(fours)


def _is_said_again(said: Sequence[str]) -> bool:
    """Whether a text is one piece again and again, its numbers aside: two words or more twice, one word three times."""
    bare = [word for word in said if not word.isdecimal()] or list(said)
    return any(
        len(bare) % n == 0 and bare[:n] * (len(bare) // n) == bare
        for n in range(1, len(bare) // 2 + 1)
        if n > 1 or len(bare) > 2
    )


def _is_off_topic(prompt: Sequence[str], said: Sequence[str], params: frozenset[str]) -> bool:
    if len(said) < _FEWEST_FOR_TOPIC or not "".join(said).isascii():
        return False
    topics = {
        word[:_STEM]
        for word in prompt
        if len(word) >= 4 and word.isalpha() and word not in _NO_TOPIC and word not in params
    }
    return len(topics) >= _FEWEST_TOPICS and topics.isdisjoint(word[:_STEM] for word in said)
