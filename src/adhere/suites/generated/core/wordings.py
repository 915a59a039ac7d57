"""Hold how a study says each kind of constraint, and which phrases, keys and words each part may ask for.

A study measures three things apart (see `slices`): new topics in the wordings of training, new wordings, and new
families. So every kind has several natural wordings for training and several that training never uses, and
what a constraint asks for (an opening phrase, a JSON key, a keyword) belongs to one part only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from adhere.constraints import Constraint, make
from adhere.constraints.base import Choice, ListOf
from adhere.schema import Part
from adhere.suites.generated.core.queries import StudyPart, queries
from adhere.suites.generated.core.templates import templated_queries


class Wordings(NamedTuple):
    """Holds format strings over a kind's `wording()`; training uses the first ones first."""

    training: tuple[str, ...]
    held_out: tuple[str, ...]


WORDINGS: Mapping[str, Wordings] = {
    "case:lower": Wordings(
        (
            "Write your whole answer in lower case.",
            "Do not use any capital letters.",
            "Your answer must be entirely in lowercase letters.",
            "Use only lowercase letters.",
        ),
        (
            "All of your answer should be in small letters.",
            "Please answer in lowercase, without capitals.",
            "Keep every letter of your reply lowercase.",
        ),
    ),
    "case:upper": Wordings(
        (
            "Write your whole answer in capital letters.",
            "Use ALL CAPS throughout your answer.",
            "Your answer must be entirely in uppercase letters.",
            "Use only capital letters.",
        ),
        (
            "All of your answer should be in upper case.",
            "Please answer in capitals only.",
            "Keep every letter of your reply uppercase.",
        ),
    ),
    "keywords:forbid": Wordings(
        (
            "Do not use the {noun} {either}.",
            "Your answer must not contain the {noun} {either}.",
            "Avoid the {noun} {either} entirely.",
            "Answer without using the {noun} {either}.",
        ),
        (
            "Your reply should not contain the {noun} {either}.",
            "Please leave out the {noun} {either}.",
            "Never use the {noun} {either} in your answer.",
        ),
    ),
    "keywords:include": Wordings(
        (
            "Include the {noun} {quoted} in your answer.",
            "Make sure to use the {noun} {quoted}.",
            "Your answer must contain the {noun} {quoted}.",
            "Use the {noun} {quoted} in your answer.",
        ),
        (
            "Your reply should contain the {noun} {quoted}.",
            "Please mention {quoted}.",
            "Work the {noun} {quoted} into your answer.",
        ),
    ),
    "keywords:times": Wordings(
        (
            'Use the word "{word}" at least {times}.',
            'The word "{word}" must appear {times} or more in your answer.',
            'Mention "{word}" no fewer than {times}.',
            'Repeat the word "{word}" so that it occurs at least {times}.',
        ),
        (
            'Your reply should contain the word "{word}" at least {times}.',
            'Please use "{word}" {times} or more.',
            'Make sure that "{word}" occurs at least {times}.',
        ),
    ),
    "length:at_most": Wordings(
        (
            "Answer in at most {limit} words.",
            "Use no more than {limit} words.",
            "Keep your answer to {limit} words or fewer.",
            "Your answer must not be longer than {limit} words.",
        ),
        (
            "Your reply should have at most {limit} words.",
            "Please use {limit} words or fewer.",
            "Limit your answer to {limit} words.",
        ),
    ),
    "punctuation:exclamations": Wordings(
        (
            "Use at least {marks}.",
            "Your answer must contain {count} or more exclamation marks.",
            "Put {marks} or more into your answer.",
            "Include at least {marks} in your answer.",
        ),
        (
            "Your reply needs at least {marks}.",
            "Please write {marks} or more.",
            "Make sure that you use {marks} or more.",
        ),
    ),
    "punctuation:no_commas": Wordings(
        (
            "Do not use any commas.",
            "Your answer must not contain a comma.",
            "Write your answer without commas.",
            "Refrain from using commas.",
        ),
        ("Avoid commas in your answer.", "No commas are allowed in your reply.", "Please leave out all commas."),
    ),
    "startend:end_phrase": Wordings(
        (
            'End your answer with "{phrase}".',
            'Finish with the exact words "{phrase}".',
            'The last words of your answer must be "{phrase}".',
            'Close your answer with the phrase "{phrase}".',
        ),
        (
            'Your reply should end with "{phrase}".',
            'Please conclude with the words "{phrase}".',
            'Make "{phrase}" the end of your answer.',
        ),
    ),
    "startend:quotes": Wordings(
        (
            "Wrap your whole answer in double quotation marks.",
            'Put your entire answer between double quotes (").',
            "Your answer must begin and end with a double quotation mark.",
            "Enclose everything you write in double quotes.",
        ),
        (
            "Your reply should stand inside double quotation marks.",
            "Please put double quotes around the whole answer.",
            "Surround all of your answer with double quotation marks.",
        ),
    ),
    "startend:start_phrase": Wordings(
        (
            'Start your answer with "{phrase}".',
            'Begin with the exact words "{phrase}".',
            'The first words of your answer must be "{phrase}".',
            'Open your answer with the phrase "{phrase}".',
        ),
        (
            'Your reply should begin with "{phrase}".',
            'Please start with the words "{phrase}".',
            'Make "{phrase}" the beginning of your answer.',
        ),
    ),
    "structure:bullets": Wordings(
        (
            "Answer with exactly {units}, one per line.",
            'Write your answer as a list of {count} bullets, each starting with "- ".',
            "Give {units}, no more and no fewer.",
            'Use exactly {units} (lines that begin with "- ").',
        ),
        (
            "Your reply should be a bulleted list of {count} items.",
            "Please answer in {units}.",
            'List {count} points, each on a line that begins with "- ".',
        ),
    ),
    "structure:json_object": Wordings(
        (
            "Answer with a JSON object that has exactly the {noun} {keys}, and nothing else.",
            "Your whole answer must be one valid JSON object with the {noun} {keys}.",
            "Reply in JSON, as an object with the {noun} {keys}; write no text around it.",
            "Give your answer as a single JSON object whose {noun} {are} {keys}, without a code fence.",
        ),
        (
            "Your reply should be only a JSON object with the {noun} {keys}.",
            "Please format the whole answer as JSON with the {noun} {keys}.",
            "Return one JSON object containing the {noun} {keys} and no other text.",
        ),
    ),
    "structure:numbered": Wordings(
        (
            "Answer with a numbered list of exactly {units}.",
            'Write exactly {units}, numbered "1.", "2." and so on, one per line.',
            "Number your points from 1 to {count}, each on its own line.",
            "Give a list with {units} that carry the numbers 1 to {count}.",
        ),
        (
            "Your reply should be a numbered list of {count} items.",
            "Please write {units} in a numbered list.",
            "List {count} points, each with its number in front.",
        ),
    ),
}

# How prompts in IFEval's manner say a kind, ours or IFTrain's: as people do who write to a model. No other prompt says
# these.
FREE: Mapping[str, tuple[str, ...]] = {
    "case:capital_words": (
        "Some words should stand in all capital letters, {count} of them or more.",
        "Please stress {words} or more with all caps.",
        "I would like {count}+ words in uppercase, the rest as usual.",
    ),
    "case:lower": (
        "The complete text has to be in lowercase, so no capital letter at all.",
        "Everything should be typed in small letters only, in English.",
        "I can only read lowercase, please do not type one capital letter.",
    ),
    "case:upper": (
        "The complete text has to be in uppercase, so no small letter at all.",
        "Everything should be typed IN CAPITAL LETTERS, in English.",
        "Shout it: capitals from the first letter to the last, please.",
    ),
    "first_word:first_word_answer": (
        "The very first word has to be {word}.",
        "Let the text open with the word {word}.",
        'It should start with "{word}", before any other word.',
    ),
    "keywords:exclude_word_harder": (
        "The {noun} {either} should not come up.",
        "I do not want to read {either} in it.",
        "Please do it without {either}.",
    ),
    "keywords:forbid": (
        "The {noun} {either} should not come up.",
        "I do not want to read {either} anywhere in it.",
        "Please do it without the {noun} {either}.",
    ),
    "keywords:include": (
        "The text should have the {noun} {quoted} in it.",
        "Please bring in {quoted}.",
        "It has to say something with the {noun} {quoted}.",
    ),
    "keywords:times": (
        'The word "{word}" should come up {times} or more often.',
        "I want to read the word {word} at least {times}.",
        'Please bring in "{word}", {times} at the least.',
    ),
    "keywords:word_count_different_numbers": (
        'The word "{word}" should come up {times} or more often.',
        "I want to read the word {word} at least {times}.",
        'Please bring in "{word}", {times} at the least.',
    ),
    "keywords:word_once": (
        'The word "{word}" should come up once, and only once.',
        "Please bring in the word {word} exactly one time.",
        'Say "{word}" one single time.',
    ),
    "last_word:last_word_answer": (
        "The very last word has to be {word}.",
        "Let the text close with the word {word}.",
        'It should stop at "{word}", and no word may follow.',
    ),
    "length:at_least": (
        "The text should have at least {least} words.",
        "I need {least}+ words.",
        "Make it {least} words or longer.",
    ),
    "length:at_most": (
        "The text should stay under {limit} words.",
        "I have no time for more than {limit} words.",
        "Make it {limit} words or shorter.",
    ),
    "paragraphs:paragraphs": (
        "There should be two paragraphs, with the divider *** between them.",
        "Split the text into 2 paragraphs and put *** between the first and the second.",
        "I need 2 paragraphs. Set them apart by a line with three asterisks: ***",
    ),
    "paragraphs:paragraphs2": (
        "There should be two paragraphs, with an empty line between them.",
        "Split the text into 2 paragraphs, set apart by one blank line.",
        "I need 2 paragraphs with two line breaks in between.",
    ),
    "punctuation:no_commas": (
        "The text should get by without a single comma.",
        "Commas are not allowed anywhere in it.",
        "I do not want to see one comma.",
    ),
    "punctuation:punctuation_dot": (
        "The text should get by without a single full stop.",
        "Dots are not allowed anywhere in it.",
        "I do not want to see one period.",
    ),
    "punctuation:punctuation_exclamation": (
        "The text should get by without a single exclamation mark.",
        "Exclamation marks are not allowed anywhere in it.",
        "I do not want to see one exclamation mark.",
    ),
    "startend:end_phrase": (
        'The last thing in the text has to be "{phrase}", and nothing comes after it.',
        "Let it close with exactly this: {phrase}",
        'At the very end I want to read "{phrase}".',
    ),
    "startend:quotes": (
        "The complete text belongs inside double quotation marks.",
        "Set everything in double quotes, from the first word to the last.",
        'It should open and close with a double quote (").',
    ),
    "startend:start_phrase": (
        'The first thing in the text has to be "{phrase}".',
        "Let it open with exactly this: {phrase}",
        'At the very beginning I want to read "{phrase}".',
    ),
    "structure:bullets": (
        "The text should have {count} bullet points in markdown, like this one:\n* A point.",
        'There have to be {units}, with "* " in front of each.',
        "Set out what you have to say in {units} (* like this), not one more.",
    ),
}

_OPENINGS: Mapping[StudyPart, tuple[str, ...]] = {
    "train": (
        "In short", "Put simply", "To be honest", "In general", "In a nutshell", "Simply put", "Broadly speaking",
        "In plain words", "Here is my answer", "Good question", "The short answer", "Let me explain", "Here you go",
        "A quick answer", "Happy to help", "My first thought", "To begin with", "As a rule", "In brief",
        "Let us start here", "One thing is clear", "Speaking plainly", "Here goes", "On the whole",
    ),
    "held-out": (
        "For the most part", "Let us see", "Thank you for asking", "In my opinion", "As far as I know", "Without doubt",
        "My answer is this", "Here is what I know", "To put it briefly", "By all accounts", "First of all", "Well then",
    ),
    "dev": (
        "All things considered", "If you ask me", "Roughly speaking", "At first sight", "Strictly speaking",
        "Off we go", "From experience", "On second thought",
    ),
}  # fmt: skip
_ENDINGS: Mapping[StudyPart, tuple[str, ...]] = {
    "train": (
        "I hope this helps", "That is all", "Have a nice day", "Now you know", "That is the whole story", "Take care",
        "And that is it", "Good luck with it", "The end", "Any other questions", "That is my answer", "See you soon",
        "Thanks for reading", "Enjoy your day", "Nothing more to say", "So much for that", "Stay curious",
        "Case closed", "Until next time", "You are welcome", "Let me know", "That is the point", "Best of luck",
        "Keep it in mind",
    ),
    "held-out": (
        "Feel free to ask again", "That sums it up", "I wish you all the best", "Ask me anything else",
        "Thanks for asking", "This is all I can say", "That covers it", "Hope to hear from you", "It is that simple",
        "Over and out", "Have fun with it", "Make of it what you will",
    ),
    "dev": (
        "Cheers for now", "There you have it", "Make the most of it", "Nothing else to add", "Good luck out there",
        "That wraps it up", "Glad you asked", "More another day",
    ),
}  # fmt: skip
_KEYS: Mapping[StudyPart, tuple[tuple[str, ...], ...]] = {
    "train": (
        ("answer",), ("text",), ("reply",), ("summary",), ("answer", "reason"), ("idea", "example"), ("title", "body"),
        ("question", "answer"), ("topic", "text"), ("fact", "source"), ("first", "second"), ("what", "why"),
        ("claim", "evidence"), ("name", "description"), ("problem", "solution"), ("cause", "effect"),
    ),
    "held-out": (
        ("response",), ("message",), ("content",), ("headline", "story"), ("advice", "benefit"), ("main", "detail"),
        ("point", "support"), ("subject", "comment"), ("short", "long"), ("step", "result"),
    ),
    "dev": (("note",), ("verdict",), ("label", "remark"), ("thing", "purpose"), ("before", "after"), ("pro", "contra")),
}  # fmt: skip

_DRAWS: Mapping[str, Callable[[random.Random, StudyPart], Constraint]] = {
    "startend:start_phrase": lambda rng, part: make("startend:start_phrase", phrase=rng.choice(_OPENINGS[part])),
    "startend:end_phrase": lambda rng, part: make("startend:end_phrase", phrase=rng.choice(_ENDINGS[part])),
    "structure:json_object": lambda rng, part: make("structure:json_object", keys=rng.choice(_KEYS[part])),
}

REDRAWS = 40  # what is asked for belongs to the other part: drawn again this often
SHORTEST = 3  # a parameter of fewer letters (a letter, a mark) is no content that could be learnt by heart


def wordings_of(kind: type[Constraint]) -> Wordings:
    """Return a kind's wordings from the table.

    Of a kind that is not in the table, the last two phrasings are held out (the last one of three or fewer).
    """
    if kind.id in WORDINGS:
        return WORDINGS[kind.id]
    held_out = 2 if len(kind.phrasings) > 3 else 1
    return Wordings(kind.phrasings[:-held_out], kind.phrasings[-held_out:])


def draw_for(part: StudyPart, kind: type[Constraint], rng: random.Random, *, words: Sequence[str]) -> Constraint | None:
    """Draw a constraint of `kind` that asks only for content of `part`; None if REDRAWS draws give none."""
    own = _DRAWS.get(kind.id)
    part_words = [word for word in words if _belongs(word, part)]
    for _ in range(REDRAWS):
        constraint = own(rng, part) if own else kind.draw(rng, words=part_words)
        if all(_belongs(value, part) for value in contents(constraint)):
            return constraint
    return None


def _belongs(content: str, part: StudyPart) -> bool:
    return content.casefold() in _of_dev() if part == "dev" else part_of(content) == part


@cache
def _of_dev() -> frozenset[str]:
    """Return the texts that only prompts for choosing settings ask for.

    These are the lists and topic words of `dev`, without those that other parts have.
    """
    keys = [key for group in _KEYS["dev"] for key in group]
    words = [word for query in templated_queries("dev") for word in query.words]
    dev_texts = {content.casefold() for content in (*_OPENINGS["dev"], *_ENDINGS["dev"], *keys, *words)}
    return frozenset(dev_texts - _parts().keys())


def contents(constraint: Constraint) -> list[str]:
    """Return the phrases, keys and words that a constraint asks for: its text parameters, except fixed choices."""
    texts: list[str] = []
    for field in dataclasses.fields(constraint):
        domain = field.metadata["domain"]
        if isinstance(domain.item if isinstance(domain, ListOf) else domain, Choice):
            continue
        value = getattr(constraint, field.name)
        values = value if isinstance(value, tuple) else (value,)
        texts += [text for text in values if isinstance(text, str) and len(text) >= SHORTEST]
    return texts


def part_of(content: str) -> Part:
    """Return the part that a phrase, key or word belongs to.

    This is the part whose lists or queries have the text, else it follows from the text's hash.
    """
    part = _parts().get(content.casefold())
    if part is not None:
        return part
    return "train" if hashlib.sha256(content.casefold().encode()).digest()[0] % 2 else "held-out"


@cache
def _parts() -> dict[str, Part]:
    part_by_content: dict[str, Part] = {}
    parts: tuple[Part, Part] = ("held-out", "train")  # a word of both belongs to training
    for part in parts:
        keys = (key for group in _KEYS[part] for key in group)
        words = (word for query in queries(part) for word in query.words)
        for content in (*_OPENINGS[part], *_ENDINGS[part], *keys, *words):
            part_by_content[content.casefold()] = part
    return part_by_content
