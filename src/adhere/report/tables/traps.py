"""Write the traps that answers take for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.report.pieces.numbers import count, percent
from adhere.report.pieces.text_table import paragraph, text_table
from adhere.report.study.view import TRAP_HEADINGS, trap_rows
from adhere.study.outcome.result import ArmTraps
from adhere.verify.traps import TrapScore


def arms_text(arms: Sequence[ArmTraps], *, width: int = 100) -> str:
    """Return a table of the traps that the stored answers of each arm of a study take."""
    return text_table([TRAP_HEADINGS, *trap_rows(arms)], width=width)


def traps_text(trap_score: TrapScore, *, width: int = 100) -> str:
    """Return the shares, a row for each trap and each step, and the first examples."""
    lines = [
        f"{count(trap_score.taken)} of {count(trap_score.answers)} answers take a trap ({percent(trap_score.share)})"
    ]
    if trap_score.passing is not None:
        lines.append(
            f"{count(trap_score.passing_taken or 0)} of {count(trap_score.passing)} that keep every instruction do"
        )
    if trap_score.by_trap:
        rows = [[trap, count(n)] for trap, n in trap_score.by_trap.items()]
        lines.append(text_table([["trap", "answers"], *rows], width=width))
    if trap_score.by_step:
        rows = [[str(step.step), count(step.answers), count(step.taken)] for step in trap_score.by_step]
        lines.append(text_table([["step", "answers", "take a trap"], *rows], width=width))
    lines += [
        paragraph(f"{example.key}: {', '.join(example.traps)}: {example.answer[:120]!r}", width=width)
        for example in trap_score.examples
    ]
    return "\n".join(lines)
