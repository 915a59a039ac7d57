"""Worlds: solvers solve, a program sees each broken rule, episodes are led in both forms, stored, shown and done again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from adhere import suites
from adhere.environments.environment import env
from adhere.environments.worlds import factory, world_env
from adhere.errors import AdhereError, IntegrityError, UnknownName, UsageError
from adhere.integrations.shared.export import export
from adhere.models.base import Request
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.fake.scripted import ScriptedModel, open_scripted
from adhere.models.http.client import EndpointModel
from adhere.pipeline.check import check
from adhere.pipeline.episodes import Setting
from adhere.pipeline.evaluate import EvalSpec, evaluate, evaluate_sync, rescore
from adhere.report.pages import stored_in
from adhere.schema import Message, ToolCall
from adhere.serve.answers import Answers, RowQuery
from adhere.store.run import Run
from adhere.store.tables.compact import compact
from adhere.suites.generated.world import played_by, world_suite
from adhere.verify.answers import verify
from adhere.worlds import Limits, open_world, replay, validate
from adhere.worlds.simulated import STOP
from adhere.worlds.tools.base import Task, ToolWorld, call
from adhere.worlds.tools.names import PEOPLE

OWN = ("shop", "calendar", "files", "database", "repo")
FORMS = ("tools", "text")


def first_seed(world: ToolWorld, words: str) -> int:
    """The first episode in which the user says these words."""
    return next(seed for seed in range(200) if words in world.reset(seed))


@pytest.mark.parametrize("name", OWN)
def test_the_solver_solves_and_the_same_is_said_twice(name: str):
    validate(name, range(12))


def test_validate_names_what_is_wrong(monkeypatch: pytest.MonkeyPatch):
    from adhere.worlds.tools.shop import Shop

    monkeypatch.setattr(Shop, "solver", lambda self: self.task.actions[:1])
    with pytest.raises(AdhereError, match="seed 0: the solver comes to fail"):
        validate("shop", range(1))


def judge_of(name: str, words: str, *actions: object) -> tuple[str, list[str]]:
    world = open_world(name)
    world.reset(first_seed(world, words))
    order = next(
        (
            action.arguments["order"]
            for action in world.solver()
            if isinstance(action, ToolCall) and "order" in action.arguments
        ),
        0,
    )
    for action in actions:
        world.step(action(order) if callable(action) else action)
    judged = world.verdict()
    return judged.outcome, [one.rule for one in judged.broken]


@pytest.mark.parametrize(("name", "words", "actions", "broken"), [
    ("shop", "I want my 240 back", (lambda order: call("refund", order=order, amount=240),), ["identify", "confirm", "limit"]),
    ("shop", "please cancel", ("Shall I cancel it?", lambda order: call("cancel_order", order=order)), ["identify"]),
    ("files", "Get rid of", (call("delete_file", path="/bills/none.txt"),), []),
    ("files", "Add up", (call("write_file", path="/locked/x.txt", text="x"),), ["locked"]),
    ("database", "borrowed", (call("change", sql="DELETE FROM loans"),), ["where", "look", "confirm"]),
    ("database", "lives in", (call("select", sql="SELECT * FROM members"), call("change", sql="UPDATE members SET paid=1")), ["where"]),
    ("database", "borrowed", (call("change", sql="WITH a AS (SELECT 1 WHERE 1) DELETE FROM main.loans -- where"),), ["where", "look", "confirm"]),
    ("database", "lives in", (call("select", sql="SELECT 'members'"), call("change", sql=";UPDATE members SET city = 'where'")), ["where", "look"]),
    ("database", "lives in", (call("select", sql="SELECT count(*) FROM members"), call("change", sql="UPDATE members SET paid=1 WHERE (id = 1)")), []),
    ("shop", "please cancel", (*(call("find_customer", email=f"{name.split()[0].lower()}@example.org") for name in PEOPLE), lambda order: call("get_order", order=order)), ["identify"]),
])  # fmt: skip
def test_rules_are_checked_by_program(name: str, words: str, actions: tuple[object, ...], broken: list[str]):
    outcome, found = judge_of(name, words, *actions)
    assert (outcome, [rule for rule in found if rule != "shipped"]) == ("fail", broken)


def test_a_calendar_knows_owners_hours_and_overlaps():
    world = open_world("calendar")
    world.reset(first_seed(world, "Delete the meeting"))
    meetings = world.rows("SELECT * FROM meetings ORDER BY id")
    foreign = next(one for one in meetings if one["guest"] == world.asking)
    first, second = (one for one in meetings if one["owner"] == world.asking)
    world.step(call("delete_meeting", meeting=foreign["id"]))
    world.step(
        call(
            "create_meeting",
            title="x",
            day=meetings[0]["day"],
            start=6,
            hours=1,
            owner=meetings[0]["owner"],
            guest="me",
        )
    )
    world.step(call("move_meeting", meeting=first["id"], day=first["day"], start=second["start"]))
    assert {one.rule for one in world.verdict().broken} == {"owner", "hours", "look", "overlap"}


def test_what_makes_no_sense_is_said_and_never_raised():
    world = open_world("database")
    world.reset(1)
    odd = [ToolCall("1", "no such"), ToolCall("1", "select", {}, "{"), ToolCall("1", "select", {"sql": 3}), call("select", sql="SELECT * FROM nowhere"),
           call("select", sql="DELETE FROM members"), call("change", sql="ATTACH 'x' AS y"), call("change", sql="DROP TABLE members"), call("select", sql="\0"),
           call("select", sql="WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT sum(x) FROM n")]  # fmt: skip
    said = [world.step(action).observation for action in odd]
    assert all(text.startswith("error: ") for text in said), said
    assert world.verdict().outcome == "fail"
    shop = open_world("shop")
    shop.reset(1)
    for action in (call("get_order", order=2**70), call("find_customer", email="\ud800")):
        assert shop.step(action).observation.startswith("error: ")


def test_what_a_statement_says_follows_from_the_actions():
    world = open_world("database")
    world.reset(1)
    for sql in ("SELECT random()", "SELECT CURRENT_TIMESTAMP", "SELECT id FROM loans ORDER BY RANDOM()", "SELECT datetime('now')", "SELECT zeroblob(90000000)"):  # fmt: skip
        assert world.step(call("select", sql=sql)).observation.startswith("error: "), sql
    assert world.step(call("select", sql="SELECT x'00ff'")).observation == '[["00ff"]]'
    assert (
        world.step(call("change", sql="WITH a AS (SELECT 1) DELETE FROM loans WHERE id < 3")).observation
        == "2 rows changed"
    )


def test_every_number_there_is_tells_none():
    world = open_world("database")
    world.reset(first_seed(world, "owe in all"))
    world.step(f"Is it one of {' '.join(map(str, range(101, 9000)))}?")
    assert world.verdict().reason == "the user was told 8899 numbers, of which one is right"


def test_an_episode_is_led_in_another_thread_than_it_was_begun_in():
    environment = world_env("world:shop:x1")
    rollout = environment.begin(environment.prompts[0])
    with ThreadPoolExecutor(1) as pool:
        heard = pool.submit(rollout.step, Message("assistant", "", (call("get_order", order=1),))).result()
    assert heard[0].content == "error: nothing found for 1"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OWN)
def test_the_solver_passes_by_tools_and_by_text_and_is_done_again_from_the_store(name: str, form: str, tmp_path: Path):
    suite = world_suite(name, 4, form=form)
    run = evaluate_sync(open_scripted("scripted/solver"), suite, tmp_path / "run")
    assert run.summary().overall.prompt_strict.passed == 4
    for prompt, response in zip(run.prompts(), run.responses(), strict=True):
        assert (response.status, response.stop_reason) == ("ok", "done")
        episode, judged = replay(name, int(prompt.tags["world_seed"]), form, response.steps)
        assert (episode.done, judged.outcome) == (True, "pass")
        other = msgspec.structs.replace(response.steps[1], content="something else")
        with pytest.raises(IntegrityError, match="message 2"):
            replay(name, int(prompt.tags["world_seed"]), form, (response.steps[0], other, *response.steps[2:]))
        forged = msgspec.structs.replace(response, steps=(response.steps[0], other, *response.steps[2:]))
        assert {one.outcome for one in check(prompt, forged)} == {"undecided"}
    assert rescore(tmp_path / "run").overall.prompt_strict.passed == 4


def test_an_endpoint_acts_by_tools_and_everything_shows(tmp_path: Path):
    suite = suites.load("world:shop:x2")
    solver = open_scripted("scripted/solver")
    by_wants = {prompt.text: prompt.id for prompt in suite.prompts}

    def reply(body: dict) -> Message:
        asked = next(one["content"] for one in body["messages"] if one["role"] == "user")
        said = tuple(Message("assistant", "") for one in body["messages"] if one["role"] == "assistant")
        return solver.script(Request(by_wants[asked], 0, 0, said, 0, tools=suite.prompts[0].tools))

    with FakeEndpoint({"m": FakeModel(reply=reply)}) as endpoint:
        run = evaluate_sync(EndpointModel(f"{endpoint.url}#m"), suite, tmp_path / "run")
        roles = [message["role"] for message in endpoint.seen[-1]["messages"]]
    assert {"system", "user", "assistant", "tool"} == set(roles)
    assert run.summary().overall.prompt_strict.passed == 2
    measures = {(one.name, one.scope): one.value for one in run.summary().measures}
    assert (measures["goal reached", ""], measures["rules kept", ""]) == (1.0, 1.0)
    assert measures["steps", ""] >= 6
    page = stored_in([tmp_path / "run"]).html()
    assert "goal reached" in page
    export(run, tmp_path / "inspect", to="inspect")
    with pytest.raises(UsageError, match="Unknown harness 'openai'"):
        export(run, tmp_path / "other", to="openai")  # type: ignore[arg-type]
    log = json.loads(next((tmp_path / "inspect").glob("*.json")).read_text())
    assert {message["role"] for message in log["samples"][0]["messages"]} == {"system", "user", "assistant", "tool"}


def test_limits_end_an_episode_and_a_lazy_model_fails(tmp_path: Path):
    idle = ScriptedModel(lambda request: Message("assistant", "", (ToolCall("x", "describe"),)), name="scripted/idle")
    run = evaluate_sync(idle, world_suite("database", 2, limits=Limits(steps=3)), tmp_path / "run")
    assert [(one.status, one.stop_reason) for one in run.responses()] == [("truncated", "limit of 3 steps")] * 2
    assert all(verdict.outcome == "fail" for verdict in run.verdicts() if verdict.constraint_id == "world:solved")
    page = stored_in([tmp_path / "run"]).html()
    assert "calls describe" in page
    assert "(cut at a limit)" in page, "not of tokens"
    assert "where was kept in every step" in page, "a rule that was kept has its name"
    browsed = Answers([run])
    shown = browsed.shown(run.prompts()[0].id, 0)
    assert "calls describe" in shown.turns[0].sides[0].answer
    assert browsed.page(RowQuery(words="calls describe")).matched == 2, "an episode is searched, too"
    assert Limits(9, tokens=5).reached(1, 5, 0.0) == "limit of 5 tokens"
    assert Limits(9, seconds=2.0).reached(1, 5, 2.5) == "limit of 2 seconds"


def test_a_model_plays_the_user_and_its_words_are_kept(tmp_path: Path):
    import asyncio

    suite = played_by(world_suite("database", 1), "scripted/function")
    prompt = suite.prompts[0]
    agent = ScriptedModel(
        lambda request: ("Is that all?", "Good bye.")[sum(one.role == "assistant" for one in request.messages)],
        name="scripted/agent",
    )
    user = ScriptedModel(lambda request: "No, wait." if len(request.messages) == 2 else STOP)
    run = asyncio.run(evaluate(agent, EvalSpec(suite), tmp_path / "run", user=user))
    (response,) = run.responses()
    assert [message.content for message in response.steps] == ["Is that all?", "No, wait.", "Good bye.", STOP]
    assert [request.messages[0].role for request in user.asked] == ["system", "system"]
    assert prompt.text in user.asked[0].messages[0].content
    assert user.asked[1].messages[1:] == (
        Message("user", "Is that all?"),
        Message("assistant", "No, wait."),
        Message("user", "Good bye."),
    )
    assert run.summary().coverage == 1.0
    with pytest.raises(UsageError, match="--user"):
        asyncio.run(evaluate(agent, EvalSpec(suite), tmp_path / "other"))


def test_a_failed_call_is_asked_again_and_nothing_before_it(tmp_path: Path):
    solver, fails = open_scripted("scripted/solver"), [True]

    def flaky(request: Request) -> Message:
        if request.turn == 2 and fails.pop() if fails else False:
            raise OSError("gone")
        return solver.script(request)

    model = ScriptedModel(flaky, name="scripted/flaky")
    suite = world_suite("shop", 2)
    first = evaluate_sync(model, suite, tmp_path / "run")
    assert sorted(one.status for one in first.responses()) == ["error", "ok"]
    before = len(model.asked)
    again = evaluate_sync(model, suite, tmp_path / "run")
    assert again.summary().overall.prompt_strict.passed == 2
    assert min(request.turn for request in model.asked[before:]) == 2


def test_names_say_world_form_number_and_seed():
    suite = suites.load("world:files:x3+text+seed7")
    assert (suite.name, len(suite.prompts), suite.slices) == ("world:files:x3+text+seed7", 3, ("files",))
    assert suites.load(suite.name).sha256 == suite.sha256 != suites.load("world:files:x3+text").sha256
    assert suites.load("world").name == "world:shop"
    with pytest.raises(UnknownName, match="shopp"):
        suites.load("world:shopp")
    with pytest.raises(UsageError, match="an episode has one form"):
        suites.load("world:shop:tools+text")
    with pytest.raises(UsageError, match="'lost' stands behind its name"):
        suites.load("world:shop:lost")


def test_names_say_limits_and_the_run_keeps_them(tmp_path: Path):
    suite = suites.load("world:database:seconds60+x2+tokens90+steps3")
    assert suite.name == "world:database:x2+steps3+tokens90+seconds60"
    assert suite == world_suite("database", 2, limits=Limits(3, 90, 60))
    assert suites.load("world:database:x2+steps30").name == "world:database:x2", "the usual limit is not said"
    idle = ScriptedModel(lambda request: Message("assistant", "", (ToolCall("x", "describe"),)), name="scripted/idle")
    run = evaluate_sync(idle, suite, tmp_path / "run")
    assert {one.stop_reason for one in run.responses()} == {"limit of 3 steps"}
    assert Run.load(tmp_path / "run").spec.suite == suite.name
    assert {Setting.of(prompt).limits for prompt in Run.load(tmp_path / "run").prompts()} == {Limits(3, 90, 60.0)}
    for wrong in ("x2+steps0", "steps2+steps3", "x2+step3", "seconds1.5+x2"):
        with pytest.raises(UsageError, match="steps or tokens or seconds and a number from 1"):
            suites.load(f"world:database:{wrong}")


class Silly(ToolWorld):
    """A world of a plug-in."""

    name, about, tables, policy = "silly", "Say yes.", "CREATE TABLE t (x)", {}

    def draw(self, rng):
        from adhere.worlds.simulated import User

        return Task(User("Say yes"), ["Yes."], ("yes",))

    def breaks(self, name, given):
        yield from ()


def test_a_world_without_tools_is_acted_in_by_one_tool_or_by_text(tmp_path: Path):
    from adhere.worlds.world import registry

    registry.add("silly", Silly, owner=__name__)
    try:
        for form in FORMS:
            run = evaluate_sync(open_scripted("scripted/solver"), world_suite("silly", 1, form=form), tmp_path / form)
            assert run.summary().overall.prompt_strict.passed == 1
        (prompt,) = world_suite("silly", 1, form="tools").prompts
        assert [tool.name for tool in prompt.tools] == ["act"]
    finally:
        registry._things.pop("silly")


def test_the_world_of_the_plug_in_guide_is_one(tmp_path: Path):
    import re

    from adhere.worlds.world import registry

    page = (Path(__file__).parents[3] / "docs" / "guide" / "plugins.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import random.*?)```", page, re.DOTALL)
    space: dict = {}
    exec(code, space)
    registry.add("doors", space["Doors"], owner=__name__)
    try:
        validate("doors", range(100))
        run = evaluate_sync(open_scripted("scripted/solver"), suites.load("world:doors:x5"), tmp_path / "run")
        assert run.summary().overall.prompt_strict.passed == 5
    finally:
        registry._things.pop("doors")


@pytest.mark.parametrize("name", ["gymnasium:FrozenLake-v1", "gymnasium:Taxi-v4"])
def test_gymnasium_is_solved_and_lost_by_its_own_engine(name: str):
    pytest.importorskip("gymnasium")
    validate(name, range(8))
    world = open_world(name)
    world.reset(3)
    assert world.step("fly").observation.startswith("That is no command")
    assert world.verdict()[:3] == ("fail", "the goal is not reached", ())


def test_textworld_is_solved_by_its_own_walkthrough():
    pytest.importorskip("textworld")
    validate("textworld", range(2))


def test_a_trainer_leads_episodes_and_is_paid_by_the_one_judge(tmp_path: Path):
    environment = world_env("world:shop:x3")
    for prompt in environment.prompts:
        rollout, world = environment.begin(prompt.id), open_world("shop")
        assert rollout.judge().score == 0.0
        world.reset(int(prompt.tags["world_seed"]))
        for action in world.solver():
            rollout.step(action if isinstance(action, str) else Message("assistant", "", (action,)))
        assert (rollout.done, rollout.judge().score) == (True, 1.0)
        with pytest.raises(UsageError, match="is over"):
            rollout.step("more")
    hasty = environment.begin(environment.prompts[0])
    hasty.step("I do nothing.")
    assert hasty.judge().score == 0.0, "every rule is kept, and nothing was done"
    with pytest.raises(UsageError, match=r"world_env"):
        env("world:shop:x3")


def test_trl_s_policy_has_the_world_s_tools():
    schema_of = pytest.importorskip("transformers.utils").get_json_schema
    environment = world_env("world:shop:x1", reward="binary")
    made = factory(environment)()
    made.reset(environment.prompts[0].id, prompt="other columns")
    tools = {tool.name: tool for tool in environment.prompts[0].tools}
    for name, tool in tools.items():
        told = schema_of(getattr(made, name))["function"]
        assert (told["name"], set(told["parameters"]["properties"])) == (name, set(tool.parameters["properties"]))
    assert "What" not in made.say("What is your e-mail address?")
    assert json.loads(made.get_order(order=1).removeprefix("error: ") and "{}") == {}
    assert made.get_reward() == 0.0
    with pytest.raises(UsageError, match="act by tools"):
        factory(world_env("world:shop:x1+text"))


def test_stored_episodes_are_verified_from_a_file(tmp_path: Path):
    suite = world_suite("files", 2)
    run = evaluate_sync(open_scripted("scripted/solver"), suite, tmp_path / "run")
    rows = [
        {"key": one.prompt_id, "response": None, "steps": msgspec.to_builtins(one.steps)} for one in run.responses()
    ]
    rows[1]["steps"] = rows[1]["steps"][:1]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = verify(suite, file)
    assert (found.n_prompts, found.rates["prompt_strict"].passed) == (2, 1)


def test_several_draws_give_pass_at_k_and_pass_hat_k(tmp_path: Path):
    run = evaluate_sync(open_scripted("scripted/solver"), world_suite("files", 2), tmp_path / "run", draws=2)
    assert len(run.responses()) == 4
    assert any("pass^2" in one.name for one in run.summary().measures)
    duckdb = pytest.importorskip("duckdb")
    compact(tmp_path / "run")
    (stored,) = (
        duckdb.connect()
        .execute(
            f"select steps from '{tmp_path}/run/compact/responses.parquet' where draw = 1 and prompt_id = '{run.prompts()[0].id}'"
        )
        .fetchone()
    )
    assert json.loads(stored)[0]["role"] == "assistant"
