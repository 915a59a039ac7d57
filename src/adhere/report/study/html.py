"""Render the page of a Study: the verdict first, then everything it rests on. A pure function of the StudyResult."""

from __future__ import annotations

import json
import shlex
from typing import Any

from markupsafe import Markup

from adhere.report.page import render
from adhere.report.pieces.charts import Line, curve, parts_bar
from adhere.report.pieces.guards import GUARDS
from adhere.report.pieces.numbers import plural
from adhere.report.pieces.sides import SIDE_HEADINGS, side_reasons, side_row
from adhere.report.pieces.wording import not_measured, noun_of, verb_of
from adhere.report.study import parts, view
from adhere.report.study.pictures import (
    contrast_forest,
    gain_chart,
    growth_charts,
    kind_chart,
    rate_charts,
    tuning_charts,
    untrained_rate,
)
from adhere.report.study.threats import draws_sentence, overlap_sentences, registered_sentence, threats
from adhere.study.outcome.result import StudyResult

_YIELD_HEADINGS = {
    "judged": "answers judged",
    "sft_sampled": "SFT rows as drawn",
    "sft_repaired": "SFT rows repaired",
    "pairs": "pairs",
}


def study_html(result: StudyResult) -> str:
    """Return one self-contained HTML page: no script, no request, readable from a file, on a phone and on paper."""
    slices = view.slice_scores(result)
    contrasts = view.contrast_rows(result)
    stages = view.stage_panels(result)
    piece_functions = (
        view.alike_rows, view.growth_rows, view.guard_rows, view.tax_rows, view.sides_line, view.sides_what,
        view.trial_rows, view.yields, view.in_words, parts.lost_rows, parts.forgotten_rows, growth_charts,
        tuning_charts, threats, not_measured, command,
    )  # fmt: skip
    more_functions = {
        "registered": registered_sentence, "draws": draws_sentence, "overlaps": overlap_sentences,
        "families": view.family_table, "kinds": view.kind_table, "yield_columns": _yield_columns,
        "hangs_on": view.hangs_on_sentence, "is_small": view.is_slight, "verb": verb_of, "noun": noun_of,
        "minutes": view.minutes_words, "price": view.price_of, "contamination": view.contamination_rows,
        "changed": view.changes_of, "tuning": view.tuning_sentences,
    }  # fmt: skip
    functions: dict[str, Any] = {piece.__name__: piece for piece in piece_functions} | more_functions
    pieces = {name: function(result) for name, function in functions.items()}
    verdict_arms = [result.verdict.primary.control, result.verdict.primary.treatment]
    return render(
        "study/study.html.jinja",
        **pieces,
        result=result,
        slices=slices,
        rate_charts=rate_charts(result, slices),
        has_reference=any(untrained_rate(result, part) is not None for part in slices),
        missing_reasons=view.missing_reasons(slices),
        guards=GUARDS,
        contrasts=contrasts,
        methods=list(dict.fromkeys(row.contrast.method for row in contrasts if row.contrast.method)),
        primary_chart=contrast_forest(contrasts[:1], "The verdict's difference"),
        forest_chart=contrast_forest(contrasts, "Differences between arms"),
        seed_chart=contrast_forest(contrasts, "Differences of single seeds", with_seeds=True)
        if len(result.seeds) > 1
        else None,
        gain_chart=gain_chart(result, slices[0]) if slices else None,
        kind_chart=kind_chart(result, verdict_arms),
        view=view,
        parts=parts,
        compared=verdict_arms,
        stages=stages,
        curve_charts=_curve_charts(stages),
        yield_charts={kind: _yield_chart(kind, counts) for kind, counts in view.yields(result).items()},
        unreachable=sorted({kind for pool in result.data for kind in pool.unreachable_kinds}),
        trap_rows=view.trap_rows(result.traps),
        side_headings=SIDE_HEADINGS,
        side_rows=[side_row(side) for side in result.sides.tests] if result.sides else [],
        side_reasons=side_reasons(result.sides.tests) if result.sides else [],
        fragility=result.fragility,
        part_rows={suite.name: parts.part_rows(suite) for suite in result.suites},
        part_contrasts={suite.name: parts.part_contrast_rows(suite) for suite in result.suites},
        matched=[view.matched_sentence(match) for match in result.matched],
        seed_rows=contrasts[0].contrast.by_seed if len(contrasts[0].contrast.by_seed) > 1 else [],
        tones={arm: view.tone_of(result, arm) for arm in result.arms},
        spec_json=json.dumps(result.spec, indent=2, ensure_ascii=False, default=str),
    )


def command(result: StudyResult) -> str:
    """Return the command that runs the study again: the stored line, or the study verb with the spec's name."""
    stored_line = result.environment.get("command")
    return stored_line if isinstance(stored_line, str) else f"adhere study {shlex.quote(result.name + '.toml')}"


def _curve_charts(stages: list[view.StagePanels]) -> dict[tuple[str, str], Markup]:
    return {
        (stage.stage, panel.column): curve(
            [Line(run.columns[panel.column], track.tone) for track, run in panel.lines],
            name=f"{panel.title} over the steps of {stage.stage}, {plural(len(panel.lines), 'line')}",
            is_rate=panel.is_rate,
        )
        for stage in stages
        for panel in stage.panels
    }


def _yield_columns(result: StudyResult) -> dict[str, str]:
    """Return each count that the record has for kinds, with its heading."""
    names = dict.fromkeys(name for counts in view.yields(result).values() for name in counts)
    return {name: _YIELD_HEADINGS.get(name, name.replace("_", " ")) for name in names}


def _yield_chart(kind: str, counts: dict[str, int]) -> Markup:
    total, passed = counts.get("judged", 0), counts.get("passed", 0)
    return parts_bar([("passed", passed)], whole=total, name=f"{kind}: {passed} of {plural(total, 'answer')} passed")
