"""The page of a Study: the verdict first, then everything it rests on. A pure function of the stored StudyResult."""

from __future__ import annotations

import json
import shlex

from markupsafe import Markup

from adhere.report.page import render
from adhere.report.pieces.charts import Bar, Difference, Line, bars, curve, forest, nice_top, parts_bar
from adhere.report.pieces.guards import GUARDS
from adhere.report.pieces.numbers import counted, percent, percent_interval
from adhere.report.pieces.sides import SIDE_HEADINGS, side_reasons, side_row
from adhere.report.pieces.wording import not_measured
from adhere.report.study.threats import threats
from adhere.report.study.view import (
    TRIAL_HEADINGS,
    ArmRows,
    ContrastRow,
    SliceScores,
    StagePanels,
    changed,
    contamination_rows,
    contrast_rows,
    family_table,
    guard_rows,
    hangs_on_sentence,
    in_words,
    is_slight,
    kind_table,
    matched_sentence,
    missing_reasons,
    price_of,
    sides_line,
    sides_what,
    slice_scores,
    stage_panels,
    tax_rows,
    tone_of,
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
    return render(
        "study/study.html.jinja",
        result=result,
        slices=slices,
        rate_charts=_rate_charts(result, slices),
        has_reference=any(_reference(result, part) is not None for part in slices),
        missing_reasons=missing_reasons(slices),
        guards=GUARDS,
        contrasts=contrasts,
        methods=list(dict.fromkeys(row.contrast.method for row in contrasts if row.contrast.method)),
        primary_chart=_forest(contrasts[:1], "The verdict's difference"),
        forest_chart=_forest(contrasts, "Differences between arms"),
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
        sides_line=sides_line(result),
        sides_what=sides_what(result),
        side_headings=SIDE_HEADINGS,
        side_rows=[side_row(side) for side in result.sides.tests] if result.sides else [],
        side_reasons=side_reasons(result.sides.tests) if result.sides else [],
        fragility=result.fragility,
        hangs_on=hangs_on_sentence(result),
        is_small=is_slight(result),
        in_words=in_words(result),
        price=price_of(result),
        contamination=contamination_rows(result),
        changed=changed(result),
        tuning=tuning_sentences(result),
        trial_headings=TRIAL_HEADINGS,
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


def _rate_charts(result: StudyResult, slices: list[SliceScores]) -> dict[str, Markup]:
    scores = [score for part in slices for row in part.arms for score in (row.score, *row.by_seed) if score]
    rates = [score.prompt_strict for score in scores]
    top = min(1.0, nice_top([value for rate in rates for value in (rate.rate, rate.high)], least=0.2))
    return {
        part.slice: bars(
            [_bar(row) for row in part.arms],
            name=f"Pass rates with intervals. {part.title}. "
            + "; ".join(f"{r.arm}: {_bar(r).text}" for r in part.arms),
            top=top,
            reference=_reference(result, part),
        )
        for part in slices
    }


def _bar(row: ArmRows) -> Bar:
    if row.score is None or row.score.prompt_strict.rate is None:
        reason = "not measured" if row.score is None else "n = 0"
        return Bar(row.arm, None, None, None, f"– ({reason})", row.tone)
    rate = row.score.prompt_strict
    dots = tuple(s.prompt_strict.rate for s in row.by_seed if s.prompt_strict.rate is not None)
    text = f"{percent(rate.rate)} ({percent_interval(rate.low, rate.high)})"
    return Bar(row.arm, rate.rate, rate.low, rate.high, text, row.tone, dots)


def _reference(result: StudyResult, part: SliceScores) -> float | None:
    """The rate of the untrained start, where it is an arm of the study."""
    untrained = [row for row in part.arms if not result.arm_stages.get(row.arm) and row.score]
    return untrained[0].score.prompt_strict.rate if len(untrained) == 1 and untrained[0].score else None


def _forest(rows: list[ContrastRow], title: str) -> Markup:
    return forest(
        [
            Difference(
                row.name + ("" if row.contrast.slice == "all" else f" · {row.contrast.slice}"),
                row.contrast.difference,
                row.contrast.low,
                row.contrast.high,
                row.numbers,
                row.effect.direction,
                row.contrast.minimum_detectable,
                row.contrast.role == "primary",
            )
            for row in rows
        ],
        name=f"{title}. " + " ".join(row.effect.sentence for row in rows),
    )


def _curve_charts(stages: list[StagePanels]) -> dict[tuple[str, str], Markup]:
    return {
        (stage.stage, panel.column): curve(
            [Line(run.columns[panel.column], track.tone) for track, run in panel.lines],
            name=f"{panel.title} over the steps of {stage.stage}, {counted(len(panel.lines), 'line')}",
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
    return parts_bar([("passed", passed)], whole=judged, name=f"{kind}: {passed} of {counted(judged, 'answer')} passed")
