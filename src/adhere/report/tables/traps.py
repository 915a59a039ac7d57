"""Traps that answers take, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.report.pieces.numbers import count, percent
from adhere.report.pieces.text_table import paragraph, text_table
from adhere.report.study.view import TRAP_HEADINGS, trap_rows
from adhere.study.outcome.result import ArmTraps
from adhere.verify.traps import TrapScore


def arms_text(arms: Sequence[ArmTraps], *, width: int = 100) -> str:
    """A row an arm of a study."""
    return text_table([list(TRAP_HEADINGS), *trap_rows(arms)], width=width)


def traps_text(found: TrapScore, *, width: int = 100) -> str:
    """The shares, a row a trap and a step, and the first examples."""
    lines = [f"{count(found.taken)} of {count(found.answers)} answers take a trap ({percent(found.share)})"]
    if found.passing is not None:
        lines.append(f"{count(found.passing_taken or 0)} of {count(found.passing)} that keep every instruction do")
    if found.by_trap:
        lines.append(
            text_table([["trap", "answers"], *([trap, count(n)] for trap, n in found.by_trap.items())], width=width)
        )
    if found.by_step:
        rows = [[str(one.step), count(one.answers), count(one.taken)] for one in found.by_step]
        lines.append(text_table([["step", "answers", "take a trap"], *rows], width=width))
    lines += [
        paragraph(f"{one.key}: {', '.join(one.traps)}: {one.answer[:120]!r}", width=width) for one in found.examples
    ]
    return "\n".join(lines)
