"""Draws stored results as reports do: each picture is an SVG that a notebook shows and `save` writes.

    from adhere import plot

    plot.forest("studies/quickstart").save("forest.svg")
    plot.kinds("runs/before", "runs/after")

A study is its directory, its `result.json` or a StudyResult; a run its directory or a Run; a comparison is a result of
`adhere.compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from adhere.errors import UsageError
from adhere.pipeline.compare.paired import Comparison, Difference
from adhere.report.pieces import charts
from adhere.report.pieces.guards import floor_cell
from adhere.report.pieces.numbers import percent, percent_interval, points, points_interval
from adhere.report.pieces.picture import Picture, Theme
from adhere.report.pieces.wording import Direction
from adhere.report.run.html import rate_rows
from adhere.report.run.view import slices_of
from adhere.report.study import pictures
from adhere.report.study.view import SliceScores, contrast_rows, slice_scores, tone_of
from adhere.schema import decode
from adhere.store.files import read_regular
from adhere.store.run import Run
from adhere.store.sharded import load_run
from adhere.store.shelf import kind_of
from adhere.study.outcome.result import StudyResult

Study = StudyResult | Path | str


def forest(what: Study | Comparison) -> Picture:
    """Draw a study's contrasts, or a comparison's slices, as differences in points with intervals.

    Raises:
        UsageError: No study is stored there, or it is unfinished.
    """
    if isinstance(what, Comparison):
        rows = [
            _difference(name, difference) for name, difference in {"all prompts": what.overall, **what.slices}.items()
        ]
        chart = charts.forest(
            rows, name=f"{what.a} − {what.b}. " + "; ".join(f"{r.label}: {r.text}" for r in rows), fits=charts.WIDE
        )
        return Picture(f"{what.a} − {what.b}", chart, note=f"points, 95 % intervals, {what.suite}")
    result = _study(what)
    chart = pictures.contrast_forest(contrast_rows(result), result.verdict.headline, is_wide=True)
    note = "points with intervals; grey: too small for this design to find with 80 % power"
    return Picture(result.verdict.question, chart, note=note, alt=result.verdict.headline)


def seeds(study: Study) -> Picture:
    """Draw the contrasts of a study with every training seed as a circle.

    Raises:
        UsageError: `forest` would raise it, or the study has one seed.
    """
    result = _study(study)
    if len(result.seeds) < 2:
        raise UsageError(f"The study {result.name} has one training seed; there is no spread to draw")
    rows = contrast_rows(result)
    return Picture(
        f"{result.name}: what each training seed found",
        pictures.contrast_forest(rows, "Differences by seed", with_seeds=True, is_wide=True),
        note=f"points with intervals; a circle is one of {len(result.seeds)} seeds",
        alt=" ".join(row.effect.sentence for row in rows),
    )


def gain(study: Study, *, slice_name: str = "all") -> Picture:
    """Draw each arm's pass rate against the compute that it cost.

    Raises:
        UsageError: `forest` would raise it, no arm was trained, or nothing was measured on that slice.
    """
    result = _study(study)
    part = _slice(result, slice_name)
    chart = pictures.gain_chart(result, part, is_wide=True)
    if chart is None:
        raise UsageError(f"No arm of the study {result.name} was trained, so there is no compute to draw against")
    note = f"{part.title.lower()}; the dotted line is the untrained start"
    return Picture(f"{result.name}: pass rate against compute", chart, note=note)


def kinds(*subjects: Run | Study, arms: Sequence[str] = ()) -> Picture:
    """Draw the share of constraints met by kind: for runs on the same prompts, or for the `arms` of a study.

    Args:
        subjects: Runs, or one study.
        arms: Arms of a study; empty: the two of its verdict.

    Raises:
        UsageError: Nothing is stored there, a run is unfinished, the runs are of different prompts, or an arm is
            unknown.
    """
    if len(subjects) == 1 and not isinstance(subjects[0], Run) and _is_study(subjects[0]):
        result = _study(subjects[0])
        names = list(arms) or [result.verdict.primary.control, result.verdict.primary.treatment]
        if unknown := [name for name in names if name not in result.arms]:
            raise UsageError(f"The study {result.name} has no arm {unknown[0]!r}; it has {', '.join(result.arms)}")
        chart = pictures.kind_chart(result, names)
        legend = [(tone_of(result, name), name) for name in names]
        return _kinds_picture(f"{result.name}: constraints met by kind", chart, legend)
    runs = _runs(subjects)
    rows = []
    for kind, shares in rate_rows([run.summary().overall.kinds for run in runs]):
        kind_marks = [
            charts.Mark(tone, share.rate, share.low, share.high) for tone, share in enumerate(shares, 1) if share
        ]
        shares_text = " → ".join(percent(share.rate if share else None, digits=0) for share in shares)
        alone = shares[0] if len(shares) == 1 else None
        rows.append((kind, f"{shares_text} ({alone.passed} of {alone.n})" if alone else shares_text, kind_marks))
    chart = charts.marks(rows, name="Constraints met by kind. " + "; ".join(f"{row[0]}: {row[1]}" for row in rows))
    return _kinds_picture(f"{runs[0].spec.suite}: constraints met by kind", chart if rows else None, _labels(runs))


def rates(*runs: Run | Path | str) -> Picture:
    """Draw the pass rates of runs on the same prompts; of a single run, by slice.

    Raises:
        UsageError: `kinds` would raise it.
    """
    stored_runs = _runs(runs)
    if len(stored_runs) == 1:
        rows = [(name, 1, score) for name, score in slices_of(stored_runs[0].summary()).items()]
    else:
        rows = [
            (label, tone, run.summary().overall)
            for run, (tone, label) in zip(stored_runs, _labels(stored_runs), strict=True)
        ]
    rate_bars = []
    for label, tone, score in rows:
        rate = score.prompt_strict
        rate_text = f"{percent(rate.of_all)} ({percent_interval(rate.low, rate.high)})"
        rate_bars.append(charts.Bar(label, rate.of_all, rate.low, rate.high, rate_text, tone))
    top = min(1.0, charts.nice_top([end for bar in rate_bars for end in (bar.value, bar.high)], least=0.2))
    chart = charts.bars(
        rate_bars, name="Pass rates. " + "; ".join(f"{bar.label}: {bar.text}" for bar in rate_bars), top=top
    )
    title = (
        f"{stored_runs[0].spec.model} on {stored_runs[0].spec.suite}"
        if len(stored_runs) == 1
        else stored_runs[0].spec.suite
    )
    floor = stored_runs[0].summary().floor
    note = "share of prompts whose answer kept every constraint, 95 % intervals"
    return Picture(title, chart, note=note if floor is None else f"{note}; floor {floor_cell(floor)}")


def _difference(label: str, difference: Difference) -> charts.Difference:
    text = f"{points(difference.difference)} ({points_interval(difference.low, difference.high)})"
    direction = _direction(difference)
    return charts.Difference(
        label, difference.difference, difference.low, difference.high, text, direction, difference.minimum_detectable
    )


def _direction(difference: Difference) -> Direction:
    if difference.difference is None or difference.low is None or difference.high is None:
        return "unmeasured" if difference.difference is None else "open"
    return "more" if difference.low > 0 else "fewer" if difference.high < 0 else "unclear"


def _kinds_picture(title: str, chart: Markup | None, legend: Sequence[tuple[int, str]]) -> Picture:
    if chart is None:
        raise UsageError("No kind of constraint was measured there")
    return Picture(title, chart, legend if len(legend) > 1 else (), note="with 95 % intervals")


def _study(study: Study) -> StudyResult:
    if isinstance(study, StudyResult):
        return study
    path = Path(study)
    file = path / "result.json" if path.is_dir() else path
    if not file.is_file():
        raise UsageError(f"{path}: no finished study is stored there (no result.json)")
    return decode(read_regular(file), StudyResult)


def _is_study(study: Study) -> bool:
    return isinstance(study, StudyResult) or Path(study).is_file() or kind_of(Path(study)) == "study"


def _slice(result: StudyResult, name: str) -> SliceScores:
    slices = {part.slice: part for part in slice_scores(result)}
    if name not in slices:
        raise UsageError(f"The study {result.name} has no slice {name!r}; it has {', '.join(slices) or 'none'}")
    return slices[name]


def _runs(subjects: Sequence[object]) -> list[Run]:
    runs = [
        run if isinstance(run, Run) else load_run(Path(run)) for run in subjects if isinstance(run, Run | Path | str)
    ]
    if not runs or len(runs) < len(subjects):
        raise UsageError("Give finished runs (directories, or what adhere.evaluate gave), or one study alone")
    if len({run.manifest.prompts_sha256 for run in runs}) > 1:
        raise UsageError("These runs were asked different prompts, so their rates do not belong in one picture")
    return runs


def _labels(runs: Sequence[Run]) -> list[tuple[int, str]]:
    names = [run.spec.model for run in runs]
    if len(set(names)) < len(names):
        names = [f"{run.spec.model} ({run.directory.name})" for run in runs]
    return list(enumerate(names, 1))


__all__ = ["Picture", "Theme", "forest", "gain", "kinds", "rates", "seeds"]
