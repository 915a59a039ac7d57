"""Instruction following as an environment, for the trainers that take environments instead of reward functions.

environment.py  one definition: prompts, score, metrics, rows
worlds.py       likewise for episodes
command.py      the command line of environments that are servers

The adapters of trainers are in `adhere.integrations`, a folder for each. The other files here only forward to them,
under the paths that trainers' files name.

Every adapter scores with the same `Environment`, and none downloads anything.
"""

from __future__ import annotations

from adhere.environments.environment import Environment, Undecided, env

__all__ = ["Environment", "Undecided", "env"]
