"""Write a Study for the terminal: verdict, pass rates with their guards, contrasts, ledger. Plain, safe to print."""

from __future__ import annotations

from adhere.report.pieces.glossary import COULD_FIND
from adhere.report.pieces.guards import GUARDS, guard_cells
from adhere.report.pieces.numbers import (
    count,
    decimal,
    p_value,
    percent,
    percent_interval,
    plural,
    points,
    points_interval,
)
from adhere.report.pieces.sides import SIDE_HEADINGS, side_reasons, side_row
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.pieces.wording import level, not_measured, noun_of, reason_of, sentence, verb_of
from adhere.report.study import view
from adhere.report.study.parts import FORGOTTEN_HEADINGS, forgotten_rows, parts_lines
from adhere.report.study.threats import draws_sentence, registered_sentence, threats
from adhere.study.outcome.result import ArmScore, Contrast, StudyResult
from adhere.terminal import one_line

TOLD = GUARDS[:6]  # as many as leave room for the names of arms; the page has them all
_SIGNS = {"YES": "✓", "NO": "✗", "EQUIVALENT": "=", "INCONCLUSIVE": "?"}


def study_text(result: StudyResult, *, width: int = 100) -> str:
    """Return the study's report as text, without control characters.

    Lines have at most `width` columns, unless a single word is longer.
    """
    parts = [
        _verdict(result, width), _warnings(result, width), _rates(result, width), _contrasts(result, width),
        _alike(result, width), _growth(result, width), _guards(result, width), _sides(result, width),
        _tuning(result, width), _ledger(result, width), _limits(result, width),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict(result: StudyResult, width: int) -> str:
    verdict, primary = result.verdict, result.verdict.primary
    interval = f"{level(primary)} interval {points_interval(primary.low, primary.high)}"
    difference = f"{points(primary.difference)} points, {interval if primary.low is not None else reason_of(primary)}"
    facts = {
        "Difference": f"{difference} ({primary.treatment} − {primary.control}, slice {primary.slice})",
        "Measured": f"{count(primary.n_prompts)} {noun_of(result)}, {plural(primary.n_seeds, 'seed')}; "
        f"{count(primary.gained)} gained, {count(primary.lost)} lost ({noun_of(result)} that {verb_of(result)})",
        "Could find": _finds(primary),
        "Seeds": view.by_seed(primary),
        "Hangs on": view.hangs_on_sentence(result),
        "Price": price.text if (price := view.price_of(result)) else "",
        "Benchmarks": view.suites_line(result),
        "By training": " ".join(f"{line}." for line in parts_lines(result)),
        "Scope": verdict.reach,
        "Decides": verdict.decides,
        "Rule": verdict.rule,
        "Changed": "; ".join(view.changes_of(result)),
    }
    lines = [
        heading(f"Study {one_line(result.name)}"),
        "",
        paragraph(verdict.question, width=width),
        "",
        paragraph(verdict.headline, width=width, label=_SIGNS[verdict.answer], hang=2),
        paragraph(sentence(verdict.because), width=width),
        "",
        *(paragraph(text, width=width, label=label, hang=12) for label, text in facts.items() if text),
    ]
    return "\n".join(lines)


def _finds(primary: Contrast) -> str:
    if primary.minimum_detectable is None:
        return f"– ({reason_of(primary)})"
    return f"differences from {points(primary.minimum_detectable, is_signed=False)} points (80 % power)"


def _warnings(result: StudyResult, width: int) -> str:
    failed = [f"not done: {failure}" for failure in result.failures]
    notes = [view.note_sentence(note) for note in result.notes]
    return "\n".join(paragraph(text, width=width, label="!", hang=2) for text in [*failed, *result.warnings, *notes])


def _rates(result: StudyResult, width: int) -> str:
    slices = view.slice_scores(result)
    if not slices:
        return f"{heading('Pass rates')}\n  No pass rate was measured: the study ended before any arm was evaluated."
    head = ["arm", "passed/n", "rate", "interval", *(column.heading for column in TOLD)]
    lines = [
        heading(f"Pass rates ({level(result.verdict.primary)} intervals; beside each what could be given up for it)")
    ]
    for part in slices:
        rows = [head]
        for row in part.arms:
            rows.append(_rate_row(row.arm, row.score))
            rows += [_rate_row(f"  seed {score.seed}", score) for score in row.by_seed]
        lines += ["", f"  {one_line(part.title)}{': ' if part.note else ''}{part.note}", text_table(rows, width=width)]
    reasons = view.missing_reasons(slices)
    if reasons:
        lines += ["", paragraph(f"– stands where there is no number: {'; '.join(reasons)}.", width=width)]
    return "\n".join(lines)


def _rate_row(name: str, score: ArmScore | None) -> list[str]:
    if score is None:
        return [name, *(["–"] * (3 + len(TOLD)))]
    rate = score.prompt_strict
    guards = [
        percent(value, digits=0) if column.is_share else decimal(value)
        for column, value in guard_cells(score.guard)[: len(TOLD)]
    ]
    return [name, f"{rate.passed}/{rate.n}", percent(rate.rate), percent_interval(rate.low, rate.high), *guards]


def _contrasts(result: StudyResult, width: int) -> str:
    rows = [["treatment − control", "slice", "n", "diff", "interval", "gained/lost", "p", "Holm p", COULD_FIND]]
    sentences = []
    for row in view.contrast_rows(result):
        contrast = row.contrast
        rows.append(
            [
                row.name, contrast.slice, count(contrast.n_prompts), points(contrast.difference),
                points_interval(contrast.low, contrast.high),
                f"{contrast.gained}/{contrast.lost}" if contrast.difference is not None else "–",
                p_value(contrast.p_value), p_value(contrast.p_adjusted),
                points(contrast.minimum_detectable, is_signed=False),
            ]
        )  # fmt: skip
        where = "" if contrast.slice == "all" else f" [{contrast.slice}]"
        sentences.append(paragraph(row.effect.sentence + where, width=width, label=row.effect.short[0], hang=2))
    return "\n".join(
        [
            heading(f"What each step bought (points, {noun_of(result)} that {verb_of(result)})"),
            *sentences,
            "",
            text_table(rows, width=width, left=2),
        ]
    )


def _alike(result: StudyResult, width: int) -> str:
    if not result.alike:
        return ""
    rows = text_table([view.ALIKE_HEADINGS, *view.alike_rows(result)], width=width, left=3)
    sentences = [
        paragraph(text, width=width, hang=2) for text in (registered_sentence(result), draws_sentence(result)) if text
    ]
    return "\n".join([heading("What was equal, what is unknown (trained elsewhere)"), *sentences, "", rows])


def _growth(result: StudyResult, width: int) -> str:
    if result.growth is None:
        return ""
    rows = text_table([view.GROWTH_HEADINGS, *view.growth_rows(result)], width=width)
    return "\n".join([heading(f"Does it grow? (gain over {one_line(result.growth.reference)}, points)"), rows])


def _guards(result: StudyResult, width: int) -> str:
    rows = [view.GUARD_HEADINGS, *view.guard_rows(result)]
    lines = [heading(f"Given up for it? ({result.verdict.primary.name}; tests of non-inferiority)")]
    lines.append(text_table(rows, width=width) if result.guards else "  Nothing was measured.")
    if result.tax:
        tax = [view.TAX_HEADINGS, *view.tax_rows(result)]
        lines += ["", "  What every arm forgot of plain English:", text_table(tax, width=width)]
    if result.forgotten:
        forgotten = text_table([FORGOTTEN_HEADINGS, *forgotten_rows(result)], width=width)
        lines += ["", "  What every arm lost of the kinds that the start keeps (points):", forgotten]
    if result.traps:
        traps = text_table([view.TRAP_HEADINGS, *view.trap_rows(result.traps)], width=width)
        lines += ["", "  The letter alone:", traps, paragraph(view.TRAPS_NOTE, width=width, hang=2)]
    if result.matched:
        lines += ["", "  Equal compute, measured:"]
        lines += [paragraph(view.matched_sentence(match), width=width, label="·", hang=4) for match in result.matched]
    return "\n".join(lines)


def _sides(result: StudyResult, width: int) -> str:
    if result.sides is None:
        return ""
    tests = result.sides.tests
    lines = [
        heading("Not worse at the rest? (other harnesses' items; tests of non-inferiority)"),
        paragraph(view.sides_line(result), width=width, label="rest", hang=6),
        "",
        text_table([SIDE_HEADINGS, *(side_row(side) for side in tests)], width=width),
        *(paragraph(reason, width=width, hang=2) for reason in side_reasons(tests)),
        "",
        paragraph(view.sides_what(result), width=width, hang=2),
    ]
    return "\n".join(lines)


def _tuning(result: StudyResult, width: int) -> str:
    if result.tuning is None:
        return ""
    rows = [view.TRIAL_HEADINGS, *(row.cells for row in view.trial_rows(result))]
    sentences = [paragraph(text, width=width, label="·", hang=2) for text in view.tuning_sentences(result)]
    return "\n".join([heading("Tuning: every trial"), *sentences, "", text_table(rows, width=width, left=3)])


def _ledger(result: StudyResult, width: int) -> str:
    rows = [view.COST_HEADINGS, *view.cost_rows(result)]
    table = text_table(rows, width=width) if result.arm_costs else "  No arm was trained."
    return f"{heading(f'Cost (whole study: {view.minutes_words(result)})')}\n{table}"


def _limits(result: StudyResult, width: int) -> str:
    threat = [paragraph(note, width=width, label="·", hang=2) for note in threats(result)]
    notes = [paragraph(note, width=width, label="·", hang=2) for note in not_measured(result)]
    return "\n".join([heading("Threats to validity"), *threat, "", heading("Not measured"), *notes])
