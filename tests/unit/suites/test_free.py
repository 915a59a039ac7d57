"""Prompts in IFEval's manner: what they ask for, and that nobody else says or asks it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from adhere import suites
from adhere.constraints import registry, repair_all
from adhere.constraints.published.iftrain.twins import TWINS, as_own, published_ref, twin_kind
from adhere.constraints.resolve import is_published, resolve
from adhere.errors import UnknownName, UsageError
from adhere.schema import Prompt
from adhere.suites.generated.core.free import FreeManner, free_kinds, free_prompts
from adhere.suites.generated.core.slices import Sizes, audit, dev_suite, study_prompts, study_suite
from adhere.suites.generated.core.templates import SEEDS, longer, longer_queries_of_seed
from adhere.suites.generated.core.wordings import FREE, wordings_of
from adhere.text.repeats import NgramRule

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"needs ../shared/data: {DATA} is not there (set ADHERE_DATA)"
)
LIKE_ANOTHER = {
    "keywords:exclude_word_harder",
    "keywords:times",
}  # of each two that ask for the same, the study takes one
KINDS = sorted(set(FREE) - LIKE_ANOTHER)
SHORT = ["case:lower", "keywords:times", "length:at_most", "startend:end_phrase", "structure:json_object"]
ANSWER = (
    "Making cheese is a craft, and many people love it! You warm the milk, then you add the rennet, and you wait. "
    "After an hour the curds are firm enough to cut. Stir them gently, and drain the whey. Salt the curds, "
    "and press them into a mold. The next day you can take out your first cheese. It tastes mild, "
    "but it gets better with age."
)


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    parts = [longer_queries_of_seed(seed, first=2, second=1) for seed in range(SEEDS)]
    return [
        prompt
        for seed, among in enumerate(parts)
        for name, part in zip(("train-long", "again-long"), among, strict=True)
        for prompt in free_prompts(seed, 30, kinds=KINDS, name=name, among=part)
    ]


def test_one_to_three_rules_after_a_request_whose_length_is_open(prompts: list[Prompt]) -> None:
    assert Counter(len(prompt.constraints) for prompt in prompts) == {1: 300, 2: 240, 3: 60}
    kinds = Counter(ref.id for prompt in prompts for ref in prompt.constraints)
    assert set(kinds) == set(KINDS)
    assert max(kinds.values()) < 1.5 * min(kinds.values())
    assert sum(is_published(kind) for kind in kinds) == 8
    assert {query.asks for query in longer()} == {"nothing"}
    assert len({prompt.text for prompt in prompts}) == len(prompts)
    assert free_prompts(1, 20, kinds=KINDS, name="x", among=longer()) == free_prompts(
        1, 20, kinds=KINDS, name="x", among=longer()
    )


def test_they_share_nothing_with_what_is_measured(prompts: list[Prompt]) -> None:
    sizes = Sizes(60, 40)
    test = study_suite(0, new_topic=sizes, new_wording=sizes, new_family=sizes, kinds=SHORT, wordings=2)
    dev = dev_suite(0, sizes=sizes, kinds=SHORT, wordings=2, also=prompts)
    audit(prompts, [*test.prompts, *dev.prompts]).require_clean()
    short = study_prompts(0, 100, kinds=SHORT, wordings=2)
    assert not audit(prompts, short).queries
    said = audit(free_prompts(0, 60, kinds=["startend:end_phrase"], name="x", among=longer()), prompts)
    assert said.wordings, "the audit must know a free wording when it sees one"


def test_no_free_wording_is_said_by_another_prompt() -> None:
    for name, choices in FREE.items():
        kind = twin_kind(name)
        others = {*wordings_of(kind).training, *wordings_of(kind).held_out, *kind.phrasings}
        assert len(set(choices)) >= 3, name
        assert others.isdisjoint(choices), name


@needs_data
@pytest.mark.parametrize("suite", ["ifeval", "ifbench"])
def test_none_repeats_a_published_prompt(prompts: list[Prompt], suite: str) -> None:
    file = {"ifeval": "ifeval/input_data.jsonl", "ifbench": "ifbench/IFBench_test.jsonl"}[suite]
    rule = NgramRule([prompt.everything for prompt in suites.load(f"{suite}:{DATA / file}").prompts])
    assert [prompt.text for prompt in prompts if rule.first(prompt.text)] == []
    assert rule.first(suites.load(f"{suite}:{DATA / file}").prompts[0].everything)


@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_twin_asks_for_what_the_iftrain_kind_judges(name: str) -> None:
    among = longer()[:40]
    made = free_prompts(0, 20, kinds=[name], name="x", among=among)
    repaired = 0
    for prompt in made:
        (ref,) = (ref for ref in prompt.constraints)
        assert ref.id == name
        assert published_ref(name, as_own(ref)) == ref
        text = repair_all(ANSWER, [as_own(ref)])
        repaired += text is not None and resolve(ref).check(text).outcome == "pass"
    assert repaired >= 8, f"{repaired} of {len(made)} answers could be repaired"


def test_kinds_are_checked() -> None:
    assert free_kinds(["case:lower", "paragraphs:paragraphs"]) == {
        "case:lower": "case:lower",
        "paragraphs:paragraphs": "paragraphs:paragraphs",
    }
    with pytest.raises(UnknownName, match=r"No free wording of 'case:lowr' is known\. Did you mean 'case:lower'"):
        free_kinds(["case:lowr"])
    with pytest.raises(UsageError, match="ask for the same thing"):
        free_kinds(["keywords:forbid", "keywords:exclude_word_harder"])
    with pytest.raises(UsageError, match="at least one kind"):
        FreeManner([])
    with pytest.raises(UnknownName, match="Unknown kind"):
        twin_kind("count:count_unique")
    assert twin_kind("case:lower") is registry.get("case:lower")
