"""The measures beside the rates, against values worked out by hand."""

import pytest

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.measures import measures
from adhere.schema import ConstraintRef, Prompt, Response, Turn, Verdict
from adhere.stats import wilson_clustered

LOWER = ConstraintRef("case:lower")


def include(word):
    return ConstraintRef("keywords:include", {"words": [word]})


def prompt(name, constraints=(LOWER,), turns=1, **tags):
    return Prompt(name, tuple(Turn("Say.", tuple(constraints)) for _ in range(turns)), source="mine", tags=tags)


def answers(prompts, outcomes, *, draws=1, texts=None):
    """`outcomes`: for (prompt, turn, draw) one of p(ass), f(ail), u(ndecided) a constraint."""
    words = {"p": "pass", "f": "fail", "u": "undecided"}
    responses, verdicts = [], []
    for (name, turn, draw), found in outcomes.items():
        responses.append(Response(name, turn, draw, (texts or {}).get(name, "x"), "ok"))
        verdicts += [
            Verdict(name, turn, draw, index, "case:lower", view, words[one], "because")
            for index, one in enumerate(found)
            for view in ("strict", "loose")
        ]
    return Answers(prompts, draws, responses, verdicts)


def values(found):
    return {(one.name, one.scope): one.value for one in measures(found)}


class TestLevels:
    def found(self):
        prompts = [
            prompt(f"{group}{level}", (LOWER, LOWER), level=str(level), slice=f"L{level}", group=group)
            for group in "abc"
            for level in (1, 2, 3)
        ]
        outcomes = {
            "a1": "pp",
            "a2": "pp",
            "a3": "pf",
            "b1": "pp",
            "b2": "fp",
            "b3": "pp",
            "c1": "ff",
            "c2": "pp",
            "c3": "pp",
        }
        return answers(prompts, {(name, 0, 0): found for name, found in outcomes.items()})

    def test_hard_and_soft_satisfaction(self):
        found = values(self.found())
        assert found["hard satisfaction", "L1"] == 2 / 3
        assert found["hard satisfaction", "L2"] == 2 / 3
        assert found["soft satisfaction", "L1"] == 4 / 6
        assert found["soft satisfaction", "L3"] == 5 / 6

    def test_consistent_levels_stop_at_the_first_failure(self):
        assert values(self.found())["consistent levels", "of 3"] == (2 + 1 + 0) / 3

    def test_intervals_are_wilson_s_where_nothing_is_clustered(self):
        one = next(m for m in measures(self.found()) if (m.name, m.scope) == ("hard satisfaction", "L1"))
        expected = wilson_clustered([1, 1, 0], [1, 1, 1])
        assert (one.low, one.high, one.n, one.what) == (expected.low, expected.high, 3, "prompts")

    def test_a_group_that_lacks_a_level_counts_for_no_consistency(self):
        whole = self.found()
        del whole.responses["a3", 0, 0]
        assert values(whole)["consistent levels", "of 3"] == (1 + 0) / 2

    def test_levels_of_ten_and_more_are_in_order(self):
        prompts = [prompt(str(level), level=str(level), slice=f"L{level}", group="g") for level in range(1, 12)]
        found = values(answers(prompts, {(str(level), 0, 0): "p" if level < 11 else "f" for level in range(1, 12)}))
        assert found["consistent levels", "of 11"] == 10


class TestTurns:
    def test_turns_pif_and_conversations(self):
        prompts = [prompt("a", (LOWER, LOWER), turns=2), prompt("b", (LOWER, LOWER), turns=2)]
        outcomes = {("a", 0, 0): "pp", ("a", 1, 0): "pp", ("b", 0, 0): "pp", ("b", 1, 0): "pf"}
        found = values(answers(prompts, outcomes))
        assert found["turn", "1"] == 1
        assert found["turn", "2"] == 0.5
        assert found["PIF of turn", "2"] == 0.75
        assert found["conversation", ""] == 0.5

    def test_a_turn_that_was_not_measured_is_no_failure(self):
        prompts = [prompt("a", turns=2), prompt("b", turns=2)]
        found = {
            (one.name, one.scope): one
            for one in measures(answers(prompts, {("a", 0, 0): "p", ("a", 1, 0): "p", ("b", 0, 0): "p"}))
        }
        assert (found["turn", "2"].value, found["turn", "2"].n) == (1, 1)
        assert (found["conversation", ""].value, found["conversation", ""].n) == (1, 1)

    def test_pif_n_n_asks_for_every_draw(self):
        prompts = [prompt("a", turns=2), prompt("b", turns=2)]
        outcomes = {(name, turn, draw): "p" for name in "ab" for turn in (0, 1) for draw in (0, 1)}
        outcomes["b", 1, 1] = "f"
        assert values(answers(prompts, outcomes, draws=2))["PIF-2-2", ""] == 0.5


class TestVariants:
    def found(self):
        prompts = [prompt(f"{g}{v}", group=g, variant=v, level="1") for g in "abcd" for v in "xy"]
        outcomes = dict.fromkeys([(one.id, 0, 0) for one in prompts], "p") | {
            ("ay", 0, 0): "f",
            ("bx", 0, 0): "f",
            ("by", 0, 0): "f",
        }
        return answers(prompts, outcomes)

    def test_mean_worst_case_and_disagreement(self):
        found = values(self.found())
        assert found["variant", "x"] == 0.75
        assert found["variant", "y"] == 0.5
        assert found["mean over variants", ""] == 5 / 8
        assert found["worst case", ""] == 0.5
        assert found["disagreement", ""] == 0.25
        assert found["spread of variants", ""] == pytest.approx(0.125)

    def test_a_group_of_one_variant_less_is_left_out(self):
        whole = self.found()
        del whole.responses["ax", 0, 0]
        assert values(whole)["worst case", ""] == 2 / 3


def test_roles_are_given_apart_and_undecided_ones_are_not_counted():
    prompts = [prompt(name, (LOWER, LOWER, LOWER), roles="right,told,told") for name in "abc"]
    found = {
        (m.name, m.scope): m
        for m in measures(answers(prompts, {("a", 0, 0): "ppp", ("b", 0, 0): "pfp", ("c", 0, 0): "upp"}))
    }
    assert (found["role", "right"].value, found["role", "right"].n) == (1, 2)
    assert (found["role", "told"].value, found["role", "told"].n) == (2 / 3, 3)
    assert (found["all roles", ""].value, found["all roles", ""].n) == (0.5, 2)


def test_a_right_step_behind_a_wrong_one_is_luck():
    prompts = [prompt("a", (LOWER,) * 4, dependent="yes"), prompt("b", (LOWER,) * 4, dependent="yes")]
    found = values(answers(prompts, {("a", 0, 0): "pfpp", ("b", 0, 0): "pppp"}))
    assert found["steps before the first failure", ""] == (0.25 + 1) / 2


def test_the_grid_of_lengths_and_depths():
    prompts = [
        prompt(f"{s}{d}", slice=s, depth=d, task="needle", family="long") for s in ("1k", "2k") for d in ("0", "50")
    ]
    found = values(answers(prompts, {("1k0", 0, 0): "p", ("1k50", 0, 0): "p", ("2k0", 0, 0): "f", ("2k50", 0, 0): "p"}))
    assert found["depth", "2k at 0 %"] == 0
    assert found["depth", "2k at 50 %"] == 1
    assert found["task", "needle"] == 0.75


def test_omissions_and_distortions():
    words = ("account", "cats", "dog")
    prompts = [prompt("a", [include(word) for word in words], family="density", slice="3 words")]
    found = values(answers(prompts, {("a", 0, 0): "ffp"}, texts={"a": "An accounting dog."}))
    assert found["distorted", "3 words"] == 1 / 3
    assert found["omitted", "3 words"] == 1 / 3


def test_prompts_without_such_tags_have_no_measures():
    assert measures(answers([prompt("a")], {("a", 0, 0): "p"})) == ()


def test_levels_of_different_families_are_not_mixed():
    prompts = [prompt(f, level=str(at), slice="s", family=f, group="g") for at, f in enumerate(("one", "two"), start=1)]
    assert measures(answers(prompts, {("one", 0, 0): "p", ("two", 0, 0): "p"})) == ()
