"""A recipe: stages one after the other on one model, from a TOML file to weights that anyone can load.

spec.py      what a person writes
data.py      the rows that stages choose from, and small random models to try a recipe on
run.py       the way from start to result; resumes where it was stopped
order.py     the order of online prompts where a trained reward model is the reward
guards.py    what stops a run that is being wasted
tracking.py  every step's numbers, to JSON lines and to whatever tracker is installed
card.py      the model card beside the weights
launch/      launch files of ours, and configs of others' trainers
lora.py      low-rank adapters
machines.py  presets on larger machines
presets/     published recipes, with what is ours marked
"""

from adhere.train.recipe.load import load_recipe
from adhere.train.recipe.spec import Recipe, StageSpec

__all__ = ["Recipe", "StageSpec", "load_recipe"]
