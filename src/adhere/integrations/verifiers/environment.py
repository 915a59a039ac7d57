"""The environment for `verifiers` (0.4 and later, `verifiers.v1`): a Taskset for prime-rl and `vf-eval`.

    vf-eval adhere_if --env.taskset.suite core:x20 --env.agent.harness.id null --env.agent.runtime.type subprocess
        --no-push --model NAME --client.base-url URL
    uv run eval …                       # of prime-rl, which verifiers 0.4.0 names as vf-eval's successor

Without `--no-push` vf-eval uploads the run to a hub, and without the runtime it asks to log in there.

A suite of worlds in the form `text` (`world:shop:x20+text`) is played step by step: `AdhereEnv` passes on the world's
reply to each answer.

`adhere_if` is the module that verifiers finds by name; it is installed with adhere and exports this module. In
Python `load_environment(suite=…)` returns the same as an `Env`.

An answer that could not be judged raises in the reward, which verifiers records as an error of the trace: the episode
has no reward, and prime-rl leaves it out. It is never 0.

Written against verifiers 0.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from adhere.environments.environment import JudgedEpisode, Undecided, env, judge_episode
from adhere.environments.worlds import Rollout, WorldEnvironment, insist_on_no_gate, is_world, judge_answers
from adhere.errors import UsageError
from adhere.extras import need
from adhere.integrations.verifiers.reward import answer_of_trace
from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import refs_of
from adhere.schema import Mode, Prompt, Turn
from adhere.suites import Suite, load

need("verifiers.v1", extra="environments")

import verifiers.v1 as vf


class AdhereTaskConfig(vf.TaskConfig):
    """Under `--env.taskset.task.*`: how answers are judged."""

    mode: Literal["reference", "fixed"] = "reference"
    """`reference` judges published kinds as the published code does, `fixed` with its defects mended."""
    reward: Literal["dense", "binary"] = "dense"
    """The share of constraints that pass, or 1.0 only where all pass."""
    traps: bool = False
    """Whether an answer that keeps the letter and not the intent gets 0."""


class AdhereTasksetConfig(vf.TasksetConfig):
    """Under `--env.taskset.*`: which prompts are asked."""

    suite: str = "core"
    """A suite as `adhere eval --suite` takes it: `core:x20+seed7`, `ifeval:input_data.jsonl`."""
    limit: int | None = None
    """At most so many prompts, an even share of each slice."""
    seed: int | None = None
    """For generated suites."""
    task: AdhereTaskConfig = AdhereTaskConfig()


class AdhereData(vf.TaskData):
    """Holds one prompt with everything needed to judge its answer, so that a stored trace can be scored again."""

    instruction_id_list: list[str]
    kwargs: list[dict[str, Any]]
    profile: str | None = None
    cut_answers: Literal["fail", "judge"] = "judge"
    world: dict[str, str] = {}
    """The tags that describe an episode; empty for a single exchange."""


class AdhereTask(vf.Task[AdhereData, vf.State, AdhereTaskConfig]):
    """Holds one prompt and scores its answer."""

    @vf.reward
    async def obeys(self, trace: vf.Trace) -> float:
        """Return the reward of the reply.

        Raises:
            Undecided: The reply could not be judged, so the trace has no reward.
        """
        judgement = self._judge(trace)
        if judgement.score is None:
            raise Undecided(f"Prompt {self.data.id}: the answer could not be judged. " + "; ".join(judgement.reasons))
        return judgement.score

    @vf.metric
    async def instructions(self, trace: vf.Trace) -> dict[str, float]:
        """Return whether the whole prompt was followed, strictly and loosely, and a pass rate for each kind."""
        return self._judge(trace).metrics

    @property
    def episode(self) -> Prompt:
        """The prompt of a world's episode."""
        data = self.data
        turn = Turn(data.prompt_text, refs_of(data.instruction_id_list, data.kwargs))
        return Prompt(str(data.id), (turn,), data.system_prompt, "world", data.world)

    def _judge(self, trace: vf.Trace) -> JudgedEpisode:
        data = self.data
        if data.world:
            return judge_answers(
                self.episode, [message.content or "" for message in trace.assistant_messages], self.config.reward
            )
        refs = refs_of(data.instruction_id_list, data.kwargs)
        tags = {} if data.profile is None else {"profile": data.profile}
        text, is_cut = answer_of_trace(trace)
        return judge_episode(
            Prompt(str(data.id), (Turn(data.prompt_text, refs),), tags=tags),
            text,
            is_cut=is_cut,
            mode=self.config.mode,
            reward=self.config.reward,
            cut_answers=data.cut_answers,
            traps=self.config.traps,
        )


class AdhereTaskset(vf.Taskset[AdhereTask, AdhereTasksetConfig]):
    """Loads the prompts of a suite as tasks. Prompts of several turns are refused: a task is one exchange."""

    def load(self) -> Iterator[AdhereTask]:
        """Yield one task for each prompt, in the suite's order.

        Raises:
            UsageError: The suite has prompts of several turns, or with tools.
        """
        config = self.config
        suite = load(config.suite, limit=config.limit, seed=config.seed)
        if is_world(suite):
            if config.task.traps:
                insist_on_no_gate(suite)
            yield from self._episodes(suite)
            return
        environment = env(suite)
        environment.insist_on_one_turn()
        for prompt, row in zip(environment.prompts, environment.rows(), strict=True):
            messages = row["prompt"]
            system = messages.pop(0)["content"] if messages[0]["role"] == "system" else None
            data = AdhereData(
                id=prompt.id,
                name=prompt.id,
                system_prompt=system,
                prompt=messages[0]["content"] if len(messages) == 1 else messages,
                instruction_id_list=row["instruction_id_list"],
                kwargs=row["kwargs"],
                profile=prompt.tags.get("profile"),
                cut_answers=environment.cut_answers,
            )
            yield AdhereTask(data, config.task)

    def _episodes(self, suite: Suite) -> Iterator[AdhereTask]:
        for prompt in _by_text(suite).prompts:
            data = AdhereData(
                id=prompt.id,
                name=prompt.id,
                system_prompt=prompt.system,
                prompt=prompt.text,
                world=prompt.tags,
                instruction_id_list=[ref.id for ref in prompt.constraints],
                kwargs=[dict(ref.params) for ref in prompt.constraints],
            )
            yield AdhereTask(data, self.config.task)


def _by_text(suite: Suite) -> WorldEnvironment:
    environment = WorldEnvironment(suite)
    if suite.prompts[0].tags["form"] != "text":
        raise UsageError(f"{suite.name}: verifiers' policies act by text here; take {suite.name}+text")
    return environment


class AdhereEnv(vf.SingleAgentEnv):
    """Runs one agent; if the task is an episode, the world is its user."""

    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        """Ask the agent once, or until the episode is over."""
        if not isinstance(task, AdhereTask) or not task.data.world:
            await super().run(task, agents)
            return
        rollout = Rollout(task.episode, task.config.reward)
        async with agents.agent.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                messages = rollout.step(segment.last_reply)
                if rollout.done:
                    break
                segment = await interaction.turn("\n".join(message.content for message in messages))


def load_environment(
    suite: str = "core",
    *,
    mode: Mode = "reference",
    reward: RewardKind = "dense",
    traps: bool = False,
    limit: int | None = None,
    seed: int | None = None,
) -> vf.Env[Any]:
    """Load the environment of a suite, ready for a trainer.

    It has one agent, one exchange or an episode by text, and no tools (harness `null`).

    Args:
        suite: The suite's name as in `adhere eval --suite`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        reward: `dense` or `binary`.
        traps: Whether an answer that fulfils the wording but not the intent gets 0.
        limit: Most prompts that are asked.
        seed: Seed of generated suites.

    Raises:
        UnknownName, UsageError: There is no such suite, or it cannot be used here.
    """
    own_suite = load(suite, limit=limit, seed=seed)  # what is wrong is said in our words, before verifiers does
    if traps:
        insist_on_no_gate(own_suite)
    _ = _by_text(own_suite) if is_world(own_suite) else env(own_suite, mode=mode, reward=reward)
    taskset = {
        "id": "adhere_if", "suite": suite, "limit": limit, "seed": seed,
        "task": {"mode": mode, "reward": reward, "traps": traps},
    }  # fmt: skip
    config = vf.resolve_env_config({"taskset": taskset, "agent": {"harness": {"id": "null"}}})
    return vf.load_environment(config)
