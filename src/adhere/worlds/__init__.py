"""Worlds: what a model acts in, step by step, and where a program says whether it reached its goal and kept the rules.

world.py        what a World is, and the worlds by name
replay.py       an episode: answers to actions, actions to what the world says; the same from the store, model-free
simulated.py    the user of a world, by script
tools/          our own worlds of tools over SQLite: shop, calendar, files, database
text/           worlds of other libraries: Gymnasium's, TextWorld's
"""

from adhere.worlds.replay import Episode, Limits, replay
from adhere.worlds.world import Action, BrokenRule, Judgement, Step, World, open_world, registry, validate

__all__ = [
    "Action", "BrokenRule", "Episode", "Judgement", "Limits", "Step", "World", "open_world", "registry", "replay",
    "validate",
]  # fmt: skip
