"""Tell, beside every pass rate, whether answers still say something, for a constraint can be met by saying nothing."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from adhere.schema import Prompt
from adhere.suites.generated.core.queries import queries
from adhere.suites.generated.core.templates import templated_queries
from adhere.text.size import MOST_CHARACTERS
from adhere.text.words import words

FEWEST_FOR_REPETITION = 8
FEWEST_OWN_WORDS = 3  # an answer with fewer says nothing that the prompt did not say


class Guard(NamedTuple):
    """Holds measures of one answer that ignore its constraints. A value is None where nothing can be measured.

    Attributes:
        words: Number of words.
        distinct_2: Number of different pairs of neighbouring words, divided by the number of pairs; None below two
            words.
        repetition: Share of runs of four words that occurred before; None below eight words.
        content_share: Share of the query's topic words that the answer uses, without words of the prompt itself, for a
            constraint may demand or forbid them; None where no topic word is left.
        echo: Share of the answer's runs of four words that are the prompt's own; None below eight words.
        own_words: Different words of the answer that the prompt does not have.
    """

    words: int
    distinct_2: float | None
    repetition: float | None
    content_share: float | None
    echo: float | None
    own_words: int

    @property
    def is_repetitive(self) -> bool | None:
        """Whether more than half of the answer (`repetition`) was said before; None if it was not measured."""
        return None if self.repetition is None else self.repetition > 0.5

    @property
    def is_echo(self) -> bool | None:
        """Whether more than half of the answer is the prompt's own text (`echo`); None if it was not measured."""
        return None if self.echo is None else self.echo > 0.5

    @property
    def is_empty_form(self) -> bool:
        """Whether the answer is form alone, with too few words of its own.

        Examples are the phrase or key that was asked for, the instruction itself, or a bullet without text.
        """
        return self.own_words < FEWEST_OWN_WORDS

    @property
    def is_letter_alone(self) -> bool:
        """Whether the answer says nothing: it is form alone, the prompt again, or repeats itself."""
        return is_letter_alone(empty_form=self.is_empty_form, echo=self.is_echo, repetitive=self.is_repetitive)


def is_letter_alone(*, empty_form: bool | None, echo: bool | None, repetitive: bool | None) -> bool:
    """Tell from stored measures whether an answer says nothing; without a text (`empty_form` None) it says nothing."""
    return empty_form is not False or bool(echo) or bool(repetitive)


def guard(prompt: Prompt, text: str, *, turn: int = 0) -> Guard:
    """Measure one answer to one turn of `prompt`; of an overlong answer (`text.size`) only the part that is judged."""
    answer_words = [word.lower() for word in words(text[:MOST_CHARACTERS])]
    prompt_words = [word.lower() for word in words(prompt.turns[turn].text)]
    pairs, fours = _runs(answer_words, 2), _runs(answer_words, 4)
    prompts_own = set(_runs(prompt_words, 4))
    long_enough = len(answer_words) >= FEWEST_FOR_REPETITION
    return Guard(
        words=len(answer_words),
        distinct_2=len(set(pairs)) / len(pairs) if pairs else None,
        repetition=1 - len(set(fours)) / len(fours) if long_enough else None,
        content_share=_content_share(prompt, set(answer_words), set(prompt_words)),
        echo=sum(run in prompts_own for run in fours) / len(fours) if long_enough else None,
        own_words=len(set(answer_words) - set(prompt_words)),
    )


def _runs(tokens: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1)]


def _content_share(prompt: Prompt, answer_words: set[str], prompt_words: set[str]) -> float | None:
    topic_words = [
        word for word in _topic_words().get(prompt.tags.get("query", ""), ()) if not _uses(prompt_words, word)
    ]
    if not topic_words:
        return None
    return sum(_uses(answer_words, word) for word in topic_words) / len(topic_words)


def _uses(text_words: set[str], word: str) -> bool:
    """Tell whether a text has a word or a longer form of it: "oven", "ovens"."""
    return word in text_words or any(other.startswith(word) for other in text_words)


@cache
def _topic_words() -> dict[str, tuple[str, ...]]:
    return {query.id: query.words for query in (*queries(), *templated_queries("train"), *templated_queries("dev"))}
