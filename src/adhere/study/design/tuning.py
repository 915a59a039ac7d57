"""Tune every compared stage equally: the same number of trials, chosen on prompts neither trained nor tested on.

A study with [tune] begins with a study of its own under DIR/tune: every trial of a tuned stage is an arm, trained at
seeds that the study does not use, and measured on the dev slice (`suites.generated.core.slices.dev_suite`). The chosen
settings go into the spec that is then frozen; trials, choice and cost are stored in DIR/tuning.json and in the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from adhere.errors import SpecError
from adhere.schema import Json, content_hash
from adhere.study.design.spec import ArmSpec, EvaluationSpec, StudySpec
from adhere.study.design.tuned import Trial, TunedStage, Tuning

Trials = Mapping[str, Mapping[int, Mapping[str, Json]]]  # of each stage: number of the trial -> its settings
BUDGET = "trained_tokens"


def grid_of(spec: StudySpec, stage: str) -> list[dict[str, Json]]:
    """Return the trials of a stage: every combination of its grid's values, the last setting varying fastest."""
    if spec.tune is None:
        return []
    table = spec.tune.grid[stage]
    return [dict(zip(table, values, strict=True)) for values in itertools.product(*table.values())]


def validate_tuning(spec: StudySpec) -> None:
    """Check [tune].

    Raises:
        SpecError: A stage or setting is unknown, stages have unequal numbers of trials, a seed is one of the study's,
            or there are no dev prompts.
    """
    tune_spec = spec.tune
    if tune_spec is None:
        return
    shared = sorted({*tune_spec.seeds} & {*spec.seeds})
    if shared or not tune_spec.seeds:
        raise SpecError(f"tune.seeds: got {tune_spec.seeds}, must be seeds that the study does not use ({spec.seeds})")
    _validate_finals(spec)
    if not tune_spec.grid:
        raise SpecError("tune.grid: give at least one stage, e.g. [tune.grid.grpo] learning_rate = [5e-6, 1e-5]")
    unknown = [name for name in tune_spec.grid if not any(name in arm.stages for arm in spec.arms)]
    if unknown:
        raise SpecError(f"tune.grid.{unknown[0]}: no arm has such a stage. Stages: {', '.join(spec.stages)}")
    counts = {name: len(grid_of(spec, name)) for name in tune_spec.grid}
    if len(set(counts.values())) > 1 or not all(counts.values()):
        counts_text = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise SpecError(f"tune.grid: every stage must have the same number of trials, at least one; got {counts_text}")
    for name in tune_spec.grid:
        for trial in grid_of(spec, name):
            with_settings(spec, name, trial).stage(name)
        if tune_spec.tokens is not None and BUDGET not in spec.stage(name).settings.__struct_fields__:
            raise SpecError(f"tune.tokens: {name} ({spec.stage(name).stage.name}) has no setting {BUDGET}")
    if spec.data.wordings is None or not (tune_spec.dev.single or tune_spec.dev.multiple):
        raise SpecError("tune.dev: needs prompts, and [data] wordings, so that some wordings are left for them")


def _validate_finals(spec: StudySpec) -> None:
    """Check the second round of [tune].

    Raises:
        SpecError: The seeds are used elsewhere, or trials have no common budget (`tokens`).
    """
    tune_spec = spec.tune
    if tune_spec is None or tune_spec.finals is None:
        return
    seeds = {*spec.seeds, *tune_spec.seeds}
    if not tune_spec.finals.seeds or seeds & {*tune_spec.finals.seeds}:
        raise SpecError(
            f"tune.finals.seeds: got {tune_spec.finals.seeds}, must be seeds that neither the study nor the first "
            f"round uses ({sorted(seeds)})"
        )
    if tune_spec.tokens is None:
        raise SpecError("tune.finals: needs tune.tokens, since what a finalist is matched to may not be one")


def trials_of(spec: StudySpec) -> dict[str, dict[int, dict[str, Json]]]:
    """Return the trials of the first round: every combination of each grid, numbered from 0."""
    return {name: dict(enumerate(grid_of(spec, name))) for name in (spec.tune.grid if spec.tune else ())}


def widen_grids(spec: StudySpec, stages: Sequence[TunedStage]) -> StudySpec | None:
    """Widen the grids of all stages if a chosen number lies at an edge of its grid; return None if none does.

    Settings are widened by their place in the tables (for example the second of each), so that all stages keep the same
    number of trials. The new value continues the ratio of the two outermost values. If a stage cannot take such a value
    (an edge at 0, or a setting that does not allow it), that edge stays for all stages.
    """
    tune_spec = spec.tune
    if tune_spec is None:
        return None
    grid = {name: {key: list(values) for key, values in table.items()} for name, table in tune_spec.grid.items()}
    for place, is_upper in _edges(grid, stages):
        beyond = {name: _value_beyond(table, place, is_upper=is_upper) for name, table in grid.items()}
        keys = {name: list(table)[place] for name, table in grid.items() if len(table) > place}
        if len(keys) < len(grid) or not all(
            value is not None and _allows(spec, name, {keys[name]: value}) for name, value in beyond.items()
        ):
            continue
        for name, value in beyond.items():
            grid[name][keys[name]].append(value)
    if grid == tune_spec.grid:
        return None
    return msgspec.structs.replace(spec, tune=msgspec.structs.replace(tune_spec, grid=grid))


def _edges(grid: Mapping[str, Mapping[str, list[Json]]], stages: Sequence[TunedStage]) -> list[tuple[int, bool]]:
    """List the places of settings at whose lower (False) or upper (True) edge a stage's chosen value lies."""
    edges = []
    for stage in stages:
        settings = stage.trials[stage.chosen].settings
        for place, (key, values) in enumerate(grid[stage.stage].items()):
            numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
            if len(set(numbers)) >= 2:
                edges += [
                    (place, up) for up, edge in ((False, min(numbers)), (True, max(numbers))) if settings[key] == edge
                ]
    return list(dict.fromkeys(edges))


def _value_beyond(table: Mapping[str, list[Json]], place: int, *, is_upper: bool) -> float | None:
    """Return the value that continues the outermost ratio of a setting's values; None if they are not positive."""
    if len(table) <= place:
        return None
    values = list(table.values())[place]
    numbers = sorted({float(value) for value in values if isinstance(value, int | float)}, reverse=is_upper)
    if len(numbers) < 2 or numbers[0] <= 0:
        return None
    edge, inner = numbers[0], numbers[1]
    # From 0 there is no ratio: the only other value is doubled.
    return float(f"{edge * (edge / inner if inner else 2.0):.6g}")


def _allows(spec: StudySpec, stage: str, settings: Mapping[str, Json]) -> bool:
    try:
        with_settings(spec, stage, settings).stage(stage)
    except SpecError:
        return False
    return True


def with_settings(spec: StudySpec, stage: str, settings: Mapping[str, Json]) -> StudySpec:
    """Return the spec with other settings in one stage."""
    return msgspec.structs.replace(spec, stages={**spec.stages, stage: {**spec.stages[stage], **settings}})


def tuning_spec(spec: StudySpec, trials: Trials | None = None, *, seeds: Sequence[int] | None = None) -> StudySpec:
    """Return the study that tries all trials: each is an arm, made from the first arm with that stage.

    With `[tune] tokens` every trial has that budget. Otherwise, a trial of a stage of equal compute is matched to the
    trial with the same number if the arm that it is matched to is tuned as well.

    Args:
        spec: The study that is tuned.
        trials: The trials by stage and number; None: the whole grid.
        seeds: The seeds; None: those of `[tune]`.
    """
    tune_spec = spec.tune
    assert tune_spec is not None  # noqa: S101 - the caller asks only where something is tuned
    trials = trials or trials_of(spec)
    stages, arms = dict(spec.stages), list[ArmSpec]()
    tuned_arms = {name: next(arm for arm in spec.arms if name in arm.stages) for name in _in_order(spec)}
    of_arm = {arm.name: name for name, arm in tuned_arms.items()}
    for name, arm in tuned_arms.items():
        equal_compute_to = spec.stage(name).equal_compute_to
        for number, trial in trials[name].items():
            table = {**spec.stages[name], **trial}
            if tune_spec.tokens is not None:
                table.pop("equal_compute_to", None)
                table[BUDGET] = tune_spec.tokens
            elif equal_compute_to is not None:
                if equal_compute_to in of_arm:
                    table["equal_compute_to"] = f"{of_arm[equal_compute_to]}@{number}"
                elif not any(other.name == equal_compute_to for other in arms):
                    arms.append(spec.arm(equal_compute_to))
            stages[f"{name}@{number}"] = table
            trained = [f"{name}@{number}" if stage == name else stage for stage in arm.stages]
            arms.append(ArmSpec(f"{name}@{number}", trained))
    first = next(iter(tuned_arms))
    return msgspec.structs.replace(
        spec,
        name=f"{spec.name}-tune",
        seeds=list(seeds or tune_spec.seeds),
        arms=arms,
        stages=stages,
        tune=None,
        keep_weights=False,
        shown_prompts=1,
        budgets=[],
        starts=[],
        evaluation=EvaluationSpec(
            seed=spec.evaluation.seed,
            dev=tune_spec.dev,
            max_new_tokens=spec.evaluation.max_new_tokens,
            precision=spec.evaluation.precision,
        ),
        verdict=msgspec.structs.replace(
            spec.verdict,
            treatment=arms[-1].name,
            control=f"{first}@{next(iter(trials[first]))}",
            slice="all",
            secondary=[],
        ),
    )


def _in_order(spec: StudySpec) -> list[str]:
    """Return the tuned stages, those of earlier arms first, for stages are matched to earlier arms."""
    assert spec.tune is not None  # noqa: S101
    names = [stage for arm in spec.arms for stage in arm.stages if stage in spec.tune.grid]
    return list(dict.fromkeys(names))


def choose(spec: StudySpec, trials: Mapping[str, Sequence[Trial]]) -> list[TunedStage]:
    """Choose the best trial of each stage by its mean rate on the dev slice; of equal ones the cheapest.

    If some trials were trained at further seeds, one of these is chosen. Stages of equal compute must take the same
    number of steps: where both grids have `steps`, the number is chosen for all of them together, by the sum of their
    best rates with it.
    """
    chosen: dict[str, int] = {}
    for group in _groups(spec):
        # One number of steps for the whole group; None where no grid has `steps`, or the group is one stage.
        steps = {step for name in group for step in [trial.settings.get("steps") for trial in trials[name]]}
        shared = sorted(steps, key=str) if len(group) > 1 else [None]

        def best(name: str, step: Json) -> int:
            """Return the place of the best trial of a stage with so many steps; -1 if it has none."""
            most = max(len(trial.rates) for trial in trials[name])
            open_ = [
                (trial.rate, -trial.tokens, -place)
                for place, trial in enumerate(trials[name])
                if trial.rate is not None
                and len(trial.rates) == most
                and (step is None or trial.settings.get("steps") in {step, None})
            ]
            return -max(open_)[2] if open_ else -1

        able = [step for step in shared if all(best(name, step) >= 0 for name in group)]
        step = max(able, key=lambda number: sum(trials[name][best(name, number)].rate or 0.0 for name in group))
        chosen |= {name: best(name, step) for name in group}
    return [TunedStage(name, list(stage_trials), chosen[name]) for name, stage_trials in trials.items()]


def _groups(spec: StudySpec) -> list[list[str]]:
    """Group the tuned stages that are matched to each other."""
    order = _in_order(spec)
    groups = {name: [name] for name in order}
    for name in order:
        equal_compute_to = spec.stage(name).equal_compute_to
        to = [
            other
            for other in order
            if equal_compute_to and other in spec.arm(equal_compute_to).stages and other != name
        ]
        for other in to:
            members = list(dict.fromkeys([*groups[other], *groups[name]]))
            groups |= dict.fromkeys(members, members)
    return [list(group) for group in dict.fromkeys(tuple(group) for group in groups.values())]


def settled_by(spec: StudySpec, tuning: Tuning) -> StudySpec:
    """Return the spec with the chosen settings."""
    for stage in tuning.stages:
        spec = with_settings(spec, stage.stage, stage.trials[stage.chosen].settings)
    return spec


def tuning_key(spec: StudySpec) -> str:
    """Return the key that tells whether a stored tuning is this spec's.

    Empty settings are left out, so that a setting added to specs later changes no key.
    """
    tune_spec = spec.tune
    assert tune_spec is not None  # noqa: S101 - the caller asks only where something is tuned
    first = _without_defaults(msgspec.to_builtins(tuning_spec(spec)))
    later = [msgspec.to_builtins(tune_spec.finals), tune_spec.widen]
    return content_hash([first, later] if any(later) else first)


def finalists(trials: Sequence[Trial], best: int) -> list[int]:
    """Return the numbers of the best trials of a stage, best first; of equal trials the cheapest, then the first."""
    order = sorted(
        (number for number, trial in enumerate(trials) if trial.rate is not None),
        key=lambda number: (-(trials[number].rate or 0.0), trials[number].tokens, number),
    )
    return order[:best]


def _without_defaults(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_defaults(part) for name, part in value.items() if part not in (None, "", [], {})}
    return [_without_defaults(part) for part in value] if isinstance(value, list) else value
