"""The environment and its adapters score 2,000 published answers as `adhere verify` does. A missing score is none."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.environments import Environment, Undecided, env
from adhere.environments.worlds import judge_answers, world_env
from adhere.errors import MissingExtra, UnknownName, UsageError
from adhere.integrations.nemo_gym.server import FAILURE, MASK, make_app, rows_of, verify
from adhere.integrations.open_instruct.verifier import rows_of as open_instruct_rows
from adhere.integrations.open_instruct.verifier import score_of
from adhere.models.chat import conversation
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites import Suite, load
from adhere.worlds import open_world
from adhere.worlds.replay import as_answer

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("ADHERE_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "ifeval").is_dir(), reason=f"the published files are not at {DATA} (set ADHERE_DATA)"
)
MODELS = 4  # times 541 answers

NO_COMMA = ConstraintRef("punctuation:no_comma", {})
TITLE = ConstraintRef("detectable_format:title", {})
RANDOM = ConstraintRef("keywords:letter_frequency", {"letter": "#", "let_frequency": 3, "let_relation": "at least"})


def suite_of(*turns: tuple[ConstraintRef, ...], name: str = "p") -> Suite:
    prompt = Prompt(name, tuple(Turn(f"Turn {place}.", refs) for place, refs in enumerate(turns)))
    return Suite("mine", "1", (prompt,))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Environment, list[tuple[Prompt, str, float | None]]]:
    """IFEval's environment, and answers of four models with what `adhere verify` says of the whole prompt (strict)."""
    suite, found = f"ifeval:{DATA / 'ifeval' / 'input_data.jsonl'}", []
    environment = env(suite, reward="binary")
    for file in sorted((DATA / "ifeval" / "responses").glob("*.jsonl"))[:MODELS]:
        out = tmp_path_factory.mktemp("verified") / "verdicts.jsonl"
        done = CliRunner().invoke(adhere, ["verify", str(file), "--suite", suite, "--verdicts", str(out), "--json"])
        assert done.exit_code == 0, done.output
        strict: dict[int, list[str]] = {}
        for row in map(json.loads, out.read_text().splitlines()):
            strict.setdefault(row["key"], []).append(row["strict"])
        for row in map(json.loads, file.read_text().splitlines()):
            outcomes = strict[row["key"]]
            expected = 0.0 if "fail" in outcomes else None if "undecided" in outcomes else 1.0
            found.append((environment.prompt(row["key"]), row["response"], expected))
    assert len(found) >= 2000
    return environment, found


@needs_data
class TestPublishedAnswers:
    def test_the_environment(self, published: Any) -> None:
        environment, answers = published
        assert [environment.score(prompt, text) for prompt, text, _ in answers] == [want for *_, want in answers]
        assert {want for *_, want in answers} == {0.0, 1.0, None}

    def test_nemo_gym(self, published: Any) -> None:
        environment, answers = published
        rows = {row["id"]: row for row in rows_of(environment)}
        for prompt, text, want in answers:
            found = verify(rows[prompt.id] | {"response": response(text)})
            assert (None if found.get(MASK) else found["reward"]) == want
            assert (FAILURE in found) == (want is None)

    def test_open_instruct(self, published: Any) -> None:
        environment, answers = published
        truths = {
            prompt.id: row["ground_truth"]
            for prompt, row in zip(environment.prompts, open_instruct_rows(environment), strict=True)
        }
        for prompt, text, want in answers:
            if want is None:
                with pytest.raises(Undecided):
                    score_of(text, truths[prompt.id])
            else:
                assert score_of(text, truths[prompt.id]) == want

    def test_trl(self, published: Any) -> None:
        pytest.importorskip("datasets")
        from adhere.integrations.trl.environment import dataset, factory, reward

        environment, answers = published
        rows = {row["id"]: row for row in dataset(environment)}
        score = reward(environment)
        episode = factory(environment)()
        for prompt, text, want in answers:
            row = rows[prompt.id]
            columns = {name: [row[name]] for name in ("instruction_id_list", "kwargs")}
            assert score(prompts=[row["prompt"]], completions=[text], **columns) == [want]
            episode.reset(prompt_id=prompt.id)
            episode.answer(text)
            assert episode.get_reward() == want

    @pytest.mark.slow
    def test_openenv(self, published: Any) -> None:
        openenv = pytest.importorskip("adhere.integrations.openenv.server", exc_type=MissingExtra)
        environment, answers = published
        session = openenv.InstructionEnvironment(environment)
        for prompt, text, want in answers:
            session.reset(prompt_id=prompt.id)
            seen = session.step(openenv.AnswerAction(answer=text))
            assert (seen.done, seen.reward) == (True, want)

    @pytest.mark.slow
    def test_verifiers(self, published: Any) -> None:
        module = pytest.importorskip("adhere.integrations.verifiers.environment", exc_type=MissingExtra)
        environment, answers = published
        loaded = module.load_environment(environment.suite.name, reward="binary")
        tasks = {task.data.id: task for task in loaded.taskset}
        for prompt, text, want in answers:
            trace = SimpleNamespace(root_reply=text, is_truncated=False, assistant_messages=[])
            if want is None:
                with pytest.raises(Undecided):
                    asyncio.run(tasks[prompt.id].obeys(trace))
            else:
                assert asyncio.run(tasks[prompt.id].obeys(trace)) == want


def actions_of(prompt: Prompt) -> list[Any]:
    """What the solver of an episode's world does."""
    world = open_world(prompt.tags["world"])
    world.reset(int(prompt.tags["world_seed"]))
    return [
        as_answer(action, prompt.tags["form"], number, has_tools=bool(world.tools))
        for number, action in enumerate(world.solver())
    ]


class TestWorlds:
    """An episode in each framework ends and earns as `world_env`'s own does."""

    @pytest.mark.slow
    @pytest.mark.parametrize("suite", ["world:shop:x3", "world:files:x3+text"])
    def test_openenv(self, suite: str) -> None:
        openenv = pytest.importorskip("adhere.integrations.openenv.server", exc_type=MissingExtra)
        environment = world_env(suite, reward="binary")
        session = openenv.WorldSession(environment)
        for prompt in environment.prompts:
            first = session.reset(prompt_id=prompt.id)
            assert [one["content"] for one in first.messages] == [prompt.system, prompt.text]
            assert len(first.tools) == len(prompt.tools)
            for action in actions_of(prompt):
                calls = conversation([action], is_sent=True)[0].get("tool_calls", [])
                seen = session.step(openenv.AnswerAction(answer=action.content, tool_calls=calls))
                assert seen.messages
            assert (seen.done, seen.reward) == (True, 1.0)
            with pytest.raises(UsageError, match="is over"):
                session.step(openenv.AnswerAction(answer="more"))
        session.reset(seed=1)
        while not seen.done or seen.reward == 1.0:
            seen = session.step(openenv.AnswerAction(answer="<think>Hm.</think>Well?"))
        assert seen.reward == 0.0
        assert seen.reasons

    @pytest.mark.slow
    def test_verifiers(self) -> None:
        module = pytest.importorskip("adhere.integrations.verifiers.environment", exc_type=MissingExtra)
        suite = load("world:files:x3+text")
        loaded = module.load_environment(suite.name, reward="binary")
        assert type(loaded).__name__ == "AdhereEnv"
        for task, prompt in zip(loaded.taskset, suite.prompts, strict=True):
            said = [SimpleNamespace(content=f"<think>So.</think>{one.content}") for one in actions_of(prompt)]
            assert task.episode.id == prompt.id
            assert asyncio.run(task.obeys(SimpleNamespace(assistant_messages=said))) == 1.0
            assert asyncio.run(task.obeys(SimpleNamespace(assistant_messages=said[:1]))) == 0.0
        with pytest.raises(UsageError, match=r"take world:shop:x2\+text"):
            module.load_environment("world:shop:x2")

    def test_a_policy_by_text_is_played_again_from_its_answers(self) -> None:
        (prompt,) = load("world:files:x1+text").prompts
        said = [one.content for one in actions_of(prompt)]
        assert judge_answers(prompt, [*said, "after the end"], "binary").score == 1.0
        assert judge_answers(prompt, said[:1], "binary").score == 0.0


def response(text: str, status: str = "completed") -> dict[str, Any]:
    """What the Responses API says of an answer."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {"status": status, "output": [{"type": "reasoning", "summary": []}, message]}


class TestScore:
    def test_reasoning_is_no_part_of_the_answer(self) -> None:
        environment = Environment(suite_of((NO_COMMA,)))
        assert environment.score("p", "<think>one, two</think>three") == 1.0
        assert environment.score("p", "one, two") == 0.0

    def test_dense_and_binary(self) -> None:
        suite = suite_of((NO_COMMA, TITLE))
        assert Environment(suite).score("p", "no title here") == 0.5
        assert Environment(suite, reward="binary").score("p", "no title here") == 0.0

    def test_what_no_answer_decides_has_no_score(self) -> None:
        suite = suite_of((RANDOM,))
        judged = Environment(suite).judge("p", "some words")
        assert judged.score is None
        assert "undecided" in judged.reasons[0]
        assert "prompt_strict" not in judged.metrics

    def test_turns_that_were_not_reached_fail(self) -> None:
        suite = suite_of((NO_COMMA,), (TITLE,))
        environment = Environment(suite)
        assert environment.score("p", ["fine"]) == 0.5
        assert environment.score("p", ["fine", "<<A title>> fine"]) == 1.0
        assert Environment(suite, reward="binary").score("p", ["fine"]) == 0.0
        assert environment.score("p", []) == 0.0
        assert Environment(suite_of(())).score("p", "text") is None, "nothing was asked"
        with pytest.raises(UsageError, match="2 turns, got 3"):
            environment.score("p", ["a", "b", "c"])

    def test_a_cut_answer_counts_as_the_suite_says(self) -> None:
        assert env("core", limit=1).cut_answers == "fail"
        assert Environment(suite_of((NO_COMMA,)), cut_answers="fail").score("p", "fine", is_cut=True) == 0.0
        assert Environment(suite_of((NO_COMMA,)), cut_answers="judge").score("p", "fine", is_cut=True) == 1.0

    def test_metrics_say_it_by_kind(self) -> None:
        metrics = Environment(suite_of((NO_COMMA, TITLE))).judge("p", "no title").metrics
        assert metrics == {
            "prompt_strict": 0.0,
            "prompt_loose": 0.0,
            "punctuation:no_comma": 1.0,
            "detectable_format:title": 0.0,
        }

    def test_wrong_names_are_told(self) -> None:
        environment = Environment(suite_of((NO_COMMA,)))
        with pytest.raises(UnknownName, match="no prompt 'q'"):
            environment.score("q", "text")
        with pytest.raises(UsageError, match="reward"):
            env("core", reward="sparse")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="several prompts of one id"):
            Environment(Suite("twice", "1", suite_of((NO_COMMA,)).prompts * 2))


class TestNemoGym:
    def test_the_server_takes_a_row_and_gives_it_back_with_its_reward(self) -> None:
        (row,) = rows_of(Environment(suite_of((NO_COMMA, TITLE))))
        found = asyncio.run(posted("/verify", row | {"response": response("no title")}))
        assert (found["reward"], found["prompt_strict"], found["id"]) == (0.5, 0.0, "p")
        assert MASK not in found
        assert asyncio.run(posted("/seed_session", row)) == {}

    def test_what_could_not_be_judged_is_masked_and_leaves_the_mean(self) -> None:
        (row,) = rows_of(Environment(suite_of((RANDOM,))))
        masked = asyncio.run(posted("/verify", row | {"response": response("text")}))
        assert (masked[MASK], masked[FAILURE]) == (True, "judge_failed")
        (fine,) = rows_of(Environment(suite_of((NO_COMMA,))))
        judged = asyncio.run(posted("/verify", fine | {"response": response("text")}))
        totals = asyncio.run(posted("/aggregate_metrics", {"verify_responses": [masked, judged]}))
        assert totals["agent_metrics"] == {"mean/reward": 1.0, "judged": 1, "masked": 1}

    def test_a_row_that_cannot_be_judged_by_anybody_is_422_with_the_reason(self) -> None:
        row = {"instruction_id_list": ["nobody:has_it"], "kwargs": [{}], "response": response("text")}
        assert "nobody:has_it" in asyncio.run(posted("/verify", row, status=422))["detail"]
        assert "response" in asyncio.run(posted("/verify", {}, status=422))["detail"]

    def test_an_answer_that_ran_out_of_tokens_is_cut(self) -> None:
        (row,) = rows_of(Environment(suite_of((NO_COMMA,)), cut_answers="fail"))
        assert verify(row | {"response": response("fine", status="incomplete")})["reward"] == 0.0


async def posted(path: str, body: dict[str, Any], status: int = 200) -> Any:
    """What the resources server answers."""
    from aiohttp.test_utils import TestClient, TestServer

    async with TestClient(TestServer(make_app())) as client, client.post(path, json=body) as answer:
        assert answer.status == status
        return await answer.json()


ASKED = (
    "Write a short blog post about the benefits of cycling to work every morning in winter for office employees of "
    "large cities. Use no commas."
)
HONEST = (
    "Cycling wakes you up before the day begins. A light on the handlebar keeps you safe in winter and the ride home "
    "clears your head. You save money on fuel and arrive at your desk in a good mood."
)


class TestTheIntentGate:
    """`traps=True` of an environment, through every adapter.

    An honest answer keeps its reward, the phrase alone has 0.
    """

    @pytest.fixture
    def gated(self) -> Environment:
        suite = Suite("mine", "1", (Prompt("p", (Turn(ASKED, (NO_COMMA,)),)),))
        assert Environment(suite).score("p", "No commas.") == 1.0
        return Environment(suite, traps=True)

    def test_nemo_gym(self, gated: Environment) -> None:
        (row,) = rows_of(gated)
        for text, earned in ((HONEST, 1.0), ("No commas.", 0.0)):
            found = asyncio.run(posted("/verify", row | {"response": response(text)}))
            assert (found["reward"], found["traps"]) == (earned, 1 - earned)

    def test_open_instruct(self, gated: Environment) -> None:
        (row,) = open_instruct_rows(gated)
        assert [score_of(text, row["ground_truth"]) for text in (HONEST, "No commas.")] == [1.0, 0.0]
        bare = {name: value for name, value in json.loads(row["ground_truth"]).items() if name != "prompt"}
        with pytest.raises(UsageError, match="ground_truth has no `prompt`"):
            score_of(HONEST, json.dumps(bare))

    def test_trl(self, gated: Environment) -> None:
        trl = pytest.importorskip("adhere.integrations.trl.environment")
        (row,) = gated.rows()
        columns = {name: [row[name]] * 2 for name in ("instruction_id_list", "kwargs")}
        said = [HONEST, "No commas."]
        assert trl.reward(gated)(prompts=[row["prompt"]] * 2, completions=said, **columns) == [1.0, 0.0]
        for text, earned in zip(said, (1.0, 0.0), strict=True):
            episode = trl.factory(gated)()
            episode.reset(prompt_id="p")
            episode.answer(text)
            assert episode.get_reward() == earned

    @pytest.mark.slow
    def test_openenv(self, gated: Environment) -> None:
        openenv = pytest.importorskip("adhere.integrations.openenv.server", exc_type=MissingExtra)
        for text, earned in ((HONEST, 1.0), ("No commas.", 0.0)):
            session = openenv.InstructionEnvironment(gated)
            session.reset(prompt_id="p")
            assert session.step(openenv.AnswerAction(answer=text)).reward == earned

    @pytest.mark.slow
    def test_verifiers(self) -> None:
        module = pytest.importorskip("adhere.integrations.verifiers.environment", exc_type=MissingExtra)
        for traps, earned in ((True, 0.0), (False, None)):
            task = next(iter(module.load_environment("core:x1", traps=traps).taskset))
            trace = SimpleNamespace(root_reply=task.data.prompt_text, is_truncated=False, assistant_messages=[])
            assert task.config.traps is traps
            assert earned is None or asyncio.run(task.obeys(trace)) == earned
            assert ("traps" in asyncio.run(task.instructions(trace))) is traps

    def test_served_episodes_refuse_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        from adhere.environments.command import parse

        with pytest.raises(SystemExit):
            parse("adhere.integrations.openenv.server", ["world:shop:x2", "--traps"], worlds=True)
        assert "a program decides an episode" in capsys.readouterr().err

    @pytest.mark.slow
    def test_loaded_episodes_refuse_it(self) -> None:
        module = pytest.importorskip("adhere.integrations.verifiers.environment", exc_type=MissingExtra)
        with pytest.raises(UsageError, match="a program decides an episode"):
            module.load_environment("world:shop:x2+text", traps=True)


class TestSeveralTurns:
    def test_trl_episode_gives_the_next_turn_and_ends(self) -> None:
        trl = pytest.importorskip("adhere.integrations.trl.environment")
        episode = trl.factory(Environment(suite_of((NO_COMMA,), (TITLE,))))()
        episode.reset(prompt_id="p")
        assert episode.answer("fine") == "Turn 1."
        assert "over" in episode.answer("<<A title>>")
        assert episode.get_reward() == 1.0
        assert "over" in episode.answer("more")

    def test_single_exchanges_refuse_it(self) -> None:
        environment = Environment(suite_of((NO_COMMA,), (TITLE,)))
        with pytest.raises(UsageError, match="several turns"):
            rows_of(environment)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("openenv") is None, reason="openenv-core is not installed here")
def test_openenv_server_and_its_own_client() -> None:
    """A real episode of two turns over OpenEnv's protocol, and one that cannot be judged."""
    import threading

    import uvicorn
    from openenv import GenericEnvClient

    from adhere.integrations.openenv.server import make_app as openenv_app

    suite = Suite("mine", "1", (*suite_of((NO_COMMA,), (TITLE,)).prompts, *suite_of((RANDOM,), name="q").prompts))
    config = uvicorn.Config(openenv_app(Environment(suite)), host="127.0.0.1", port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()

    async def episodes() -> None:
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with GenericEnvClient(base_url=f"http://127.0.0.1:{port}") as client:
            first = await client.reset(prompt_id="p")
            assert first.observation["messages"] == [{"role": "user", "content": "Turn 0."}]
            second = await client.step({"answer": "fine"})
            assert [one["role"] for one in second.observation["messages"]] == ["user", "assistant", "user"]
            last = await client.step({"answer": "<<A title>>"})
            assert (last.done, last.reward) == (True, 1.0)
            await client.reset(prompt_name="q")
            unjudged = await client.step({"answer": "text"})
            assert (unjudged.done, unjudged.reward) == (True, None)

    try:
        asyncio.run(episodes())
    finally:
        server.should_exit = True
        thread.join(10)
