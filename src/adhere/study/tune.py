"""Runs the tuning that a study begins with, and gives the spec with what was chosen (`design.tuning`)."""

from __future__ import annotations

from pathlib import Path

from adhere.errors import Incomplete
from adhere.lines.workers import WHOLE
from adhere.progress import Progress
from adhere.schema import Json, encode, write_atomic
from adhere.study.design.inputs import load_inputs
from adhere.study.design.plan import Evaluation
from adhere.study.design.spec import StudySpec
from adhere.study.design.tuned import FILE, FOLDER, VERSION, Apart, Trial, Tuning, load_tuning
from adhere.study.design.tuning import (
    choose,
    grid_of,
    settled_by,
    tuning_key,
    tuning_spec,
    validate_tuning,
    with_settings,
)
from adhere.study.jobs import choose_jobs, run_jobs
from adhere.study.prepared import PreparedStudy, prepare
from adhere.study.run.cells import load_cell
from adhere.study.run.measured import load_measured
from adhere.suites.generated.core.slices import audit


def take_first_trials(spec: StudySpec) -> StudySpec:
    """The spec with the first trial of every tuned stage: what a plan can be told with before anything was chosen."""
    for name in spec.tune.grid if spec.tune is not None else ():
        spec = with_settings(spec, name, grid_of(spec, name)[0])
    return spec


def with_choice(spec: StudySpec, directory: Path) -> StudySpec:
    """The spec with what was chosen for it in a directory; as it is where nothing is tuned or chosen yet."""
    found = load_tuning(directory) if spec.tune is not None else None
    return spec if found is None or found.key != tuning_key(spec) else settled_by(spec, found)


def prepared_tuning(spec: StudySpec, directory: Path, *, jobs: int) -> PreparedStudy | None:
    """The tuning that is still to be done, checked against the study's own prompts; None where nothing is.

    Raises:
        SpecError: [tune] cannot be done.
        AdhereError: The dev slice shares a query, topic, phrase, key, word or wording with training or test.
    """
    found = _prepared_and_apart(spec, directory, jobs=jobs)
    return None if found is None else found[0]


def _prepared_and_apart(spec: StudySpec, directory: Path, *, jobs: int) -> tuple[PreparedStudy, Apart] | None:
    validate_tuning(spec)
    if spec.tune is None:
        return None
    known = load_tuning(directory)
    if known is not None and known.key == tuning_key(spec):
        return None
    ours = load_inputs(take_first_trials(spec), directory)
    found = prepare(tuning_spec(spec), directory / FOLDER, jobs=jobs)
    training = [prompt for seed in ours.inputs.values() for prompt in seed.everything]
    shares = audit([*training, *ours.suite.prompts], found.suite.prompts)
    shares.require_clean()
    shared = {
        "queries": len(shares.queries),
        "topics": len(shares.topics),
        "phrases, keys and words": len(shares.contents),
        "wordings": len(shares.wordings),
    }
    return found, Apart(len(training), len(ours.suite.prompts), shared)


def tune(spec: StudySpec, directory: Path, *, jobs: int | None, progress: Progress) -> StudySpec:
    """Do what is left of the tuning, store what was found, and give the spec with what was chosen.

    `jobs` None: by `choose_jobs`.

    Raises:
        Incomplete: A stage has no trial that could be measured.
    """
    left = _prepared_and_apart(spec, directory, jobs=jobs or 1)
    if left is not None:
        open_, apart = left
        jobs = jobs or choose_jobs(open_, progress)
        open_ = open_.shared(jobs)
        progress.say(f"Tuning: {len(open_.spec.arms)} trials on {len(open_.suite.prompts)} dev prompts")
        open_ = open_.probed(jobs=jobs, progress=progress)
        progress.say(open_.describe())
        result = run_jobs(open_, shard=WHOLE, jobs=jobs, progress=progress, command="")
        write_atomic(directory / FILE, encode(_collect(spec, open_, apart, result.minutes)))
    found = load_tuning(directory) if spec.tune is not None else None
    if found is None:
        return spec
    for one in found.stages:
        best = one.trials[one.chosen]
        chosen = ", ".join(f"{name} {value}" for name, value in best.settings.items())
        progress.say(f"Tuned {one.stage}: {chosen} ({100 * (best.rate or 0):.1f} % of {found.prompts} dev prompts)")
    return settled_by(spec, found)


def _collect(spec: StudySpec, done: PreparedStudy, apart: Apart, minutes: float) -> Tuning:
    assert spec.tune is not None  # noqa: S101 - the caller asks only where something is tuned
    trials = {
        name: [_trial(done, f"{name}@{number}", settings) for number, settings in enumerate(grid_of(spec, name))]
        for name in spec.tune.grid
    }
    nothing = [name for name, found in trials.items() if all(one.rate is None for one in found)]
    if nothing:
        raise Incomplete(
            f"No trial of {', '.join(nothing)} could be measured, so nothing can be chosen; "
            f"{done.directory / 'failures'} says why"
        )
    return Tuning(
        VERSION,
        tuning_key(spec),
        spec.tune.seeds,
        len(done.suite.prompts),
        done.suite.sha256,
        choose(spec, trials),
        minutes,
        apart,
    )


def _trial(done: PreparedStudy, arm: str, settings: dict[str, Json]) -> Trial:
    rates, tokens, seconds = [], 0, 0.0
    for task in done.tasks:
        item = task.item
        if not isinstance(item, Evaluation) or item.arm != arm or item.cell is None:
            continue
        run, cell = (
            load_measured(done.directory, task.name, task.key),
            load_cell(done.directory, done.plan.cell(item.cell)),
        )
        if run is None or cell is None:
            return Trial(settings, [], tokens, seconds / 60)  # it failed: it has no rate, and cannot be chosen
        outcomes = run.outcomes(done.spec.verdict.counts)
        rates.append(sum(found is True for found in outcomes) / len(outcomes))
        tokens += cell.ledger.tokens_trained
        seconds += cell.ledger.seconds + run.seconds
    return Trial(settings, rates, tokens, seconds / 60)
