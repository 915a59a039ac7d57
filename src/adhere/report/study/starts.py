"""Report a study from several start models: for the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from adhere.report.page import render
from adhere.report.pieces.charts import Difference, forest
from adhere.report.pieces.numbers import count, p_value, points, points_and_interval, points_interval
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.pieces.wording import effect, reason_of
from adhere.study.outcome.result import Contrast, StartsResult
from adhere.terminal import one_line

HEADINGS = ("start", "answer", "seeds", "prompts", "difference", "interval", "p")


def starts_text(result: StartsResult, *, width: int = 100) -> str:
    """Return the answer of each start, of all together, and how they differ."""
    lines = [
        heading(f"Study {one_line(result.name)}, {count(len(result.starts))} starts"),
        "",
        paragraph(result.question, width=width),
        "",
        paragraph(result.holds, width=width),
        "",
        text_table([HEADINGS, *start_rows(result)], width=width, left=2),
        *(paragraph(between_sentence(contrast), width=width) for contrast in result.between),
        *further_lines(result, width=width),
    ]
    return "\n".join(lines) + "\n"


def starts_html(result: StartsResult) -> str:
    """Return one self-contained page, with links to the page of each start."""
    return render(
        "study/starts.html.jinja",
        result=result,
        headings=HEADINGS,
        rows=start_rows(result),
        chart=parts_chart(
            [(row.start, row.primary) for row in result.starts],
            result.pooled,
            name="The difference from each start. " + result.holds,
        ),
        between=[between_sentence(contrast) for contrast in result.between],
        further=further_rows(result),
    )


def further_lines(result: StartsResult, *, width: int) -> list[str]:
    """Return the study's other contrasts, a block each: each start, then all together."""
    lines = []
    for label, *values in further_rows(result):
        names = [*(row.start for row in result.starts), "all together"]
        lines += ["", paragraph(label, width=width)]
        lines.append(text_table([*zip(names, values, strict=True)], width=width, left=2))
    return lines


def further_rows(result: StartsResult) -> list[list[str]]:
    """Return a row for each other contrast: what and where, then difference and interval from each start and in all."""
    rows = []
    for across in result.further:
        contrast = across.pooled
        where = (
            contrast.slice
            if not across.suite
            else across.suite
            if contrast.slice == "all"
            else f"{across.suite}, {contrast.slice}"
        )
        rows.append([f"{contrast.treatment} over {contrast.control} ({where})", *map(_brief, (*across.each, contrast))])
    return rows


def _brief(contrast: Contrast) -> str:
    return "not measured" if contrast.difference is None else points_and_interval(contrast)


def start_rows(result: StartsResult) -> list[list[str]]:
    """Return a row for each start, then one for all together."""
    rows = [[row.start, row.answer, *_numbers(row.primary)] for row in result.starts]
    return [*rows, ["all together", "", *_numbers(result.pooled)]]


def between_sentence(contrast: Contrast) -> str:
    """Say how much larger the difference is from one start than from the first."""
    if contrast.difference is None:
        return f"From {contrast.treatment} and from {contrast.control}: not compared ({reason_of(contrast)})."
    more = "larger" if contrast.difference >= 0 else "smaller"
    size = points(abs(contrast.difference), is_signed=False)
    interval = points_interval(contrast.low, contrast.high)
    return (
        f"From {contrast.treatment} the difference is {size} points {more} than from {contrast.control} "
        f"({points(contrast.difference)}, interval {interval})."
    )


def _numbers(contrast: Contrast) -> list[str]:
    return [
        count(contrast.n_seeds),
        count(contrast.n_prompts),
        points(contrast.difference),
        points_interval(contrast.low, contrast.high),
        p_value(contrast.p_value),
    ]


def parts_chart(parts: Sequence[tuple[str, Contrast]], together: Contrast, *, name: str) -> Markup:
    """Draw the contrast of each part of a study and of all together."""
    rows = [*parts, ("all together", together)]
    differences = [
        Difference(
            label,
            contrast.difference,
            contrast.low,
            contrast.high,
            points_and_interval(contrast),
            effect(contrast).direction,
            contrast.minimum_detectable,
            label == "all together",
            tuple(seed.difference for seed in contrast.by_seed),
        )
        for label, contrast in rows
    ]
    return forest(differences, name=name)
