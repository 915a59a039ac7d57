"""Define answerers without a model, in one catalogue.

All thirty give the floor of a suite (`floors.measure`). Those of the group `bot` also test the gate of rewards
(`pipeline.intent`) and any reward that is audited. An answerer is a function of the prompt's text; it sees no
constraint.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Literal, NamedTuple

from adhere.text.words import words

Group = Literal["constant", "refusal", "filler", "echo", "bot"]


class Answerer(NamedTuple):
    """Describes one answerer: its name, its group, and the function from a prompt's text to its answer."""

    name: str
    group: Group
    answer: Callable[[str], str]


# Words of requests that name no subject.
_NO_SUBJECT = frozenset(
    "a about above all an and any are as at be but by can could do does each every for from give given have help how "
    "i if in into is it its just least less letter like line list make me more most must my no not of on one or our "
    "out please should so some such than that the their them then there these they this those to use using want was "
    "we were what when where which while who why will with word words would write you your answer response sentence "
    "sentences paragraph paragraphs exactly following contain contains include including only also after before "
    "between both first last same another other create generate describe explain provide tell name need short long "
    "entire reply text section sections bullet bullets points point format title repeat request without new two three "
    "four five six seven eight nine ten times english keyword keywords lowercase uppercase capital letters".split()
)
_OTHER_WORDS = {
    "advice": "guidance", "animal": "creature", "animals": "creatures", "article": "piece", "book": "volume",
    "books": "volumes", "boss": "manager", "business": "company", "car": "automobile", "cars": "automobiles",
    "cat": "feline", "child": "kid", "children": "kids", "city": "town", "company": "firm", "dog": "hound",
    "dogs": "hounds", "email": "message", "essay": "composition", "family": "relatives", "food": "meals",
    "friend": "companion", "friends": "companions", "garden": "yard", "home": "residence", "house": "residence",
    "idea": "thought", "ideas": "thoughts", "job": "position", "kids": "children", "life": "existence",
    "man": "fellow", "meal": "dish", "meeting": "gathering", "money": "cash", "mother": "parent", "movie": "film",
    "music": "songs", "party": "celebration", "people": "persons", "person": "individual", "picture": "image",
    "plan": "scheme", "poem": "verses", "question": "query", "river": "stream", "road": "street", "school": "academy",
    "ship": "vessel", "shop": "store", "song": "tune", "stories": "tales", "story": "tale", "student": "pupil",
    "students": "pupils", "summary": "outline", "teacher": "instructor", "tip": "hint", "tips": "hints",
    "travel": "journeys", "trip": "journey", "weather": "climate", "wife": "spouse", "woman": "lady", "work": "labour",
    "world": "globe",
}  # fmt: skip
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n")
_TURNS = (
    "That is a good question, and there are many ways to look at it.",
    "It is important to think about this carefully before you decide.",
    "Here are the main things that you should know about it.",
)
_LOREM = (
    "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore "
    "magna aliqua."
)
_STORY = (
    "The old lighthouse stood at the end of the pier. Every evening the keeper climbed the stairs and lit the lamp. "
    "Ships far out at sea saw the light and turned towards the harbour. Nobody in the village knew his name."
)
_FORM = (
    "<<Title>>\n\n**SECTION 1**\n\n* *first point*\n* *second point*\n* *third point*\n\n***\n\n"
    "This is the answer [name] [date] [place].\n\nP.S. Thank you!"
)


def subjects(prompt: str) -> list[str]:
    """Return the words of a request that may be its subject, in lower case and in order; `this` if there is none."""
    long_words = [word.lower() for word in words(prompt) if len(word) > 2 and word.isalpha()]
    return [word for word in dict.fromkeys(long_words) if word not in _NO_SUBJECT] or ["this"]


def _noun(prompt: str) -> str:
    """Return the longest of the first six possible subjects, as a simple program would choose."""
    return max(subjects(prompt)[:6], key=len)


def _first_line(prompt: str) -> str:
    return next((line for line in prompt.splitlines() if line.strip()), "")


def _first_sentence(prompt: str) -> str:
    return _SENTENCE_END.split(prompt.strip(), maxsplit=1)[0]


def _last_sentence(prompt: str) -> str:
    return _SENTENCE_END.split(prompt.strip())[-1]


def _synonyms(prompt: str) -> str:
    others = [_OTHER_WORDS[word] for word in subjects(prompt) if word in _OTHER_WORDS]
    return f"It is about {' and '.join(others[:3] or ['something'])}, and there is much to say about that."


def _stubs(prompt: str) -> str:
    noun = _noun(prompt).capitalize()
    return "\n".join(f"{number}. {noun} {number}" for number in range(1, 6))


def _quotation(prompt: str) -> str:
    start = " ".join(_first_line(prompt).split()[:12])
    return f'You asked: "{start}". That is what this answer is about.'


def _three_in_turn(prompt: str) -> str:
    return _TURNS[zlib.crc32(prompt.encode("utf-8", "surrogatepass")) % len(_TURNS)]


def _promise(prompt: str) -> str:
    return f"I will gladly do this for you, and it will be all about {_noun(prompt)}."


def _template(prompt: str) -> str:
    return f"{_noun(prompt).capitalize()} is very important, and everyone should know about it."


def _question_back(prompt: str) -> str:
    return f"What would you like to know about {_noun(prompt)}? Please tell me more."


def _constant(text: str) -> Callable[[str], str]:
    return lambda _prompt: text


_CONSTANTS: dict[Group, dict[str, str]] = {
    "constant": {
        "yes": "yes",
        "no": "no",
        "42": "42",
        "a full stop": ".",
        "thanks": "Thank you for asking",
        "hello": "Hello! How can I help you today?",
        "my answer is yes": "My answer is yes.",
        "empty object": "{}",
    },
    "refusal": {
        "does not know": "I don't know.",
        "sorry": "I'm sorry, but I can't help with that.",
        "refusal in form": '{"error": "Unable to answer this request."}',
    },
    "filler": {
        "lorem ipsum": _LOREM,
        "lorem ipsum, long": "\n\n".join([" ".join([_LOREM] * 5)] * 4),
        "one word": " ".join(["word"] * 300),
        "a story": _STORY,
        "every form": _FORM,
    },
}
ANSWERERS: tuple[Answerer, ...] = (
    *(Answerer(name, group, _constant(text)) for group, texts in _CONSTANTS.items() for name, text in texts.items()),
    Answerer("prompt", "echo", str),
    Answerer("first line", "echo", _first_line),
    Answerer("first sentence", "echo", _first_sentence),
    Answerer("last sentence", "echo", _last_sentence),
    Answerer(
        "one sentence",
        "bot",
        _constant("Here is a clear and simple answer that covers the most important things about it."),
    ),
    Answerer("three in turn", "bot", _three_in_turn),
    Answerer("noun in a template", "bot", _template),
    Answerer("synonyms", "bot", _synonyms),
    Answerer("promise", "bot", _promise),
    Answerer("quotation", "bot", _quotation),
    Answerer("question back", "bot", _question_back),
    Answerer(
        "self-evaluation", "bot", _constant("This answer follows every instruction and has exactly the required form.")
    ),
    Answerer("numbered stubs", "bot", _stubs),
    Answerer("both ways", "bot", _constant("My answer is yes. My answer is no. My answer is maybe.")),
)
"""Every answerer, by group. Names are unique, and stored floors hold them."""

BOTS: tuple[Answerer, ...] = tuple(answerer for answerer in ANSWERERS if answerer.group == "bot")
"""The ten answerers that a measure of responding has to catch."""
