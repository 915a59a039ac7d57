"""Write a Leaderboard for the terminal.

It shows ranks and their uncertainty, models without a rank and why, and the smallest difference it can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adhere.report.pieces.guards import floor_line
from adhere.report.pieces.numbers import DASH, count, decimal, percent, percent_interval, plural, points
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.sweep.board import Dead, Leaderboard, Row, SuiteFacts
from adhere.terminal import one_line

MOST_ROWS = 60
COMMONEST = 5
NAMED = 4
_NOUNS = {"test": "tests", "family": "families of constraints", "slice": "slices"}


def leaderboard_text(board: Leaderboard, *, width: int = 120, most_rows: int = MOST_ROWS) -> str:
    """Return the whole board as text, wrapped to `width` columns and safe to print.

    Args:
        board: See Leaderboard.
        width: Columns of the terminal.
        most_rows: Ranked models shown of each suite; the rest is counted.
    """
    parts = ["\n".join(_of_models(board, width))] if board.listed is not None else []
    parts += ["\n".join(_suite(board, suite, width, most_rows)) for suite in board.suites]
    if not board.rows:
        parts.append(paragraph("No model was measured, so there is no leaderboard.", width=width))
    return "\n\n".join(parts)


def usd(value: float | None) -> str:
    """Format an amount such as `$0.0012`: four decimals below a dollar, two above."""
    if value is None:
        return DASH
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.2g}" if value < 0.0001 else f"${value:.4f}"


def rank_range(row: Row) -> str:
    """Format a rank with its range, `3 (2…6)`; a dash if the model has no rank."""
    return DASH if row.rank is None else f"{row.rank} ({row.rank_low}…{row.rank_high})"


def lacking(row: Row) -> str:
    """Return the numbers of unfinished answers by status, as `2 timed out, 1 refused`; `none` if there are none."""
    account = row.accounting
    parts = {
        "cut": account.truncated,
        "empty": account.empty,
        "refused": account.refused,
        "timed out": row.timeouts,
        "failed": account.error - row.timeouts,
        "missing": account.missing,
    }
    return ", ".join(f"{count(number)} {name}" for name, number in parts.items() if number) or "none"


def caveats(board: Leaderboard, suite: SuiteFacts) -> list[str]:
    """Return sentences with what a reader must know before comparing two rows."""
    draws = f", {suite.draws} answers each" if suite.draws > 1 else ""
    rates = (
        f"Rates are the share of {plural(suite.n_prompts, 'prompt')}{draws} whose every constraint is met (strict); "
        "failed calls and time-outs are not in them, and coverage says how many there were. Under `of finished` only "
        "answers count that the model finished."
    )
    notes = [rates]
    floor = next((row.floor for row in board.rows if row.suite == suite.name and row.floor is not None), None)
    if floor is not None:
        notes.append(f"Floor: {floor_line(floor)}.")
    if suite.n_ranked > 1:
        notes.append(
            f"Ranks: the range in brackets holds a model's true rank with {board.confidence:.0%} (its pairwise tests "
            f"on shared prompts, adjusted by Holm over the {suite.n_ranked - 1} comparisons). "
            "Two ranges that overlap decide nothing."
        )
    if suite.resolvable is not None:
        apart = (
            "any two models"
            if suite.resolvable >= 1
            else (f"two models that differ by less than {points(suite.resolvable, is_signed=False)} points")
        )
        notes.append(
            f"{plural(suite.n_prompts, 'prompt')} typically cannot tell {apart} apart among "
            f"{count(suite.n_ranked)}; more prompts can."
        )
    return notes


def _of_models(board: Leaderboard, width: int) -> list[str]:
    unknown = (board.wanted or 0) - (board.alive or 0) - len(board.dead)
    counts = (
        f"{count(board.listed)} listed, {count(board.wanted)} wanted, {count(board.alive)} alive, "
        f"{count(len(board.dead))} dead"
    )
    counts += f", {count(unknown)} not asked yet" if unknown else ""
    lines = [
        heading(one_line(f"Models of {board.base_url}")),
        paragraph(f"{counts} (list of {board.snapshot})", width=width),
    ]
    if board.left_out:
        lines.append(paragraph(_commonest(Counter(board.left_out)), width=width, label="left out", hang=10))
    if board.dead:
        lines.append(paragraph(_name_some(board.dead), width=width, label="dead", hang=10))
    if board.set_aside:
        lines.append(paragraph(_name_some(board.set_aside), width=width, label="set aside", hang=10))
    if board.stopped:
        lines.append(paragraph(f"asking ended early: {board.stopped}", width=width, label="!", hang=2))
    return lines


def _name_some(models: Sequence[Dead]) -> str:
    """Return reasons, the most frequent first, each after the first models that have it."""
    by_reason: dict[str, list[str]] = {}
    for model in models:
        by_reason.setdefault(one_line(model.reason)[:120], []).append(one_line(model.model))
    reasons = sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0]))
    lines = [
        f"{', '.join(names[:NAMED])}{f' and {count(len(names) - NAMED)} more' if len(names) > NAMED else ''} ({reason})"
        for reason, names in reasons[:COMMONEST]
    ]
    rest = sum(len(names) for _, names in reasons[COMMONEST:])
    lines += [f"{count(rest)} for other reasons"] if rest else []
    is_cut = rest or any(len(names) > NAMED for _, names in reasons)
    return "; ".join([*lines, "leaderboard.json and --html name each"] if is_cut else lines)


def _commonest(reasons: Counter[str]) -> str:
    lines = [f"{count(number)} × {one_line(reason)[:120]}" for reason, number in reasons.most_common(COMMONEST)]
    rest = sum(number for _, number in reasons.most_common()[COMMONEST:])
    return "; ".join([*lines, f"{count(rest)} for other reasons"] if rest else lines)


def _suite(board: Leaderboard, suite: SuiteFacts, width: int, most_rows: int) -> list[str]:
    rows = [row for row in board.rows if row.suite == suite.name]
    with_rank = [row for row in rows if row.rank is not None]
    without_rank = [row for row in rows if row.rank is None]
    lines = [heading(one_line(f"{suite.name}: {plural(suite.n_prompts, 'prompt')}, {plural(len(rows), 'model')}"))]
    if with_rank:
        lines.append(_ranked_lines(with_rank[:most_rows], width))
        if len(with_rank) > most_rows:
            lines.append(paragraph(f"… and {count(len(with_rank) - most_rows)} more, in leaderboard.json", width=width))
    if without_rank:
        title = f"without a rank (less than {board.min_coverage:.0%} of their answers were measured)"
        lines += ["", paragraph(title, width=width), _unranked_lines(without_rank[:most_rows], width)]
    lines += ["", *_tests(suite, width)]
    lines += [paragraph(note, width=width, label="!", hang=2) for note in caveats(board, suite)]
    return lines


def _ranked_lines(rows: Sequence[Row], width: int) -> str:
    table = [["model", "rank (range)", "pass", "interval", "of finished", "coverage", "cost", "per correct", "median"]]
    are_finished = all(lacking(row) == "none" for row in rows)
    table[0] += [] if are_finished else ["not finished"]
    for row in rows:
        rate = row.prompt_strict
        table.append(
            [
                row.model, rank_range(row), percent(rate.of_all), percent_interval(rate.low, rate.high),
                percent(rate.of_completed), percent(row.coverage), usd(row.cost.total_usd),
                usd(row.cost.per_correct_usd), _seconds(row.latency.p50), *([] if are_finished else [lacking(row)]),
            ]
        )  # fmt: skip
    reasons = dict.fromkeys(row.cost.reason for row in rows if row.cost.reason)
    notes = [paragraph(f"{DASH} under cost: {'; '.join(reasons)}", width=width)] if reasons else []
    return "\n".join([text_table(table, width=width), *notes])


def _unranked_lines(rows: Sequence[Row], width: int) -> str:
    table = [["model", "passed/n", "of measured", "if the rest failed…passed", "coverage", "not finished"]]
    for row in rows:
        rate = row.prompt_strict
        table.append(
            [
                row.model, f"{count(rate.passed)}/{count(rate.n)}", percent(rate.of_all),
                percent_interval(row.bound_low, row.bound_high), percent(row.coverage), lacking(row),
            ]
        )  # fmt: skip
    return text_table(table, width=width)


def _tests(suite: SuiteFacts, width: int) -> list[str]:
    tests = {test.test: test for test in suite.tests if test.rate is not None}
    if not tests:
        return []
    landmarks = {"easiest": suite.easiest, "median": suite.median, "hardest": suite.hardest}
    lines = [
        f"{place} {one_line(name)} {percent(tests[name].rate)} ({percent_interval(tests[name].low, tests[name].high)})"
        for place, name in landmarks.items()
    ]
    return [paragraph(f"{_NOUNS[suite.noun]}, over all models: {'; '.join(lines)}", width=width)]


def _seconds(value: float | None) -> str:
    return DASH if value is None else f"{decimal(value, digits=2)}\u00a0s"
