"""Where queries come from: our own, a person's file, a hub data set, or the model itself."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adhere.build.dataset.spec import Queries
from adhere.build.decontaminate.parts import normalise
from adhere.build.draws import draw_answers
from adhere.errors import SpecError, UsageError
from adhere.extras import need
from adhere.lines.blocks import LineFile
from adhere.lines.parquet import read_parquet
from adhere.models.base import Model
from adhere.progress import Progress
from adhere.schema import Prompt, Sampling, Turn, derive_seed
from adhere.suites.generated.core.queries import queries as own_queries
from adhere.text.repeats import common_subsequence, tokens
from adhere.text.scripts import writes_words
from adhere.text.words import words

SHOWN = 6  # of ours, to the model that writes new ones
ASKED = 8  # new ones in each answer
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}[.):]|[-*•])\s*(.+?)\s*$", re.MULTILINE)
_COMMON = frozenset(
    ["about", "above", "after", "again", "their", "there", "these", "those", "which", "while", "would", "could",
        "should", "please", "write",
     "explain", "describe", "sentence", "sentences", "words", "short", "give", "name", "what", "when", "where", "with",
     "from", "that", "this",
     "have", "your", "into", "does", "many", "some", "more", "than", "they", "them", "will", "make"]
)  # fmt: skip


class UserQuery(NamedTuple):
    """Holds one query.

    Attributes:
        id: Unique.
        text: What is asked.
        words: Topic words that constraints may use.
        asks: The unit in which the query limits its answer; None without a limit.
    """

    id: str
    text: str
    words: tuple[str, ...]
    asks: str | None


class QueryPool(NamedTuple):
    """Holds the queries and what was left out, as (reason, count, first such text)."""

    queries: list[UserQuery]
    left_out: list[tuple[str, int, str]]


def find_queries(spec: Queries, model: Model, *, seed: int, directory: Path, progress: Progress) -> QueryPool:
    """Return the queries of a spec without repeats; those of `ours`, files and hubs in a seeded order.

    Raises:
        UsageError, SpecError: A file cannot be used, or nothing is left.
        Incomplete: Calls to the model failed; the same call again tries those once more.
    """
    if spec.source == "ours":
        return QueryPool(_shuffle(_own(), seed), [])
    if spec.source == "bootstrap":
        return _bootstrap(spec, model, seed=seed, directory=directory, progress=progress)
    texts = _from_hub(spec) if spec.source == "hub" else _from_file(Path(spec.path), spec.column)
    return _distinct(texts, seed, spec.path or spec.name)


def _own() -> list[UserQuery]:
    return [UserQuery(query.id, query.text, query.words, query.asks) for query in own_queries("train")]


def _shuffle(queries: list[UserQuery], seed: int) -> list[UserQuery]:
    random.Random(derive_seed(seed, "queries")).shuffle(queries)
    return queries


def _distinct(texts: Iterator[str], seed: int, name: str) -> QueryPool:
    by_key: dict[str, str] = {}
    repeats, empty, first = 0, 0, ""
    for text in texts:
        key = normalise(text)
        if not key:
            empty += 1
        elif key in by_key:
            repeats, first = repeats + 1, first or text
        else:
            by_key[key] = text.strip()
    if not by_key:
        raise UsageError(f"{name} has no queries: {empty} rows are empty")
    left_out = [("asked before", repeats, first)] if repeats else []
    left_out += [("empty", empty, "")] if empty else []
    queries = [
        UserQuery(f"u-{number}", text, topic_words(text), None) for number, text in enumerate(by_key.values(), 1)
    ]
    return QueryPool(_shuffle(queries, seed), left_out)


def topic_words(text: str) -> tuple[str, ...]:
    """Return up to five words of a query that a constraint may ask for: long words, without very common ones.

    A text without blanks between words gives none: a whole sentence would be taken for a word. In a text that has
    capitals, only words of letters with a capital form count.
    """
    if not writes_words(text):
        return ()
    is_cased = has_capitals(text)
    usable = (word for word in words(text) if len(word) > 3 and word.isalpha() and (not is_cased or has_capitals(word)))
    lowercase_words = (word.lower() for word in usable)
    return tuple(dict.fromkeys(word for word in lowercase_words if word not in _COMMON))[:5]


def has_capitals(text: str) -> bool:
    """Tell whether most letters of a text have a capital form."""
    letters = [char for char in text if char.isalpha()]
    return sum(char.upper() != char.lower() for char in letters) * 2 > len(letters)


def _from_file(path: Path, column: str) -> Iterator[str]:
    if not path.is_file():
        raise UsageError(f"queries.path: {path} is no file")
    if path.suffix == ".parquet":
        yield from (_text(row, column, str(path)) for row in read_parquet(path))
    elif path.suffix == ".csv":
        yield from _from_csv(path, column)
    else:
        for number, row in LineFile(path).rows(dict[str, Any]):
            yield _text(row, column, f"{path}:{number}")


def _text(row: dict[str, Any], column: str, place: str) -> str:
    value = row.get(column)
    if not isinstance(value, str):
        raise SpecError(
            f"{place}: queries.column = {column!r} must be a column with a text. Columns of this row: "
            f"{', '.join(row) or 'none'}"
        )
    return value


def _from_csv(path: Path, column: str) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), start=2):
                yield _text(row, column, f"{path}: row {number}")
    except (UnicodeDecodeError, csv.Error) as error:
        raise SpecError(f"{path} cannot be read as CSV in UTF-8: {error}") from error


def _from_hub(spec: Queries) -> Iterator[str]:
    datasets = need("datasets", extra="train")
    for number, row in enumerate(datasets.load_dataset(spec.name, split=spec.split, streaming=True), start=1):
        yield _text(row, spec.column, f"{spec.name}[{number}]")


def _bootstrap(spec: Queries, model: Model, *, seed: int, directory: Path, progress: Progress) -> QueryPool:
    """Let the model write new queries like ours, and drop those too similar to another.

    Each call shows its own draw of our queries, so calls are independent and a killed build asks nothing twice.

    Source: self-instruct (arXiv 2212.10560): similarity pruning by ROUGE-L at 0.7. Here the model never sees new
    queries.
    """
    seeds = _own()
    calls = -(-2 * spec.count // ASKED)  # twice as many as wanted, because some are pruned
    prompts = [Prompt(f"bootstrap-{number}", (Turn(_request(seeds, seed, number)),)) for number in range(calls)]
    sampling = Sampling(max_new_tokens=40 * ASKED, temperature=0.9, top_p=0.95, seed=derive_seed(seed, "bootstrap"))
    draws = draw_answers(
        model, prompts, draws=1, sampling=sampling, directory=directory / "bootstrap" / "draws", progress=progress
    )
    queries: list[UserQuery] = []
    counts: dict[str, list[str]] = {}
    others = [tokens(query.text) for query in seeds]
    for prompt in prompts:
        for text in _NUMBERED.findall(draws.by_prompt[prompt.id][0].text)[:ASKED]:
            why = _unfit(text, others, spec.similarity)
            if why:
                counts.setdefault(why, []).append(text)
            elif len(queries) < spec.count:
                others.append(tokens(text))
                queries.append(UserQuery(f"b-{len(queries) + 1}", text, topic_words(text), None))
    if not queries:
        raise UsageError(
            f"{model.name} wrote no query that can be used "
            f"({ {why: len(texts) for why, texts in counts.items()} or 'nothing in a numbered list' }). "
            "Take queries.source = 'ours' or 'file'"
        )
    return QueryPool(queries, [(why, len(texts), texts[0]) for why, texts in sorted(counts.items())])


def _request(seeds: Sequence[UserQuery], seed: int, number: int) -> str:
    requests = random.Random(derive_seed(seed, "bootstrap", number)).sample(seeds, SHOWN)
    listing = "\n".join(f"{place}. {query.text}" for place, query in enumerate(requests, start=1))
    return (
        f"Here are {SHOWN} requests that people sent to an assistant:\n{listing}\n\n"
        f"Write {ASKED} new requests on other topics, as different from these and from each other as you can. "
        f"Number them 1 to {ASKED}, one on a line, and write nothing else."
    )


def _unfit(text: str, others: Sequence[list[bytes]], similarity: float) -> str | None:
    text_tokens = tokens(text)
    if not 4 <= len(text_tokens) <= 60:
        return "shorter than 4 or longer than 60 words"
    if len(set(text_tokens)) < 0.5 * len(text_tokens):
        return "repeats itself"
    for other in others:
        common = common_subsequence(text_tokens, other)
        if 2 * common > similarity * (len(text_tokens) + len(other)):  # F1 of precision and recall
            return "too like another query"
    return None
