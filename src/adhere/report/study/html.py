"""The page of a Study: the verdict first, then everything it rests on. A pure function of the stored StudyResult."""

from __future__ import annotations

import json
import shlex

from markupsafe import Markup

from adhere.report.page import render
from adhere.report.pieces.charts import Line, curve, parts_bar
from adhere.report.pieces.guards import GUARDS
from adhere.report.pieces.numbers import plural
from adhere.report.pieces.sides import SIDE_HEADINGS, side_reasons, side_row
from adhere.report.pieces.wording import not_measured, noun_of, verb_of
from adhere.report.study.parts import (
    FORGOTTEN_HEADINGS,
    LOST_HEADINGS,
    PART_HEADINGS,
    forgotten_rows,
    lost_rows,
    part_contrast_rows,
    part_rows,
)
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
from adhere.report.study.view import (
    ALIKE_HEADINGS,
    GROWTH_HEADINGS,
    TRAP_HEADINGS,
    TRAPS_NOTE,
    TRIAL_HEADINGS,
    StagePanels,
    alike_rows,
    changes_of,
    contamination_rows,
    contrast_rows,
    family_table,
    growth_rows,
    guard_rows,
    hangs_on_sentence,
    in_words,
    is_slight,
    kind_table,
    matched_sentence,
    minutes_words,
    missing_reasons,
    price_of,
    sides_line,
    sides_what,
    slice_scores,
    stage_panels,
    tax_rows,
    tone_of,
    trap_rows,
    trial_rows,
    tuning_sentences,
    yields,
)
from adhere.study.outcome.result import StudyResult

_YIELD_HEADINGS = {
    "judged": "answers judged",
    "sft_sampled": "SFT rows as drawn",
    "sft_repaired": "SFT rows repaired",
    "pairs": "pairs",
}


def study_html(result: StudyResult) -> str:
    """One self-contained HTML page: no script, no request, readable from a file, on a phone and on paper."""
    slices = slice_scores(result)
    contrasts = contrast_rows(result)
    stages = stage_panels(result)
    compared = [result.verdict.primary.control, result.verdict.primary.treatment]
    return render(
        "study/study.html.jinja",
        result=result,
        slices=slices,
        rate_charts=rate_charts(result, slices),
        has_reference=any(untrained_rate(result, part) is not None for part in slices),
        missing_reasons=missing_reasons(slices),
        guards=GUARDS,
        contrasts=contrasts,
        methods=list(dict.fromkeys(row.contrast.method for row in contrasts if row.contrast.method)),
        primary_chart=contrast_forest(contrasts[:1], "The verdict's difference"),
        forest_chart=contrast_forest(contrasts, "Differences between arms"),
        seed_chart=contrast_forest(contrasts, "Differences of single seeds", with_seeds=True)
        if len(result.seeds) > 1
        else None,
        gain_chart=gain_chart(result, slices[0]) if slices else None,
        kind_chart=kind_chart(result, compared),
        alike_headings=ALIKE_HEADINGS,
        alike_rows=alike_rows(result),
        registered=registered_sentence(result),
        draws=draws_sentence(result),
        overlaps=overlap_sentences(result),
        growth_charts=growth_charts(result),
        growth_headings=GROWTH_HEADINGS,
        growth_rows=growth_rows(result),
        compared=compared,
        families=family_table(result),
        kinds=kind_table(result),
        stages=stages,
        curve_charts=_curve_charts(stages),
        yield_columns=_yield_columns(result),
        yields=yields(result),
        yield_charts={kind: _yield_chart(kind, counts) for kind, counts in yields(result).items()},
        unreachable=sorted({kind for pool in result.data for kind in pool.unreachable_kinds}),
        guard_rows=guard_rows(result),
        tax_rows=tax_rows(result),
        trap_headings=TRAP_HEADINGS,
        trap_rows=trap_rows(result.traps),
        traps_note=TRAPS_NOTE,
        sides_line=sides_line(result),
        sides_what=sides_what(result),
        side_headings=SIDE_HEADINGS,
        side_rows=[side_row(side) for side in result.sides.tests] if result.sides else [],
        side_reasons=side_reasons(result.sides.tests) if result.sides else [],
        fragility=result.fragility,
        lost_headings=LOST_HEADINGS,
        lost_rows=lost_rows(result),
        part_headings=PART_HEADINGS,
        part_rows={suite.name: part_rows(suite) for suite in result.suites},
        part_contrasts={suite.name: part_contrast_rows(suite) for suite in result.suites},
        forgotten_headings=FORGOTTEN_HEADINGS,
        forgotten_rows=forgotten_rows(result),
        hangs_on=hangs_on_sentence(result),
        is_small=is_slight(result),
        in_words=in_words(result),
        verb=verb_of(result),
        noun=noun_of(result),
        minutes=minutes_words(result),
        price=price_of(result),
        contamination=contamination_rows(result),
        changed=changes_of(result),
        tuning=tuning_sentences(result),
        trial_headings=TRIAL_HEADINGS,
        tuning_charts=tuning_charts(result),
        trial_rows=trial_rows(result),
        matched=[matched_sentence(one) for one in result.matched],
        seed_rows=contrasts[0].contrast.by_seed if len(contrasts[0].contrast.by_seed) > 1 else [],
        tones={arm: tone_of(result, arm) for arm in result.arms},
        command=command(result),
        not_measured=not_measured(result),
        threats=threats(result),
        spec_json=json.dumps(result.spec, indent=2, ensure_ascii=False, default=str),
    )


def command(result: StudyResult) -> str:
    """What to type to run the study again: the stored command line, or the study verb with the spec's name."""
    stored = result.environment.get("command")
    return stored if isinstance(stored, str) else f"adhere study {shlex.quote(result.name + '.toml')}"


def _curve_charts(stages: list[StagePanels]) -> dict[tuple[str, str], Markup]:
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
    """Each count that the record has per kind, and its heading."""
    names = dict.fromkeys(name for counts in yields(result).values() for name in counts)
    return {name: _YIELD_HEADINGS.get(name, name.replace("_", " ")) for name in names}


def _yield_chart(kind: str, counts: dict[str, int]) -> Markup:
    judged, passed = counts.get("judged", 0), counts.get("passed", 0)
    return parts_bar([("passed", passed)], whole=judged, name=f"{kind}: {passed} of {plural(judged, 'answer')} passed")
