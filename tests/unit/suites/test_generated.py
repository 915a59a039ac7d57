"""Composed prompts: deterministic, balanced, without conflicts, and nothing held out in training."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pytest

from adhere.constraints import conflict, from_ref, registry
from adhere.errors import AdhereError, UsageError
from adhere.schema import Prompt, content_hash
from adhere.suites.generated.core.compose import CONTRADICTS, OwnWords, compose
from adhere.suites.generated.core.deal import CORE_KINDS, Dealer, kinds_of, topics_in_turn
from adhere.suites.generated.core.queries import Query, queries
from adhere.suites.generated.core.suite import core
from adhere.suites.generated.core.templates import query_texts
from adhere.suites.generated.core.training import training_prompts

TRAIN_FAMILIES = {"length", "keywords", "case", "punctuation", "startend", "structure"}
HELD_OUT_FAMILIES = {"format", "letters"}


@pytest.fixture(scope="module")
def training() -> tuple[Prompt, ...]:
    return training_prompts(0, 300)


@pytest.fixture(scope="module")
def held_out() -> tuple[Prompt, ...]:
    return core(0, 360, 240).prompts


def families(prompt: Prompt) -> set[str]:
    return {ref.id.partition(":")[0] for ref in prompt.constraints}


def counts_of_kinds(prompts: list[Prompt]) -> Counter[str]:
    return Counter(ref.id for prompt in prompts for ref in prompt.constraints)


def test_seed_0_is_pinned() -> None:
    """Changes when a query, a wording or a draw changes.

    Then raise `core.VERSION` once a release carries the old one.
    """
    assert core(0).sha256 == "0e507d6d2ae8940447b37d194165fa3c011976c1b10176b76bd9e60c6ff142a7"
    assert (
        content_hash(list(training_prompts(0, 240)))
        == "1b73e898ba3e3a83353903a431a9e7260bfd575e4362f3357f39431ae89b2586"
    )


def test_the_same_arguments_give_the_same_prompts_and_another_seed_others() -> None:
    assert core(3, 20, 10) == core(3, 20, 10)
    assert training_prompts(3, 20) == training_prompts(3, 20)
    assert {p.text for p in core(3, 20, 10).prompts} != {p.text for p in core(4, 20, 10).prompts}
    assert training_prompts(3, 20) != training_prompts(4, 20)


def test_slices_have_their_sizes_and_families(held_out: tuple[Prompt, ...]) -> None:
    assert Counter(prompt.tags["slice"] for prompt in held_out) == {"in-family": 360, "new-family": 240}
    for prompt in held_out:
        allowed = TRAIN_FAMILIES if prompt.tags["slice"] == "in-family" else HELD_OUT_FAMILIES
        assert families(prompt) <= allowed
        assert prompt.tags["families"] == ",".join(sorted(families(prompt)))


def test_every_kind_of_a_slice_is_seen_about_equally_often(
    training: tuple[Prompt, ...], held_out: tuple[Prompt, ...]
) -> None:
    slices = {
        "train": list(training),
        "in-family": [prompt for prompt in held_out if prompt.tags["slice"] == "in-family"],
        "new-family": [prompt for prompt in held_out if prompt.tags["slice"] == "new-family"],
    }
    for name, prompts in slices.items():
        counts = counts_of_kinds(prompts)
        assert set(counts) == {kind.id for kind in kinds_of("held-out" if name == "new-family" else "train")}
        assert max(counts.values()) - min(counts.values()) <= 2, (name, counts)


def test_one_to_three_constraints_in_fixed_shares(held_out: tuple[Prompt, ...]) -> None:
    assert Counter(len(prompt.constraints) for prompt in held_out) == {1: 360, 2: 180, 3: 60}


def test_no_prompt_repeats_a_kind_or_holds_a_conflict(
    training: tuple[Prompt, ...], held_out: tuple[Prompt, ...]
) -> None:
    for prompt in (*training, *held_out):
        constraints = [from_ref(ref) for ref in prompt.constraints]
        assert len({constraint.id for constraint in constraints}) == len(constraints)
        assert not any(conflict(one, other) for one, other in combinations(constraints, 2)), prompt.text


def test_texts_and_ids_are_unique_and_begin_with_their_query(
    training: tuple[Prompt, ...], held_out: tuple[Prompt, ...]
) -> None:
    for prompts in (training, held_out):
        assert len({prompt.text for prompt in prompts}) == len({prompt.id for prompt in prompts}) == len(prompts)
    for prompt in (*training, *held_out):
        assert prompt.text.startswith(query_texts()[prompt.tags["query"]] + " ")


def test_queries_are_used_evenly(training: tuple[Prompt, ...], held_out: tuple[Prompt, ...]) -> None:
    for part, prompts in (("train", training), ("held-out", held_out)):
        counts = Counter({query.id: 0 for query in queries(part)})  # type: ignore[arg-type]
        counts.update(prompt.tags["query"] for prompt in prompts)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_nothing_held_out_is_in_training(training: tuple[Prompt, ...], held_out: tuple[Prompt, ...]) -> None:
    for tag in ("query", "topic"):
        assert {prompt.tags[tag] for prompt in training}.isdisjoint(prompt.tags[tag] for prompt in held_out)
    assert set.union(*map(families, training)) == TRAIN_FAMILIES
    for prompt in training:
        for constraint in map(from_ref, prompt.constraints):
            assert constraint.describe(len(constraint.phrasings) - 1) not in prompt.text
    for prompt in held_out:
        for constraint in map(from_ref, prompt.constraints):
            assert constraint.describe(len(constraint.phrasings) - 1) in prompt.text


def test_training_uses_every_training_wording() -> None:
    seen = Counter[str]()
    prompts = training_prompts(1, 1_500)
    for prompt in prompts:
        for constraint in map(from_ref, prompt.constraints):
            said = {
                place for place in range(len(constraint.phrasings) - 1) if constraint.describe(place) in prompt.text
            }
            assert said, prompt.text
            seen.update(f"{constraint.id}/{place}" for place in said)
    wordings = {f"{kind.id}/{place}" for kind in kinds_of("train") for place in range(len(kind.phrasings) - 1)}
    assert set(seen) == wordings


def test_no_constraint_contradicts_the_length_its_query_asks_for(held_out: tuple[Prompt, ...]) -> None:
    by_id = {query.id: query for query in queries()}
    for prompt in held_out:
        asks = by_id[prompt.tags["query"]].asks
        assert not {ref.id for ref in prompt.constraints} & CONTRADICTS[asks], prompt.text


def test_contradicting_kinds_exist() -> None:
    for kinds in CONTRADICTS.values():
        assert all(kind in registry for kind in kinds)


def test_topics_take_turns() -> None:
    order = topics_in_turn(queries("held-out"), random.Random(0))
    topics = len({query.topic for query in order})
    assert sorted(query.id for query in order) == sorted(query.id for query in queries("held-out"))
    assert len({query.topic for query in order[:topics]}) == topics


def test_a_query_that_takes_no_constraint_is_an_error_that_names_it() -> None:
    query = Query("q-x-1", "x", "What is x? Answer in one sentence.", ("a", "b", "c"), "train")
    kinds = [registry.get("length:sentences")]
    with pytest.raises(AdhereError, match=r"'q-x-1'.*asks for an answer in sentences.*no kind was given that fits"):
        compose(query, random.Random(0), kinds=kinds, count=1, manner=OwnWords("training"), id="p", slice="train")


def test_kinds_that_always_conflict_are_an_error_that_says_what_was_tried() -> None:
    query = queries("train")[0]
    kinds = [registry.get("case:lower"), registry.get("case:upper")]
    with pytest.raises(AdhereError, match=rf"2 constraint\(s\) for query '{query.id}'.*case:lower, case:upper"):
        compose(query, random.Random(0), kinds=kinds, count=2, manner=OwnWords("training"), id="p", slice="train")


def test_a_kind_that_conflicts_is_passed_over_for_the_next() -> None:
    kinds = [registry.get(name) for name in ("case:lower", "case:upper", "punctuation:no_commas")]
    prompt = compose(
        queries("train")[0], random.Random(0), kinds=kinds, count=2, manner=OwnWords("training"), id="p", slice="train"
    )
    assert {ref.id for ref in prompt.constraints} == {"case:lower", "punctuation:no_commas"}


def test_more_prompts_than_there_are_is_an_error() -> None:
    dealer = Dealer(queries("train")[:1], seed=0, manner=OwnWords("held-out"), source="few")
    with pytest.raises(AdhereError, match="exists already"):
        dealer.deal(
            "train", 60, [registry.get(name) for name in ("case:lower", "punctuation:no_commas", "startend:quotes")]
        )


@pytest.mark.parametrize(("in_family", "new_family"), [(-1, 5), (5, -1), (0, 0)])
def test_core_refuses_odd_sizes(in_family: int, new_family: int) -> None:
    with pytest.raises(UsageError, match="at least"):
        core(0, in_family, new_family)


def test_training_refuses_no_prompts() -> None:
    with pytest.raises(UsageError, match="count=0"):
        training_prompts(0, 0)


def test_the_default_kinds_are_those_of_version_1() -> None:
    assert len(CORE_KINDS) == len(set(CORE_KINDS)) == 50
    assert [kind.id for kind in (*kinds_of("train"), *kinds_of("held-out"))] == sorted(
        CORE_KINDS, key=lambda name: (registry.get(name).part != "train", name)
    )
    assert (len(kinds_of("train")), len(kinds_of("held-out"))) == (35, 15)


def test_any_kind_can_be_named() -> None:
    """Every own kind of one part, the later families included, gets into prompts and goes with some query."""
    named: dict[str, list[str]] = {"train": [], "held-out": []}
    for name in registry:
        kind = registry.get(name)
        if kind.__module__.startswith("adhere.constraints.") and kind.family() not in {"compose", "scope"}:
            named[kind.part].append(name)
    suite = core(0, 400, 300, kinds=named["train"], new_kinds=named["held-out"])
    assert set(counts_of_kinds(list(suite.prompts))) == {*named["train"], *named["held-out"]}
    assert suite.settings["new_kinds"] == ", ".join(named["held-out"])
    four = ["copying:spelled", "counting:words_of_length", "counting:number_sum", "position:near"]
    assert set(counts_of_kinds(list(training_prompts(0, 40, kinds=four)))) == set(four)
    assert core(0, 1, 1, new_kinds=["style:no_to_be"]).prompts[1].constraints[0].id == "style:no_to_be"


def test_a_kind_of_the_other_part_is_refused() -> None:
    with pytest.raises(UsageError, match="data:csv is a train kind; a held-out kind is wanted"):
        core(0, 1, 1, new_kinds=["data:csv"])
