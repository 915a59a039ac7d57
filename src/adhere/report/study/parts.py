"""Say how far single kinds of constraint decide a study's answer; nothing is computed.

The sentences and rows cover published suites split by what was trained, trained kinds that an arm lost completely, and
kinds that it forgot.
"""

from __future__ import annotations

from adhere.report.pieces.numbers import count, percent, plural, points, points_and_interval, points_interval
from adhere.study.outcome.result import KindsLeftOut, LostKind, StudyResult, SuiteFound

PART_HEADINGS = ("prompts that ask for", "prompts", "arm", "seeds", "passed", "sound")
PART_NAMES = {
    "trained": "trained kinds alone",
    "mixed": "trained and untrained kinds",
    "untrained": "no kind that any stage trained",
}
FORGOTTEN_HEADINGS = ("arm", "on", "kinds the start keeps", "rate over them", "interval", "fell for certain")
LOST_HEADINGS = ("arm", "kind", "seeds at which it is lost", "prompts each")


def kinds_left_out_sentence(kinds_left_out: KindsLeftOut | None) -> str:
    """Say how far the difference moves without any one kind, and without how many pairs its interval holds 0."""
    if kinds_left_out is None or not kinds_left_out.each:
        return ""
    low, high = (edge(kinds_left_out.each, key=lambda row: row.difference) for edge in (min, max))
    decide = [row.kind for row in kinds_left_out.each if row.low <= 0 <= row.high]
    holding_zero = f"; without {', '.join(decide)} its interval holds 0" if decide else ""
    worst = f"; the worst are {' and '.join(kinds_left_out.worst_pair)}" if kinds_left_out.pairs_holding_zero else ""
    return (
        f"Without any one kind it lies between {points(low.difference)} ({low.kind}) and {points(high.difference)}"
        f"{holding_zero}. Of {count(kinds_left_out.pairs)} pairs of kinds "
        f"{count(kinds_left_out.pairs_holding_zero)} take the interval to 0{worst}."
    )


def lost_whole_sentence(result: StudyResult) -> str:
    """Say which share of the difference comes from kinds that an arm lost completely; empty if there are none."""
    lost_whole = result.fragility.lost_whole if result.fragility else None
    primary = result.verdict.primary
    if lost_whole is None or not lost_whole.lost:
        return ""
    counts = ", ".join(f"{arm} {lost_whole.count(arm)}" for arm in (primary.treatment, primary.control))
    text = (
        f"Of {count(lost_whole.cells)} cells of seed × trained kind an arm follows fewer than "
        f"{percent(lost_whole.below, digits=0)} of the prompts in: {counts}."
    )
    if lost_whole.share is not None and lost_whole.count(primary.treatment) + lost_whole.count(primary.control):
        text += (
            f" Such cells carry {percent(lost_whole.share, digits=0)} of the difference over all these cells; "
            f"over the others it is {points_and_interval(lost_whole)}."
        )
    return text


def part_rows(suite: SuiteFound) -> list[list[str]]:
    """List every arm's rates on each part of a published suite."""
    return [
        [
            PART_NAMES[part.part], count(part.n_prompts), rate.arm, count(rate.n_seeds), percent(rate.passed),
            percent(rate.sound),
        ]
        for part in suite.parts
        for rate in part.rates
    ]  # fmt: skip


def part_contrast_rows(suite: SuiteFound) -> list[list[str]]:
    """List the differences on each part of a published suite: contrast, part, difference, interval."""
    return [
        [
            f"{contrast.treatment} − {contrast.control}{', sound answers' if contrast.slice.endswith('sound') else ''}",
            PART_NAMES[part.part],
            points(contrast.difference),
            points_interval(contrast.low, contrast.high),
        ]
        for part in suite.parts
        for contrast in part.contrasts
        if contrast.difference is not None
    ]


def parts_lines(result: StudyResult) -> list[str]:
    """Return, by suite, every arm's rate on trained, mixed and untrained kinds, and the treatment's difference."""
    primary = result.verdict.primary
    lines = []
    for suite in result.suites:
        phrases = []
        for part in suite.parts:
            rates = {rate.arm: rate for rate in part.rates}
            words = ", ".join(f"{arm} {percent(rates[arm].passed)}" for arm in result.arms if arm in rates)
            difference = next(
                (
                    contrast
                    for contrast in part.contrasts
                    if contrast.control == primary.control and not contrast.slice.endswith("sound")
                ),
                None,
            )
            over = (
                f" (difference {points_and_interval(difference)})"
                if difference is not None and difference.difference is not None
                else ""
            )
            phrases.append(f"{PART_NAMES[part.part]} ({plural(part.n_prompts, 'prompt')}): {words}{over}")
        if phrases:
            lines.append(f"{suite.name}, {'; '.join(phrases)}")
    return lines


def forgotten_rows(result: StudyResult) -> list[list[str]]:
    """List what every trained arm lost of the kinds that the start kept."""
    return [
        [
            row.arm, row.suite or "own prompts", f"{row.kept} of {row.kinds}", points(row.difference),
            points_interval(row.low, row.high),
            ", ".join(f"{kind.id} {points(kind.difference)}" for kind in row.lost) or "–",
        ]
        for row in result.forgotten
    ]  # fmt: skip


def lost_rows(result: StudyResult) -> list[list[str]]:
    """List which trained kinds an arm lost completely, and at which seeds."""
    lost_whole = result.fragility.lost_whole if result.fragility else None
    cells: dict[tuple[str, str], list[LostKind]] = {}
    for cell in lost_whole.lost if lost_whole else []:
        cells.setdefault((cell.arm, cell.kind), []).append(cell)
    return [
        [arm, kind, ", ".join(str(cell.seed) for cell in group), count(group[0].n_prompts)]
        for (arm, kind), group in sorted(cells.items())
    ]
