"""The suite `breadth`: every kind that can be asked for beside a request, alone, with an answer that passes."""

import pytest

from adhere.constraints import from_ref, registry
from adhere.errors import UsageError
from adhere.pipeline.judge import judge_of
from adhere.suites import load
from adhere.suites.generated.breadth import NEVER, USUAL, kinds_said
from adhere.suites.generated.names import OWN
from adhere.testing import NULL_ANSWERS
from command_line import run_here

SUITE = load("breadth:seed3")


def outcomes(prompt, answer, view=0):
    return [found[view].outcome for found in judge_of(prompt.constraints).findings(answer)]


def test_every_own_kind_reaches_a_suite():
    def ids(value):
        """Of the reference and of what it holds."""
        if isinstance(value, dict):
            yield from [value["id"]] if set(value) == {"id", "params"} else []
            for inner in value.values():
                yield from ids(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from ids(inner)

    suites = [f"{name}:x4" for name in OWN if name != "long"] + [
        "core",
        "diagnostic",
        "long:1k",
        "breadth",
        "world:shop:x4",
    ]
    asked = {
        one
        for name in suites
        for prompt in load(name).prompts
        for ref in prompt.constraints
        for one in (ref.id, *ids(ref.params))
    }
    own = {name for name in registry if registry.get(name).__module__.startswith("adhere.")}
    assert own - asked == {"written:check"}, "what a person has written is asked for where it was written"


def test_a_slice_a_kind_and_the_same_number_of_each():
    assert SUITE.slices == tuple(kinds_said())
    assert len(SUITE.prompts) == USUAL * len(SUITE.slices)
    assert all(prompt.tags["slice"] == prompt.constraints[0].id for prompt in SUITE.prompts)
    assert (
        len({prompt.id for prompt in SUITE.prompts})
        == len({prompt.text for prompt in SUITE.prompts})
        == len(SUITE.prompts)
    )


def test_witnesses_pass_and_counter_witnesses_fail():
    for prompt in SUITE.prompts:
        rule = from_ref(prompt.constraints[0])
        if not rule.reads_reasoning:
            assert outcomes(prompt, rule.witness()) == ["pass", "pass"], prompt.id
            assert outcomes(prompt, rule.counter_witness())[0] == "fail", prompt.id


@pytest.mark.parametrize("name", ["empty", "echo", "first line", "last line", "last sentence"])
def test_who_copies_passes_nothing(name):
    assert not [
        prompt.id
        for prompt in SUITE.prompts
        if set(outcomes(prompt, NULL_ANSWERS[name](prompt.text), view=1)) == {"pass"}
    ]


def test_the_text_says_what_is_asked():
    for prompt in SUITE.prompts:
        rule = from_ref(prompt.constraints[0])
        assert any(rule.describe(number).rstrip(".") in prompt.text for number in range(len(rule.phrasings)))
        assert prompt.text.endswith(f"Do not write the word “{NEVER}” itself.")


def test_names():
    assert load("breadth:x1+seed3").prompts == SUITE.prompts[::USUAL], "a prompt depends on seed, kind and number alone"
    few = load("breadth:markdown+style:prose+x3")
    assert few.name == "breadth:x3+markdown+style:prose"
    assert {prompt.tags["family"] for prompt in few.prompts} == {"markdown", "style"}
    assert sum(prompt.tags["slice"] == "style:prose" for prompt in few.prompts) == 3
    for wrong in ("x0", "markdwon", "exact:text", "x1001"):
        with pytest.raises(UsageError):
            load(f"breadth:{wrong}")


def test_the_page_is_that_of_a_profile(tmp_path):
    done = run_here("eval", "scripted/echo", "--suite", "breadth:structure+case", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "page.html"
    (stored,) = [path.parent for path in tmp_path.glob("**/summary.json")]
    assert run_here("report", stored, "--html", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "structure:bullets<small>Answer with exactly 2 bullet points, one per line.</small>" in text
