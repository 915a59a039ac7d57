"""Gymnasium's environments as worlds of text.

The adapter also serves other environments with Gymnasium's interface (ALFWorld, VirtualHome, Minecraft).

Source: Farama-Foundation/Gymnasium (MIT), `envs/toy_text`. Its engine decides what happens; observations are put into
words here.
"""

from __future__ import annotations

import importlib.metadata
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

from adhere.errors import UnknownName, nearest
from adhere.extras import need
from adhere.worlds.world import OVER, Action, Judgement, NoUser, Step, registry


class GymnasiumWorld(NoUser, ABC):
    """Runs a world over an environment with Gymnasium's interface; a base class.

    A subclass says how the environment is made, described, acted in and won. Its solver may come from anywhere;
    `validate` checks the solver.

    Class attributes:
        name, version, system: See World. The version should name the library's, which decides what happens.
        commands: The texts that are actions, in the order of their numbers, where actions are numbers.
    """

    version: str
    system: str
    commands: tuple[str, ...]

    @abstractmethod
    def make(self, seed: int) -> Any:
        """Make the environment of a seed."""

    @abstractmethod
    def tell(self, observation: Any) -> str:
        """Describe an observation in words."""

    @abstractmethod
    def is_won(self, reward: float) -> bool:
        """Tell whether the episode, which ended with this reward, reached its goal."""

    @abstractmethod
    def solver(self) -> Sequence[Action]:
        """Return actions from the beginning that reach the goal and keep every rule."""

    def action(self, command: str) -> Any:
        """Return what the environment takes for a command.

        Raises:
            ValueError: There is no such command.
        """
        return self.commands.index(command.strip().strip(".").casefold())

    def reset(self, seed: int) -> str:
        """Begin the episode of a seed."""
        self.environment = self.make(seed)
        observation, _ = self.environment.reset(seed=seed % 2**31)
        self._is_over = self._is_won = False
        return self.tell(observation)

    def step(self, action: Action) -> Step:
        """Carry out a command."""
        if self._is_over:
            return OVER
        try:
            move = self.action(action if isinstance(action, str) else action.name)
        except ValueError:
            return Step(f"That is no command. Commands: {', '.join(self.commands)}")
        observation, reward, terminated, truncated, _ = self.environment.step(move)
        self._is_over = bool(terminated or truncated)
        self._is_won = bool(terminated) and self.is_won(float(reward))
        return Step(self.tell(observation), self._is_over)

    def verdict(self) -> Judgement:
        """Judge whether the goal is reached."""
        reason = (
            "the goal is reached"
            if self._is_won
            else "the episode was lost"
            if self._is_over
            else "the goal is not reached"
        )
        return Judgement("pass" if self._is_won else "fail", reason)


class ToyText(GymnasiumWorld):
    """Runs Gymnasium's `FrozenLake-v1`, with a map of its own for each seed, or `Taxi-v4`.

    The solver searches the engine's own table of moves.

    Args:
        environment: The environment's name.
    """

    def __init__(self, environment: str = "FrozenLake-v1") -> None:
        if environment not in _SYSTEMS:
            raise UnknownName(
                f"Unknown environment {environment!r}.{nearest(environment, _SYSTEMS)} Known: {', '.join(_SYSTEMS)}"
            )
        self._gymnasium = need("gymnasium", extra="worlds")
        self.which, self.name = environment, f"gymnasium:{environment}"
        self.version = f"1+{importlib.metadata.version('gymnasium')}"
        self.commands, about = _SYSTEMS[environment]
        self.system = f"{about} Commands: {', '.join(self.commands)}."

    def make(self, seed: int) -> Any:
        if self.which == "FrozenLake-v1":
            from gymnasium.envs.toy_text.frozen_lake import generate_random_map

            return self._gymnasium.make(
                self.which, desc=generate_random_map(5, 0.75, seed=seed % 2**31), is_slippery=False
            )
        return self._gymnasium.make(self.which)

    def tell(self, observation: Any) -> str:
        state, engine = int(observation), self.environment.unwrapped
        rows = [[cell.decode() for cell in row] for row in engine.desc.tolist()]
        if self.which == "FrozenLake-v1":
            row, column = divmod(state, engine.ncol)
            rows[row][column] = "@"
            return "\n".join("".join(line) for line in rows)
        taxi_row, taxi_column, passenger, goal = engine.decode(state)
        stops = ("R", "G", "Y", "B")
        rows[taxi_row + 1][2 * taxi_column + 1] = "@"
        where = "in the taxi" if passenger == len(stops) else f"at {stops[passenger]}"
        return (
            "\n".join("".join(line) for line in rows) + f"\nThe passenger is {where} and wants to go to {stops[goal]}."
        )

    def is_won(self, reward: float) -> bool:
        return reward >= 1

    def solver(self) -> Sequence[Action]:
        """Return the shortest way from the beginning, by breadth-first search."""
        engine = self.environment.unwrapped
        start = self._start
        before: dict[int, tuple[int, int]] = {}
        waiting, seen = deque([start]), {start}
        while waiting:
            state = waiting.popleft()
            for move, outcomes in engine.P[state].items():
                _, next_state, reward, is_over = outcomes[0]
                if is_over and self.is_won(float(reward)):
                    return [self.commands[step] for step in (*_way(before, state), move)]
                if not is_over and next_state not in seen:
                    seen.add(next_state)
                    before[next_state] = (state, move)
                    waiting.append(next_state)
        raise AssertionError(f"{self.name}: no way leads to the goal")

    def reset(self, seed: int) -> str:
        observation = super().reset(seed)
        self._start = int(self.environment.unwrapped.s)
        return observation


def _way(before: dict[int, tuple[int, int]], state: int) -> list[int]:
    """Return the moves that led to a state."""
    moves: list[int] = []
    while state in before:
        state, move = before[state]
        moves.insert(0, move)
    return moves


_SYSTEMS: dict[str, tuple[tuple[str, ...], str]] = {
    "FrozenLake-v1": (
        ("left", "down", "right", "up"),
        (
            "You (@) walk over a frozen lake, a field a step: S start, F ice, H hole, G goal. Reach G, "
            "and step into no hole."
        ),
    ),
    "Taxi-v4": (
        ("south", "north", "east", "west", "pickup", "dropoff"),
        (
            "You drive a taxi (@) on a map with the stops R, G, Y and B; no way leads through |. "
            "Pick up the passenger, and drop them off at their goal."
        ),
    ),
}

registry.add("gymnasium", ToyText, owner=__name__)
