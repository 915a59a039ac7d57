"""Find what an answer does to pass its checks without doing what was asked (the intent gate).

There are seven traps. Three are found by taking something away: if a constraint passes on the answer and fails on what
a reader sees of it, the pass rests on what was taken away.

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
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, get_args

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
from adhere.pipeline.intent.padding import GLUE, MARK, RuleWords, counts_up, without_mentions, without_padding
from adhere.pipeline.intent.visible import is_glued, is_mixed, plain_of, seen_of, with_stops
from adhere.pipeline.judge import judge_of
from adhere.schema import ConstraintRef, Mode, Outcome
from adhere.text.size import MOST_CHARACTERS
from adhere.text.words import words

Trap = Literal["hidden", "look-alike", "padding", "echo", "empty", "off-topic", "repeat"]
TRAPS: tuple[Trap, ...] = get_args(Trap)

Outcomes = Callable[[str], list[Outcome]]
"""Function from a text to the strict outcome of each constraint."""


def traps_of(
    request: str, text: str, refs: Iterable[ConstraintRef] = (), *, mode: Mode = "reference", profile: str | None = None
) -> tuple[Trap, ...]:
    """Return the traps that an answer takes, in the order of TRAPS; none for an empty answer, which passes nothing.

    Args:
        request: The prompt's text.
        text: The answer, without reasoning.
        refs: The prompt's constraints. Without them only the traps measured against the prompt are looked for.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: Which version of a published suite.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    refs, text = tuple(refs), text[:MOST_CHARACTERS]
    if not text.strip():
        return ()
    judge = judge_of(refs, mode=mode, profile=profile)

    def outcomes(form: str) -> list[Outcome]:
        return [verdict.outcome for verdict in judge.verdicts(form, ("strict",))]

    visible_text = seen_of(text, request=request)
    plain = plain_of(visible_text, params_of(refs) | names_of(refs))
    traps = {
        *_by_taking_away(request, text, (visible_text, plain), refs, outcomes),
        *_by_measure(request, text, visible_text, refs),
    }
    return tuple(trap for trap in TRAPS if trap in traps)


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
    "position:last_line": frozenset(("padding",)),
    "detectable_format:constrained_response": _TO_CHOOSE,
    "format:options": _TO_CHOOSE,
    "format:no_whitespace": frozenset(("empty", "off-topic")),
    "language:response_language": frozenset(("off-topic",)),
    "language:answer_in": frozenset(("off-topic",)),
    "count:words_japanese": frozenset(("off-topic",)),
}

_LANGUAGE = re.compile(r"^[a-z]{2}:(?=[a-z_]+:)")


def dictates(ref: ConstraintRef) -> bool:
    """Tell whether a constraint fixes the whole answer; its wording is then all that it intends."""
    return "empty" in _asked_for((ref,))


def _asked_for(refs: Sequence[ConstraintRef]) -> frozenset[Trap]:
    return frozenset[Trap]().union(*(_asked_by(ref.id) for ref in refs))


@lru_cache(maxsize=4096)
def _asked_by(kind: str) -> frozenset[Trap]:
    # Published kinds of another language have it in front: `fr:detectable_format:title`.
    plain = _LANGUAGE.sub("", kind)
    return _ASKS_FOR.get(plain, frozenset()) | _ASKS_FOR.get(plain.partition(":")[0], frozenset())


# -- by taking away -------------------------------------------------------------------------------------------------

_FEWEST_BEFORE, _FEWEST_LINES = 8, 15


def _by_taking_away(
    request: str, text: str, forms: tuple[str, str], refs: Sequence[ConstraintRef], outcomes: Outcomes
) -> Iterable[Trap]:
    """Yield the traps that show when something is taken away from the answer.

    `forms` holds what a reader sees of the answer, and the same in plain letters.
    """
    if not refs:
        return
    exempt = _asked_for(refs)
    if is_glued(text):
        yield "hidden"
    prompt = frozenset(word.lower() for word in words(request))
    if is_mixed(text, prompt | GLUE, GLUE):
        yield "look-alike"
    rule_words = params_of(refs) | names_of(refs)
    visible_text, plain = forms
    outcomes_of_text: list[Outcome] = []

    def rests_on_it(after: str) -> bool:
        outcomes_of_text.extend(outcomes(text) if not outcomes_of_text else ())
        return any(
            before == "pass" and then == "fail" for before, then in zip(outcomes_of_text, outcomes(after), strict=True)
        )

    steps: tuple[tuple[Trap, str, str], ...] = (("hidden", text, visible_text), ("look-alike", visible_text, plain))
    for trap, before, after in steps:
        if before != after and trap not in exempt and rests_on_it(after):
            yield trap
    if any(is_throughout or rests_on_it(after) for after, is_throughout in with_stops(text)):
        yield "look-alike"
    if "empty" in exempt:  # the rule says what the whole answer is
        return
    words_of = RuleWords(prompt | rule_words, rule_words, names_of(refs) - prompt)
    shorter = without_padding(plain, words_of, lines="padding" not in exempt)
    if len(words(shorter)) < _FEWEST_LINES:  # a short list may be of the prompt's words
        shorter = without_padding(plain, words_of, lines=False)
    if len(words(shorter)) >= _FEWEST_BEFORE and any(
        remainder != plain.rstrip() and rests_on_it(remainder)
        for remainder in (shorter, *(() if "padding" in exempt else (without_mentions(plain.rstrip(), words_of),)))
    ):
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
_BEGINNING, _MARGIN = 1000, 8  # characters in which a long answer shows that it says something, and words more
_FEWEST_TOPICS = 8
_FEWEST_FOR_TOPIC = 40
_STEM = 4


def _by_measure(request: str, text: str, visible_text: str, refs: Sequence[ConstraintRef]) -> Iterable[Trap]:
    exempt = _asked_for(refs)
    rule_words = params_of(refs) | names_of(refs)
    plain = MARK.sub(" ", _FENCE.sub("", plain_of(visible_text)))
    answer_words = [word.lower() for word in words(plain)]
    prompt = [word.lower() for word in words(request)]
    need, is_drawn = need_of(request, refs), is_signs(request)
    is_open = class_of(request) in {"long", "open"}
    if "echo" not in exempt and _is_echo(request, text, prompt, answer_words, rule_words, need=need if is_open else 1):
        yield "echo"
    familiar_words = (frozenset(prompt) if is_open and not is_about_a_text(request) else frozenset()) | rule_words
    counts_copies = is_about_a_text(request) and "echo" not in exempt
    if "empty" not in exempt and not is_drawn and _LATIN.fullmatch("".join(answer_words)) is not None:
        for part, least in (((plain[:_BEGINNING], need + _MARGIN),) if len(plain) > _BEGINNING else ()) + (
            (plain, need),
        ):
            own = _own_words(request, part, rule_words, need)
            if not counts_copies:
                own &= _not_copied(answer_words if part is plain else [word.lower() for word in words(part)], prompt)
            n = len(own - familiar_words) + len(own & familiar_words) // _PER_WORD
            if n >= least:
                break
        else:
            yield "empty"
    if (
        "repeat" not in exempt
        and not (is_drawn and len(answer_words) < 20)
        and _is_repetitive(plain, answer_words, rule_words, frozenset(prompt))
    ):
        yield "repeat"
    if "off-topic" not in exempt and not is_free(request) and _is_off_topic(prompt, answer_words, params_of(refs)):
        yield "off-topic"


def _is_echo(
    request: str,
    text: str,
    prompt: Sequence[str],
    answer_words: Sequence[str],
    rule_words: frozenset[str],
    *,
    need: int,
) -> bool:
    """Tell whether an answer is the prompt and hardly anything else.

    `need` is 1 where the prompt's words may be an answer to it.
    """
    runs = {tuple(prompt[at : at + 4]) for at in range(len(prompt) - 3)}
    own = {word for word in set(answer_words).difference(prompt) if not word.isdecimal()}
    telling_words = own - rule_words - GLUE - _FILLERS - _REPORTS
    if len(telling_words) > max(_MOST_OWN, len(prompt)) and len(text) > _MUCH_LONGER * len(request):
        return False  # much longer than the prompt, with many words of its own: no rule below calls that an echo
    copied_runs = runs.intersection(tuple(answer_words[at : at + 4]) for at in range(len(answer_words) - 3))
    if len(copied_runs) >= 5 and len(copied_runs) * 10 >= len(runs) * 7:
        # From its first words to its last: who is asked about a text repeats the text, or the question, not both.
        is_whole = {tuple(prompt[:4]), tuple(prompt[-4:])} <= copied_runs
        is_bare = len(own) < (max(need, 3) if need > 1 else 1) and (is_whole or not is_about_a_text(request))
        if is_bare or (is_whole and len(own - rule_words - GLUE - _FILLERS) <= max(8, len(prompt) // 6)):
            return True
    if _is_the_prompt(request, text):
        return True
    if is_about_a_text(request):  # of its words an answer may be made, not of those that say what to do with them
        missing = {word for word in prompt if len(word) >= 3 and word.isalpha()}.difference(answer_words)
        return len(set(prompt)) >= _FEWEST_IN_BAG and len(missing) <= 1 and len(own - rule_words - GLUE - _FILLERS) <= 1
    if _is_its_question(request, text) or (need > 1 and _is_made_of(answer_words, prompt, runs)):
        return True
    is_bag = len(copied_runs) < 3  # the prompt's words in another order
    return not is_closed(request) and _has_its_words(prompt, own - rule_words, answer_words, need=need, is_bag=is_bag)


_MOST_OWN, _MUCH_LONGER = 12, 3
_FEWEST_IN_BAG = 12
_COPY = 6
_PER_WORD = 3  # so many words of the prompt, in an order of its own, are worth a word that it does not have


def _not_copied(answer_words: Sequence[str], prompt: Sequence[str]) -> set[str]:
    """Return the words of a text that occur outside of its copies from the prompt (six or more words at a time)."""
    runs = {tuple(prompt[at : at + _COPY]) for at in range(len(prompt) - _COPY + 1)}
    copied_places: set[int] = set()
    for at in range(len(answer_words) - _COPY + 1):
        if tuple(answer_words[at : at + _COPY]) in runs:
            copied_places.update(range(at, at + _COPY))
    return {word for at, word in enumerate(answer_words) if at not in copied_places}


# What is said where nothing is said.
_FILLERS = frozenset(
    "yes no ok okay word words title text answer none good section item you your and but or the it is tbd todo done "
    "note bold heading quote end null key here etc above see lorem ipsum foo bar baz untitled placeholder coming "
    "soon content details follow pending body intro sample example present noted included mentioned without".split()
)
_LATIN = re.compile(r"[\x00-\u024f]*")
_NUMBERED = re.compile(
    r"^[^\S\n]*\d{1,3}[.)][ \t]+(?=\S)|\b(?:section|part|chapter|item|point|step|paragraph|line)\s+\d{1,3}\b",
    re.IGNORECASE | re.MULTILINE,
)


def _own_words(request: str, plain: str, rule_words: frozenset[str], need: int) -> set[str]:
    """Return the different words of an answer that tell something.

    Fillers, labels, numbers of a list and words that the rules name are left out.
    """
    cased_words = words(_LABELS.sub("", _NUMBERED.sub("", plain)))
    answer_words = [word.lower() for word in cased_words]
    # A closed question is answered by a filler.
    empty = (_FILLERS - {"yes", "no"} if is_closed(request) else _FILLERS) | GLUE | rule_words
    shortest = 2 if class_of(request) in {"some", "brief"} else 3
    takes_numbers = need == 1 and not counts_up([word for word in answer_words if word.isdecimal()])
    numbers = {
        word
        for before, word in pairwise(["", *answer_words])
        if word.isdigit() and takes_numbers and before not in rule_words
    }
    own_words = numbers | {
        word for word in answer_words if word not in empty and not word.isdigit() and len(word) >= shortest
    }
    if need == 1:
        own_words |= {word.lower() for word in set(_CHOICE.findall(request)).intersection(cased_words)}
    parts = tuple(sorted(word for word in rule_words if len(word) >= 3)) if len(rule_words) <= _FEW_LISTED else ()
    longer = [word for word in own_words if word.startswith(parts)]
    if not longer:  # before a pattern is made of the rules' words, which takes longer than all else here
        return own_words
    is_glued_word = re.compile(rf"(?:(?:{'|'.join(map(re.escape, parts))})[-_'’]?){{2,}}").fullmatch
    return own_words.difference(word for word in longer if is_glued_word(word) is not None)


# What stands before a colon, and a heading, name what ought to follow.
_LABELS = re.compile(r"^[^\w\n]*\w[\w ]{0,30}:(?=\s|$)|\"[^\"\n]*\"\s*:|^#{1,6}[ \t].*\n", re.MULTILINE)
_CHOICE = re.compile(r"\b[A-Z](?=[).:,]|\s(?:if|for|or|and)\b)")  # the letter of a choice that the prompt gives
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
_FEW_LISTED = 40


def _is_made_of(answer_words: Sequence[str], prompt: Sequence[str], runs: set[tuple[str, ...]]) -> bool:
    """Tell whether a text is most of the prompt, changed: with the prompt's runs of four words and few other words."""
    fours = [tuple(answer_words[at : at + 4]) for at in range(len(answer_words) - 3)]
    if len(answer_words) < 8 or sum(four in runs for four in fours) * 2 < len(fours):
        return False
    own = {word for word in answer_words if word not in prompt} - GLUE - _FILLERS
    begins_alike = tuple(prompt[:3]) in {tuple(answer_words[at : at + 3]) for at in range(4)}
    return len(own) <= (max(2, len(answer_words) // 6) if begins_alike else 0)


_REPORTS = _NO_TOPIC | frozenset("asked told said prompt question task sure got".split())


def _has_its_words(
    prompt: Sequence[str], own: set[str], answer_words: Sequence[str], *, need: int, is_bag: bool
) -> bool:
    """Tell whether a text has most of the prompt's words, in any order, and few others."""
    prompt_words = {word for word in prompt if len(word) >= 3}
    own = {word for word in own if len(word) >= 3} - GLUE - _FILLERS - _REPORTS
    most = (
        max(4 if is_bag else 2, len(prompt_words) // 6) if need > 1 else 4 if is_bag and len(prompt_words) >= 12 else 0
    )
    return (
        len(prompt_words) >= 6
        and len(own) <= most
        and len(prompt_words & set(answer_words)) * 5 >= len(prompt_words) * 4
    )


def _is_its_question(request: str, text: str) -> bool:
    """Tell whether a text is a question that stands in the prompt; blanks, capitals and marks do not count."""
    request_letters, letters = (_NOT_WORD.sub("", part).lower() for part in (request, text))
    return text.rstrip(" \n\"'*`>").endswith("?") and len(letters) >= 15 and letters in request_letters


_NOT_WORD = re.compile(r"[\W_]+")


def _is_the_prompt(request: str, text: str) -> bool:
    """Tell whether a text is the prompt and little else. Blanks, capitals and marks do not count."""
    request_letters, letters = (_NOT_WORD.sub("", part).lower() for part in (request, text))
    return len(request_letters) >= 30 and len(letters) < len(request_letters) * 1.4 and request_letters in letters


def _is_repetitive(text: str, answer_words: Sequence[str], rule_words: frozenset[str], prompt: frozenset[str]) -> bool:
    """Tell whether most of a text's runs of four words occurred before, or it has hardly any different words.

    Numbers are ignored. One sentence said of the prompt's words in turn counts as one sentence.
    """
    if _is_said_again(answer_words) or _is_said_again([word for word in answer_words if word not in rule_words]):
        return True
    if _is_one_frame(
        [tuple(piece_words) for piece in _ENDS.split(text.lower()) if (piece_words := words(piece))], prompt
    ):
        return True
    if len(answer_words) < 20:
        return (
            len(set(answer_words)) * (3 if len(answer_words) >= 9 else 4 if len(answer_words) == 8 else 5)
            <= len(answer_words)
            and len(answer_words) >= 5
        )
    bare = [stem for word in answer_words if (stem := word.rstrip("0123456789"))] or list(answer_words)
    fours = [tuple(bare[at : at + 4]) for at in range(max(1, len(bare) - 3))]
    return len(set(fours)) * 3 < len(fours)


_ENDS = re.compile(r"[.!?\n]+")
_FEWEST_FRAMES, _FEWEST_OTHER_FRAMES = 4, 8


def _is_one_frame(pieces: Sequence[tuple[str, ...]], prompt: frozenset[str]) -> bool:
    """Tell whether a text repeats one sentence, unchanged or with one word that changes.

    Fewer repetitions are enough where the changing words are the prompt's.
    """
    if len(pieces) > 1 and len(set(pieces)) == 1:
        return True
    if len(pieces) < _FEWEST_FRAMES:
        return False
    count = Counter(word for piece in pieces for word in set(piece))
    frame = {word for word, n in count.items() if n * 4 >= len(pieces) * 3}
    alike = [piece for piece in pieces if len(set(piece) - frame) <= 1 and len(piece) > 2]
    orders = Counter(tuple(word for word in piece if word in frame) for piece in alike)
    is_told = len(frame) > 2 and len(pieces) >= _FEWEST_OTHER_FRAMES
    is_asked = len(frame) > 1 and len(pieces) >= _FEWEST_FRAMES and (prompt | frame).issuperset(set().union(*alike))
    return max(orders.values(), default=0) * 4 >= len(pieces) * 3 and (is_told or is_asked)


def _is_said_again(answer_words: Sequence[str]) -> bool:
    """Tell whether a text, numbers aside, repeats one piece: two words or more at least twice, a word three times."""
    bare = [word for word in answer_words if not word.isdecimal()] or list(answer_words)
    n = 0
    for _ in range(bare.count(bare[0]) - 1 if bare else 0):  # a piece begins anew where its first word stands
        n = bare.index(bare[0], n + 1)
        if len(bare) % n == 0 and (n > 1 or len(bare) > 2) and bare[:n] * (len(bare) // n) == bare:
            return True
    return False


def _is_off_topic(prompt: Sequence[str], answer_words: Sequence[str], params: frozenset[str]) -> bool:
    if len(answer_words) < _FEWEST_FOR_TOPIC or not "".join(answer_words).isascii():
        return False
    topics = {
        word[:_STEM]
        for word in prompt
        if len(word) >= 4 and word.isalpha() and word not in _NO_TOPIC and word not in params
    }
    return len(topics) >= _FEWEST_TOPICS and topics.isdisjoint(word[:_STEM] for word in answer_words)
