"""Decontamination: it finds what is planted, and its longest common subsequence is the textbook's."""

from __future__ import annotations

import random
import time
from itertools import product

import msgspec
import pytest

from adhere.build.decontaminate.parts import decontaminate, normalise, query_part
from adhere.errors import ContaminationError
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites.generated.core.suite import core
from adhere.suites.generated.core.training import training_prompts
from adhere.text.repeats import common_subsequence

# 16 words; in the other, one word was replaced and one added
LONG = "Please explain to a new colleague in plain words how the old printer in the hall works"
NEARLY = "Please explain to a new colleague in plain words how the old coffee machine in the hall works"


def prompt(name: str, text: str, *refs: ConstraintRef, **tags: str) -> Prompt:
    return Prompt(id=name, turns=(Turn(text, refs),), tags=tags)


def textbook(left: list[str], right: list[str]) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, j in product(range(len(left)), range(len(right))):
        table[i + 1][j + 1] = table[i][j] + 1 if left[i] == right[j] else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def test_our_parts_share_nothing_that_fails() -> None:
    report = decontaminate(training_prompts(0, 300), core(0, 360, 240).prompts)
    assert not report.failed
    assert not report.overlaps
    assert not [drop for drop in report.drops if drop.rule == "query"]
    assert report.query_pairs == report.prompt_pairs == 300 * 600


def test_a_planted_held_out_query_fails_the_report() -> None:
    training, held_out = list(training_prompts(0, 20)), core(0, 20, 10).prompts
    stolen = msgspec.structs.replace(held_out[3], id="planted")
    report = decontaminate([*training, stolen], held_out)
    assert report.failed
    assert {overlap.what for overlap in report.overlaps} == {"query", "topic", "wording"}
    assert all(overlap.training_id == "planted" for overlap in report.overlaps)
    assert next(o for o in report.overlaps if o.what == "query").held_out_id == held_out[3].id
    with pytest.raises(ContaminationError, match=r"1 of query.*planted"):
        report.kept([*training, stolen])


def test_the_same_query_in_other_dress_is_the_same() -> None:
    report = decontaminate([prompt("t", "Why is the sky BLUE")], [prompt("h", "Why is the sky “blue”?")])
    assert [(found.what, found.training_id, found.held_out_id) for found in report.overlaps] == [("query", "t", "h")]


def test_a_planted_held_out_kind_fails_the_report() -> None:
    held_out = core(0, 0, 30).prompts
    kind = held_out[0].constraints[0]
    report = decontaminate([prompt("t", "Say something.", kind)], held_out)
    assert {overlap.what for overlap in report.overlaps} == {"family"}
    assert {overlap.held_out_id is None for overlap in report.overlaps} == {True, False}
    assert decontaminate([prompt("t", "Say something.", kind)], []).failed  # a held-out kind needs no twin


def test_near_duplicates_are_dropped_and_logged_with_both_texts() -> None:
    training = [prompt("near", NEARLY), prompt("far", "Describe a quiet beach at sunrise in one sentence.")]
    report = decontaminate(training, [prompt("h", LONG)])
    assert not report.failed
    assert {drop.rule for drop in report.drops} == {"query", "whole prompt"}
    drop = report.drops[0]
    assert (drop.training_text, drop.held_out_text) == (NEARLY, LONG)
    assert (drop.common, drop.shorter) == (16, 17)
    assert report.kept(training) == training[1:]
    assert "1 training prompts too like" in report.message


@pytest.mark.parametrize(
    ("common", "extra", "dropped"),
    [(13, 0, True), (12, 0, False), (13, 8, True), (13, 9, False), (15, 10, True), (15, 11, False)],
)
def test_both_halves_of_the_rule(common: int, extra: int, dropped: bool) -> None:
    """13 of 21 tokens are 0.619 of the shorter text, 13 of 22 are 0.591; 15 of 25 are exactly 0.6."""
    shared = [f"w{number}" for number in range(common)]
    left = " ".join([*shared, *(f"a{number}" for number in range(extra))])
    right = " ".join([*shared, *(f"b{number}" for number in range(extra))]) + " and more"
    assert bool(decontaminate([prompt("t", left)], [prompt("h", right)]).drops) == dropped


def test_whole_prompts_match_where_queries_do_not() -> None:
    """Two short queries with the same long wording: dropped by the literal rule, and named as such."""
    held_out = core(0, 60, 0).prompts[0]
    long_tail = " Please keep to all of these rules without any exception at all, as we agreed on before."
    training = prompt("t", "Sing." + long_tail)
    twin = msgspec.structs.replace(held_out, turns=(Turn(query_part(held_out) + long_tail, held_out.constraints),))
    report = decontaminate([training], [twin])
    assert [drop.rule for drop in report.drops] == ["whole prompt"]


def test_the_query_part_is_the_query_of_ours_and_the_whole_text_of_others() -> None:
    ours = training_prompts(0, 1)[0]
    assert ours.text.startswith(query_part(ours) + " ")
    assert query_part(prompt("x", "What is it?", query="q-unknown-1")) == "What is it?"


def test_empty_sides_share_nothing() -> None:
    for left, right in (([], []), ([prompt("t", LONG)], []), ([], [prompt("h", LONG)])):
        report = decontaminate(left, right)
        assert not report.failed
        assert not report.drops


def test_the_subsequence_is_the_textbooks() -> None:
    rng = random.Random(5)
    for _ in range(300):
        left, right = ([rng.choice("abcde") for _ in range(rng.randrange(90))] for _ in range(2))
        assert common_subsequence(left, right) == textbook(left, right)


def test_the_prefilter_loses_nothing() -> None:
    rng = random.Random(6)
    vocabulary = [f"w{number}" for number in range(12)]
    sides = [[" ".join(rng.choices(vocabulary, k=rng.randrange(1, 30))) for _ in range(40)] for _ in range(2)]
    left, right = ([prompt(f"p{number}", text) for number, text in enumerate(side)] for side in sides)
    expected = set()
    for one, other in product(left, right):
        tokens = one.text.split(), other.text.split()
        common = textbook(*tokens)
        if common >= 13 and common >= 0.6 * min(map(len, tokens)):
            expected.add(one.id)
    found = {drop.training_id for drop in decontaminate(left, right).drops if drop.rule == "query"}
    assert found == expected
    assert expected, "the test must have something to find"


def test_normalised() -> None:
    assert normalise("  \uff37hy,\n is—IT so?") == "why is it so"


def test_hundreds_against_hundreds_take_seconds_not_minutes() -> None:
    rng = random.Random(7)
    vocabulary = [f"w{number}" for number in range(300)]
    sides = [[prompt(f"p{n}", " ".join(rng.choices(vocabulary, k=60))) for n in range(600)] for _ in range(2)]
    start = time.process_time()
    decontaminate(*sides)
    assert time.process_time() - start < 5
