"""Write the result of `adhere floors` as terminal text."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.pipeline.floors.measure import NOBODY, AnswererRates
from adhere.report.pieces.numbers import count, percent, plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.terminal import one_line


def floors_text(suite: str, rows: Sequence[AnswererRates], *, width: int = 100, kinds: bool = False) -> str:
    """Return the answerers, best first; with `kinds`, the kinds of constraint that one of them always passes."""
    title = heading(one_line(f"{suite}: what answerers without a model pass"))
    if not rows or not rows[0].prompts:
        return f"{title}\n{paragraph(f'No floor: {NOBODY}.', width=width)}"
    n = f"{plural(rows[0].prompts, 'prompt')}, {plural(rows[0].instructions, 'instruction')} (strict)"
    table = [["answerer", "group", "prompts", "instructions"]]
    table += [[row.answerer, row.group, percent(row.prompt_strict), percent(row.instruction_strict)] for row in rows]
    parts = [title, paragraph(n, width=width, label="asked", hang=8), text_table(table, width=width, left=2)]
    return "\n".join([*parts, "", *_winners_text(rows, width)] if kinds else parts)


def winners(rows: Sequence[AnswererRates]) -> dict[str, list[str]]:
    """List by kind of constraint the answerers that pass every instruction of it, where there are any."""
    names_of: dict[str, list[str]] = {}
    for row in rows:
        for name, (passed, of) in row.kinds.items():
            if passed == of:
                names_of.setdefault(name, []).append(row.answerer)
    return dict(sorted(names_of.items()))


def _winners_text(rows: Sequence[AnswererRates], width: int) -> list[str]:
    names_of = winners(rows)
    every = plural(len(rows[0].kinds), "kind")
    lines = [paragraph(f"Always passed by somebody: {count(len(names_of))} of {every}", width=width)]
    return lines + [paragraph(f"{name}: {', '.join(names)}", width=width, indent=2) for name, names in names_of.items()]
