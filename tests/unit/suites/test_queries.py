"""The queries: enough of them, in two parts that share neither topic nor wording, all asking for short answers."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from adhere.build.decontaminate.parts import normalise
from adhere.suites.generated.core.queries import Query, queries
from adhere.suites.generated.core.templates import query_texts
from adhere.text.repeats import common_subsequence
from adhere.text.words import words


def test_there_are_enough_in_both_parts() -> None:
    train, held_out = queries("train"), queries("held-out")
    assert len(train) >= 220
    assert len(held_out) >= 160
    assert len({query.topic for query in train}) >= 38
    assert len({query.topic for query in held_out}) >= 25
    assert queries() == (*train, *held_out)
    assert query_texts()[train[0].id] == train[0].text


def test_ids_and_texts_are_unique_and_ids_name_the_topic() -> None:
    assert len({query.id for query in queries()}) == len(queries())
    assert len({normalise(query.text) for query in queries()}) == len(queries())
    for query in queries():
        assert re.fullmatch(rf"q-{re.escape(query.topic)}-\d+", query.id), query.id


def test_no_topic_is_in_both_parts() -> None:
    assert {query.topic for query in queries("train")}.isdisjoint(query.topic for query in queries("held-out"))


def test_no_query_of_one_part_is_nearly_one_of_the_other() -> None:
    train = [(query.text, words(query.text.lower())) for query in queries("train")]
    held_out = [(query.text, words(query.text.lower())) for query in queries("held-out")]
    longest = max((common_subsequence(left, right), one, other) for one, left in train for other, right in held_out)
    assert longest[0] < 12, (
        longest
    )  # the rule drops from 13 on; the frames ("In one or two sentences, …") take up to 11


@pytest.mark.parametrize("part", ["train", "held-out"])
def test_topics_have_about_equally_many(part: str) -> None:
    counts = Counter(query.topic for query in queries(part))  # type: ignore[arg-type]
    assert max(counts.values()) - min(counts.values()) <= 1


def test_every_query_limits_its_answer_in_exactly_one_unit() -> None:
    for query in queries():
        in_words = re.findall(r"(?:under|than|about|some|most|below|With) (\d+) words", query.text)
        in_sentences = re.search(r"\bsentences?\b", query.text)
        assert bool(in_words) != bool(in_sentences), query.text
        assert query.asks == ("words" if in_words else "sentences")
        assert all(int(count) <= 45 for count in in_words), query.text


def test_topic_words_could_be_keywords_and_are_not_in_the_query() -> None:
    for query in queries():
        assert 3 <= len(query.words) <= 5
        assert len(set(query.words)) == len(query.words)
        assert all(re.fullmatch(r"[a-z]{2,14}", word) for word in query.words), query
        assert not set(query.words) & set(words(query.text.lower())), query


def test_queries_end_as_sentences_do() -> None:
    for query in queries():
        assert query.text.strip() == query.text
        assert query.text[0].isupper()
        assert query.text[-1] in '.?"', query.text


def test_a_query_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Query("q-x-1", "x", "X?", ("a",), "train").text = "Y?"  # type: ignore[misc]
