"""Load and check everything that a study reads before anything is trained: weights, prompts, plan, tasks."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere import suites
from adhere.build.decontaminate.parts import Report, decontaminate
from adhere.errors import UsageError
from adhere.extras import need
from adhere.models.catalog import resolve_weights
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.decoder.precision import Precisions, resolve
from adhere.models.local.transformers import weights_sha256
from adhere.schema import Prompt, Sampling, content_hash, derive_seed
from adhere.store.run import alone
from adhere.study.design.budgets import with_budgets
from adhere.study.design.frozen import FrozenStudy, load_frozen
from adhere.study.design.identity import drawing_identity, judging_identity, training_identity
from adhere.study.design.plan import Inputs, Plan, make_plan
from adhere.study.design.register import require_judge
from adhere.study.design.rules import judges_of, rules_suite
from adhere.study.design.sources import Source, SourceKey, find_sources
from adhere.study.design.spec import StudySpec
from adhere.study.design.tasks import Task, tasks_of
from adhere.suites.base import Suite
from adhere.suites.generated.core.free import LONG, free_prompts
from adhere.suites.generated.core.slices import Audit, Sizes, audit, dev_suite, study_prompts, study_suite
from adhere.suites.generated.core.templates import longer_queries_of_seed, queries_of_seed
from adhere.train.stage.template import TEMPLATED, with_template


class SeedInputs(NamedTuple):
    """Holds the training prompts of one seed, and how they compare with the held-out ones.

    `again` are the prompts of the resampled pool, `further` those of its further pools.
    """

    prompts: tuple[Prompt, ...]
    compared: Report
    again: tuple[Prompt, ...]
    again_compared: Report
    further: tuple[tuple[tuple[Prompt, ...], Report], ...] = ()

    @property
    def everything(self) -> list[Prompt]:
        """All training prompts of the seed."""
        return [*self.prompts, *self.again, *(prompt for prompts, _ in self.further for prompt in prompts)]


DRAW, TRAIN, JUDGE = "draw", "train ", "judge "  # what code does, in `StudyInputs.code`; TRAIN METHOD, JUDGE SUITE


@dataclasses.dataclass(frozen=True)
class StudyInputs:
    """Holds a study whose inputs are loaded and checked."""

    spec: StudySpec
    directory: Path
    start: Path  # directory of the start model's weights
    start_sha256: str
    suite: Suite
    suites: Mapping[str, Suite]  # published ones, by name
    inputs: Mapping[int, SeedInputs]
    audit: Audit
    resolved: Precisions
    code: Mapping[str, str]  # hashes of code and libraries, by what they do
    plan: Plan
    tasks: list[Task]
    shown: list[str]  # ids of the prompts whose answers the report shows
    sources: Mapping[SourceKey, Source]  # what others trained

    @property
    def every_suite(self) -> dict[str, Suite]:
        """All suites that arms are asked: the suite of the verdict under "", published ones by name."""
        return {"": self.suite, **self.suites}

    def sampling_on(self, suite: Suite) -> Sampling:
        """Return how a model answers `suite` in an evaluation; prompts of ours have the study's own token limit."""
        evaluation = self.spec.evaluation
        most = evaluation.suite_tokens.get(suite.name.partition(":")[0], suite.sampling.max_new_tokens)
        if suite is self.suite and not self.spec.asked:
            most = evaluation.max_new_tokens
        return Sampling(max_new_tokens=most, temperature=self.spec.temperature, seed=evaluation.seed)


def load_inputs(spec: StudySpec, directory: Path, *, as_stored: bool = False) -> StudyInputs:
    """Load and check everything that a study needs, without drawing or training anything.

    With `as_stored`, keys hold the code and libraries that the directory's study was last run with, not the present
    ones.

    Raises:
        MissingModel: The start model is not on this machine; the message has the command that fetches it.
        ContaminationError: A training prompt asks for the same as a held-out one.
        UsageError: A published suite's file is missing.
        MissingExtra: Something is trained, and the packages for it are not installed.
        AdhereError: Training and held-out prompts share a wording, a family, or a phrase, key or word that is asked
            for.
    """
    spec = with_budgets(spec)
    sources = find_sources(spec)
    start, start_sha256 = resolve_weights(spec.start) if spec.trains else (directory, "")
    if spec.template and spec.trains:
        with alone(directory / "locks" / TEMPLATED):
            start = with_template(start, spec.template, directory / TEMPLATED)
        start_sha256 = weights_sha256(start)
    if spec.trains and not as_stored:  # before a missing file is told: nothing here can be done without
        need("torch", extra="train")
        need("transformers", extra="train")
    suite, suites = held_out_suite(spec), published_suites(spec)
    require_judge(spec, suite.prompts)
    others = () if spec.data.long is None else [prompt for suite in suites.values() for prompt in suite.prompts]
    inputs = {seed: _inputs(spec, seed, (*suite.prompts, *others)) for seed in (spec.seeds if spec.trains else ())}
    training = [prompt for seed_inputs in inputs.values() for prompt in seed_inputs.everything]
    split = audit(training, () if spec.asked else suite.prompts)
    split.require_clean()
    frozen_study = load_frozen(directory)
    if frozen_study is not None and (as_stored or frozen_study.latest.precision == spec.precision):
        precisions = frozen_study.resolved  # settled once: a resumed or shared study never mixes precisions
    elif not spec.trains:
        precisions = Precisions()
    else:
        precisions = resolve(spec.precision, start, device=resolve_device(spec.device), threads=spec.threads)
    every_suite = {"": suite, **suites}
    methods = sorted({spec.stage(name).stage.name for name in spec.stages})
    if as_stored:
        code = _stored_code(
            frozen_study,
            directory,
            [DRAW, *(TRAIN + method for method in methods), *(JUDGE + name for name in every_suite)],
        )
    else:
        code = {DRAW: drawing_identity(training)}
        code |= {TRAIN + method: training_identity(method) for method in methods}
        code |= {
            JUDGE + name: content_hash(sorted(judges_of(suite.prompts)))
            if spec.asks_rules
            else judging_identity(suite.prompts)
            for name, suite in every_suite.items()
        }
    hashes = _hashes(spec, inputs, [start_sha256, precisions.rollouts, precisions.layout, code[DRAW]])
    identities = {place: source.identity for place, source in sources.items()}
    plan = make_plan(spec, hashes, precisions, {method: code[TRAIN + method] for method in methods}, identities)
    tasks = tasks_of(
        spec,
        plan,
        start_sha256=start_sha256,
        suites={
            name: content_hash([suite.sha256, suite.sampling.max_new_tokens, code[JUDGE + name]])
            for name, suite in every_suite.items()
        },
    )
    shown_prompts = _choose_shown(spec, suite.prompts)
    return StudyInputs(
        spec,
        directory,
        start,
        start_sha256,
        suite,
        suites,
        inputs,
        split,
        precisions,
        code,
        plan,
        tasks,
        shown_prompts,
        sources,
    )


def _stored_code(frozen_study: FrozenStudy | None, directory: Path, names: Sequence[str]) -> Mapping[str, str]:
    """Return the hashes that a stored study's keys hold.

    Raises:
        UsageError: No study was begun, or its version of adhere noted no hash for some part.
    """
    if frozen_study is None:
        raise UsageError(f"{directory} holds no study that was begun: nothing is there to put together")
    missing = [name for name in names if name not in frozen_study.code]
    if missing:
        raise UsageError(
            f"{directory}: adhere {frozen_study.adhere} did not note the code of {', '.join(missing)!r}: the study was "
            "begun by an older version, or its spec was changed. Put it together with the code and libraries that "
            "ran it"
        )
    return frozen_study.code


def _hashes(spec: StudySpec, inputs: Mapping[int, SeedInputs], shared: Sequence[str]) -> dict[int, Inputs]:
    """Hash what the pools of each seed are made from; `shared` holds start weights, precision and code."""
    common = [*shared, spec.pool_reward, spec.data.max_new_tokens]
    data, again = spec.data, spec.resample
    models = [] if data.model is msgspec.UNSET else [data.model]
    common += ["vllm"] if spec.served_by == "vllm" else []
    drawing = [data.draws, data.temperature, data.repair, data.limits, *models]
    resampling = [again.draws, again.temperature, again.repair, again.limits] if again else []
    return {
        seed: Inputs(
            content_hash([*common, seed, list(seed_inputs.prompts), *drawing]),
            content_hash([*common, seed, list(seed_inputs.again), *resampling]),
            tuple(content_hash([*common, seed, list(prompts), *resampling]) for prompts, _ in seed_inputs.further),
        )
        for seed, seed_inputs in inputs.items()
    }


def held_out_suite(spec: StudySpec) -> Suite:
    """Return the suite that the verdict of a study is about: held-out prompts of ours, or the suite that it names."""
    evaluation = spec.evaluation
    if spec.asks_rules:
        return rules_suite(spec)
    if spec.asked:
        return _load_suite(spec.asked, evaluation.suite_limit)
    if evaluation.dev is not None:
        return dev_suite(evaluation.seed, sizes=evaluation.dev, kinds=spec.data.kinds, wordings=spec.data.wordings)
    return study_suite(
        evaluation.seed,
        new_topic=evaluation.new_topic,
        new_wording=evaluation.new_wording,
        new_family=evaluation.new_family,
        new_kind=evaluation.sizes.get("new-kind", Sizes()),
        new_kinds=[] if evaluation.new_kinds is msgspec.UNSET else evaluation.new_kinds,
        kinds=spec.data.kinds,
        wordings=spec.data.wordings,
    )


def published_suites(spec: StudySpec) -> dict[str, Suite]:
    """Return the published suites of a study by name, read from their files.

    Raises:
        UsageError: A file is missing or cannot be read, or a program cannot judge its prompts.
        UnknownName: There is no such suite.
    """
    limit = spec.evaluation.suite_limit
    return {name: _load_suite(full, limit) for name, full in zip(spec.suite_names, spec.other_suites, strict=True)}


def _load_suite(full: str, limit: int | None) -> Suite:
    suite = suites.load(full, limit=limit)
    if not all(any(turn.constraints for turn in prompt.turns) for prompt in suite.prompts):
        raise UsageError(f"{full} has prompts that no program judges, so a study cannot count them")
    return suite


def _inputs(spec: StudySpec, seed: int, held_out: Sequence[Prompt]) -> SeedInputs:
    """Return the training prompts of one seed.

    Every seed has queries of its own, and the resampled pool has other queries than SFT. A prompt too similar to one of
    `held_out` is left out.
    """
    data, again = spec.data, spec.resample
    sizes = {"first": data.prompts, "second": 0 if again is None else again.prompts}
    short, longer = queries_of_seed(seed, **sizes), longer_queries_of_seed(seed, **sizes)

    def composed(name: str, count: int, part: int, share: int = 1) -> tuple[tuple[Prompt, ...], Report]:
        """Return the prompts of one pool; with `share` 2, those that the same dealing gives after `count` prompts."""
        root = derive_seed(data.seed, "prompts", seed) % 2**31
        free = 0 if data.long is None else round(data.long.share * count)
        prompts = study_prompts(
            root,
            share * (count - free),
            kinds=data.kinds,
            wordings=data.wordings,
            singles=data.singles,
            name=name,
            among=short[part],
        )[(share - 1) * (count - free) :]
        if data.long is not None and free:
            limit = {"max_new_tokens": f"{data.max_new_tokens} of {data.long.max_new_tokens}"}
            prompts = tuple(msgspec.structs.replace(prompt, tags=prompt.tags | limit) for prompt in prompts)
            longer_ones = free_prompts(
                root, share * free, kinds=data.long.kinds, name=f"{name}-{LONG}", among=longer[part]
            )
            prompts += longer_ones[(share - 1) * free :]
        report = decontaminate(prompts, held_out, whole_prompts=False)
        return tuple(report.kept(prompts)), report

    prompts, contamination = composed("train", data.prompts, 0)
    if again is None:
        return SeedInputs(prompts, contamination, (), decontaminate((), held_out))
    most = max(spec.stage(name).budget for name in spec.stages)
    further = tuple(composed("again", again.prompts, 1, share) for share in range(2, most + 1))
    return SeedInputs(prompts, contamination, *composed("again", again.prompts, 1), further)


def _choose_shown(spec: StudySpec, prompts: Sequence[Prompt]) -> list[str]:
    """Choose the ids of the prompts to show by a seeded draw, taking the slices in turn."""
    rng = random.Random(spec.evaluation.seed)
    by_slice: dict[str, list[str]] = {}
    for prompt in prompts:
        by_slice.setdefault(prompt.tags.get("slice", ""), []).append(prompt.id)
    chosen: list[str] = []
    for rank in range(min(spec.shown_prompts, len(prompts))):
        names = [name for name in by_slice if by_slice[name]]
        ids = by_slice[names[rank % len(names)]]
        chosen.append(ids.pop(rng.randrange(len(ids))))
    return chosen
