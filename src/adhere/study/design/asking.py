"""What a study of models that others trained will ask, told before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adhere.study.design.estimate import EVALUATION_BYTES, Estimate
from adhere.study.design.plan import Evaluation
from adhere.study.design.sources import Source, SourceKey
from adhere.study.design.spec import StudySpec
from adhere.study.design.tasks import Task
from adhere.suites.base import Suite


def estimate_asking(
    spec: StudySpec,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    sources: Mapping[SourceKey, Source],
    suites: Mapping[str, Suite],
) -> Estimate:
    """Tell how often each prompt is asked; minutes are not guessed, for these models were never measured here.

    `suites`: that of the verdict under "", the others by name.
    """
    left = [task for task in tasks if not done[task.name]]
    here = max(map(_bytes, sources.values()), default=0.0)
    prompts = sum(len(one.prompts) for one in suites.values())
    return Estimate(
        cells=(),
        pools=(),
        evaluation_minutes=0.0,
        evaluations_left=len(left),
        memory_bytes=max(EVALUATION_BYTES, 2.5 * here) if here else 5e8,
        disk_bytes=5e7 + 4e3 * len(left) * spec.draws * prompts,
        parameters=0,
        source="not estimated",
        minutes=0.0,
        asking=tuple(_lines(spec, tasks, done, sources, suites)),
    )


def _bytes(source: Source) -> float:
    if source.weights is None:
        return 0.0
    return float(sum(file.stat().st_size for file in source.weights.glob("*.safetensors")))


def _lines(
    spec: StudySpec,
    tasks: Sequence[Task],
    done: Mapping[str, bool],
    sources: Mapping[SourceKey, Source],
    suites: Mapping[str, Suite],
) -> Iterator[str]:
    seeds = ", ".join(map(str, spec.seeds))
    yield f"Study {spec.name}: {len(spec.arms)} arms that others trained, seeds {seeds}; nothing is trained here"
    for task in tasks:
        if isinstance(task.item, Evaluation):
            one, suite = sources[task.item.arm, task.item.seed], suites[task.item.suite]
            state = "finished" if done[task.name] else one.trouble or "to do"
            yield f"  evaluate    {one.label} on {len(suite.prompts)} prompts of {suite.name}: {one.name}, {state}"
    answers = sum(len(suites[one.item.suite].prompts) for one in tasks if isinstance(one.item, Evaluation)) * spec.draws
    left = sum(not done[task.name] for task in tasks)
    yield f"  in all      {answers:,} answers, {left} of {len(tasks)} evaluations left; minutes are not estimated"
