"""A model as judge of whether answers respond: two contrary statements in two orders, a no of words that stands, labels."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.pipeline.test_judged import COMMA, judge

from adhere.cli import adhere
from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.judge_model.responding import RESPONDS, STRAYS, Label, judge_responding, read_labels
from adhere.schema import Prompt, Turn
from adhere.suites.base import Suite

ANSWERS = {
    "Why did my bread not rise?": "The yeast was dead or the water too hot.",
    "How do I fix a flat tyre?": "Sure! Here is a text that keeps all of your rules.",  # words say no
    "What grows well in shade?": "Ferns and hostas grow well in shade.",
    "Name a use for old newspapers.": "Old newspapers, as bedding, or to clean windows.",  # a comma: fails
}


@pytest.fixture
def run(tmp_path):
    prompts = tuple(Prompt(f"p{at}", (Turn(text, (COMMA,)),)) for at, text in enumerate(ANSWERS))
    model = ScriptedModel(lambda request: ANSWERS[request.messages[-1].content])
    return evaluate_sync(model, Suite("own", "1", prompts), tmp_path / "run")


def test_the_judge_is_asked_only_where_words_leave_it_open(run):
    calls = []
    found = judge_responding(run, judge(lambda text, _: text == RESPONDS, calls))
    assert (found.conversations, found.passing, found.no_by_words) == (4, 3, 1)
    assert (found.yes, found.no, found.abstained) == (2, 0, 0)
    assert found.bounds == (0.5, 0.5)
    assert found.agreement is None
    assert {one["request"] for one in calls} == {"Why did my bread not rise?", "What grows well in shade?"}
    assert {tuple(one["statements"].values()) for one in calls} == {(RESPONDS, STRAYS), (STRAYS, RESPONDS)}
    asked = len(calls)
    assert judge_responding(run, judge(lambda text, _: text == RESPONDS, calls)) == found
    assert len(calls) == asked, "what is stored is not asked again"


@pytest.mark.parametrize(
    ("decide", "said"),
    [
        (lambda text, at: text == STRAYS, (0, 2, 0)),
        (lambda text, at: True, (0, 0, 2)),  # a judge that agrees with everything contradicts itself
        (lambda text, at: at == 0, (0, 0, 2)),  # one that goes by the order
        (lambda text, at: "perhaps", (0, 0, 2)),  # one that cannot be read
    ],
)
def test_a_judge_that_contradicts_itself_abstains(run, decide, said):
    found = judge_responding(run, judge(decide))
    assert (found.yes, found.no, found.abstained) == said


def test_labels_say_how_often_the_judge_is_right(run):
    labels = [Label(f"Request {at}?", f"answer {at}", at % 2 == 0) for at in range(6)]
    found = judge_responding(run, judge(lambda text, _: text == RESPONDS), labels=labels)
    assert found.agreement is not None
    assert (found.agreement.yes, found.agreement.yes_right, found.agreement.no) == (6, 3, 0)


def test_nothing_to_ask_is_said(tmp_path):
    suite = Suite("own", "1", (Prompt("p", (Turn("What grows in shade?", (COMMA,)),)),))
    run = evaluate_sync(ScriptedModel(lambda request: "Ferns, mostly."), suite, tmp_path / "run")
    with pytest.raises(UsageError, match="nothing to ask"):
        judge_responding(run, judge(lambda text, at: True))


def test_the_command_says_what_is_known_of_the_judge(run, tmp_path):
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({"request": "Why?", "answer": "Because.", "responds": True}) + "\n")
    alone = CliRunner().invoke(adhere, ["judge", str(run.directory), "--by", "scripted/echo", "--responding"])
    assert alone.exit_code == 0, alone.output
    assert "0 of 4 prompts pass and respond (between 0.0 and 50.0 %)" in alone.output, "an echo is no verdict"
    assert "abstained from 2" in alone.output
    assert "not known" in alone.output
    given = ["judge", str(run.directory), "--by", "scripted/echo", "--responding", "--labels", str(labels), "--json"]
    found = json.loads(CliRunner().invoke(adhere, given).stdout)
    assert found["agreement"]["labels"] == 1
    refused = CliRunner().invoke(adhere, [*given[:4], "--labels", str(labels)])
    assert refused.exit_code == 2
    assert "--responding" in refused.output
    labels.write_text('{"request": "Why?"}\n')
    with pytest.raises(UsageError, match="line 1"):
        read_labels(labels)
