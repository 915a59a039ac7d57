"""Instruction following as an environment, for the trainers that take environments instead of reward functions.

environment.py  one definition: prompts, score, metrics, rows
worlds.py       likewise for episodes
command.py      what servers of it share

What each trainer takes lies in `adhere.integrations`, a folder a house. The other files here are doors to it, by the
paths that trainers' files name.

Every adapter scores with the same `Environment`, and none downloads anything.
"""

from __future__ import annotations

from adhere.environments.environment import Environment, Undecided, env

__all__ = ["Environment", "Undecided", "env"]
