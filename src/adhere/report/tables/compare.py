"""Compare two Runs on the terminal: the result in words, then the numbers. Plain text, safe to print."""

from __future__ import annotations

from adhere.pipeline.compare import Comparison, Difference, EqualLength
from adhere.pipeline.compare.sides import CONFIDENCE
from adhere.report.pieces.glossary import COULD_FIND
from adhere.report.pieces.guards import floor_line
from adhere.report.pieces.numbers import count, decimal, p_value, percent, points, points_interval
from adhere.report.pieces.sides import (
    SIDE_HEADINGS,
    following_words,
    rest_sentence,
    side_reasons,
    side_row,
    side_scores,
)
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.pieces.wording import effect, level
from adhere.store.summary import GuardMeans
from adhere.study.outcome.result import Contrast
from adhere.terminal import one_line

_LEFT_OUT = 2
"""Index of the column `left out`: prompts without a verdict in one of the runs. It is shown if there are any."""


def compare_text(comparison: Comparison, *, width: int = 100) -> str:
    """Return the comparison as plain text, wrapped to `width` columns."""
    contrasts = [contrast_of(comparison, "all", comparison.overall)]
    contrasts += [contrast_of(comparison, name, difference) for name, difference in comparison.slices.items()]
    title = (
        f"{comparison.a} − {comparison.b} on {comparison.suite} ({comparison.view}, points, "
        f"{level(contrasts[0])} intervals)"
    )
    lines = [heading(one_line(title))]
    for contrast in contrasts:
        effect_words = effect(contrast)
        where = "" if contrast.slice == "all" else f" [{contrast.slice}]"
        lines.append(paragraph(effect_words.sentence + where, width=width, label=effect_words.short[0], hang=2))
    lines += [paragraph(note, width=width, label="!", hang=2) for note in comparison.notes]
    if comparison.guards is not None:
        lines.append(paragraph(_soundly(*comparison.guards), width=width, label="of these", hang=10))
    if comparison.floor is not None:
        lines.append(paragraph(floor_line(comparison.floor), width=width, label="floor", hang=7))
    if comparison.tokens_a is not None and comparison.tokens_b is not None:
        cost = f"tokens an answer: {decimal(comparison.tokens_a)} and {decimal(comparison.tokens_b)}"
        gain = comparison.points_per_100_tokens
        if gain is not None:
            cost += f"; {decimal(gain, digits=2)} points for every 100 tokens more"
        lines.append(paragraph(cost, width=width, label="cost", hang=6))
    if comparison.answers and comparison.same_answers is not None:
        text = f"{count(comparison.same_answers)} of {count(comparison.answers)} answers are the same text"
        lines.append(paragraph(text, width=width, label="texts", hang=7))
    if comparison.at_equal_length is not None:
        lines.append(paragraph(_equal_length(comparison.at_equal_length), width=width, label="length", hang=8))
    rows = [["slice", "n", "left out", "rates", "diff", "interval", "gained/lost", "p", COULD_FIND]]
    differences = {"all": comparison.overall, **comparison.over_draws, **comparison.slices}
    rows += [_row(name, difference) for name, difference in differences.items()]
    if not any(difference.left_out for difference in differences.values()):
        rows = [[cell for column, cell in enumerate(row) if column != _LEFT_OUT] for row in rows]
    lines += ["", text_table(rows, width=width)]
    methods = dict.fromkeys(contrast.method for contrast in contrasts if contrast.method)
    if methods:
        how = f"Intervals: {'; '.join(methods)}. {COULD_FIND}: the difference it could find with 80 % power."
        lines += ["", paragraph(how, width=width)]
    if comparison.sides:
        lines += ["", *_sides(comparison, width)]
    return "\n".join(lines)


def _soundly(a: GuardMeans, b: GuardMeans) -> str:
    """Say how much of both rates is sound, and how much responds."""
    return (
        f"sound {percent(a.sound_share)} − {percent(b.sound_share)}; responds {percent(a.responsive_share)} − "
        f"{percent(b.responsive_share)} of all prompts"
    )


def _equal_length(estimate: EqualLength) -> str:
    """Say what is left of the difference at equal length."""
    lengths = f"{decimal(estimate.characters_a)} and {decimal(estimate.characters_b)} characters an answer"
    if estimate.difference is None:
        return f"{lengths}; no difference at equal length: {estimate.reason}"
    return (
        f"{lengths}; at equal length {points(estimate.difference)} points "
        f"({points_interval(estimate.low, estimate.high)}), "
        f"and {points(estimate.slope)} for one standard deviation more length"
    )


def _sides(comparison: Comparison, width: int) -> list[str]:
    """Return the answer to "better at following, not worse at the rest", then each side task."""
    how = (
        f"holds: the {100 * CONFIDENCE:.0f} % interval of how much worse it is lies below the margin; violated: "
        "above. Points for rates, per cent for perplexities (lower is better). Scores: "
        f"{side_scores(comparison.sides)}."
    )
    return [
        paragraph(sides_sentence(comparison), width=width, label="rest", hang=6),
        "",
        text_table([SIDE_HEADINGS, *map(side_row, comparison.sides)], width=width),
        *(paragraph(reason, width=width, hang=2) for reason in side_reasons(comparison.sides)),
        "",
        paragraph(how, width=width),
    ]


def sides_sentence(comparison: Comparison) -> str:
    """Say in one sentence whether following became better, and the rest worse."""
    overall = comparison.overall
    return rest_sentence(following_words(overall.difference, overall.low, overall.high), comparison.sides)


def contrast_of(comparison: Comparison, name: str, difference: Difference) -> Contrast:
    """Return a difference of two Runs as a Contrast, so that it is worded as in studies; nothing is computed."""
    return Contrast(
        name=f"{comparison.a} − {comparison.b}", role="primary", treatment=comparison.a, control=comparison.b,
        slice=name,
        n_prompts=difference.n, n_queries=difference.n, n_seeds=1, rate_treatment=difference.rate_a,
        rate_control=difference.rate_b, difference=difference.difference, low=difference.low, high=difference.high,
        confidence=comparison.confidence, gained=difference.gained, lost=difference.lost, p_value=difference.p_value,
        p_adjusted=None, minimum_detectable=difference.minimum_detectable, method=difference.method,
        reason=difference.reason, coverage=difference.n / max(1, difference.n + difference.left_out), by_seed=[],
    )  # fmt: skip


def _row(name: str, difference: Difference) -> list[str]:
    rate_a = percent(difference.rate_a).removesuffix("\u00a0%")
    return [
        name, count(difference.n), count(difference.left_out), f"{rate_a} − {percent(difference.rate_b)}",
        points(difference.difference), points_interval(difference.low, difference.high),
        f"{count(difference.gained)}/{count(difference.lost)}", p_value(difference.p_value),
        points(difference.minimum_detectable, is_signed=False),
    ]  # fmt: skip
