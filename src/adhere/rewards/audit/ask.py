"""Calls a reward as its trainer does, which its signature tells.

| it takes | it is |
|---|---|
| `completions` | TRL's: a batch, columns by name |
| `completion` | verifiers': one rollout (`prompt`, `info`, `answer`, `state`); may be async |
| `solution_str` | verl's: one answer and its ground truth |
| `queries` | OpenRLHF's: prompt and answer in one text |
| `begin` and `prompts` | our world: every script is its policy, the world's own solver is honest |
| `reset` and `step` | OpenEnv's: one step an episode |
| `score` | our environment |
| two arguments, or one | a plain function of (prompt, answer) or (answer) |

A function that can be called without arguments and returns one of these (`adhere.rewards:judge_reward`) is called
first.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from adhere.errors import UsageError
from adhere.rewards.audit.rows import AuditRow

Pay = Callable[[AuditRow, str], Any]


class Earning(NamedTuple):
    """Holds the reward of an answer: a number, or None and the reason."""

    reward: float | None
    why: str = ""


class AuditedReward(NamedTuple):
    """Makes any reward callable for an audit.

    Attributes:
        name: Name of the target.
        kind: How it is called.
        pay: Calls it with one answer.
        thing: The reward itself.
    """

    name: str
    kind: str
    pay: Pay
    thing: Any = None

    def ask(self, row: AuditRow, answer: str) -> Earning:
        """Return what an answer earns. If the reward raises, it is None, with the exception as the reason."""
        try:
            return _number(self.pay(row, answer))
        except Exception as error:  # noqa: BLE001 - somebody else's code: recorded, never a score
            return Earning(None, f"{type(error).__name__}: {error}"[:300])


def open_reward(target: str) -> AuditedReward:
    """Import the reward `package.module:name`.

    Raises:
        UsageError: There is no such module or name, or it is no known kind of reward.
    """
    module_name, _, name = target.partition(":")
    if not module_name or not name:
        raise UsageError(f"{target!r} must be package.module:reward, such as adhere.rewards:judge_reward")
    try:
        reward: Any = importlib.import_module(module_name)
        for part in name.split("."):
            reward = getattr(reward, part)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{target}: {error}. Run it where the module can be imported (PYTHONPATH)") from error
    return as_reward(reward, target)


def as_reward(reward: Any, name: str = "reward") -> AuditedReward:
    """Wrap anything that pays for answers, so that an audit can call it.

    Raises:
        UsageError: Its signature is of no known kind.
    """
    for kind, is_one, make in _KINDS:
        if is_one(reward):
            return AuditedReward(name, kind, make(reward), reward)
    if callable(reward) and not _needs(reward):
        return as_reward(reward(), name)
    raise UsageError(
        f"{name}: {reward!r:.80} is no reward that is known. It may take completions (TRL), completion (verifiers), "
        "solution_str (verl), queries (OpenRLHF), (prompt, answer) or (answer), or be an environment"
    )


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a callable by name; empty for some built-ins, which do not state them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _needs(function: Any) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in _parameters(function).values()
        if parameter.default is parameter.empty and parameter.kind not in kinds
    ]


def _takes(name: str) -> Callable[[Any], bool]:
    return lambda reward: callable(reward) and not inspect.isclass(reward) and name in _parameters(reward)


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda reward: not inspect.isclass(reward) and all(hasattr(reward, name) for name in names)


def _is_plain(reward: Any) -> bool:
    return callable(reward) and not inspect.isclass(reward) and len(_needs(reward)) in {1, 2}


def _trl(reward: Any) -> Pay:
    def pay(row: AuditRow, answer: str) -> Any:
        is_text = isinstance(row.prompt, str)
        completion: Any = answer if is_text else [{"role": "assistant", "content": answer}]
        columns = {name: [value] for name, value in row.columns.items()}
        return _only(_wait(reward(prompts=[row.prompt], completions=[completion], **columns)))

    return pay


def _only(rewards: Any) -> Any:
    if isinstance(rewards, Mapping):  # a reward in parts: their sum
        return sum(float(value[0]) for value in rewards.values() if value[0] is not None)
    return rewards[0]


def _verifiers(reward: Any) -> Pay:
    names = _parameters(reward)
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in names.values())

    def pay(row: AuditRow, answer: str) -> Any:
        prompt = [{"role": "user", "content": row.prompt}] if isinstance(row.prompt, str) else row.prompt
        arguments = {
            "prompt": prompt,
            "completion": [{"role": "assistant", "content": answer}],
            "info": row.columns.get("info", dict(row.columns)),
            "answer": row.columns.get("answer", ""),
            "state": {"is_truncated": False},
            "task": row.columns.get("task", ""),
        }
        return _wait(reward(**{name: value for name, value in arguments.items() if takes_all or name in names}))

    return pay


def _truth(row: AuditRow) -> Any:
    for name in ("ground_truth", "label", "answer"):
        if name in row.columns:
            return row.columns[name]
    model = row.columns.get("reward_model")
    return model["ground_truth"] if isinstance(model, Mapping) else json.dumps({**row.columns, "prompt": row.asked})


def _verl(reward: Any) -> Pay:
    def pay(row: AuditRow, answer: str) -> Any:
        source = row.columns.get("data_source", "audit")
        extra = row.columns.get("extra_info", {})
        reply = reward(data_source=source, solution_str=answer, ground_truth=_truth(row), extra_info=extra)
        return reply["score"] if isinstance(reply, Mapping) else reply

    return pay


def _openrlhf(reward: Any) -> Pay:
    def pay(row: AuditRow, answer: str) -> Any:
        reply = reward([row.asked + answer], [row.asked], [_truth(row)])
        return reply["rewards"][0] if isinstance(reply, Mapping) else reply[0]

    return pay


def _environment(environment: Any) -> Pay:
    from adhere.schema import Prompt, Turn

    def pay(row: AuditRow, answer: str) -> Any:
        return environment.score(Prompt("audited", (Turn(row.asked, row.refs),)), answer)

    return pay


def _openenv(environment: Any) -> Pay:
    hints = typing.get_type_hints(environment.step)
    action = next((hint for name, hint in hints.items() if name not in {"return", "timeout_s"}), str)
    fields = getattr(action, "model_fields", {})
    name = next((field for field in ("answer", "message", "text", "content", "response") if field in fields), None)

    def pay(row: AuditRow, answer: str) -> Any:
        observation = environment.reset(
            **({"prompt_id": row.columns["prompt_id"]} if "prompt_id" in row.columns else {})
        )
        for _ in range(64):
            observation = environment.step(action(**{name: answer}) if name else answer)
            if getattr(observation, "done", True):
                break
        return observation.reward

    return pay


def _world(environment: Any) -> Pay:
    """Return a function that plays one episode of `environment` and returns its score.

    It answers `answer` at each step. For the row's first honest answer it plays the actions in the row's `solver`
    first.
    """

    def pay(row: AuditRow, answer: str) -> Any:
        rollout = environment.begin(row.columns["prompt_id"])
        actions = iter(row.columns["solver"] if answer == row.honest[0] else ())
        while not rollout.done:
            rollout.step(next(actions, answer))
        return rollout.judge().score

    return pay


def _plain(reward: Any) -> Pay:
    if len(_needs(reward)) == 1:
        return lambda _row, answer: _wait(reward(answer))
    first = _needs(reward)[0]
    if first in {"answer", "completion", "response", "text", "output"}:
        return lambda row, answer: _wait(reward(answer, row.prompt))
    return lambda row, answer: _wait(reward(row.prompt, answer))


_KINDS: Sequence[tuple[str, Callable[[Any], bool], Callable[[Any], Pay]]] = (
    ("TRL", _takes("completions"), _trl),
    ("verifiers", _takes("completion"), _verifiers),
    ("verl", _takes("solution_str"), _verl),
    ("OpenRLHF", _takes("queries"), _openrlhf),
    ("world", _has("begin", "prompts"), _world),
    ("OpenEnv", _has("reset", "step"), _openenv),
    ("environment", _has("score", "prompts"), _environment),
    ("function", _is_plain, _plain),
)


def _wait(reply: Any) -> Any:
    return asyncio.run(_finish(reply)) if inspect.isawaitable(reply) else reply


async def _finish(awaitable: Any) -> Any:
    return await awaitable


def _number(reward: Any) -> Earning:
    if reward is None:
        return Earning(None, "the reward is None: not measured")
    value = float(reward.item() if hasattr(reward, "item") else reward)
    return Earning(value) if math.isfinite(value) else Earning(None, f"the reward is {value}")
