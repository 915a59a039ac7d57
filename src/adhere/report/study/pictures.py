"""Draw the pictures of a StudyResult, for its page and for `adhere.plot`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from markupsafe import Markup

from adhere.report.pieces.charts import WIDE, Bar, Difference, Mark, Spot, bars, forest, marks, nice_top, scatter
from adhere.report.pieces.numbers import count, percent, percent_interval, points_and_interval, significant
from adhere.report.study.view import ArmRows, ContrastRow, SliceScores, kind_table, tone_of
from adhere.study.outcome.result import StudyResult


def rate_charts(result: StudyResult, slices: list[SliceScores]) -> dict[str, Markup]:
    """Return, by slice, bars of its arms, all on one scale."""
    scores = [score for part in slices for row in part.arms for score in (row.score, *row.by_seed) if score]
    rates = [score.prompt_strict for score in scores]
    top = min(1.0, nice_top([value for rate in rates for value in (rate.rate, rate.high)], least=0.2))
    return {
        part.slice: bars(
            [_bar(row) for row in part.arms],
            name=f"Pass rates with intervals. {part.title}. "
            + "; ".join(f"{r.arm}: {_bar(r).text}" for r in part.arms),
            top=top,
            reference=untrained_rate(result, part),
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


def untrained_rate(result: StudyResult, part: SliceScores) -> float | None:
    """Return the rate of the untrained start, if it is an arm of the study; else None."""
    start_rows = [row for row in part.arms if not result.arm_stages.get(row.arm) and row.score]
    return start_rows[0].score.prompt_strict.rate if len(start_rows) == 1 and start_rows[0].score else None


def tuning_charts(result: StudyResult) -> dict[str, Markup]:
    """Return, by stage, bars of all its trials on one scale, the chosen one marked; a circle is one seed."""
    stages = result.tuning.stages if result.tuning else []
    top = min(1.0, nice_top([rate for stage in stages for trial in stage.trials for rate in trial.rates], least=0.2))
    return {
        stage.stage: bars(
            [
                Bar(
                    ", ".join(f"{name} {value}" for name, value in trial.settings.items()),
                    trial.rate,
                    None,
                    None,
                    ("failed" if trial.rate is None else percent(trial.rate))
                    + (", chosen" if n == stage.chosen else ""),
                    place + 1,
                    tuple(trial.rates) if len(trial.rates) > 1 else (),
                )
                for n, trial in enumerate(stage.trials)
            ],
            name=f"Every trial of {stage.stage} on dev prompts",
            top=top,
        )
        for place, stage in enumerate(stages)
    }


def contrast_forest(
    rows: Sequence[ContrastRow], title: str, *, with_seeds: bool = False, is_wide: bool = False
) -> Markup:
    """Draw contrasts with their intervals; `with_seeds` adds every seed's difference as a circle.

    `is_wide`: for pictures that are never shown on a phone.
    """
    differences = [
        Difference(
            row.name + ("" if row.contrast.slice == "all" else f" · {row.contrast.slice}"),
            row.contrast.difference,
            row.contrast.low,
            row.contrast.high,
            row.numbers,
            row.effect.direction,
            None if with_seeds else row.contrast.minimum_detectable,
            row.contrast.role == "primary",
            tuple(estimate.difference for estimate in row.contrast.by_seed) if with_seeds else (),
        )
        for row in rows
    ]
    name = f"{title}. " + " ".join(row.effect.sentence for row in rows)
    return forest(differences, name=name, **({"fits": WIDE} if is_wide else {}))


def gain_chart(result: StudyResult, part: SliceScores, *, is_wide: bool = False) -> Markup | None:
    """Draw each arm's pass rate over its compute, mean over seeds; None if no arm was trained."""
    spots = []
    base = untrained_rate(result, part)
    for row in part.arms:
        costs = [cost.petaflops for cost in result.arm_costs if cost.arm == row.arm]
        rate = row.score.prompt_strict if row.score else None
        if not costs or rate is None or rate.rate is None:
            continue
        petaflops = fmean(costs)
        text = f"{percent(rate.rate)} · {significant(petaflops)} PFLOP"
        spots.append(Spot(row.arm, petaflops, rate.rate, rate.low, rate.high, text, row.tone))
    if not any(spot.x for spot in spots):
        return None
    name = "Pass rate against compute. " + "; ".join(f"{spot.label}: {spot.text}" for spot in spots)
    unit = "PFLOP of training and drawing, mean over seeds"
    fits = {"fits": WIDE} if is_wide else {}
    return scatter(spots, name=name, unit=unit, reference=base, **fits)


def growth_charts(result: StudyResult) -> list[Markup]:
    """Draw both methods at every budget, over tokens trained and over answers drawn.

    A point's height above the dotted line of the reference is its gain.
    """
    if result.growth is None:
        return []
    charts = []
    for unit, cost in (("tokens trained", "tokens_trained"), ("answers drawn", "answers_generated")):
        spots, base = [], None
        for point in result.growth.points:
            gain, amount = point.gain, getattr(point, cost)
            if gain.difference is None or gain.rate_control is None or not amount:
                continue
            base = gain.rate_control
            low, high = (None if end is None else max(0.0, base + end) for end in (gain.low, gain.high))
            text = f"{points_and_interval(gain)} · {count(amount)} {unit}"
            label = f"{point.method} × {point.budget}"
            spots.append(
                Spot(label, amount / 1000, base + gain.difference, low, high, text, tone_of(result, point.method))
            )
        if spots:
            name = f"Gain over {result.growth.reference} against {unit}. " + "; ".join(
                f"{s.label}: {s.text}" for s in spots
            )
            charts.append(scatter(spots, name=name, unit=f"thousand {unit}, mean over seeds", reference=base))
    return charts


def kind_chart(result: StudyResult, arms: Sequence[str]) -> Markup | None:
    """Draw the share of constraints met by kind, a line for each arm; None if no kind was measured."""
    table = kind_table(result)
    table_arms = [row.arm for row in table.arms]
    places = [table_arms.index(arm) for arm in arms if arm in table_arms]
    rows = []
    for kind, is_new, shares in table.rows:
        arm_shares = [(table.arms[index].arm, shares[index]) for index in places]
        kind_marks = [
            Mark(tone_of(result, arm), share.rate, share.low, share.high)
            for arm, share in arm_shares
            if share is not None
        ]
        text = " → ".join(percent(share.rate if share else None, digits=0) for _, share in arm_shares)
        rows.append((kind + (" · never in training" if is_new else ""), text, kind_marks))
    if not rows or not places:
        return None
    names = " and ".join(table.arms[index].arm for index in places)
    return marks(rows, name=f"Constraints met by kind, {names}. " + "; ".join(f"{row[0]}: {row[1]}" for row in rows))
