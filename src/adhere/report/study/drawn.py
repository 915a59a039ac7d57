"""Report a study whose seeds draw their own kinds of constraint: for the terminal and as a page."""

from __future__ import annotations

from adhere.report.page import render
from adhere.report.pieces.numbers import count, p_value, percent, points, points_and_interval, points_interval
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.study.starts import parts_chart
from adhere.study.outcome.result import Contrast, DrawnResult
from adhere.terminal import one_line

CONTRASTS = ("contrast", "prompts", "treatment", "control", "difference", "interval", "p (Holm)")
SEEDS = ("seed", "prompts", "difference", "interval at this seed", "trained kinds", "kinds only asked for")
KINDS = ("kind", "seeds", "prompts", "treatment", "control", "difference", "without it")


def drawn_text(result: DrawnResult, *, width: int = 100) -> str:
    """Return the answer, what was compared, and the results by seed and by kind."""
    lines = [
        heading(f"Study {one_line(result.name)}: {result.headline}"),
        "",
        paragraph(result.question, width=width),
        "",
        paragraph(f"{result.rule}. Here: {result.because}. {result.decides}".strip(), width=width),
        "",
        text_table([CONTRASTS, *contrast_rows(result)], width=width),
        "",
        text_table([SEEDS, *seed_rows(result)], width=width),
        "",
        text_table([KINDS, *kind_rows(result)], width=width),
        "",
        paragraph(limits(result), width=width),
    ]
    return "\n".join(lines) + "\n"


def drawn_html(result: DrawnResult) -> str:
    """Return one self-contained page, with links to the page of each seed."""
    return render(
        "study/drawn.html.jinja",
        result=result,
        contrasts=contrast_rows(result),
        contrast_headings=CONTRASTS,
        seeds=seed_rows(result),
        seed_headings=SEEDS,
        kinds=kind_rows(result),
        kind_headings=KINDS,
        chart=parts_chart(
            [(f"seed {row.seed}", row.primary) for row in result.seeds],
            result.primary,
            name=f"The difference at each seed. {result.headline}",
        ),
        limits=limits(result),
        tuned=tuned_lines(result),
    )


def limits(result: DrawnResult) -> str:
    """Say what seeds and kinds the result was sampled from, and how the difference moves when one is left out.

    For seeds and for kinds, the text names the least and the greatest difference without any single one.
    """
    kinds = {kind for seed in result.seeds for kind in seed.trained}
    text = (
        f"Seeds and kinds are both samples: {count(len(result.seeds))} seeds, each with its own draw of kinds "
        f"({count(len(kinds))} different ones were trained) and its own held-out prompts."
    )
    parts = (("seed", result.left_out), ("kind", result.kinds_left_out))
    for noun, differences in parts:
        values = [row.difference for row in differences]
        if values:
            text += (
                f" Without any one {noun} the difference lies between {points(min(values))} and {points(max(values))}."
            )
    return text


def tuned_lines(result: DrawnResult) -> list[str]:
    """Return the settings of each tuned stage, and how many were tried; empty where none were tuned."""
    if result.tuning is None:
        return []
    lines = []
    for stage in result.tuning.stages:
        best = stage.trials[stage.chosen]
        chosen = ", ".join(f"{name} {value}" for name, value in best.settings.items())
        rates = ", ".join("none" if trial.rate is None else percent(trial.rate) for trial in stage.trials)
        lines.append(f"{stage.stage}: {chosen}, of {len(stage.trials)} trials ({rates})")
    return lines


def contrast_rows(result: DrawnResult) -> list[list[str]]:
    """Return the verdict's contrast as counted and by passing answers, then the other contrasts."""
    what_counts = str(result.spec.get("verdict", {}).get("counts", "passing")) if isinstance(result.spec, dict) else ""
    entries = [
        (f"{result.primary.name} ({what_counts})", result.primary),
        (f"{result.primary.name} (passing)", result.passing),
    ]
    entries = entries[:1] if what_counts == "passing" else entries
    entries += [(f"{contrast.name} ({contrast.slice})", contrast) for contrast in result.further]
    entries += [(f"{contrast.name} ({suite})", contrast) for suite, contrast in result.suites.items()]
    return [[label, *_numbers(contrast)] for label, contrast in entries]


def seed_rows(result: DrawnResult) -> list[list[str]]:
    """Return a row for each seed: its difference, and the kinds that it drew."""
    return [
        [
            str(row.seed), count(row.primary.n_prompts), points(row.primary.difference),
            points_interval(row.primary.low, row.primary.high), ", ".join(row.trained),
            ", ".join(row.untrained) or "none",
        ]
        for row in result.seeds
    ]  # fmt: skip


def kind_rows(result: DrawnResult) -> list[list[str]]:
    """Return a row for each kind: both arms on it, their difference, and the overall difference without the kind."""
    without = {row.kind: points_and_interval(row) for row in result.kinds_left_out}
    return [
        [
            row.kind, ", ".join(map(str, row.seeds)), count(row.n_prompts), percent(row.rate_treatment),
            percent(row.rate_control), points(row.difference), without.get(row.kind, "–"),
        ]
        for row in result.kinds
    ]  # fmt: skip


def _numbers(contrast: Contrast) -> list[str]:
    rates = ["–" if rate is None else percent(rate) for rate in (contrast.rate_treatment, contrast.rate_control)]
    p = contrast.p_value if contrast.p_adjusted is None else contrast.p_adjusted
    return [
        count(contrast.n_prompts),
        *rates,
        points(contrast.difference),
        points_interval(contrast.low, contrast.high),
        p_value(p),
    ]
