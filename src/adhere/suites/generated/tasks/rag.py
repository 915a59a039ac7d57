"""Ask for answers from given passages: the fact, its passage and a quotation.

If no passage has the answer, the answer must say so.
"""

from __future__ import annotations

import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.answer import Labelled, Quotes
from adhere.constraints.kinds.trained.keywords import Forbid
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_PASSAGES = (3, 6, 12, 6)
_NOTHING = "not given"


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw passages about bridges, and a question about one of them; on the last level no passage answers it."""
    count = _PASSAGES[level]
    bridges = [word.capitalize() for word in rng.sample(WORDS, count + 1)]
    facts = []
    for bridge in bridges[:count]:
        city, builder = rng.choice(CITIES), rng.choice(NAMES)
        year, length = rng.randint(1620, 1980), rng.randint(90, 900)
        sentences = [
            f"The {bridge} Bridge in {city} was opened in the year {year}",
            f"It was built by {builder} and is {length} metres long",
            (
                f"Its {rng.choice(('railing', 'roof', 'tower', 'gate'))} is painted "
                f"{rng.choice(('red', 'green', 'white', 'black'))}"
            ),
        ]
        facts.append((city, builder, year, length, sentences))
    at = rng.randrange(count)
    city, builder, year, length, sentences = facts[at]
    question, answer, where = rng.choice(
        (
            ("In which city is the {} Bridge?", city, 0),
            ("Who built the {} Bridge?", builder, 1),
            ("In which year was the {} Bridge opened?", str(year), 0),
            ("How many metres long is the {} Bridge?", str(length), 1),
        )
    )
    has_answer = level < 3
    passages = "\n".join(f"[{number}] {'. '.join(fact[4])}." for number, fact in enumerate(facts, start=1))
    text = (
        f"{passages}\n\nAnswer from these passages only. {question.format(bridges[at if has_answer else count])}\n"
        'Write three lines: "Answer: " and the answer, as short as it can be; "Source: '
        '" and the number of the passage in square brackets; "Quote: " and at least four words in a row from that '
        'passage, between double quotation marks. If no passage has the answer, write only two lines, "Answer: '
        f'{_NOTHING}" and "Source: none".'
    )
    if not has_answer:
        checks: list[Constraint] = [
            Labelled("Answer", _NOTHING, "any case"),
            Labelled("Source", "none", "any case"),
            Forbid(("quote",)),
        ]
        return [single(text, checks, f"Answer: {_NOTHING}\nSource: none", roles=("answer", "source", "quote"))]
    key = answer.casefold()
    checks = [
        Labelled("Answer", key, "number" if key.isdigit() else "any case"),
        Labelled("Source", f"[{at + 1}]", "text"),
        Quotes(". ".join(sentences), 4),
    ]
    quote = " ".join(sentences[where].split()[:5])
    solution = f'Answer: {answer}\nSource: [{at + 1}]\nQuote: "{quote}"'
    return [single(text, checks, solution, roles=("answer", "source", "quote"))]


FAMILY = Family(
    name="rag",
    answers="Does it answer from given passages as told: fact, source and quotation, or that none has it?",
    paper="VIF-RAG and FollowRAG, arXiv 2410.09584; instruct-qa, arXiv 2307.16877",
    levels=(
        Level("3 passages", "three passages"),
        Level("6 passages", "six passages"),
        Level("12 passages", "twelve passages"),
        Level("not given", "six passages, and none has the answer"),
    ),
    draw=draw,
    version="2",
    max_new_tokens=256,
)
