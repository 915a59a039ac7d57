"""`world:repo`: small repositories in memory, a task, and an AGENTS.md of so many rules.

python.py   what a small part of Python computes, by walking its syntax tree
machine.py  the repository and the commands that its shell knows; nothing is run on this machine
tasks.py    repositories and tasks, drawn by seed
rules.py    the rules that may stand in AGENTS.md, each with a way to break it
world.py    the world; its solver and its breaker
"""
