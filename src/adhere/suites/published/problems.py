"""List known problems of published data sets, and find such problems in any prompts.

A problem is a row whose constraints contradict each other, or the prompt that they belong to. `problems` lists what is
known of a published suite, with its source. `find_problems` applies rules that read constraints and prompt text.
Neither changes a row: reference mode judges the data as published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.whole_words import count, find, whole_word
from adhere.errors import UnknownName, nearest
from adhere.schema import ConstraintRef, Prompt, Record


class Problem(Record, frozen=True):
    """Describes one thing that is wrong with one row.

    `index` is the constraint's position in the row; None if the problem is about the row as a whole.
    """

    suite: str
    key: int | str
    index: int | None
    what: str
    source: str


_NOTES = "notes, evaluation 5"
_CONTRADICTION = f"{_NOTES}: no answer can pass strict"
_KNOWN = {
    "ifeval": (
        Problem("ifeval", 30, 2, "the quotation instruction stands twice; the lower-case demand is never checked",
            _NOTES),
        Problem("ifeval", 337, 0, "the prompt asks for at least 400 words, the parameters for 336",
            "google-research#3103"),
        Problem("ifeval", 371, 1, "the prompt wants a riddle about the word 'key' in JSON, without that word: the name "
                "of a JSON key is easily forbidden too, but answers do pass", _NOTES),
        Problem("ifeval", 374, 1, "the text to repeat holds the forbidden words 'youngins' and 'damn'", _CONTRADICTION),
        Problem("ifeval", 1122, 1, "the letter to count is '#', which the published code replaces by a random one",
                "google-research#3427"),
        Problem("ifeval", 1129, 0, "the letter to count is '!', which the published code replaces by a random one",
                "google-research#3427"),
        Problem("ifeval", 1174, 0, "the prompt asks for the letter o at least 6 times, the parameters for less than 6",
                f"{_NOTES}; google-research PR 3361"),
        Problem("ifeval", 1332, 0, "the prompt says exactly 6 asterisks and shows 7", "notes, verifiers 6.5"),
        Problem("ifeval", 1627, 2, "the text to repeat holds commas, which are forbidden", _CONTRADICTION),
        Problem("ifeval", 2078, 0, "the prompt asks for exactly one bullet point and for a few",
            "notes, verifiers 6.5"),
        Problem("ifeval", 2785, 1,
            "edited in June 2024 from 1 placeholder to 3; the published GPT-4 answers have the old "
                "prompt", "notes, verifiers 6.5; lm-eval PR 2218"),
        Problem("ifeval", 3305, 0, "the answer must be in Hindi alone and begin with an English text, with English "
                "keywords; only an answer whose Hindi outweighs them passes", _NOTES),
        Problem("ifeval", 3369, 1, "the text to repeat holds the word 'right' twice, which may stand less than twice",
                _CONTRADICTION),
        Problem("ifeval", 3371, 2, "the text to repeat holds the forbidden words 'economy', 'demand' and 'supply'",
                "found by rule; no answer can pass strict"),
        Problem("ifeval", 3718, 2, "the text to repeat holds commas, which are forbidden", _CONTRADICTION),
    ),
    "ifbench": (
        Problem("ifbench", "268", None,
            "several prompts look merged into one: a paragraph of three vowels, and a role play "
                "with maps of a topic", "allenai/IFBench#22"),
    ),
    "iftrain": (),
}  # fmt: skip


def problems(suite: str) -> tuple[Problem, ...]:
    """Return the known problems in the data of `ifeval`, `ifbench` or `iftrain`, by key.

    Raises:
        UnknownName: No problems are listed for this suite.
    """
    if suite not in _KNOWN:
        raise UnknownName(f"No published suite {suite!r}.{nearest(suite, _KNOWN)} There are: {', '.join(_KNOWN)}")
    return _KNOWN[suite]


def find_problems(prompts: Iterable[Prompt], *, suite: str) -> list[Problem]:
    """Find the prompts whose constraints contradict each other or the text, as far as rules can tell.

    A prompt that is found deserves a look; one that is not may still be wrong.
    """
    problems = []
    for prompt in prompts:
        for index, problem in _of_row(prompt.text, prompt.constraints):
            problems.append(Problem(suite, prompt.key, index, problem, "found by rule"))
    return problems


def _of_row(text: str, refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int | None, str]]:
    yield from _repetitions(refs)
    yield from _ranges(refs)
    yield from _repeated_text(refs)
    yield from _words(refs)
    yield from _letters_and_cases(refs)
    yield from _numbers(text, refs)
    yield from _wordings(text, refs)


def _repetitions(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    for index, ref in enumerate(refs):
        first = refs.index(ref)
        if first < index:
            yield index, f"{ref.id} stands twice with the same parameters (first at index {first})"


# (threshold, relation, what must be equal besides) of the kinds with a threshold and a relation.
_RANGES = {
    "length_constraints:number_words": ("num_words", "relation", ()),
    "length_constraints:number_sentences": ("num_sentences", "relation", ()),
    "keywords:frequency": ("frequency", "relation", ("keyword",)),
    "keywords:letter_frequency": ("let_frequency", "let_relation", ("letter",)),
    "change_case:capital_word_frequency": ("capital_frequency", "capital_relation", ()),
}


def _ranges(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    """Yield constraints that ask for less than another of the same kind requires, as (index, problem)."""
    for index, ref in enumerate(refs):
        threshold, relation, subject = _RANGES.get(ref.id, ("", "", ()))
        if not threshold or ref.params.get(relation) != "less than":
            continue
        most = ref.params.get(threshold)
        for other in refs:
            least = other.params.get(threshold)
            same = other.id == ref.id and all(other.params.get(name) == ref.params.get(name) for name in subject)
            if same and other.params.get(relation) == "at least" and _number(least) >= _number(most) > 0:
                yield index, f"{ref.id} must be less than {most} and at least {least}"


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0


def _repeated_text(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    """Yield constraints that forbid the text that the answer must begin with, as (index, problem)."""
    for repeat_ref in (ref for ref in refs if ref.id == "combination:repeat_prompt"):
        text = Text(str(repeat_ref.params.get("prompt_to_repeat") or ""))
        for index, ref in enumerate(refs):
            problem = _against(text, ref)
            if problem:
                yield index, f"the text to repeat {problem}"


def _against(text: Text, ref: ConstraintRef) -> str | None:
    params: Mapping[str, Any] = ref.params
    problem = None
    match ref.id:
        case "punctuation:no_comma" if "," in text.raw:
            problem = "holds commas, which are forbidden"
        case "keywords:forbidden_words":
            forbidden = [word for word in params.get("forbidden_words") or [] if find(whole_word(word), text)]
            problem = f"holds the forbidden {', '.join(map(repr, forbidden))}" if forbidden else None
        case "keywords:frequency" if params.get("relation") == "less than":
            word = str(params.get("keyword")).strip()
            problem = _too_often(word, count(whole_word(word), text), params.get("frequency"))
        case "keywords:letter_frequency" if params.get("let_relation") == "less than":
            letter = str(params.get("letter"))
            problem = _too_often(letter, text.lower.count(letter.lower()), params.get("let_frequency"))
        case "language:response_language" if text.language not in {None, "unknown", params.get("language")}:
            problem = f"is in language {text.language!r}, the answer must be in {params.get('language')!r}"
        case "detectable_format:json_format" | "startend:quotation" if text.stripped[:1] not in _OPENINGS[ref.id]:
            problem = f"comes first, and {ref.id} allows nothing before its opening mark"
    return problem


_OPENINGS = {"detectable_format:json_format": "{[`", "startend:quotation": '"“'}


def _too_often(word: str, times: int, limit: Any) -> str | None:
    return f"holds {word!r} {times} times, allowed are less than {limit}" if times >= _number(limit) else None


# The parameters that hold what an answer must contain.
_ASKED = {
    "keywords:existence": "keywords",
    "keywords:frequency": "keyword",
    "startend:end_checker": "end_phrase",
    "length_constraints:nth_paragraph_first_word": "first_word",
}


def _asked_phrases(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[str, str]]:
    """Yield (phrase, id of the constraint that asks for it)."""
    for ref in refs:
        if ref.id in _ASKED and ref.params.get("relation") != "less than":
            phrases: Any = ref.params.get(_ASKED[ref.id]) or []
            for phrase in [phrases] if isinstance(phrases, str) else phrases:
                yield str(phrase), ref.id


def _words(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    """Yield constraints that forbid a word or comma that another asks for, as (index, problem)."""
    phrases = list(_asked_phrases(refs))
    for index, ref in enumerate(refs):
        forbidden: Any = ref.params.get("forbidden_words") if ref.id == "keywords:forbidden_words" else None
        for word in forbidden or []:
            for phrase, by in phrases:
                if find(whole_word(str(word)), Text(phrase)):
                    yield index, f"{word!r} is forbidden and asked for by {by}"
        if ref.id == "punctuation:no_comma":
            for phrase, by in phrases:
                if "," in phrase:
                    yield index, f"commas are forbidden, and {by} asks for {phrase!r}"


def _letters_and_cases(refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    ids = {ref.id for ref in refs}
    for index, ref in enumerate(refs):
        letter = ref.params.get("letter")
        if ref.id == "keywords:letter_frequency" and not re.fullmatch("[A-Za-z]", str(letter)):
            yield index, f"the letter to count is {letter!r}, which the published code replaces by a random one"
        if ref.id == "change_case:english_capital" and "change_case:english_lowercase" in ids:
            yield index, "the answer must be in capitals and in lower case"
        language = ref.params.get("language")
        if (
            ref.id == "language:response_language"
            and language != "en"
            and any(other.startswith("change_case:english_") for other in ids)
        ):
            yield index, f"the answer must be in {language!r} and in English"


_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen",
)  # fmt: skip
_SMALL_NUMBERS = {word: value for value, word in enumerate(_NUMBER_WORDS)}
# (parameter, relation, the unit as prompts call it)
_UNITS = {
    "length_constraints:number_words": ("num_words", "relation", "words?"),
    "length_constraints:number_sentences": ("num_sentences", "relation", "sentences?"),
    "length_constraints:number_paragraphs": ("num_paragraphs", "", "paragraphs?"),
    "detectable_content:number_placeholders": ("num_placeholders", "", "placeholders?"),
    "detectable_format:number_bullet_lists": ("num_bullets", "", "bullet"),
    "keywords:letter_frequency": ("let_frequency", "let_relation", "times"),
}
_SAID = (
    r"(at least|less than|fewer than|more than|at most|no more than|exactly)?\s*"
    r"\b(\d[\d,]*|{numbers})\b(?:\+| or (?:more|less|fewer))?[\s-]+(?:\w+\s+)?{unit}\b"
)
_DOWN, _UP = {"less than", "fewer than", "at most", "no more than"}, {"at least", "more than"}


def _numbers(text: str, refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    """Yield constraints whose number or direction differs from what the prompt says, as (index, problem)."""
    lower = text.lower()
    for index, ref in enumerate(refs):
        if ref.id not in _UNITS:
            continue
        name, relation, unit = _UNITS[ref.id]
        value = _number(ref.params.get(name))
        mentions = re.findall(_SAID.format(numbers="|".join(_SMALL_NUMBERS), unit=unit), lower)
        numbers = {_value(number): direction for direction, number in mentions}
        if not numbers or sum(other.id == ref.id for other in refs) > 1:
            continue
        if not any(abs(number - value) <= 1 for number in numbers):
            yield index, f"the prompt names {_list(numbers)} where {name} is {value:g}"
            continue
        direction = numbers[int(value)] if value in numbers else ""
        own_relation = ref.params.get(relation)
        if (direction in _UP and own_relation == "less than") or (direction in _DOWN and own_relation == "at least"):
            yield index, f"the prompt says {direction} {value:g}, the parameters {own_relation} {value:g}"


def _value(number: str) -> int:
    return _SMALL_NUMBERS[number] if number in _SMALL_NUMBERS else int(number.replace(",", ""))


def _list(numbers: Iterable[int]) -> str:
    return " and ".join(map(str, sorted(numbers)))


_STARS = re.compile(r"\*{4,}")
_SEVERAL_BULLETS = re.compile(r"\b(?:a few|several|multiple) bullet", re.IGNORECASE)


def _wordings(text: str, refs: tuple[ConstraintRef, ...]) -> Iterator[tuple[int, str]]:
    for index, ref in enumerate(refs):
        if ref.id == "combination:two_responses":
            wrong = sorted({len(stars) for stars in _STARS.findall(text)} - {6})
            if wrong:
                yield index, f"the divider has 6 asterisks, the prompt shows {_list(wrong)}"
        one_bullet = ref.id == "detectable_format:number_bullet_lists" and ref.params.get("num_bullets") == 1
        if one_bullet and _SEVERAL_BULLETS.search(text):
            yield index, "the prompt asks for several bullet points, num_bullets is 1"
