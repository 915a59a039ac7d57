"""Measure what others trained, a model by its name or existing answers, as a stored Run like any other."""

from __future__ import annotations

from pathlib import Path

from adhere.errors import AdhereError, Incomplete
from adhere.models.base import Model
from adhere.models.catalog import open_model
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.transformers import load_weights
from adhere.pipeline.evaluate import EvalSpec, count_stored, evaluate_sync, judge_stored
from adhere.progress import Progress
from adhere.schema import EngineInfo, Sampling
from adhere.store.run import Run, alone
from adhere.study.design.inputs import StudyInputs
from adhere.study.design.sources import Source
from adhere.study.run.plain import PlainText, read_plain
from adhere.suites.base import Suite
from adhere.verify.as_responses import responses_of

UNKNOWN_ENGINE = EngineInfo("answers", "unknown", "unknown")  # of answers that are there, nobody knows


def measure_source(
    study: StudyInputs, source: Source, suite: Suite, name: str, progress: Progress
) -> tuple[Run, PlainText | None]:
    """Ask a model that others trained, or read existing answers, and judge the answers.

    Args:
        study: The study.
        source: The model or answers of others.
        suite: The suite that is asked.
        name: Name of the Run's folder.
        progress: Where to report to.

    Returns:
        The sealed Run, and how well the model predicts plain text; None if its weights are not on this machine.

    Raises:
        AdhereError: The model or answers are missing, or cannot be read or asked; the message names arm and seed.
    """
    if source.trouble:
        raise AdhereError(f"{source.trouble}. Put it there and run the same command again; the others are kept")
    folder, spec = study.directory / "runs" / name, study.spec
    sampling = study.sampling_on(suite)
    progress.say(f"Evaluating {source.label} on {len(suite.prompts)} prompts of {suite.name}: {source.name}")
    if source.kind == "answers":
        return _read_answers(source, suite, folder, sampling, draws=spec.draws, progress=progress), None
    model = _open(study, source, progress)
    try:
        run = evaluate_sync(model, suite, folder, sampling=sampling, draws=spec.draws, progress=progress)
    except _damage_of_weights() as error:  # weights are read when the first answer is asked for
        raise _unusable(source, error) from error
    finally:
        model.close()
    failed = run.summary().overall.accounting.error
    if failed:
        raise Incomplete(
            f"{source.label}: {failed} of {run.n_asked} calls of {source.name} failed. Run the same command again: it "
            "asks those once more"
        )
    if source.weights is None or suite is not study.suite:
        return run, None
    return run, read_plain(*load_weights(source.weights, resolve_device(spec.device), adapter=source.adapter))


def _open(study: StudyInputs, source: Source, progress: Progress) -> Model:
    """Open the model as `adhere eval` does; weights on this machine at the study's precision, on its device."""
    spec = study.spec
    if source.engine != "transformers":
        return open_model(source.name, say=progress.say)
    try:
        return open_model(
            source.name,
            engine="transformers",
            precision=spec.evaluation.precision,
            threads=spec.threads,
            device=resolve_device(spec.device),
            say=progress.say,
        )
    except Exception as error:
        raise _unusable(source, error) from error


def _damage_of_weights() -> tuple[type[Exception], ...]:
    """Return the errors that reading damaged weights raises; empty if safetensors is not installed."""
    try:
        from safetensors import SafetensorError
    except ModuleNotFoundError:
        return ()
    return (SafetensorError,)


def _unusable(source: Source, error: Exception) -> AdhereError:
    return AdhereError(
        f"{source.label}: {source.name} cannot be loaded ({type(error).__name__}: {error}). Is it whole? Put it there "
        "again and run the same command; the others are kept"
    )


def _read_answers(
    source: Source, suite: Suite, folder: Path, sampling: Sampling, *, draws: int, progress: Progress
) -> Run:
    """Store the answers of a file as a Run, and judge them."""
    stands_for = _Answerer(source.name)
    spec = EvalSpec(suite, sampling, draws).run_spec(stands_for)
    with alone(folder), Run.open(folder, spec, suite.prompts) as run:
        stored_keys = {response.key for response in run.responses()}
        for response in responses_of(Path(source.name).expanduser(), suite, draws=draws):
            if response.key not in stored_keys:
                run.append_response(response)
        judge_stored(run, progress)
        run.seal(count_stored(run, progress))
    return run


class _Answerer:
    """Names the Run of existing answers."""

    def __init__(self, path: str) -> None:
        self.name, self.engine = f"answers/{path}", UNKNOWN_ENGINE
