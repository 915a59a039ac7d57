"""Say how many seeds and prompts a study takes, for the terminal and as a page with a picture."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.report.page import render
from adhere.report.pieces.charts import Line, curve
from adhere.report.pieces.glossary import COULD_FIND
from adhere.report.pieces.numbers import count, decimal, percent, points
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.study.outcome.designs import EFFECTS, Components, Design, PowerRow

HEADINGS = (
    "seeds",
    "prompts",
    COULD_FIND,
    *(f"{100 * effect:g} {'point' if effect == EFFECTS[0] else 'points'}" for effect in EFFECTS),
    "hours",
)
NOTE = (
    f"{COULD_FIND}: the difference that the interval excludes 0 for in 80 of 100 studies. Under each true difference: "
    "how often it does. Verdicts also ask that no single seed decides, so a little less is answered. Hours: seeds like "
    "those of the study that the variances come from, whatever the prompts."
)


def source_sentence(parts: Sequence[Components], *, own: Sequence[Design] = (), is_guess: bool) -> str:
    """Say where the variances come from, how far they apply, and which designs come first."""
    first = "; ".join(f"{design.seeds} seeds, {design.prompts} prompts" for design in own)
    return _of_variances(parts, is_guess=is_guess) + (f" First the design of the given file: {first}." if own else "")


def _of_variances(parts: Sequence[Components], *, is_guess: bool) -> str:
    names = ", ".join(part.name for part in parts)
    if is_guess:
        return (
            f"Nothing was measured for this question. The variances are those of {names}: a guess. A pilot of two or "
            "three seeds tells its own: adhere study --power DIR."
        )
    first = parts[0]
    sds = f"seeds {_sd(first.seed)}, queries {_sd(first.query)}, the rest {_sd(first.noise)} points"
    return f"The variances are those of {names}. Of {first.name}, as standard deviations of a difference: {sds}."


def _sd(variance: float) -> str:
    return f"{100 * variance**0.5:.1f}"


def power_rows(rows: Sequence[PowerRow]) -> list[list[str]]:
    """Return the cells under HEADINGS for each design."""
    return [
        [
            count(row.seeds),
            count(row.prompts),
            points(row.detectable, is_signed=False),
            *(percent(power, digits=0) for power in row.power),
            decimal(row.hours),
        ]
        for row in rows
    ]


def power_text(
    tables: Sequence[tuple[Components, Sequence[PowerRow]]],
    *,
    own: Sequence[Design] = (),
    is_guess: bool,
    width: int = 100,
) -> str:
    """Return the designs of every study that was given, wrapped to `width` columns."""
    lines = [heading("How many seeds and prompts?"), ""]
    lines.append(paragraph(source_sentence([parts for parts, _ in tables], own=own, is_guess=is_guess), width=width))
    for parts, rows in tables:
        lines += ["", f"  {parts.name}", text_table([HEADINGS, *power_rows(rows)], width=width, left=0)]
    return "\n".join([*lines, "", paragraph(NOTE, width=width)]) + "\n"


def power_html(
    tables: Sequence[tuple[Components, Sequence[PowerRow]]], *, own: Sequence[Design] = (), is_guess: bool
) -> str:
    """Return one self-contained page: a picture and a table a study."""
    return render(
        "study/power.html.jinja",
        source=source_sentence([parts for parts, _ in tables], own=own, is_guess=is_guess),
        note=NOTE,
        headings=HEADINGS,
        studies=[(parts.name, _chart(rows), _seeds(rows), power_rows(rows)) for parts, rows in tables],
    )


def _seeds(rows: Sequence[PowerRow]) -> list[int]:
    return list(dict.fromkeys(row.seeds for row in rows))


def _chart(rows: Sequence[PowerRow]) -> object:
    """Draw power over the effect, a line for each number of seeds, at the most prompts."""
    most = max(row.prompts for row in rows)
    lines = [Line(row.power, 1 + place % 7) for place, row in enumerate(row for row in rows if row.prompts == most)]
    labels = [f"{100 * effect:g} {'point' if effect == EFFECTS[0] else 'points'}" for effect in EFFECTS]
    return curve(lines, name=f"Power for each true difference, on {most} prompts", is_rate=True, labels=labels)
