"""Make many more queries from topics and templates.

With them every seed of a study trains on its own queries, and tuning has a part to itself. `topics.jsonl` has a thing
and an activity for each topic; every template asks one small question about one of the two. No topic is one of those of
`queries`. Part `train` adds to the queries of training. Part `dev` is for choosing settings: nothing is trained or
tested on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Literal

from adhere.schema import Record, decode
from adhere.suites.generated.core.queries import Query, queries, uses

SEEDS = 10  # so many seeds have queries of their own; seeds that leave the same rest share theirs
DEV_EVERY = 5  # of so many templates one is `dev`'s: the parts share no frame either
FEWEST_WORDS = 3  # of a topic that the query itself does not use

ABOUT_DOING = (
    "In one or two sentences, explain why some people enjoy {doing}.",
    "Give a beginner one tip for {doing}, in under 30 words.",
    "In one sentence, name a common mistake that people make when {doing}.",
    "Write a text message that invites a friend to try {doing}, in under 25 words.",
    "In a sentence or two, say what a person needs for {doing}.",
    "Describe in two sentences how {doing} can feel after a long day.",
    "Give one reason why someone might give up {doing}, in one sentence.",
    "Write the first sentence of a blog post about {doing}.",
    "In under 40 words, say how you would explain {doing} to a child.",
    "Suggest a good time of day for {doing} and say why, in one or two sentences.",
    "In one sentence, say what makes {doing} harder than it looks.",
    "Write one question about {doing} that you would ask an expert, in under 20 words.",
    "In two short sentences, compare {doing} alone with {doing} together with others.",
    "In at most two sentences, name something that can go wrong while {doing} and what helps then.",
    "Say in one sentence what {doing} teaches about patience.",
    "Write a motto for people who like {doing}, in under 12 words.",
    "In about 30 words, tell a small story about {doing}.",
    "In one sentence, say who might like {doing} most.",
)
ABOUT_THING = (
    "In one sentence, say what {thing} is good for.",
    "Describe {thing} to someone who has never seen one, in about 30 words.",
    "Write a product description for {thing} in under 30 words.",
    "In one sentence, give a tip for taking care of {thing}.",
    "In one or two sentences, say how to choose {thing}.",
    "Write two sentences of a story that begins with {thing}.",
    "In under 25 words, say what you would ask before you buy {thing}.",
    "In one sentence, name something that people forget about {thing}.",
    "Write a polite complaint about {thing} that came too late, in two sentences.",
    "Write a thank-you note for {thing} in under 30 words.",
    "Say in one or two sentences where you would keep {thing}.",
    "Write an advertisement for {thing} in one sentence.",
    "In two sentences, imagine what {thing} would say if it could talk.",
    "In under 25 words, give one reason to borrow {thing} rather than buy it.",
    "In one sentence, say to whom you would give {thing} as a present.",
    "In under 30 words, say what to do when {thing} is lost.",
    "In one or two sentences, say what {thing} might look like in a hundred years.",
)
# These leave the length of the answer open.
LONGER_ABOUT_DOING = (
    "Write a blog post about {doing}.",
    "Explain to a beginner how to start with {doing}.",
    "Write a short story in which {doing} changes how two people think of each other.",
    "What are the advantages and the disadvantages of {doing}?",
    "Plan a weekend course in {doing}.",
    "Describe a day in the life of someone who loves {doing}.",
    "I would like to try {doing} with my family. What should we know beforehand?",
    "Write a dialogue between two neighbours about {doing}.",
    "Why do people spend so much time on {doing}?",
    "Write a speech in praise of {doing} for a local club.",
    "Draft the introduction to a handbook on {doing}.",
    "Write an email to an old friend about your first month of {doing}.",
)
LONGER_ABOUT_THING = (
    "Write a review of {thing}.",
    "Write a letter to a shop that sold me {thing} with a fault.",
    "Tell how {thing} was lost and came back to its owner.",
    "Explain what to look out for when choosing {thing}.",
    "Write a radio advertisement for {thing}.",
    "Write a poem about {thing}.",
    "I have found {thing} in the attic. What could I do with it?",
    "Describe {thing} for readers who have never seen one.",
    "Write a social media post that offers {thing} for sale.",
    "Write instructions for cleaning and storing {thing}.",
    "Invent the history of {thing} in a village museum.",
    "Write an essay on what {thing} says about its owner.",
)


class Topic(Record, frozen=True):
    """Holds a topic that templates are filled with.

    `thing` comes with its article, `doing` is a gerund, and `words` are words that an answer may well use.
    """

    topic: str
    part: Literal["train", "dev"]
    thing: str
    doing: str
    words: tuple[str, ...]


@cache
def _topics() -> tuple[Topic, ...]:
    data = resources.files(__package__).joinpath("topics.jsonl").read_bytes()
    return tuple(decode(line, Topic) for line in data.splitlines())


@cache
def templated_queries(part: Literal["train", "dev"]) -> tuple[Query, ...]:
    """Return the queries of one part, by topic in the order of the file, then by template.

    The words of `dev` belong to no other part.
    """
    others = {word for query in queries() for word in query.words}
    others |= {word for topic in _topics() if topic.part != "dev" for word in topic.words}
    numbered = enumerate((*ABOUT_DOING, *ABOUT_THING), start=1)
    templates = [(number, text) for number, text in numbered if (number % DEV_EVERY == 0) == (part == "dev")]
    part_queries: list[Query] = []
    for topic in _topics():
        if topic.part == part:
            words = [word for word in topic.words if part != "dev" or word not in others]
            part_queries += _fill(templates, topic, words, "t")
    return tuple(part_queries)


def _fill(templates: Iterable[tuple[int, str]], topic: Topic, words: Sequence[str], prefix: str) -> Iterator[Query]:
    """Yield the query of each (number, template) that does not use too many of the topic's `words` itself."""
    for number, template in templates:
        text = template.format(doing=topic.doing, thing=topic.thing)
        unused = tuple(word for word in words if not uses(text, word))
        if len(unused) >= FEWEST_WORDS:
            yield Query(f"{prefix}-{topic.topic}-{number}", topic.topic, text, unused, topic.part)


@cache
def longer() -> tuple[Query, ...]:
    """Return requests about the training topics that leave the length of the answer open.

    Only training prompts use them.
    """
    templates = list(enumerate((*LONGER_ABOUT_DOING, *LONGER_ABOUT_THING), start=1))
    topics = (topic for topic in _topics() if topic.part == "train")
    return tuple(query for topic in topics for query in _fill(templates, topic, topic.words, "l"))


@cache
def query_texts() -> dict[str, str]:
    """Return query id -> text, for all parts."""
    return {
        query.id: query.text
        for query in (*queries(), *templated_queries("train"), *templated_queries("dev"), *longer())
    }


def queries_of_seed(seed: int, *, first: int, second: int) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Return two disjoint sets of training queries for one seed of a study, sized as `first` to `second`.

    Seeds that differ modulo SEEDS share no query.
    """
    return _of_seed((*queries("train"), *templated_queries("train")), seed, first, second)


def longer_queries_of_seed(seed: int, *, first: int, second: int) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    """Do as `queries_of_seed`, with the requests that leave the length of the answer open."""
    return _of_seed(longer(), seed, first, second)


def _of_seed(
    all_queries: Sequence[Query], seed: int, first: int, second: int
) -> tuple[tuple[Query, ...], tuple[Query, ...]]:
    everything = sorted(all_queries, key=_rank)
    own = [query for place, query in enumerate(everything) if place % SEEDS == seed % SEEDS]
    border = round(len(own) * first / (first + second))
    return tuple(own[:border]), tuple(own[border:])


def _rank(query: Query) -> bytes:
    return hashlib.sha256(query.id.encode()).digest()
