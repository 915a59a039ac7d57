"""Ask for plans in a world of blocks: a validator carries out the moves, which must reach a goal."""

from __future__ import annotations

import itertools
import random

from adhere.constraints.kinds.held_out.plan import TABLE, Reaches, solve
from adhere.suites.generated.diagnostic.items import WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_BLOCKS = (3, 4, 5, 7)


def _towers(rng: random.Random, blocks: list[str]) -> list[list[str]]:
    mixed = rng.sample(blocks, len(blocks))
    towers: list[list[str]] = []
    for block in mixed:
        if towers and rng.random() < 0.55:
            rng.choice(towers).append(block)
        else:
            towers.append([block])
    return towers


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw two states of the same blocks, at least two moves apart."""
    blocks = rng.sample([word for word in WORDS if len(word) <= 6 and word != TABLE], _BLOCKS[level])
    while True:
        start, goal = _towers(rng, blocks), _towers(rng, blocks)
        moves = solve(start, goal)
        if len(moves) >= 2 + level // 2:
            break
    constraint = Reaches(
        tuple(" ".join(tower) for tower in start), tuple(" ".join(tower) for tower in goal), len(moves)
    )
    return [single(_ask(start, goal, len(moves)), (constraint,), "\n".join(moves))]


def _ask(start: list[list[str]], goal: list[list[str]], most: int) -> str:
    def tell(towers: list[list[str]]) -> str:
        lines = []
        for tower in towers:
            lines.append(f"- {tower[0]} is on the table")
            lines += [f"- {above} is on {below}" for below, above in itertools.pairwise(tower)]
        return "\n".join(lines)

    return (
        f"Some blocks stand like this:\n{tell(start)}\n\nThey must stand like this in the end:\n{tell(goal)}\n\n"
        "You may move one block at a time. Only a block with nothing on it can be moved, "
        f"onto the table or onto another block that has nothing on it. Use at most {most} moves.\n"
        'Write one move a line, as "move X to Y", where Y is a block or the word table, and nothing else.'
    )


FAMILY = Family(
    name="plan",
    answers="Does it write a plan whose every step is possible and that reaches the goal?",
    paper="PDDL-Instruct, arXiv 2509.13351",
    levels=tuple(Level(f"{count} blocks", f"{count} blocks") for count in _BLOCKS),
    draw=draw,
    version="2",
)
