"""Write a Study as Markdown, for a paper, an issue or a README.

Untrusted texts cannot become markup, links or table cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from adhere.report.pieces.glossary import COULD_FIND
from adhere.report.pieces.numbers import count, p_value, percent, percent_interval, points, points_interval
from adhere.report.pieces.sides import SIDE_HEADINGS, side_reasons, side_row
from adhere.report.pieces.untrusted import visible
from adhere.report.pieces.wording import level, noun_of, sentence, verb_of
from adhere.report.study import view
from adhere.report.study.parts import (
    FORGOTTEN_HEADINGS,
    LOST_HEADINGS,
    PART_HEADINGS,
    forgotten_rows,
    lost_rows,
    lost_whole_sentence,
    part_contrast_rows,
    part_rows,
)
from adhere.report.study.threats import registered_sentence, threats
from adhere.study.outcome.result import StudyResult

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def study_markdown(result: StudyResult) -> str:
    """Return the answer, its basis, and its cost; the text ends with a line break."""
    verdict, primary = result.verdict, result.verdict.primary
    parts = [
        f"# {_text(verdict.question)}",
        (f"**{_text(verdict.headline)}.** {_text(sentence(verdict.because))}"
        f"{' ' + _text(verdict.decides) if verdict.decides else ''}"),
        _list(
            [
                f"Scope: {verdict.reach}",
                f"Rule, fixed before: {verdict.rule}.",
                f"Difference it could find (80 % power): {points(primary.minimum_detectable, is_signed=False)} points.",
                *([f"Every seed: {view.by_seed(primary)}"] if view.by_seed(primary) else []),
                *([view.hangs_on_sentence(result)] if result.fragility else []),
                *([price.text] if (price := view.price_of(result)) else []),
                *([f"Published benchmarks: {view.suites_line(result)}"] if result.suites else []),
                *(f"Changed {line}" for line in view.changes_of(result)),
                *(f"Not done: {line}" for line in result.failures),
                *(f"Noted in training: {view.note_sentence(note)}" for note in result.notes),
            ]
        ),
        "## Pass rates",
        _rates(result),
        f"## Contrasts (points, {noun_of(result)} that {verb_of(result)})",
        _table(
            ["treatment − control", "slice", "prompts", "seeds", "difference", f"{level(primary)} interval", "p",
                "Holm p", COULD_FIND],
            [
                [
                    row.name, row.contrast.slice, count(row.contrast.n_prompts), count(row.contrast.n_seeds),
                    points(row.contrast.difference), points_interval(row.contrast.low, row.contrast.high),
                    p_value(row.contrast.p_value), p_value(row.contrast.p_adjusted),
                    points(row.contrast.minimum_detectable, is_signed=False),
                ]
                for row in view.contrast_rows(result)
            ],
        ),
        *(
            [f"## Does it grow? Gain over {_text(result.growth.reference)} (points)",
                _table(view.GROWTH_HEADINGS, view.growth_rows(result))]
            if result.growth
            else []
        ),
        *(
            ["## What was equal, what is unknown", _text(registered_sentence(result)),
                _table(view.ALIKE_HEADINGS, view.alike_rows(result))]
            if result.alike
            else []
        ),
        "## Given up for it?",
        _table(view.GUARD_HEADINGS, view.guard_rows(result)),
        *(
            ["What every arm forgot of plain English:",
                _table(view.TAX_HEADINGS, view.tax_rows(result))]
            if result.tax
            else []
        ),
        *(
            ["What every arm lost of the kinds that the start keeps (points):",
                _table(FORGOTTEN_HEADINGS, forgotten_rows(result))]
            if result.forgotten
            else []
        ),
        *_by_training(result),
        _list([view.matched_sentence(match) for match in result.matched]),
        *(["## The letter alone", _text(view.TRAPS_NOTE), _table(view.TRAP_HEADINGS,
            view.trap_rows(result.traps))] if result.traps else []),
        *(
            [
                "## Not worse at the rest?",
                _text(sentence(view.sides_line(result))),
                _table(SIDE_HEADINGS, [side_row(side) for side in result.sides.tests]),
                _list([*side_reasons(result.sides.tests), view.sides_what(result)]),
            ]
            if result.sides
            else []
        ),
        *(
            ["## Tuning", _list(view.tuning_sentences(result)), _table(view.TRIAL_HEADINGS,
                [row.cells for row in view.trial_rows(result)])]
            if result.tuning
            else []
        ),
        "## Cost",
        _table(view.COST_HEADINGS, view.cost_rows(result)),
        "## Threats to validity",
        _list(threats(result)),
        (f"Spec `{result.spec_sha256[:12]}`, suite `{result.suite_sha256[:12]}`, engine {_text(result.engine.name)} "
        f"{_text(result.engine.version)} {_text(result.engine.precision)}, "
        f"whole study {view.minutes_words(result)}."),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _by_training(result: StudyResult) -> list[str]:
    """Split every published suite by what was trained, and list the trained kinds that an arm lost completely."""
    sections = []
    for suite in result.suites:
        if suite.parts:
            sections += [
                f"## {_text(suite.name)} by what was trained",
                _table(PART_HEADINGS, part_rows(suite)),
                _table(
                    ("treatment − control", "prompts that ask for", "difference", "interval"), part_contrast_rows(suite)
                ),
            ]
    rows = lost_rows(result)
    if rows:
        sections += ["## Kinds lost whole", _text(lost_whole_sentence(result)), _table(LOST_HEADINGS, rows)]
    return sections


def _rates(result: StudyResult) -> str:
    parts = view.slice_scores(result)
    rows = []
    for arm in result.arms:
        cells = []
        for part in parts:
            score = next((row.score for row in part.arms if row.arm == arm), None)
            rate = score.prompt_strict if score else None
            cell = f"{percent(rate.rate)} ({percent_interval(rate.low, rate.high)})" if rate else "–"
            sound = score.guard.sound_share if score else None
            responds = score.guard.responsive_share if score else None
            cell += "" if sound is None else f", sound {percent(sound)}"
            cells.append(cell if responds is None else f"{cell}, responds {percent(responds)}")
        rows.append([arm, *cells])
    return _table(["arm", *(part.slice for part in parts)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "Nothing was measured."
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell if cell == "---" else _text(cell) for cell in line) + " |" for line in lines
    )


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {_text(item)}" for item in items)


def _text(text: str) -> str:
    """Return one line without markup of its own."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))
