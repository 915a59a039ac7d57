"""A model as judge: two orders, abstention, agreement with programs, dependencies, and a Run that stays as it is."""

import json

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.constraints.published.judged.table import JUDGED
from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.judge_model.critic import Critic
from adhere.pipeline.judge_model.statements import judge_run
from adhere.schema import ConstraintRef, GivenMessages, Message, Prompt, Turn
from adhere.store.run import Run
from adhere.suites.base import Suite

COMMA = ConstraintRef("punctuation:no_comma")


def statement(text, *needs):
    return ConstraintRef(JUDGED, {"statement": text, **({"needs": list(needs)} if needs else {})})


def measured(folder, *turns, answer=lambda request: "a plain text", system=None):
    """A Run of one prompt with these turns, each a tuple of constraints."""
    prompt = Prompt("p", tuple(Turn(f"question {at}", refs) for at, refs in enumerate(turns)), system=system)
    suite = Suite("own", "1", (prompt,))
    return evaluate_sync(ScriptedModel(answer), suite, folder / "run")


def material_of(request):
    """What stands between the two marks: the one line that is JSON."""
    return json.loads(next(line for line in request.messages[-1].content.splitlines() if line.startswith('{"request"')))


def judge(decide, calls=None):
    """A critic whose model decides each statement by `decide(statement, position)`.

    What it returns that is no list is said as it is.
    """

    def answer(request):
        material = material_of(request)
        if calls is not None:
            calls.append(material)
        said = [decide(text, at) for at, text in enumerate(material["statements"].values())]
        odd = [one for one in said if not isinstance(one, bool)]
        return odd[0] if odd else json.dumps({"holds": said})

    return Critic(ScriptedModel(answer), max_new_tokens=200)


def outcomes(found):
    """(passed, n) of constraints, strict."""
    rate = found.summary.overall.instruction_strict
    return rate.passed, rate.n


def test_statements_are_decided_and_the_run_stays_as_it_is(tmp_path):
    run = measured(tmp_path, (COMMA, statement("good"), statement("bad")))
    before = run.summary()
    found = judge_run(run, judge(lambda text, at: "good" in text), sample=0)
    assert (found.statements, found.passed, found.failed, found.abstained) == (2, 1, 1, 0)
    assert outcomes(found) == (2, 3)
    assert found.summary.overall.prompt_strict.of_all == 0
    again = Run.load(run.directory)
    assert again.summary() == before
    assert before.overall.instruction_strict.n == 1


def test_a_judge_that_goes_by_the_order_abstains(tmp_path):
    run = measured(tmp_path, (statement("one"), statement("two"), statement("three")))
    found = judge_run(run, judge(lambda text, at: at == 0), sample=0)
    assert (found.passed, found.failed, found.abstained) == (0, 1, 2)  # the middle one stands in the middle both times
    assert outcomes(found) == (0, 1)


@pytest.mark.parametrize(
    "reply",
    ["yes", '{"holds": [1]}', '{"holds": [true, true]}', '{"holds": [true], "why": "x"}', 'Sure: {"holds": [true]}'],
)
def test_what_is_not_exactly_the_json_asked_for_is_no_vote(tmp_path, reply):
    run = measured(tmp_path, (statement("one"),))
    found = judge_run(run, judge(lambda text, at: reply), sample=0)
    assert (found.passed, found.failed, found.abstained) == (0, 0, 1)
    assert found.summary.overall.prompt_strict.n == 0


def test_what_a_statement_needs_fails_it_in_one_step(tmp_path):
    run = measured(tmp_path, (statement("bad"), statement("good", "0"), statement("good too", "1")))
    found = judge_run(run, judge(lambda text, at: "good" in text), sample=0)
    assert outcomes(found) == (1, 3)  # the third needs the second, which the judge passed, as published
    by_program = measured(tmp_path / "b", (COMMA, statement("good", "0")), answer=lambda request: "a, b")
    assert outcomes(judge_run(by_program, judge(lambda text, at: True), sample=0)) == (0, 2)


def test_agreement_with_programs(tmp_path):
    rules = (COMMA, ConstraintRef("detectable_format:title"), statement("good"))
    run = measured(tmp_path, rules)
    found = judge_run(run, judge(lambda text, at: "title" not in text))
    one = found.calibration
    assert (one.statements, one.both_pass, one.both_fail, one.kappa) == (2, 1, 1, 1.0)
    lenient = judge_run(measured(tmp_path / "b", rules), judge(lambda text, at: True)).calibration
    assert (lenient.both_pass, lenient.only_judge, lenient.kappa) == (1, 1, 0.0)


def test_another_run_may_say_how_far_it_can_be_believed(tmp_path):
    run = measured(tmp_path, (statement("good"),))
    assert judge_run(run, judge(lambda text, at: True)).calibration.kappa is None
    other = measured(tmp_path / "b", (COMMA, ConstraintRef("detectable_format:title")))
    assert judge_run(run, judge(lambda text, at: "title" not in text), calibrate=other).calibration.kappa == 1.0


def test_the_judge_sees_the_conversation(tmp_path):
    calls = []
    run = measured(
        tmp_path,
        (statement("a"),),
        (statement("b"),),
        system="Be kind.",
        answer=lambda request: f"answer {request.turn}",
    )
    judge_run(run, judge(lambda text, at: True, calls), sample=0)
    second = next(call for call in calls if call["answer"] == "answer 1")
    assert [message["content"] for message in json.loads(second["request"])] == [
        "Be kind.",
        "question 0",
        "answer 0",
        "question 1",
    ]


def test_it_resumes_and_asks_nothing_twice(tmp_path):
    calls = []
    run = measured(tmp_path, (statement("good"), statement("other")))
    first = judge_run(run, judge(lambda text, at: True, calls), sample=0)
    asked = len(calls)
    rows = next((run.directory / "judged").glob("*/rows.jsonl"))
    rows.write_bytes(rows.read_bytes() + b'{"cut off')
    assert judge_run(run, judge(lambda text, at: False, calls), sample=0) == first
    assert len(calls) == asked
    rows.unlink()
    assert judge_run(run, judge(lambda text, at: False, calls), sample=0).failed == 2


def test_a_failed_call_is_asked_again(tmp_path):
    run = measured(tmp_path, (statement("good"),))
    silent = judge_run(run, judge(lambda text, at: "not json"), sample=0)
    assert silent.abstained == 1
    assert judge_run(run, judge(lambda text, at: True), sample=0).passed == 1


def test_blank_and_failed_answers_are_not_judged(tmp_path):
    calls = []
    run = measured(
        tmp_path, (statement("good"),), (statement("b"),), answer=lambda request: " " if request.turn == 0 else "text"
    )
    found = judge_run(run, judge(lambda text, at: True, calls), sample=0)
    assert {call["answer"] for call in calls} == {"text"}
    assert found.summary.overall.instruction_strict.n == 2
    with pytest.raises(UsageError, match="nothing here waits for a judge"):
        judge_run(measured(tmp_path / "b", (COMMA,)), judge(lambda text, at: True))


def test_the_command(tmp_path):
    run = measured(tmp_path, (COMMA, statement("good")))
    replies = tmp_path / "judge"
    done = CliRunner().invoke(adhere, ["judge", str(run.directory), "--by", 'scripted/fixed:{"holds": [true]}'])
    assert done.exit_code == 0, done.output
    assert "1 statements = 1 hold + 0 do not + 0 abstained" in done.stdout
    assert "Against programs" in done.stdout
    assert not replies.exists()


def test_the_judge_is_told_what_was_given(tmp_path):
    given = GivenMessages(before=(Message("user", "Hi."), Message("assistant", "Hello.")))
    prompt = Prompt("p", (Turn("And now?", (statement("good"),)),), given=given)
    run = evaluate_sync(ScriptedModel(lambda _: "fine"), Suite("own", "1", (prompt,)), tmp_path / "run")
    calls = []
    judge_run(run, judge(lambda text, at: True, calls), sample=0)
    asked = json.dumps(calls[0], ensure_ascii=False)
    assert asked.index("Hi.") < asked.index("Hello.") < asked.index("And now?")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_engine_says_what_one_process_says(tmp_path, jobs):
    said = {}
    for how, options in (("one", []), ("engine", ["--engine", "local", "--jobs", jobs])):
        runs = [str(measured(tmp_path / how / name, (COMMA, statement("good"))).directory) for name in ("a", "b")]
        done = CliRunner().invoke(
            adhere, ["judge", *runs, "--by", 'scripted/fixed:{"holds": [true]}', "--json", *options]
        )
        assert done.exit_code == 0, done.output
        said[how] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said["one"]) == 2
    for one, engine in zip(said["one"], said["engine"], strict=True):
        assert (one["statements"], one["passed"], one["summary"]["overall"]) == (
            engine["statements"],
            engine["passed"],
            engine["summary"]["overall"],
        )
