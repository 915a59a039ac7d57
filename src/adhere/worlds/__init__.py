"""Worlds: a model acts in them step by step, and a program says whether it reached its goal and kept the rules.

world.py        what a World is, and the worlds by name
replay.py       an episode: answers become actions, and the world's reply becomes messages; also replayed from the store
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
