"""How an answer begins and ends. Case is ignored, and so are quotes, brackets and markup around the answer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import ClassVar

from adhere.constraints.base import Finding, Words, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.rule import Rule, accept, decide, pick, reject, topic_word
from adhere.text.words import count_words, word_spans

_OPENERS = " \t\r\n\"'“‘«([{*_#>"
_CLOSERS = " \t\r\n\"'”’»)]}*_.!?…。！？,;:"
# Phrases that run into the sentence behind a comma, and phrases that stand before a colon.
_ADVERBS = (
    "In short", "Put simply", "To be honest", "In general", "As far as I know", "In a nutshell", "To put it briefly",
    "Simply put", "In my opinion", "For the most part", "Broadly speaking", "Without doubt", "In plain words",
)  # fmt: skip
_OPENINGS = (
    "Here is my answer", "Good question", "The short answer", "Let me explain", "Here you go", "My answer is this",
    "Let us see", "A quick answer", "Here is what I know", "Happy to help", "Thank you for asking",
)  # fmt: skip
_ENDINGS = (
    "I hope this helps", "That is all", "Let me know if you need more", "That is my answer", "Have a nice day",
    "Feel free to ask again", "Now you know", "That is the whole story", "Thanks for asking", "Take care",
    "And that is it", "This is all I can say", "Is there anything else I can help with", "Any other questions",
    "Good luck with it", "That sums it up", "I wish you all the best", "Ask me anything else", "The end",
)  # fmt: skip


class _AtAnEnd(Rule):
    """Is the base of the kinds whose one parameter is a text at the start or the end of the answer."""

    def counter_witness(self) -> str:
        return "zzz" if phrases.contains("Cats sleep.", self._needed()) else "Cats sleep."

    def literals(self) -> tuple[str, ...]:
        return (self._needed(),)

    def fewest_words(self) -> int:
        return count_words(self._needed()) + 3

    def _needed(self) -> str:
        (field,) = dataclasses.fields(self)
        return str(getattr(self, field.name))


@kind
class StartPhrase(_AtAnEnd):
    """The answer begins with `phrase`. With "In short": "In short, cats sleep." passes, "Cats sleep." fails."""

    id = "startend:start_phrase"
    version = 2
    claims = frozenset({"start"})
    order = 70
    phrasings = (
        'Start your answer with "{phrase}".',
        'Begin with the exact words "{phrase}".',
        'The first words of your answer must be "{phrase}".',
        'Open your answer with the phrase "{phrase}".',
        'Nothing may come before the phrase "{phrase}" in your answer.',
    )
    passing = ({"phrase": "In short"}, "In short, cats sleep.")
    failing = ({"phrase": "In short"}, "Cats sleep.")
    right_text = "{phrase} cats"

    phrase: str = param(Words(), drawn=_ADVERBS + _OPENINGS)

    def judge(self, text: str) -> Finding:
        pattern = phrases.pattern(self.phrase)
        body = len(text) - len(text.lstrip(_OPENERS))
        hit = pattern.match(text, len(text) - len(text.lstrip())) or pattern.match(text, body)
        if hit:
            return accept(f"found {hit.group()!r} at the start", span=hit.span())
        end = min(len(text), body + len(self.phrase))
        reason = f"found the start {text[body:end]!r}, needed {self.phrase!r}"
        return reject(reason, span=(body, end))

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_opening(text, self.phrase, clause=self.phrase in _ADVERBS)


@kind
class EndPhrase(_AtAnEnd):
    """The answer ends with `phrase`, marks after it aside.

    With "The end": "Cats sleep. The end." passes; more after it fails.
    """

    id = "startend:end_phrase"
    version = 2
    claims = frozenset({"end"})
    order = 71
    phrasings = (
        'End your answer with "{phrase}".',
        'Finish with the exact words "{phrase}".',
        'The last words of your answer must be "{phrase}".',
        'Close your answer with the phrase "{phrase}".',
        'Nothing may follow the phrase "{phrase}" at the end of your answer.',
    )
    passing = ({"phrase": "The end"}, "Cats sleep. The end.")
    failing = ({"phrase": "The end"}, "The end is near.")
    right_text = "Cats {phrase}"

    phrase: str = param(Words(), drawn=_ENDINGS)

    def judge(self, text: str) -> Finding:
        last = self.phrase.rstrip(_CLOSERS) or self.phrase
        body = text.rstrip() if last == self.phrase and self.phrase[-1:] in _CLOSERS else text.rstrip(_CLOSERS)
        tail = max(0, len(body) - 4 * len(self.phrase) - 8)  # blanks of the phrase may be wider in the text
        hits = [hit for hit in phrases.pattern(last).finditer(body, tail) if hit.end() == len(body)]
        if hits:
            return accept(f"found {hits[-1].group()!r} at the end", span=hits[-1].span())
        start = max(0, len(body) - len(last))
        reason = f"found the end {body[start:]!r}, needed {self.phrase!r}"
        return reject(reason, span=(start, len(body)))

    def repairs(self, text: str) -> Iterator[str]:
        ending = "?" if self.phrase.startswith(("Is there", "Any other")) else "."
        phrase = self.phrase if self.phrase[-1] in _CLOSERS else self.phrase + ending
        yield edits.add_sentence(text, phrase)
        yield f"{edits.without_ending(text)} – {edits.decapitalise(phrase)}"


@kind
class Quotes(Rule):
    """The whole answer stands in double quotes (straight or curly). '"Cats sleep."' passes, 'Cats "sleep".' fails."""

    id = "startend:quotes"
    version = 2
    claims = frozenset({"wrap", "last"})
    order = 95
    phrasings = (
        "Wrap your whole answer in double quotation marks.",
        'Put your entire answer between double quotes (").',
        "Your answer must begin and end with a double quotation mark.",
        "Enclose everything you write in double quotes.",
        "The first and the last character of your answer must be a double quote.",
    )
    passing = ({}, '"Cats sleep."')
    failing = ({}, 'Cats "sleep".')

    def judge(self, text: str) -> Finding:
        body = text.strip()
        has_start, has_end = body[0] in '"“', body[-1] in '"”'
        lacking = " and ".join(name for name, is_there in (("start", has_start), ("end", has_end)) if not is_there)
        reason = (
            f"no double quotation mark at the {lacking}" if lacking else "found double quotation marks at both ends"
        )
        return decide(not lacking, reason, score=(has_start + has_end) / 2)

    def repairs(self, text: str) -> Iterator[str]:
        inner = re.sub(r'["“”]', "'", text.strip().strip('"“”').strip())
        yield f'"{inner}"'


@kind
class FirstWord(_AtAnEnd):
    """The first word is `word`. With "cats": "Cats sleep." passes, "Some cats sleep." fails."""

    id = "startend:first_word"
    version = 2
    claims = frozenset({"start"})
    order = 70
    phrasings = (
        'The first word of your answer must be "{word}".',
        'Start your answer with the word "{word}".',
        'Let "{word}" be the very first word you write.',
        'Begin your answer with "{word}", before anything else.',
        'Your answer has to open on the word "{word}".',
    )
    passing = ({"word": "cats"}, "Cats sleep.")
    failing = ({"word": "cats"}, "Some cats sleep.")
    right_text = "{word} and cats"
    _bridges: ClassVar[tuple[str, ...]] = (
        "{word}: {text}",
        "{word} is the topic here. {text}",
        "{word} comes first: {text}",
    )

    word: str = param(Words(40), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        start = len(text) - len(text.lstrip(_OPENERS))
        hit = phrases.pattern(self.word).match(text, start)
        reason = f"found {text[start : start + 20]!r} at the start, needed the word {self.word!r}"
        return decide(hit is not None, reason, span=(start, min(len(text), start + len(self.word))))

    def repairs(self, text: str) -> Iterator[str]:
        word = edits.capitalise(self.word)
        if edits.is_listed(text.strip()):
            yield f"{word}:\n{text.strip()}"
        yield pick(self._bridges, text, word).replace("{word}", word).replace("{text}", text.strip())
        yield f"{word}: {text.strip()}"


@kind
class LastWord(_AtAnEnd):
    """The last word is `word`, marks after it aside. With "milk": "Cats like milk." passes, "Milk is good." fails."""

    id = "startend:last_word"
    version = 2
    claims = frozenset({"end"})
    order = 71
    phrasings = (
        'The last word of your answer must be "{word}".',
        'End your answer with the word "{word}".',
        'Let "{word}" be the very last word you write.',
        'Finish your answer on the word "{word}".',
        'No word may come after the final "{word}" of your answer.',
    )
    passing = ({"word": "milk"}, "Cats like milk.")
    failing = ({"word": "milk"}, "Milk is good.")
    right_text = "It is {word}"
    _endings: ClassVar[tuple[str, ...]] = (
        "It all comes down to {word}.",
        "In the end it is about {word}.",
        "So think of {word}.",
        "The key word is {word}.",
    )

    word: str = param(Words(40), drawn=topic_word)

    def judge(self, text: str) -> Finding:
        return EndPhrase(self.word).judge(text)

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_sentence(text, pick(self._endings, text, self.word).format(word=self.word))
        yield f"{edits.without_ending(text)} – that is {self.word}."

    def counter_witness(self) -> str:
        return EndPhrase(self.word).counter_witness()


@kind
class SameWord(Rule):
    """The first word is also the last. "Cats like other cats." passes, "Cats sleep." fails."""

    id = "startend:same_word"
    version = 2
    claims = frozenset({"start", "end"})
    order = 72
    phrasings = (
        "Start and end your answer with the same word.",
        "The first word of your answer must also be its last word.",
        "Let your answer finish on the word it began with.",
        "Your answer has to begin and end with one and the same word.",
        "Close the circle: make the final word equal to the first one.",
    )
    passing = ({}, "Cats like other cats.")
    failing = ({}, "Cats sleep.")

    def judge(self, text: str) -> Finding:
        spans = word_spans(text)
        first, last = text[slice(*spans[0])], text[slice(*spans[-1])]
        if len(spans) < 2:
            return reject("found one word only, needed a first and a last one", span=spans[0])
        reason = f"the first word is {first[:40]!r}, the last is {last[:40]!r}"
        return decide(
            first.casefold() == last.casefold(), reason, measured=last[:40], needed=first[:40], span=spans[-1]
        )

    def repairs(self, text: str) -> Iterator[str]:
        body = text.strip()
        words = [body[start:end] for start, end in word_spans(body)]
        if words and len(words[0]) > 4:
            yield edits.add_sentence(body, f"It is all about {edits.decapitalise(words[0]).lower()}.")
        topic = edits.key_word(body)
        opening = edits.add_opening(body, edits.capitalise(topic), clause=False)
        yield edits.add_sentence(opening, f"It all comes back to {topic.lower()}.")
        yield f"{edits.without_ending(opening)} – {topic.lower()}."

    def fewest_words(self) -> int:
        return 6
