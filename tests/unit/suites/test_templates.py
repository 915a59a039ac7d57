"""Queries made by templates.

Enough for ten seeds of a study, apart by part, seed and stage, and free of what is tested on.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from adhere.build.decontaminate.parts import decontaminate
from adhere.errors import AdhereError, UsageError
from adhere.suites.generated.core.queries import queries
from adhere.suites.generated.core.slices import Sizes, audit, dev_suite, study_prompts, study_suite
from adhere.suites.generated.core.templates import SEEDS, queries_of_seed, templated_queries
from adhere.text.words import words

KINDS = ["case:lower", "case:upper", "keywords:times", "length:at_most", "punctuation:no_commas", "startend:end_phrase",
         "startend:quotes", "startend:start_phrase", "structure:bullets", "structure:json_object"]  # fmt: skip


def test_ten_seeds_have_queries_of_their_own_and_resampling_has_others_than_sft() -> None:
    parts = [part for seed in range(SEEDS) for part in queries_of_seed(seed, first=400, second=200)]
    assert all(len(one) > 230 and len(two) > 115 for one, two in pairwise(parts) if len(one) > len(two))
    ids = [query.id for part in parts for query in part]
    assert len(set(ids)) == len(ids)
    texts = [query.text for query in (*queries(), *templated_queries("train"), *templated_queries("dev"))]
    assert len(set(texts)) == len(texts)
    assert queries_of_seed(3, first=2, second=1) == queries_of_seed(3 + SEEDS, first=2, second=1)


def test_the_parts_share_no_topic_and_no_template() -> None:
    topics = {
        "train": {query.topic for query in (*queries("train"), *templated_queries("train"))},
        "dev": {query.topic for query in templated_queries("dev")},
        "held-out": {query.topic for query in queries("held-out")},
    }
    assert topics["dev"].isdisjoint(topics["train"] | topics["held-out"])
    assert topics["train"].isdisjoint(topics["held-out"])
    frames = [{query.id.rpartition("-")[2] for query in templated_queries(part)} for part in ("train", "dev")]  # type: ignore[arg-type]
    assert frames[0].isdisjoint(frames[1])


def test_they_ask_for_short_answers_in_one_unit_and_keep_their_words_to_themselves() -> None:
    for query in (*templated_queries("train"), *templated_queries("dev")):
        in_words = re.findall(r"(?:under|about) (\d+) words", query.text)
        assert bool(in_words) != bool(re.search(r"\bsentences?\b", query.text)), query.text
        assert query.asks == ("words" if in_words else "sentences")
        assert len(set(query.words)) == len(query.words) >= 3
        assert not set(query.words) & set(words(query.text.lower())), query
        assert "  " not in query.text
        assert query.text[-1] == "."


def test_the_dev_slice_shares_nothing_with_training_or_test_of_any_seed() -> None:
    test = study_suite(
        0, new_topic=Sizes(60, 40), new_wording=Sizes(40, 10), new_family=Sizes(40, 10), kinds=KINDS, wordings=2
    )
    training = [
        prompt
        for seed in range(SEEDS)
        for name, among in zip(("train", "again"), queries_of_seed(seed, first=2, second=1), strict=True)
        for prompt in study_prompts(seed, 100, kinds=KINDS, wordings=2, name=name, among=among)
    ]
    dev = dev_suite(0, sizes=Sizes(60, 40), kinds=KINDS, wordings=2, also=[*training, *test.prompts])
    assert {ref.id for prompt in dev.prompts for ref in prompt.constraints} == set(KINDS)
    for side in (training, test.prompts):
        found = audit(side, dev.prompts)
        assert {name: getattr(found, name) for name in found.__struct_fields__ if getattr(found, name)} == {}
    assert len(decontaminate(training, dev.prompts, whole_prompts=False).kept(training)) == len(training)


def test_a_dev_slice_that_shares_something_is_refused() -> None:
    training = study_prompts(0, 20, kinds=KINDS, wordings=None)
    said_otherwise = study_prompts(0, 200, kinds=KINDS, wordings=4)
    with pytest.raises(AdhereError, match="wordings"):
        dev_suite(0, sizes=Sizes(60, 0), kinds=KINDS, wordings=2, also=said_otherwise)
    with pytest.raises(UsageError, match="wordings that training leaves"):
        dev_suite(0, sizes=Sizes(60, 0), kinds=KINDS, wordings=None, also=training)


def test_the_committed_studies_held_out_prompts_come_out_again() -> None:
    """What was added for training and tuning changes nothing of what is tested on."""
    suite = study_suite(
        0, new_topic=Sizes(400, 250), new_wording=Sizes(150, 50), new_family=Sizes(100, 50), kinds=KINDS, wordings=2
    )
    assert suite.sha256 == "d3bdf9ac59edb4a700c730e52e083154c499ce61016ebc7acef69b8ae901f01d"
