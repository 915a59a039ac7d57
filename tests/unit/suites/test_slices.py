"""The slices of a study each ask one thing, and nothing held out occurs in training."""

from __future__ import annotations

from collections import Counter

import pytest

from adhere.constraints import from_ref, registry
from adhere.errors import AdhereError, UsageError
from adhere.schema import Prompt
from adhere.suites.generated.core.slices import SLICES, Sizes, audit, study_prompts, study_suite
from adhere.suites.generated.core.wordings import WORDINGS, contents, part_of, wordings_of

KINDS = ["case:lower", "case:upper", "keywords:times", "length:at_most", "punctuation:no_commas", "startend:end_phrase",
         "startend:quotes", "startend:start_phrase", "structure:bullets", "structure:json_object"]  # fmt: skip


@pytest.fixture(scope="module")
def held_out() -> tuple[Prompt, ...]:
    sizes = Sizes(100, 60)
    return study_suite(0, new_topic=sizes, new_wording=sizes, new_family=sizes, kinds=KINDS, wordings=2).prompts


@pytest.fixture(scope="module")
def training() -> list[Prompt]:
    return [
        p
        for seed in range(4)
        for name in ("train", "again")
        for p in study_prompts(seed, 200, kinds=KINDS, wordings=2, name=name)
    ]


def of(prompts: tuple[Prompt, ...], name: str) -> list[Prompt]:
    return [prompt for prompt in prompts if prompt.tags["slice"].startswith(name)]


def said(prompt: Prompt, *, held_out: bool) -> bool:
    """Whether every constraint stands there in a wording of one side."""
    return all(
        any(
            wording.format(**one.wording()) in prompt.text
            for wording in (known.held_out if held_out else known.training[:2])
        )
        for one in map(from_ref, prompt.constraints)
        for known in [wordings_of(type(one))]
    )


def test_sizes_and_numbers_of_constraints(held_out: tuple[Prompt, ...]) -> None:
    assert Counter(p.tags["slice"] for p in held_out) == {name: 100 if "single" in name else 60 for name in SLICES}
    assert {len(p.constraints) for p in held_out if p.tags["slice"].endswith("single")} == {1}
    assert {len(p.constraints) for p in held_out if p.tags["slice"].endswith("multiple")} == {2, 3}


def test_each_slice_asks_one_thing(held_out: tuple[Prompt, ...], training: list[Prompt]) -> None:
    assert all(said(p, held_out=False) for p in (*training, *of(held_out, "new-topic")))
    assert all(said(p, held_out=True) for p in (*of(held_out, "new-wording"), *of(held_out, "new-family")))
    assert {ref.id for p in (*of(held_out, "new-topic"), *of(held_out, "new-wording")) for ref in p.constraints} == set(
        KINDS
    )
    assert {registry.get(ref.id).part for p in of(held_out, "new-family") for ref in p.constraints} == {"held-out"}


def test_kinds_and_wordings_come_equally_often(training: list[Prompt]) -> None:
    kinds = Counter(ref.id for p in training for ref in p.constraints)
    assert max(kinds.values()) < 1.2 * min(kinds.values())
    assert Counter(len(p.constraints) for p in training)[1] == 0.8 * len(training)
    first, second = WORDINGS["case:lower"].training[:2]
    counts = Counter(wording for p in training for wording in (first, second) if wording in p.text)
    assert abs(counts[first] - counts[second]) <= 8


def test_nothing_held_out_is_in_training(held_out: tuple[Prompt, ...], training: list[Prompt]) -> None:
    assert audit(training, held_out) == audit([], [])
    audit(training, held_out).require_clean()
    asked = [
        {text.casefold() for p in side for ref in p.constraints for text in contents(from_ref(ref))}
        for side in (training, held_out)
    ]
    assert asked[0]
    assert asked[1]
    assert asked[0].isdisjoint(asked[1])


def test_the_audit_finds_what_is_shared(held_out: tuple[Prompt, ...], training: list[Prompt]) -> None:
    for field, name in {"contents": "new-topic", "wordings": "new-wording", "families": "new-family"}.items():
        found = audit([*training, *of(held_out, name)], held_out)
        assert getattr(found, field), field
        assert found.queries
        assert found.topics
        with pytest.raises(AdhereError, match="share what they must not"):
            found.require_clean()


def test_every_seed_has_its_own_prompts() -> None:
    one, other = ({p.text for p in study_prompts(seed, 100, kinds=KINDS)} for seed in (1, 2))
    assert len(one & other) < 10
    assert study_prompts(1, 50) == study_prompts(1, 50)


@pytest.mark.parametrize("kind", sorted(WORDINGS))
def test_wordings_are_natural_in_number_and_say_what_is_asked(kind: str) -> None:
    known = WORDINGS[kind]
    assert len(known.training) >= 4
    assert len(known.held_out) >= 3
    assert not set(known.training) & set(known.held_out)
    texts = (one.lower() for one in (*known.training, *known.held_out))
    assert len(set(texts)) == len(known.training) + len(known.held_out)
    fields = [
        {f for f in ("{phrase}", "{keys}", "{word}", "{limit}") if f in one}
        for one in (*known.training, *known.held_out)
    ]
    assert all(found == fields[0] for found in fields), "every wording must name the parameter"


def test_contents_belong_to_one_part() -> None:
    assert part_of("In short") == part_of("IN SHORT") == "train"
    assert part_of("Let us see") == "held-out"
    assert part_of("yeast") == "train"


def test_sizes_are_checked() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        study_suite(0)
    with pytest.raises(UsageError, match="at least 1"):
        study_prompts(0, 0)
