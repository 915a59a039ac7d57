"""A recipe: stages one after the other on one model, from a TOML file to weights that anyone can load.

spec.py      what a person writes
data.py      the rows that stages choose from, and small random models to try a recipe on
run.py       the way from start to result; resumes where it was stopped
tracking.py  every step's numbers, to JSON lines and to whatever tracker is installed
card.py      the model card beside the weights
launchers.py launch files: torchrun, Slurm, SkyPilot (configs of others' trainers: `adhere.integrations.emit`)
machines.py  presets on larger machines
presets/     published recipes, with what is ours marked

`adhere.train.stage` trains each stage, as it does a study's.
"""

from adhere.train.recipe.load import load_recipe
from adhere.train.recipe.spec import Recipe, StageSpec

__all__ = ["Recipe", "StageSpec", "load_recipe"]
