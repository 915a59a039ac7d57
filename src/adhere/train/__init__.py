"""Training: one method = one file, read top to bottom; a Recipe is a list of them.

`pack` computes what rows share once, `loop` updates weights, `rollout` draws and scores answers. Importing this room
imports no torch: settings and recipes can be read anywhere.
"""
