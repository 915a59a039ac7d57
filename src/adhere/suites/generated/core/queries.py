"""Read the queries that generated prompts are built on: ours, split by topic into train and held-out parts.

Every query asks for an answer of one to three short sentences and says so, because answers are capped at 64 tokens and
an answer that is cut counts as failed. The limit is in sentences or in words, and `asks` tells which: a constraint on
the same quantity would contradict it. A query never uses its own topic words, so the answer is free to include or avoid
them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

from adhere.errors import IntegrityError
from adhere.schema import Part, Record, decode

StudyPart = Literal["train", "held-out", "dev"]  # `dev`: what settings are chosen on, neither trained nor tested on
_WORD_LIMIT, _SENTENCES = re.compile(r"\b\d+ words\b"), re.compile(r"\bsentences?\b")


class Query(Record, frozen=True):
    """Holds one thing to ask.

    Attributes:
        id: `q-<topic>-<n>`; never changes meaning.
        topic: The topic; all queries of a topic belong to one part.
        text: One request, with how long the answer should be.
        words: 3 to 5 lower-case words that an answer may well use and the query does not.
        part: The prompts that are built on the query: training, held-out, or those for choosing settings.
    """

    id: str
    topic: str
    text: str
    words: tuple[str, ...]
    part: StudyPart

    @property
    def asks(self) -> Literal["sentences", "words", "nothing"]:
        """The unit in which the query limits its answer; `nothing` if it leaves the length open."""
        if _WORD_LIMIT.search(self.text):
            return "words"
        return "sentences" if _SENTENCES.search(self.text) else "nothing"


@cache
def _all() -> tuple[Query, ...]:
    data = resources.files(__package__).joinpath("queries.jsonl").read_bytes()
    all_queries = tuple(decode(line, Query) for line in data.splitlines())
    if len({query.id for query in all_queries}) != len(all_queries):
        raise IntegrityError("queries.jsonl of this installation holds an id twice; reinstall adhere")
    return all_queries


def queries(part: Part | None = None) -> tuple[Query, ...]:
    """Return the queries of one part, or of all, in the order of the file."""
    return tuple(query for query in _all() if part is None or query.part == part)


def uses(text: str, word: str) -> bool:
    """Tell whether a text has a word, or a longer word that begins with it."""
    lower = text.lower()
    return word in lower and re.search(rf"\b{re.escape(word)}", lower) is not None
