"""The environment for TRL (1.16 and later): rows with a reward function, or an environment factory for several turns.

One exchange:

    environment = adhere.environments.env("core:x20")
    trainer = GRPOTrainer(model, train_dataset=dataset(environment), reward_funcs=reward(environment, model), …)

Several turns: the policy gives each answer by calling the tool `answer`, and reads the next turn in what the tool
returns.

    rows = dataset(environment, episodes=True)
    trainer = GRPOTrainer(model, train_dataset=rows, environment_factory=factory(environment))

An answer that could not be judged has the reward None, which TRL leaves out of its group's statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adhere.environments.environment import Environment
from adhere.errors import UsageError
from adhere.extras import need
from adhere.rewards.judge import RewardFunction, judge_reward


def dataset(environment: Environment, *, episodes: bool = False) -> Any:
    """Return the prompts as a `datasets.Dataset` with the columns that `reward` or `factory` needs.

    Args:
        environment: The environment with the prompts.
        episodes: Whether it is for `factory`: each row has the first messages and its `prompt_id`.

    Raises:
        UsageError: Without `episodes`, a prompt has several turns.
        MissingExtra: The package datasets is not installed.
    """
    rows = environment.rows()
    if episodes:
        rows = [{"prompt": row["prompt"], "prompt_id": row["id"]} for row in rows]
    else:
        environment.insist_on_one_turn()
        # JSON text, because Arrow would give every row the parameters of all kinds.
        import msgspec

        rows = [{**row, "kwargs": msgspec.json.encode(row["kwargs"]).decode()} for row in rows]
    return need("datasets", extra="environments").Dataset.from_list(rows)


def reward(environment: Environment, end_tokens: Any = None) -> RewardFunction:
    """Make the reward function for `dataset(environment)`.

    Args:
        environment: The environment with mode, reward and treatment of cut answers.
        end_tokens: The source of the end tokens, by which cut answers are known: the model, its generation config,
            or the tokenizer; None: see `judge_reward`.

    Raises:
        UsageError: The suite mixes profiles, which rows do not carry.
    """
    profiles = {prompt.tags.get("profile") for prompt in environment.prompts}
    if len(profiles) > 1:
        raise UsageError(
            f"The prompts have several profiles ({', '.join(map(str, sorted(map(str, profiles))))}); train on one"
        )
    return judge_reward(
        environment.reward,
        mode=environment.mode,
        profile=profiles.pop() if profiles else None,
        cut_answers=environment.cut_answers,
        traps=environment.traps,
        end_tokens=end_tokens,
    )


def factory(environment: Environment) -> Callable[[], InstructionEpisode]:
    """Return a function that makes the environment of one episode, for TRL's `environment_factory`."""
    return lambda: InstructionEpisode(environment)


class InstructionEpisode:
    """Runs one rollout over a prompt. TRL offers its public methods, except `reset` and `get_reward`, as tools."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._prompt = environment.prompts[0]
        self._answers: list[str] = []

    def reset(self, prompt_id: str, **_: Any) -> str | None:
        """Begin the prompt of a row.

        Args:
            prompt_id: As in `dataset(environment, episodes=True)`.
            _: The row's other columns, and what TRL adds.
        """
        self._prompt, self._answers = self._environment.prompt(prompt_id), []
        return None

    def answer(self, text: str) -> str:
        """Give your answer to the user's last message, and read what the user says next.

        Args:
            text: The whole answer.
        """
        if len(self._answers) == len(self._prompt.turns):
            return "The conversation is over."
        anything: Any = text  # a policy may call with anything
        if not isinstance(anything, str):
            return f"Nothing was said: text must be a text, not {type(anything).__name__}."
        self._answers.append(text)
        done = len(self._answers) == len(self._prompt.turns)
        return "The conversation is over." if done else self._prompt.turns[len(self._answers)].text

    def get_reward(self) -> float | None:
        """Return the reward of the episode; turns without an answer count as failed."""
        return self._environment.score(self._prompt, self._answers)
