"""Compare a study's arms: what was equal between them, what differed, and what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from adhere.rules.tasks import WORDS
from adhere.study.design.inputs import StudyInputs
from adhere.study.design.rules import WAY
from adhere.study.design.sources import Source
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.contrast import Evaluations, RunKey, fit_of, pairs_of
from adhere.study.outcome.result import Aspect, DrawsPart
from adhere.study.run.measured import Measurement


def aspects_of(study: StudyInputs, runs: Mapping[RunKey, Measurement]) -> list[Aspect]:
    """Return what was equal, different or unknown between arms; empty for a study that trained all of its arms here."""
    if not study.sources:
        return []
    spec, sources = study.spec, list(study.sources.values())
    if spec.asks_rules:
        return _aspects_of_sessions(study, runs)
    limits = {run.summary.overall.accounting.n for run in runs.values()}
    return [
        _same("prompts", [str(n) for n in limits] or ["–"], f"{len(study.suite.prompts)} of {study.suite.name}"),
        Aspect("judge", "equal", "one judge on this machine judged all answers"),
        _engines(sources, runs),
        _aspect("chat template", [source.template[:10] for source in sources]),
        _aspect("stop tokens", [", ".join(map(str, source.stops)) for source in sources]),
        _aspect("tokenizer", [source.tokenizer[:10] for source in sources]),
        _sampling(spec, sources),
        _training_data(spec),
        Aspect("compute", "unknown", "nobody noted here what the trainings cost, so equal compute is not said"),
    ]


def _aspects_of_sessions(study: StudyInputs, runs: Mapping[RunKey, Measurement]) -> list[Aspect]:
    """List what is equal between arms of sessions: rules and tasks are one set, and the logs say who acted."""
    tasks = {prompt.tags["query"] for prompt in study.suite.prompts}
    rules = len(study.suite.prompts) // len(tasks)
    agents: dict[str, set[str]] = {}
    for (arm, _), run in runs.items():
        agents.setdefault(arm, set()).update(run.served)
    agents_text = "; ".join(f"{arm}: {', '.join(sorted(names)) or 'not in the logs'}" for arm, names in agents.items())
    rules_text = f"{rules} rules in {len(tasks)} tasks, matched by {WORDS[str(study.suite.settings[WAY])]}"
    is_one = len({frozenset(names) for names in agents.values()}) == 1
    return [
        Aspect("rules and tasks", "equal", rules_text),
        Aspect("judge", "equal", "one judge on this machine read all sessions; what is untriggered is in no rate"),
        Aspect(
            "agent and model", "unknown" if not all(agents.values()) else "equal" if is_one else "differs", agents_text
        ),
        Aspect("machine, tools, limits", "unknown", "logs of sessions do not say what else was different"),
    ]


def _same(name: str, values: Sequence[str], evidence: str) -> Aspect:
    return Aspect(name, "equal" if len(set(values)) == 1 else "differs", evidence)


def _aspect(name: str, values: Iterable[str]) -> Aspect:
    """Compare one value over all sources; a value that could not be read is empty."""
    texts = list(values)
    distinct = set(texts) - {""}
    if len(distinct) > 1:
        return Aspect(name, "differs", f"{len(distinct)} different ones: {'; '.join(sorted(distinct))}")
    if "" in texts:
        return Aspect(name, "unknown", f"seen of {len(texts) - texts.count('')} of {len(texts)} models or files")
    return Aspect(name, "equal", next(iter(distinct), "–"))


def _engines(sources: Sequence[Source], runs: Mapping[RunKey, Measurement]) -> Aspect:
    if all(source.kind == "answers" for source in sources):
        return Aspect("engine and precision", "unknown", "files of answers do not say what answered")
    names = {f"{run.engine.name} {run.engine.version}, {run.engine.precision}" for run in runs.values()}
    where = {source.engine for source in sources if source.engine} - {"transformers"}
    engines = "; ".join(sorted(names | where)) or "–"
    if len(names) > 1 or len(where) > 1:
        return Aspect("engine and precision", "differs", engines)
    return Aspect("engine and precision", "unknown" if "unknown" in engines else "equal", engines)


def _sampling(spec: StudySpec, sources: Sequence[Source]) -> Aspect:
    if any(source.kind == "answers" for source in sources):
        return Aspect("sampling", "unknown", "files of answers do not say how they were drawn")
    sampling = "greedy" if spec.temperature == 0 else f"temperature {spec.temperature:g}, {spec.draws} answers a prompt"
    return Aspect("sampling", "equal", sampling)


def _training_data(spec: StudySpec) -> Aspect:
    arms = [arm.name for arm in spec.arms if arm.trained_on is not msgspec.UNSET]
    if not arms:
        return Aspect("training data", "unknown", "no arm says what it was trained on, so overlaps are not known")
    if len(arms) < len(spec.arms):
        return Aspect("training data", "unknown", f"only {', '.join(arms)} say what they were trained on")
    rows = {tuple(arm.trained_on) for arm in spec.arms if arm.trained_on is not msgspec.UNSET}
    return Aspect("training data", "equal" if len(rows) == 1 else "differs", "; ".join(sorted(map(", ".join, rows))))


def same_answers(runs: Mapping[RunKey, Measurement]) -> list[str]:
    """List checkpoints of one arm that gave the same answers to everything: most likely one model under two names."""
    first_seeds: dict[tuple[str, str], int | None] = {}
    notes = []
    for (arm, seed), run in runs.items():
        if not run.answers_sha256 or seed is None:
            continue
        first = first_seeds.setdefault((arm, run.answers_sha256), seed)
        if first != seed:
            notes.append(
                f"{arm}: seeds {first} and {seed} gave the same answers to all {len(run.passes)} prompts, so one model "
                "seems to stand behind both names. Check what is served under them"
            )
    return notes


def draws_part(spec: StudySpec, evaluations: Evaluations) -> DrawsPart | None:
    """Return how much of the interval's variance comes from drawing; None if one answer a prompt was drawn."""
    if spec.draws == 1:
        return None
    pairs = pairs_of(spec.verdict.primary, evaluations)
    fit = fit_of(pairs, evaluations)
    total = 0.0 if fit is None else max(fit.var_seed + fit.var_query, fit.var_least)
    if not total:
        return DrawsPart(spec.draws, spec.temperature, None)
    # The variance of an arm's mean that is due to drawing: the mean variance of a prompt's rate, divided by the number
    # of rates that were drawn apart. An arm that is one model was drawn once for all seeds.
    cells = len(pairs.seeds) * len(pairs.places)
    within = 0.0
    for arm in (spec.verdict.treatment, spec.verdict.control):
        runs = [run for seed in pairs.seeds if (run := evaluations.of(arm, seed)) is not None]
        spread = fmean(_spread(run, evaluations, pairs.places) for run in runs)
        within += spread / (cells if len({id(run) for run in runs}) > 1 or len(runs) == 1 else len(pairs.places))
    return DrawsPart(spec.draws, spec.temperature, min(1.0, within / total))


def _spread(run: Measurement, evaluations: Evaluations, places: Sequence[int]) -> float:
    """Return the mean variance of a prompt's rate over its draws, p (1 - p) / (k - 1), in one evaluation."""
    rates = np.asarray([run.outcomes(evaluations.counts)[place] for place in places], dtype=np.float64)
    return float(np.mean(rates * (1 - rates) / (len(run.drawn) - 1)))
