"""Each guard has an arm that must violate it: scripted answers go the whole way from a Run to the tests of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.unit.study.test_compare import SPEC

from adhere.models.base import Request
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.guard import guard
from adhere.schema import Prompt, Turn
from adhere.study.outcome.contrast import Evaluations
from adhere.study.outcome.guards import guard_tests
from adhere.study.outcome.result import GuardTest
from adhere.study.run.measured import Measurement, collect_run
from adhere.study.run.plain import PlainText
from adhere.suites.base import Suite
from adhere.suites.generated.core.queries import queries
from adhere.suites.generated.core.slices import Sizes, study_suite

QUERIES = {query.id: query for query in queries()}
Script = Callable[[Prompt], str]


@pytest.fixture(scope="module")
def suite() -> Suite:
    return study_suite(0, new_topic=Sizes(single=80), new_wording=Sizes(), new_family=Sizes(), kinds=[], wordings=None)


def fair(prompt: Prompt) -> str:
    """An answer with words of its own and the topic's."""
    topic = " ".join(QUERIES[prompt.tags["query"]].words)
    return (
        f"Here is something short about {topic}, told plainly with several other thoughts that nobody "
        f"requested before {prompt.id}."
    )


def evaluated(
    suite: Suite, script: Script, directory: Path, *, arm: str, nats: float = 100.0, name: str = ""
) -> Measurement:
    by_id = {prompt.id: prompt for prompt in suite.prompts}

    def answer(request: Request) -> str:
        return script(by_id[request.prompt_id])

    run = evaluate_sync(ScriptedModel(answer), suite, directory / arm / (name or "own"))
    return collect_run(
        run,
        suite.prompts,
        key="k",
        arm=arm,
        seed=0,
        suite_sha256=suite.sha256,
        plain=PlainText([nats, nats + 1, nats - 1], [40] * 3),
        shown_ids=[],
        seconds=1.0,
        suite=name,
    )


def outcomes_of(
    suite: Suite, directory: Path, treatment: Script, control: Script = fair, *, nats: float = 100.0
) -> dict[str, GuardTest]:
    """By key: what the guards say of a treatment against a control, and against a start that answers fairly."""
    found = {
        ("a", 0): evaluated(suite, treatment, directory, arm="a", nats=nats),
        ("b", 0): evaluated(suite, control, directory, arm="b"),
        ("start", None): evaluated(suite, fair, directory, arm="start"),
    }
    spec = msgspec.structs.replace(SPEC, seeds=[0])
    return {one.key("b"): one for one in guard_tests(spec, Evaluations(found, suite.prompts, [0]))}


def instruction(prompt: Prompt) -> str:
    """The prompt's own last sentence."""
    return prompt.text.rstrip(".").split(". ")[-1]


ARMS: dict[str, Script] = {
    "words": lambda prompt: " ".join(fair(prompt).split()[:8]),
    "topic_words": lambda prompt: (
        "Nobody could have known which thoughts would follow here, although several people "
        f"certainly tried {prompt.id}."
    ),
    "repetition": lambda prompt: f"{fair(prompt)} " + "again and again and again " * 12,
    "echo": lambda prompt: prompt.text,
    "empty_form": lambda prompt: f'"{instruction(prompt)}"',
}


def test_an_arm_like_the_start_violates_nothing(suite: Suite, tmp_path: Path) -> None:
    found = outcomes_of(suite, tmp_path, fair)
    assert set(found) == {key + end for key in (*ARMS, "perplexity") for end in ("", "_from_start")}
    assert {one.outcome for one in found.values()} == {"holds"}


@pytest.mark.parametrize("name", list(ARMS))
def test_each_guard_is_violated_by_its_arm(name: str, suite: Suite, tmp_path: Path) -> None:
    found = outcomes_of(suite, tmp_path, ARMS[name])
    assert found[name].outcome == "violated"
    assert found[f"{name}_from_start"].outcome == "violated"


def test_plain_text_that_is_forgotten_violates_perplexity(suite: Suite, tmp_path: Path) -> None:
    found = outcomes_of(suite, tmp_path, fair, nats=130.0)
    assert found["perplexity"].outcome == "violated"


def test_a_control_that_lost_as_much_hides_nothing_from_the_start(suite: Suite, tmp_path: Path) -> None:
    """Treatment and control both give up the topic.

    Against the control nothing is lost, against the start everything.
    """
    found = outcomes_of(suite, tmp_path, ARMS["topic_words"], ARMS["topic_words"])
    assert found["topic_words_from_start"].outcome == "violated"


def test_a_margin_is_never_more_than_a_share_of_what_the_reference_has(suite: Suite, tmp_path: Path) -> None:
    """The control uses a topic word in one answer of ten or so.

    Its 5 points of margin were more than it had to lose.
    """
    rarely: Script = lambda prompt: fair(prompt) if int(prompt.id[-2:]) % 12 == 0 else ARMS["topic_words"](prompt)  # noqa: E731
    one = outcomes_of(suite, tmp_path, ARMS["topic_words"], rarely)["topic_words"]
    assert one.value_control is not None
    assert one.margin == pytest.approx(0.25 * one.value_control)
    assert one.margin < SPEC.guards.topic_words
    assert one.worse is not None
    assert one.worse > one.margin


def test_short_answers_to_a_published_suite_violate_its_words(suite: Suite, tmp_path: Path) -> None:
    def both(script: Script) -> dict[tuple[str, int | None], Measurement]:
        return {
            ("a", 0): evaluated(suite, script, tmp_path, arm="a", name="ifeval"),
            ("b", 0): evaluated(suite, fair, tmp_path, arm="b", name="ifeval"),
        }

    on_suite = {"ifeval": Evaluations(both(ARMS["words"]), suite.prompts, [0])}
    own = Evaluations({}, suite.prompts, [0])
    found = {one.key("b"): one for one in guard_tests(SPEC, own, on_suite)}
    assert found["words:ifeval"].outcome == "violated"
    assert found["words"].outcome == "undecided", "its own prompts were not measured"


def test_what_is_form_alone() -> None:
    """The answer that stood on the first study's page as a knitting tip."""
    prompt = Prompt("p", (Turn("Give a tip for knitting. Wrap your whole answer in double quotation marks."),))
    assert guard(prompt, '"Wrap your whole answer in double quotation marks."').is_empty_form
    assert guard(prompt, '"Wrap your whole answer in double quotation marks."').is_echo
    assert guard(prompt, "* a\n* b").is_empty_form
    assert not guard(prompt, '"Count stitches after every row."').is_empty_form
