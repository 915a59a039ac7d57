"""What a reader of fifty items a family found wrong in the second inspection, as properties of every item."""

import random
import re
from itertools import pairwise

import pytest

from adhere.constraints import from_ref
from adhere.pipeline.judge import judge_of
from adhere.suites import load
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import registry
from adhere.suites.generated.names import OWN
from adhere.testing import MOST_NULL_PASSES, NULL_ANSWERS, family_levels
from adhere.text.reasoning import split_reasoning

SEED = 20


def items(name, groups=6):
    family = registry.get(name)
    return list(family.stream(SEED, groups, family_levels(family)))


def passes(turn, answer, view=0):
    reasoning, text = split_reasoning(answer)
    return all(
        found[view].outcome == "pass" for found in judge_of(turn.constraints).findings(text, reasoning=reasoning)
    )


def turns(name, groups=6):
    return [
        (one.prompt, turn, answer)
        for one in items(name, groups)
        for turn, answer in zip(one.prompt.turns, one.answers, strict=True)
    ]


def test_ids_of_a_second_version_are_others():
    for name in OWN:
        family = registry.get(name)
        edition = "" if family.version == "1" else f"-v{family.version}"
        assert all(one.prompt.id.startswith(f"{name}{edition}-s{SEED}-") for one in items(name, 1))


@pytest.mark.parametrize("name", sorted(set(OWN) - {"multilingual"}))
def test_articles(name):
    wrong = [
        found
        for one in items(name, 3)
        for text in (one.prompt.system or "", *(turn.text for turn in one.prompt.turns))
        for found in re.findall(r"\b[Aa] [aeiou]\w+|\b[Aa]n [bcdfgjklmnpqrstvwxyz]\w+", text)
    ]
    assert not [found for found in wrong if found not in {"a one", "a university"}]


@pytest.mark.parametrize("name", ["length", "system", "order", "multi-turn", "density"])
def test_a_heap_of_words_in_the_right_shape_fails(name):
    rng = random.Random(SEED)

    def heap_of(turn, answer):
        kept = {
            word.casefold() for ref in turn.constraints for told in from_ref(ref).literals() for word in told.split()
        }
        return re.sub(
            "[A-Za-z]+", lambda hit: hit.group() if hit.group().casefold() in kept else rng.choice(WORDS), answer
        )

    for _, turn, answer in turns(name, 2):
        assert not passes(turn, heap_of(turn, answer), view=1), heap_of(turn, answer)


def test_every_wording_of_a_paraphrase_asks_for_the_same():
    for _, turn, answer in turns("paraphrase"):
        *_, last = answer.splitlines()
        assert re.search(r"last line|final line|end with one line", turn.text)
        assert last.startswith("Answer: ")
        assert not passes(turn, f"{answer}\nThat is all."), "the line is the last one"
        assert not passes(turn, f"Answer: something else\n{answer}"), "there is one such line"
        assert not {ref.id for ref in turn.constraints} & {
            "structure:bullets",
            "structure:numbered",
            "case:upper",
            "case:lower",
        }


def test_no_step_of_a_chain_comes_twice():
    for _, turn, answer in turns("chain", 12):
        steps = re.findall(r"^Step \d+: (.*)$", turn.text, re.MULTILINE)
        assert len(set(steps)) == len(steps)
        results = [ref.params["expected"] for ref in turn.constraints]
        assert len(set(results)) == len(results)
        first = answer.splitlines()[0]
        assert not passes(turn, f"Step 1: none\n{answer}")
        assert not passes(turn, f"{answer}\n{first}")


def test_the_user_says_the_same_at_every_level_of_system():
    groups = {}
    for prompt, turn, _ in turns("system"):
        groups.setdefault(prompt.tags["group"], set()).add(turn.text)
    assert all(len(texts) == 1 for texts in groups.values())


def test_what_is_quoted_can_be_written_under_the_rule_about_case():
    seen = 0
    for name in ("system", "order", "multi-turn", "hierarchy"):
        for prompt, turn, _ in turns(name, 20):
            rules = [from_ref(ref) for ref in turn.constraints]
            if any(rule.id == "case:upper" for rule in rules):
                seen += 1
                assert not [literal for rule in rules for literal in rule.literals()], turn.text
                assert '"Answer: "' not in (prompt.system or "") + turn.text
    assert seen > 10


def test_recall_takes_the_four_things_and_no_other():
    found = [turn for prompt, turn, _ in turns("long", 1) if prompt.tags["task"] == "recall"]
    for turn in found:
        right = turn.constraints[0].params["expected"]
        others = ", ".join(word for word in WORDS if word not in right)[:300]
        assert passes(turn, f"Answer: {right}")
        assert not passes(turn, f"Answer: {right}, {others}", view=1)
    assert len(found) == 4


def test_lines_above_a_reference_are_as_many_as_the_text_says():
    seen = 0
    for prompt, turn, _ in turns("multilingual"):
        rules = {ref.id: ref.params for ref in turn.constraints}
        if "structure:lines" in rules:
            seen += 1
            told = int(re.search(r"\d+", turn.text).group())
            assert rules["structure:lines"]["count"] == told + ("copying:code" in rules), prompt.id
    assert seen > 30


def test_every_branch_of_a_loop_is_taken():
    for _, turn, _ in turns("logic", 20):
        count = int(turn.constraints[1].params["expected"])
        numbers = re.search(r"Numbers: (.*)\.", turn.text).group(1).split(", ")
        assert 0 < count < len(numbers)
        tests = re.findall(r"[Ii]f it is (\w+)[^,]*,", turn.text.partition("At the end")[0])
        assert set(tests) != {"even", "odd"}


def test_no_step_of_a_function_can_be_left_out():
    for _, turn, answer in turns("code", 2):
        lines = answer.splitlines()
        steps = [at for at, line in enumerate(lines) if line.startswith("    x = ") and "list(numbers)" not in line]
        assert len(steps) >= 2
        outcome = (
            judge_of(turn.constraints).findings("\n".join([*lines[: steps[0]], *lines[steps[0] + 1 :]]))[0][0].outcome
        )
        assert outcome in {"fail", "undecided"}
        constant = f"```python\ndef {turn.constraints[0].params['function']}(numbers):\n    return []\n```"
        assert judge_of(turn.constraints).findings(constant)[0][0].outcome in {"fail", "undecided"}


def test_no_answer_means_no_quotation():
    for prompt, turn, answer in turns("rag"):
        if prompt.tags["slice"] == "not given":
            assert not passes(turn, f'{answer}\nQuote: "The Violin Bridge in Lima"')


def test_no_fact_that_contradicts_belief_is_true_elsewhere():
    texts = [turn.text for _, turn, _ in turns("override", 60)]
    assert not [text for text in texts if re.search(r"212 degrees(?! Celsius)", text)]
    assert not [text for text in texts if re.search(r"owns \d+ (thunders|silvers|autumns|harbors)", text)]


def test_the_diagnostic_suite_gives_nothing_to_copying():
    prompts = load("diagnostic:x12+seed3").prompts
    for name, make in NULL_ANSWERS.items():
        passed = [prompt.id for prompt in prompts if passes(prompt.turns[0], make(prompt.text), view=1)]
        assert len(passed) <= MOST_NULL_PASSES * len(prompts), (name, passed)


def test_the_profile_gives_nothing_to_copying():
    prompts = load("profile:x10+seed3").prompts
    for name, make in NULL_ANSWERS.items():
        passed = [
            prompt.id for prompt in prompts if all(passes(turn, make(turn.text), view=1) for turn in prompt.turns)
        ]
        assert len(passed) <= MOST_NULL_PASSES * len(prompts), (name, passed)


def test_a_story_of_sums_keeps_its_answer_last():
    for _, turn, answer in turns("math"):
        lines = answer.splitlines()
        for one, other in pairwise(range(len(lines))):
            swapped = [*lines[:one], lines[other], lines[one], *lines[other + 1 :]]
            if other == len(lines) - 1:
                assert not passes(turn, "\n".join(swapped))
