"""Training: one method = one file, read top to bottom; a Recipe is a list of them.

settings  what every stage lets one set
packed/   rows of tokens as trees: shared beginnings are computed once
loop      updates weights; `watch` and `checkpoint` beside it
batch/    what several methods have in common: pairs, single answers, rollouts, losses
methods/  one file each, registered as `stages`
stage/    one stage, trained and stored, with its guards, rewards and costs; recipes and studies share it
recipe/   stages one after the other, from a TOML file

Each may import what stands above it in this list (an import contract). Importing this room imports no torch: settings
and recipes can be read anywhere.
"""
