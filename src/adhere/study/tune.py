"""Run the tuning that a study begins with, and return the spec with the chosen settings (`design.tuning`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adhere.errors import Incomplete, UsageError
from adhere.lines.workers import WHOLE
from adhere.progress import Progress
from adhere.schema import Json, encode, write_atomic
from adhere.study.design.inputs import load_inputs
from adhere.study.design.plan import Evaluation
from adhere.study.design.spec import StudySpec
from adhere.study.design.tuned import FILE, FOLDER, VERSION, Apart, Trial, Tuning, load_tuning
from adhere.study.design.tuning import (
    Trials,
    choose,
    finalists,
    grid_of,
    settled_by,
    trials_of,
    tuning_key,
    tuning_spec,
    validate_tuning,
    widen_grids,
    with_settings,
)
from adhere.study.jobs import choose_jobs, run_jobs
from adhere.study.prepared import PreparedStudy, prepare
from adhere.study.run.cells import load_cell
from adhere.study.run.measured import load_measured
from adhere.study.run.work import seconds_of, stored_record
from adhere.suites.generated.core.slices import audit


def take_first_trials(spec: StudySpec) -> StudySpec:
    """Return the spec with the first trial of every tuned stage, for a plan before settings are chosen."""
    for name in spec.tune.grid if spec.tune is not None else ():
        spec = with_settings(spec, name, grid_of(spec, name)[0])
    return spec


def with_choice(spec: StudySpec, directory: Path) -> StudySpec:
    """Return the spec with the settings chosen in a directory, or unchanged if nothing is tuned or chosen yet."""
    tuning = load_tuning(directory) if spec.tune is not None else None
    return spec if tuning is None or tuning.key != tuning_key(spec) else settled_by(spec, tuning)


def require_choice(spec: StudySpec, directory: Path) -> StudySpec:
    """Return the spec with the settings chosen in a directory, to combine what is stored.

    Raises:
        UsageError: Settings are tuned, but not chosen yet.
    """
    chosen = with_choice(spec, directory)
    if chosen.tune is not None and chosen is spec:
        raise UsageError(f"{directory}: its settings are not chosen yet, so nothing is there to put together")
    return chosen


def prepared_tuning(spec: StudySpec, directory: Path, *, jobs: int) -> PreparedStudy | None:
    """Return the tuning that is still to be done, checked against the study's own prompts; None if nothing is left.

    Raises:
        SpecError: The tuning cannot be done.
        AdhereError: The dev slice shares a query, topic, phrase, key, word or wording with training or test.
    """
    open_tuning = _prepared_and_apart(spec, directory, jobs=jobs)
    return None if open_tuning is None else open_tuning[0]


def _prepared_and_apart(spec: StudySpec, directory: Path, *, jobs: int) -> tuple[PreparedStudy, Apart] | None:
    validate_tuning(spec)
    if spec.tune is None:
        return None
    tuning = load_tuning(directory)
    if tuning is not None and tuning.key == tuning_key(spec):
        return None
    ours = load_inputs(take_first_trials(spec), directory)
    tuning_study = prepare(tuning_spec(spec), directory / FOLDER, jobs=jobs)
    training = [prompt for seed in ours.inputs.values() for prompt in seed.everything]
    shares = audit([*training, *ours.suite.prompts], tuning_study.suite.prompts)
    shares.require_clean()
    shared = {
        "queries": len(shares.queries),
        "topics": len(shares.topics),
        "phrases, keys and words": len(shares.contents),
        "wordings": len(shares.wordings),
    }
    return tuning_study, Apart(len(training), len(ours.suite.prompts), shared)


def tune(spec: StudySpec, directory: Path, *, jobs: int | None, progress: Progress) -> StudySpec:
    """Do what is left of the tuning, store its record, and return the spec with the chosen settings.

    With `jobs` None, `choose_jobs` decides. Each round resumes from what is stored: a widened grid adds trials, and the
    finals add seeds to the best trials.

    Raises:
        Incomplete: A stage has no trial that could be measured.
    """
    open_tuning = _prepared_and_apart(spec, directory, jobs=jobs or 1)
    if open_tuning is not None:
        open_, apart = open_tuning
        jobs = jobs or choose_jobs(open_, progress)
        write_atomic(directory / FILE, encode(_search(spec, open_, apart, jobs=jobs, progress=progress)))
    tuning = load_tuning(directory) if spec.tune is not None else None
    if tuning is None:
        return spec
    for stage in tuning.stages:
        best = stage.trials[stage.chosen]
        chosen = ", ".join(f"{name} {value}" for name, value in best.settings.items())
        progress.say(f"Tuned {stage.stage}: {chosen} ({100 * (best.rate or 0):.1f} % of {tuning.prompts} dev prompts)")
    return settled_by(spec, tuning)


def _search(spec: StudySpec, first: PreparedStudy, apart: Apart, *, jobs: int, progress: Progress) -> Tuning:
    """Try the grid, widen it if a choice lies at its edge, and give the best trials further seeds."""
    tune_spec = spec.tune
    assert tune_spec is not None  # noqa: S101 - the caller asks only where something is tuned
    trials = trials_of(spec)
    done = _do_round(first, jobs=jobs, progress=progress)
    results, seconds = _results(done, trials), _seconds(done)
    wide: StudySpec = spec
    for _ in range(tune_spec.widen):
        further = widen_grids(wide, choose(spec, {name: list(grid.values()) for name, grid in results.items()}))
        if further is None:
            break
        wide = further
        new_trials = _further_trials(trials_of(wide), trials)
        progress.say(f"A choice lies at the edge: {sum(map(len, new_trials.values()))} further trials")
        trials = {name: {**trials[name], **new_trials[name]} for name in trials}
        done = _do_round(_prepare_round(spec, first, trials, tune_spec.seeds), jobs=jobs, progress=progress)
        results, seconds = _results(done, trials), seconds | _seconds(done)
    if tune_spec.finals is not None:
        best = {
            name: {number: trials[name][number] for number in finalists(list(grid.values()), tune_spec.finals.best)}
            for name, grid in results.items()
        }
        seeds = [*tune_spec.seeds, *tune_spec.finals.seeds]
        done = _do_round(_prepare_round(spec, first, best, seeds), jobs=jobs, progress=progress)
        results = {name: {**results[name], **grid} for name, grid in _results(done, best).items()}
        seconds |= _seconds(done)
    return Tuning(
        VERSION,
        tuning_key(spec),
        tune_spec.seeds,
        len(first.suite.prompts),
        first.suite.sha256,
        choose(spec, {name: list(grid.values()) for name, grid in results.items()}),
        sum(seconds.values()) / 60,
        apart,
        tune_spec.tokens,
        tune_spec.finals.seeds if tune_spec.finals else [],
    )


def _prepare_round(spec: StudySpec, first: PreparedStudy, trials: Trials, seeds: Sequence[int]) -> PreparedStudy:
    return prepare(tuning_spec(spec, trials, seeds=seeds), first.directory)


def _do_round(open_: PreparedStudy, *, jobs: int, progress: Progress) -> PreparedStudy:
    """Do the trials of a round that are not done yet, and return the study of the round."""
    open_ = open_.shared(jobs)
    progress.say(f"Tuning: {len(open_.spec.arms)} trials on {len(open_.suite.prompts)} dev prompts")
    open_ = open_.probed(jobs=jobs, progress=progress)
    progress.say(open_.describe())
    run_jobs(open_, shard=WHOLE, jobs=jobs, progress=progress, command="")
    return open_


def _seconds(done: PreparedStudy) -> dict[str, float]:
    """Return the seconds of each finished task of a round by name; rounds share tasks, which count once."""
    records = {task.name: stored_record(done.directory, task) for task in done.tasks}
    return {name: seconds_of(record) for name, record in records.items() if record is not None}


def _further_trials(
    wide: Mapping[str, Mapping[int, dict[str, Json]]], trials: Trials
) -> dict[str, dict[int, dict[str, Json]]]:
    """Number the settings of a wider grid that were not tried yet, after those already tried."""
    further: dict[str, dict[int, dict[str, Json]]] = {}
    for name, grid in wide.items():
        new = [settings for settings in grid.values() if settings not in trials[name].values()]
        further[name] = {len(trials[name]) + place: settings for place, settings in enumerate(new)}
    return further


def _results(done: PreparedStudy, trials: Trials) -> dict[str, dict[int, Trial]]:
    """Read the results of a round's trials, by stage and number.

    Raises:
        Incomplete: A stage has no trial that could be measured.
    """
    results = {
        name: {number: _trial(done, f"{name}@{number}", dict(settings)) for number, settings in grid.items()}
        for name, grid in trials.items()
    }
    nothing = [name for name, grid in results.items() if all(trial.rate is None for trial in grid.values())]
    if nothing:
        raise Incomplete(
            f"No trial of {', '.join(nothing)} could be measured, so nothing can be chosen; "
            f"{done.directory / 'failures'} says why"
        )
    return results


def _trial(done: PreparedStudy, arm: str, settings: dict[str, Json]) -> Trial:
    rates, tokens, seconds = [], 0, 0.0
    for task in done.tasks:
        item = task.item
        if not isinstance(item, Evaluation) or item.arm != arm or item.cell is None:
            continue
        run = load_measured(done.directory, task.name, task.key)
        cell = load_cell(done.directory, done.plan.cell(item.cell))
        if run is None or cell is None:
            return Trial(settings, [], tokens, seconds / 60)  # it failed: it has no rate, and cannot be chosen
        outcomes = run.outcomes(done.spec.verdict.counts)
        rates.append(sum(outcome is True for outcome in outcomes) / len(outcomes))
        tokens += cell.ledger.tokens_trained
        seconds += cell.ledger.seconds + run.seconds
    return Trial(settings, rates, tokens, seconds / 60)
