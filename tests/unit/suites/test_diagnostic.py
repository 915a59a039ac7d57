"""The diagnostic suite: one right answer an item, computed twice; what passes, what does not, and what is partial."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.suites import diagnostic_solvers as solvers

from adhere.constraints import from_ref, registry
from adhere.errors import AdhereError, UsageError
from adhere.pipeline.judge import judge_text
from adhere.schema import content_hash
from adhere.stats import wilson_clustered
from adhere.suites import load
from adhere.suites.generated.core.deal import CORE_KINDS
from adhere.suites.generated.core.suite import core
from adhere.suites.generated.core.training import training_prompts
from adhere.suites.generated.diagnostic.suite import PUBLIC_SEED, SLICES, TEMPLATES, diagnostic, draw_items

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "diagnostic.md"
SEEDS = (0, 1, 7, 123456789)
PUBLIC_SHA256 = "97333682a2a5db01e7e23b3cbd5d1bb32bd94d39de69f9316bb518c3b39fab44"
BY_ID = {template.id: template for template in TEMPLATES}


@pytest.fixture(scope="module")
def items():
    """200 items of each template."""
    return {one.id: [item for seed in SEEDS for item in draw_items(one, seed, 50)] for one in TEMPLATES}


@pytest.fixture(params=list(BY_ID))
def test(request):
    return request.param


def outcomes(item, answer):
    finding = item.answer.check(answer)
    return finding.outcome, finding.score


class TestSuite:
    def test_twenty_templates_in_five_categories(self):
        suite = load("diagnostic")
        assert suite.slices == SLICES
        assert Counter(prompt.tags["slice"] for prompt in suite.prompts) == dict(
            zip(SLICES, (4, 5, 5, 3, 3), strict=True)
        )
        assert [prompt.tags["test"] for prompt in suite.prompts] == list(BY_ID)
        assert all(set(prompt.tags) == {"slice", "test", "difficulty"} for prompt in suite.prompts)
        assert suite.settings == {"seed": 0, "items_per_template": 1}

    def test_every_category_has_an_easy_a_typical_and_a_hard_template(self):
        for category in SLICES:
            found = {one.difficulty for one in TEMPLATES if one.category == category}
            assert found == {"easy", "typical", "hard"}, category
        assert Counter(one.difficulty for one in TEMPLATES) == {"easy": 5, "typical": 8, "hard": 7}

    def test_the_published_extremes_have_their_pattern_here(self):
        assert BY_ID["constraint:exact_output"].difficulty == "easy"
        assert BY_ID["string:chained_transform"].difficulty == "hard"

    def test_the_public_suite_never_changes(self):
        suite = load("diagnostic")
        assert suite.prompts[3].id == "string-chained-transform-s0-0001"
        assert content_hash(list(suite.prompts)) == PUBLIC_SHA256, "raise VERSION and say so in the changelog"

    def test_the_public_seed_is_the_default_of_every_command(self):
        assert PUBLIC_SEED == 0
        public = load("diagnostic")
        assert load("diagnostic", seed=None) == load("diagnostic", seed=0) == load("diagnostic:seed0", seed=5) == public
        assert load("diagnostic:x25", seed=0) == load("diagnostic:x25+seed0") == load("diagnostic:x25")

    def test_names(self):
        assert load("diagnostic:x25").name == "diagnostic:x25"
        assert len(load("diagnostic:x25").prompts) == 500
        assert load("diagnostic", seed=7) == load("diagnostic:seed7") == load("diagnostic:x1+seed7", seed=3)
        assert load("diagnostic:seed7").name == "diagnostic:seed7"
        assert load("diagnostic:seed7+x2") == load("diagnostic:x2", seed=7) == load("diagnostic:x2+seed7")
        assert load("diagnostic:x2+seed7").name == "diagnostic:x2+seed7"
        assert load("diagnostic:x2+seed7").settings == {"seed": 7, "items_per_template": 2}
        assert load("diagnostic:seed-7").prompts[0].id == "string-sort-unique-s-7-0001"

    @pytest.mark.parametrize(
        "name", ["", "7", "x", "x25+x2", "seed7+seed8", "x25,seed7", "core", "x25+", "x1.5", "seed"]
    )
    def test_names_that_mean_nothing(self, name):
        with pytest.raises(UsageError, match=r"For example: diagnostic:x25"):
            load(f"diagnostic:{name}")

    @pytest.mark.parametrize("name", ["x0", "x1001"])
    def test_sizes_out_of_range(self, name):
        with pytest.raises(UsageError, match="must be 1 to 1000"):
            load(f"diagnostic:{name}")

    def test_a_larger_suite_starts_with_the_smaller_one(self):
        assert diagnostic(3, 4).prompts[:20] == diagnostic(3, 1).prompts
        assert diagnostic(3, 4).prompts[:60] == diagnostic(3, 3).prompts

    def test_a_limit_takes_an_even_share_of_each_category(self):
        one_each = load("diagnostic").prompts
        first_three = [[one for one in one_each if one.tags["slice"] == name][:3] for name in SLICES]
        assert list(load("diagnostic:x25", limit=15).prompts) == [one for three in first_three for one in three]

    def test_ids_and_texts_are_unique(self):
        prompts = load("diagnostic:x25").prompts
        assert len({prompt.id for prompt in prompts}) == len({prompt.text for prompt in prompts}) == 500

    def test_a_template_that_runs_out_says_so(self):
        narrow = BY_ID["math:sequence"]._replace(
            draw=lambda rng: BY_ID["math:sequence"].draw(type(rng)(rng.randrange(3)))
        )
        with pytest.raises(AdhereError, match="math:sequence: no new item number 4 for seed 0"):
            draw_items(narrow, 0, 4)

    def test_seeds_share_no_item(self, items):
        for test, found in items.items():
            # Some tens of thousands of rules: of 200 drawn for four seeds two may agree by chance.
            least = 195 if test == "constraint:banned_letters" else 200
            assert len({item.text for item in found}) >= least, test

    def test_it_is_never_dealt_in_core_or_training(self):
        kinds = [registry.get(name) for name in registry if name.startswith("exact:")]
        assert len(kinds) == 6
        assert {kind.part for kind in kinds} == {"held-out"}
        assert not any(name.startswith("exact:") for name in CORE_KINDS)
        dealt = {ref.id for prompt in (*core().prompts, *training_prompts(0, 100)) for ref in prompt.constraints}
        assert dealt <= set(CORE_KINDS)

    def test_it_is_listed(self, listing):
        assert (listing["diagnostic"].size, listing["diagnostic"].slices) == (20, SLICES)


class TestItems:
    def test_no_text_holds_its_answer(self, test, items):
        for item in items[test]:
            assert (item.answer.expected in item.text) == (test == "constraint:exact_output"), item.text
            for number in range(4):
                assert item.answer.expected not in item.answer.describe(number)

    def test_the_text_says_to_output_nothing_else(self, test, items):
        for item in items[test]:
            assert "nothing else" in item.text or "without anything else" in item.text
            assert item.text == item.text.strip()
            assert item.text.isascii()

    def test_stored_answers_judge_as_drawn_ones(self, test, items):
        assert all(from_ref(item.answer.ref()) == item.answer for item in items[test])

    def test_the_reference_answer_is_right_by_a_second_implementation(self, test, items):
        for item in items[test]:
            if test in solvers.RULES:
                built = solvers.BUILDERS[test](item.text)
                assert solvers.RULES[test](item.text, built)
                assert solvers.RULES[test](item.text, item.answer.expected)
                assert item.answer.check(built).outcome == "pass", (item, built)
            else:
                solved = solvers.SOLVERS[test](item.text)
                assert item.answer.check(solved).outcome == "pass", (item.text, solved, item.answer)
            assert outcomes(item, item.answer.expected) == ("pass", 1.0)

    @pytest.mark.parametrize("test", ["data:rename_keys", "format:csv_to_json"])
    def test_json_answers_are_equal_as_python_values(self, test, items):
        for item in items[test]:
            assert solvers.literal(item.answer.expected) == solvers.literal(solvers.SOLVERS[test](item.text))

    def test_harmless_variations_pass(self, test, items):
        for item in items[test][:50]:
            expected = item.answer.expected
            variations = [
                f"{expected}\n",
                f"\n  {expected}  \n",
                f"```\n{expected}\n```",
                expected.replace("\n", "\r\n"),
            ]
            variations.append(f"```text\n{expected}\n```\n")
            if item.answer.normaliser in {"text", "items", "number"}:
                variations += [f'"{expected}"', f"`{expected}`", f"{expected}.", f"“{expected}”"]
            for answer in variations:
                assert outcomes(item, answer) == ("pass", 1.0), (answer, item)

    def test_text_around_the_answer_fails_and_is_partial(self, test, items):
        for item in items[test][:50]:
            expected = item.answer.expected
            for answer in (f"Here is the result:\n\n{expected}", f"{expected}\n\nI hope that this helps you!"):
                finding = item.answer.check(answer)
                assert finding.outcome == "fail", (answer, item)
                assert 0 <= finding.score < 1
                assert finding.score == 0 or f"partial: {finding.score:.2f}" in finding.reason
                assert f"(normaliser {item.answer.normaliser})" in finding.reason

    def test_near_misses_fail_and_are_partial(self, test, items):
        for item in items[test][:50]:
            for answer in near_misses(test, item):
                finding = item.answer.check(answer)
                assert finding.outcome == "fail", (answer, item)
                assert 0 < finding.score < 1, (answer, item, finding)
                assert finding.reason.endswith(f"; partial: {finding.score:.2f}")

    def test_other_answers_fail(self, test, items):
        found = items[test]
        for item, other in itertools.pairwise(found):
            if item.answer.expected != other.answer.expected and test not in solvers.RULES:
                assert item.answer.check(other.answer.expected).outcome == "fail"
            for answer in ("", "OK", "I cannot help with that.", item.text, "0"):
                assert item.answer.check(answer).outcome == "fail"

    def test_rule_sets_agree_with_a_second_judge(self, items):
        for test, keeps in solvers.RULES.items():
            for item in items[test][::5]:
                answer = item.answer.expected
                edits = [
                    answer[:at] + mark + answer[at + 1 :] for at in range(0, len(answer), 7) for mark in "aez B\n."
                ]
                for edited in [*edits, answer + "s", answer[:-1], answer.upper()]:
                    if (
                        edited == edited.strip()
                        and "\n\n" not in edited
                        and " \n" not in edited
                        and "\n " not in edited
                    ):
                        passes = item.answer.check(edited).outcome == "pass"
                        assert passes == keeps(item.text, edited), (edited, item)

    def test_ties_and_halves_occur(self, items):
        # The rules about them are there for a reason.
        tied = [item for item in items["data:filter_sort_csv"] if len(scores(item)) > len(set(scores(item)))]
        assert len(tied) == 200
        halves = 0
        for item in items["math:ordered_arithmetic"]:
            start, times, minus, divisor = (int(re.search(rf"{word} (\d+)", item.text)[1]) for word in STEPS)
            halves += 1000 * (start * times - minus) % (10 * divisor) == 5 * divisor
        assert halves > 5


STEPS = ("Start with", "Multiply by", "Subtract", "Divide by")


def scores(item):
    return [row.split(",")[3] for row in item.answer.expected.split("\n")]


def near_misses(test, item):
    """Answers that are wrong in one thing."""
    expected = item.answer.expected
    lines = expected.split("\n")
    kind = item.answer.id.partition(":")[2]
    if kind == "text":
        return [expected[:-1], expected + "x", expected.swapcase() if test.endswith("output") else "#" + expected]
    if kind == "number":
        return [
            expected[:-1] + str((int(expected[-1]) + 1) % 10),
            f"{expected} kg",
            f"The result is {expected}",
            f"0{expected}",
        ]
    if test == "math:sequence":
        terms = expected.split(", ")
        return [
            ", ".join(terms[:-1]),
            ", ".join([*terms[:-1], str(int(terms[-1]) + 1)]),
            expected.replace(", ", ", 1, ", 1),
        ]
    if kind == "lines":
        return [
            "\n".join(lines[::-1]),
            "\n".join(lines[1:]),
            f"{expected}\n{lines[0]}",
            expected.replace(lines[0], lines[0] + "0"),
        ]
    if kind == "json":
        closed = expected.rstrip("]}")
        return [
            f'{closed}, "x": 1{expected[len(closed) :]}',
            re.sub(r'": [^,]*,', '": "other",', expected, count=1),
            f"Result: {expected}",
            f"{expected} Done.",
        ]
    if kind == "table":
        return [
            "\n".join(lines[:-1]),
            "\n".join([*lines[:-2], lines[-1], lines[-2]]),
            f"{expected}\n{lines[-1]}",
            expected + "0" if test != "format:markdown_table" else expected[:-2] + "0 |",
        ]
    if test == "constraint:banned_letters":
        return [
            expected + " zzzzz",
            expected.replace(" ", ", "),
            expected.title(),
            " ".join(expected.split(" ")[::-1]),
            expected.replace(" ", "\n"),
        ]
    return ["\n".join(lines[:-1]), "\n".join(lines[::-1]), expected + " zebra", expected.capitalize(), expected + "."]


class TestJudge:
    def test_partial_is_in_the_verdict_and_never_in_the_outcome(self):
        prompt = load("diagnostic").prompts[3]
        assert prompt.tags["test"] == "string:chained_transform"
        expected = prompt.constraints[0].params["expected"]
        strict, _ = judge_text(expected[:-1], prompt.constraints)
        assert (strict.outcome, strict.constraint_id, strict.view) == ("fail", "exact:text", "strict")
        assert strict.score == pytest.approx(1 - 1 / len(expected))
        assert strict.needed == expected
        right, _ = judge_text(f'"{expected}"', prompt.constraints)
        assert (right.outcome, right.score) == ("pass", 1.0)
        assert right.reason == "the answer is the expected one (normaliser text)"

    def test_text_around_passes_no_strict_verdict(self):
        for prompt in load("diagnostic").prompts:
            expected = prompt.constraints[0].params["expected"]
            strict, _ = judge_text(f"The answer:\n{expected}", prompt.constraints)
            assert strict.outcome == "fail"


class TestPage:
    def test_it_has_every_template(self):
        page = PAGE.read_text(encoding="utf-8")
        for prompt, template in zip(load("diagnostic").prompts, TEMPLATES, strict=True):
            kind, normaliser = prompt.constraints[0].id, prompt.constraints[0].params["normaliser"]
            row = (
                f"| {template.category} | `{template.id}` | {template.difficulty} | {template.what} | "
                f"`{kind}` | `{normaliser}` |"
            )
            assert row in page

    def test_its_intervals(self):
        page = PAGE.read_text(encoding="utf-8")
        rows = re.findall(r"\| (\d+)/(\d+) \| ([\d.]+)…([\d.]+) \|", page)
        assert len(rows) >= 6
        for passed, n, low, high in rows:
            interval = wilson_clustered([1] * int(passed) + [0] * (int(n) - int(passed)), [1] * int(n))
            assert (f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}") == (low, high)
