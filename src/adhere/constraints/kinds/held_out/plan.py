"""Held-out family: plans, carried out move by move. Never trained on.

The world is blocks in towers, each written from bottom to top with a blank between the blocks: `("a b", "c")` has b on
a.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Self

from adhere.constraints.base import Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.rule import HeldOut, accept, plural, reject
from adhere.text.words import word_lines

TABLE = "table"
_MOVE = re.compile(
    r"[ \t]*(?:[-*•]|\d{1,3}[.):])?[ \t]*move[ \t]+(?:the[ \t]+)?(\w+)[ \t]+"  # which block
    r"(?:on)?to[ \t]+(?:the[ \t]+)?(\w+)[ \t]*\.?[ \t]*",
    re.IGNORECASE,
)
_LONGEST = 500  # lines that are read


def solve(start: Sequence[Sequence[str]], goal: Sequence[Sequence[str]]) -> list[str]:
    """Return moves from `start` to `goal`.

    Blocks in the wrong place go to the table, then the goal is built from below. There are at most twice as many moves
    as blocks, though not always the fewest.
    """
    under_goal = {block: below for tower in goal for below, block in zip((TABLE, *tower), tower, strict=False)}
    moves = []
    for tower in start:
        right = 0
        while right < len(tower) and under_goal[tower[right]] == (tower[right - 1] if right else TABLE):
            right += 1
        moves += [f"move {block} to {TABLE}" for block in reversed(tower[max(right, 1) :])]
    moved = {move.split()[1] for move in moves}
    placed = {block for tower in start for block in tower if block not in moved}
    for tower in goal:
        stands = True
        for below, block in zip((TABLE, *tower), tower, strict=False):
            stands = stands and block in placed and _is_on(start, block, below)
            if not stands and below != TABLE:
                moves.append(f"move {block} to {below}")
    return moves


def _is_on(towers: Sequence[Sequence[str]], block: str, below: str) -> bool:
    return any((below, block) in zip((TABLE, *tower), tower, strict=False) for tower in towers)


@kind
class Reaches(HeldOut):
    r"""Every line is a possible move, and the last state is the goal.

    From ("a b",) to ("b a",): "move b to table\nmove a to b" passes. "move a to b" fails: a has b on it.
    """

    id = "plan:reaches"
    version = 2
    is_task = True
    claims = frozenset({"shape"})
    phrasings = (
        (
            'Write a plan of at most {most} line(s) "move X to Y" that turns the towers {start} into '
            "{goal} (bottom to top)."
        ),
        (
            'With {most} or fewer moves, one a line as "move X to Y", get from {start} to {goal}; '
            "towers are given bottom to top."
        ),
        (
            "Towers from bottom to top: {start}. They must become {goal}. Answer with at most {most} "
            'line(s) "move X to Y".'
        ),
        'One move a line ("move X to Y" or "move X to table"), {most} at the most: from {start} to {goal}.',
    )
    passing = ({"start": ("a b",), "goal": ("b a",), "most": 2}, "move b to table\nmove a to b")
    failing = ({"start": ("a b",), "goal": ("b a",), "most": 2}, "move a to b")

    start: tuple[str, ...] = param(ListOf(Words(200), 1, 12))
    goal: tuple[str, ...] = param(ListOf(Words(200), 1, 12))
    most: int = param(Whole(1, 100))

    def problem(self) -> str | None:
        blocks, goal_blocks = (
            sorted(block for tower in towers for block in tower.split()) for towers in (self.start, self.goal)
        )
        if blocks != goal_blocks or len(set(blocks)) != len(blocks) or TABLE in blocks:
            return (
                f"start={self.start!r} and goal={self.goal!r} must hold the same blocks, each once, "
                f"none called {TABLE!r}"
            )
        if any(re.fullmatch(r"\w+", block) is None for block in blocks):
            return f"start={self.start!r} must hold blocks with names of letters and digits"
        if sorted(self.start) == sorted(self.goal):
            return f"goal={self.goal!r} must differ from start"
        fewest = len(solve(*self._towers()))
        return None if fewest <= self.most else f"most={self.most} must be at least {fewest}, which suffice"

    def _towers(self) -> tuple[list[list[str]], list[list[str]]]:
        return [tower.split() for tower in self.start], [tower.split() for tower in self.goal]

    def judge(self, text: str) -> Finding:
        towers, goal = self._towers()
        steps = word_lines(text, most=_LONGEST)
        at = {block: tower for tower in towers for block in tower}
        names = {block.casefold(): block for block in at}
        for number, line in enumerate(steps, start=1):
            problem = _carry_out(line, at, names, towers)
            if problem:
                return reject(f"line {number}: {problem}", measured=number - 1, score=self._score(towers, goal))
        if sorted(tower for tower in towers if tower) != sorted(goal):
            return reject(
                "the moves are possible, but the goal is not reached",
                measured=len(steps),
                score=self._score(towers, goal),
            )
        if len(steps) > self.most:
            return reject(
                f"found {plural(len(steps), 'move')}, allowed at most {self.most}", measured=len(steps), score=0.9
            )
        return accept(
            f"reaches the goal in {plural(len(steps), 'move')}", measured=len(steps), needed=self.most, score=1.0
        )

    def _score(self, towers: list[list[str]], goal: list[list[str]]) -> float:
        """Return the share of blocks that stand on the right block or on the table, at most 0.9."""

        def pairs(stacks: list[list[str]]) -> set[tuple[str, str]]:
            return {pair for tower in stacks for pair in zip((TABLE, *tower), tower, strict=False)}

        goal_pairs = pairs(goal)
        return min(0.9, len(pairs(towers) & goal_pairs) / len(goal_pairs))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        a, b, c = rng.sample(("red", "blue", "green", "black", "white"), 3)
        return rng.choice((cls((f"{a} {b}", c), (f"{b} {a} {c}",), 4), cls((a, b, c), (f"{c} {a} {b}",), 3)))

    def witness(self) -> str:
        return "\n".join(solve(*self._towers()))

    def counter_witness(self) -> str:
        return f"move {self.start[0].split()[0]} to nowhere"


def _carry_out(line: str, at: dict[str, list[str]], names: dict[str, str], towers: list[list[str]]) -> str | None:
    """Carry out one move in `towers` and `at`; return why it cannot be done, or None."""
    match = _MOVE.fullmatch(line[:200])
    if match is None:
        return f"{line[:60]!r} is no move"
    block, onto = names.get(match[1].casefold()), names.get(match[2].casefold())
    if block is None:
        return f"there is no block {match[1][:40]!r}"
    to_table = match[2].casefold() == TABLE
    if onto is None and not to_table:
        return f"there is no block {match[2][:40]!r}"
    if at[block][-1] != block:
        return f"{block} has {at[block][at[block].index(block) + 1]} on it"
    if onto is not None and not to_table and (onto == block or at[onto][-1] != onto):
        return f"{onto} is not free"
    at[block].pop()
    if to_table or onto is None:
        at[block] = [block]
        towers.append(at[block])
    else:
        at[onto].append(block)
        at[block] = at[onto]
    return None
