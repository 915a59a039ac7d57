"""Prepares and runs a Study.

prepared = prepare(spec, directory)      start weights, held-out suite, training prompts, audit of the split, plan
result   = prepared.run()                pools → cells → evaluations → statistics → result.json

DIR/study.json      the frozen spec and its changes
DIR/data/           pools        DIR/cells/        trained models and their records
DIR/runs/           stored Runs  DIR/evaluations/  what the statistics need of them
DIR/result.json  report.html
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adhere import suites
from adhere.build.decontaminate import Report, decontaminate
from adhere.errors import IntegrityError, UsageError
from adhere.extras import need
from adhere.models.catalog import resolve_weights
from adhere.models.local.decoder.device import resolve_device
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, content_hash, decode, derive_seed, encode, write_atomic
from adhere.study.design.estimate import Estimate, SuiteSize, estimate, require_resources
from adhere.study.design.frozen import Template, freeze, load_frozen
from adhere.study.design.identity import weights_identity
from adhere.study.design.plan import Inputs, Plan, make_plan
from adhere.study.design.probe import load_probe, probe
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.result import StudyResult
from adhere.study.run.work import Shard, State, Task, Worker, tasks_of
from adhere.suites.base import Suite
from adhere.suites.generated.core.slices import Audit, audit, study_prompts, study_suite
from adhere.train.recipe.guards import template_trouble

if TYPE_CHECKING:
    from adhere.models.local.decoder.precision import Resolved

WHOLE = Shard()


class SeedInputs(NamedTuple):
    """The training prompts of one seed, compared with the held-out ones; `again` are those of the resampled pool."""

    prompts: tuple[Prompt, ...]
    compared: Report
    again: tuple[Prompt, ...]
    again_compared: Report


class Prepared(NamedTuple):
    """A study whose inputs are known and checked, ready to run."""

    spec: StudySpec
    directory: Path
    start: Path  # directory of the start model's weights
    start_sha256: str
    suite: Suite
    suites: Mapping[str, Suite]  # published ones, by name
    inputs: Mapping[int, SeedInputs]
    audit: Audit
    resolved: Resolved
    plan: Plan
    tasks: list[Task]
    estimate: Estimate
    shown: list[str]  # ids of the prompts whose answers the report shows

    def describe(self) -> str:
        """The plan in a few lines: arms, what is left to do, tokens, minutes, memory, disk."""
        return self.estimate.describe(self.spec, self.plan)

    def probed(self, *, jobs: int = 1, progress: Progress | None = None) -> Prepared:
        """The same with minutes that were measured for `jobs` processes: takes some seconds where work is left, and nothing afterwards."""
        state = State(self.directory, self.tasks)
        if load_probe(self.directory, jobs=jobs) is not None or all(state.is_done(task.name) for task in self.tasks):
            return self
        (progress or Silent()).say("Measuring how fast this machine is with this model")
        prompts = next(iter(self.inputs.values())).prompts
        found = probe(self.spec, self.directory, prompts, start=self.start, resolved=self.resolved, jobs=jobs)
        cost = estimate(
            self.spec, self.plan, self.tasks, self.directory, start=self.start, probe=found, jobs=jobs,
            suites={name: suite_size(self.spec, name, one) for name, one in self.suites.items()},
        )  # fmt: skip
        return self._replace(estimate=cost)

    def run(self, *, shard: Shard = WHOLE, progress: Progress | None = None, command: str = "") -> StudyResult:
        """Do what the plan says and store the result. `command` is what a reader would type to get it again.

        Raises:
            ResourceError: Too little memory or disk, said before anything is trained.
            KeyboardInterrupt: Passed on; finished tasks stay, the same call goes on.
        """
        progress = progress or Silent()
        self.begin()
        Worker(self, shard=shard, progress=progress).run()
        return self.result(progress=progress, command=command)

    def begin(self) -> None:
        """Check resources and the chat template, and freeze the spec, or record in what it was changed.

        Raises:
            ResourceError: Too little memory or disk.
            UsageError: The start model has no chat template, or one that leaves the prompt out.
            RunMismatch: The directory was begun with another chat template, or holds another study.
        """
        require_resources(self.estimate, self.directory, resolve_device(self.spec.device))
        state = State(self.directory, self.tasks)
        evaluated = sum(task.kind == "evaluation" and state.is_recorded(task.name) for task in self.tasks)
        evaluated = max(evaluated, len(list((self.directory / "evaluations").glob("*.json"))))
        is_open = any(task.kind == "cell" and not state.is_recorded(task.name) for task in self.tasks)
        template = _template(self.start) if is_open else None
        freeze(self.spec, self.directory, resolved=self.resolved, evaluations=evaluated, template=template)

    def result(self, *, progress: Progress, command: str = "") -> StudyResult:
        """The result of what is finished, stored. One that says the same as the stored one leaves it as it is."""
        from adhere.study.outcome.collect import make_result, same_result

        with progress.step("statistics", None):
            result = make_result(self, command=command)
        file = self.directory / "result.json"
        if file.exists():
            try:
                stored = decode(file.read_bytes(), StudyResult)
            except IntegrityError:  # of another version: written again
                stored = None
            if stored is not None and same_result(stored, result):
                return stored
        write_atomic(file, encode(result))
        return result


def prepare(spec: StudySpec, directory: Path, *, jobs: int = 1, progress: Progress | None = None) -> Prepared:
    """Load and check everything that a study needs, without training anything. `jobs` processes are taken to share the work.

    Raises:
        MissingModel: The start model is not on this machine; the message has the command that fetches it.
        MissingExtra: The training packages are not installed.
        ContaminationError: A training prompt asks for what a held-out one asks for.
        AdhereError: Training and held-out prompts share a wording, a family, or a phrase, key or word that is asked for.
    """
    progress = progress or Silent()
    need("torch", extra="train")
    need("transformers", extra="train")
    from adhere.models.local.decoder.precision import resolve

    start, start_sha256 = resolve_weights(spec.start)
    suite, published = held_out_suite(spec), published_suites(spec)
    inputs = {seed: _inputs(spec, seed, suite) for seed in spec.seeds}
    training = [prompt for found in inputs.values() for prompt in (*found.prompts, *found.again)]
    split = audit(training, suite.prompts)
    split.require_clean()
    identity = weights_identity(training, [str(table["method"]) for table in spec.stages.values()])
    frozen = load_frozen(directory)
    if frozen is not None and frozen.latest.precision == spec.precision:
        resolved = frozen.resolved  # settled once: a resumed or shared study never mixes precisions
    else:
        resolved = resolve(spec.precision, start, device=resolve_device(spec.device), threads=spec.threads)
    shared = [start_sha256, spec.pool_reward, spec.data.max_new_tokens, identity, resolved.rollouts, resolved.layout]
    data, again = spec.data, spec.resample
    hashes = {
        seed: Inputs(
            content_hash([*shared, seed, list(found.prompts), data.draws, data.temperature, data.repair, data.limits]),
            content_hash(
                [*shared, seed, list(found.again)]
                + ([again.draws, again.temperature, again.repair, again.limits] if again else [])
            ),
        )
        for seed, found in inputs.items()
    }
    plan = make_plan(spec, hashes, resolved)
    hashed = {"": suite.sha256} | {
        name: content_hash([one.sha256, one.sampling.max_new_tokens]) for name, one in published.items()
    }
    tasks = tasks_of(spec, plan, start_sha256=start_sha256, suites=hashed, identity=identity)
    known = load_probe(directory, jobs=jobs)
    asked = {name: suite_size(spec, name, one) for name, one in published.items()}
    cost = estimate(spec, plan, tasks, directory, start=start, probe=known, jobs=jobs, suites=asked)
    return Prepared(
        spec,
        directory,
        start,
        start_sha256,
        suite,
        published,
        inputs,
        split,
        resolved,
        plan,
        tasks,
        cost,
        _shown(spec, suite.prompts),
    )


def _template(start: Path) -> Template:
    """The chat template of a model that is about to be trained, by the guard of recipes.

    Training and evaluation put prompts to the model in one way, so a template that ends a turn otherwise hurts no comparison: it is
    noted, for whoever serves the checkpoints.
    """
    from adhere.models.local.transformers import load_tokenizer

    tokenizer = load_tokenizer(start)
    if not tokenizer.chat_template:
        raise UsageError(
            f"{start}: the tokenizer has no chat template, so prompts cannot be put to the model. Start from an instruction-tuned model, "
            "or add a template"
        )
    trouble = template_trouble(tokenizer)
    return Template(content_hash(tokenizer.chat_template), [] if trouble is None else [str(trouble)])


def held_out_suite(spec: StudySpec) -> Suite:
    """The held-out prompts of a study."""
    asked = spec.evaluation
    return study_suite(
        asked.seed, new_topic=asked.new_topic, new_wording=asked.new_wording, new_family=asked.new_family,
        kinds=spec.data.kinds, wordings=spec.data.wordings,
    )  # fmt: skip


def published_suites(spec: StudySpec) -> dict[str, Suite]:
    """The published suites of a study by name, read from their files.

    Raises:
        UsageError: A file is missing or cannot be read, or a program cannot judge its prompts.
        UnknownName: No such suite.
    """
    asked = spec.evaluation
    found = {}
    for name, full in zip(asked.suite_names, asked.suites, strict=True):
        suite = suites.load(full, limit=asked.suite_limit)
        if not all(any(turn.constraints for turn in prompt.turns) for prompt in suite.prompts):
            raise UsageError(
                f"evaluation.suites: {full} has prompts that no program judges, so a study cannot count them"
            )
        found[name] = suite
    return found


def suite_size(spec: StudySpec, name: str, suite: Suite) -> SuiteSize:
    """How many prompts a published suite has, and how long their answers may be in this study."""
    most = spec.evaluation.suite_tokens.get(name, suite.sampling.max_new_tokens)
    return SuiteSize(len(suite.prompts), most)


def _inputs(spec: StudySpec, seed: int, suite: Suite) -> SeedInputs:
    """The training prompts of one seed: every seed has its own."""
    data = spec.data

    def composed(name: str, count: int) -> tuple[tuple[Prompt, ...], Report]:
        root = derive_seed(data.seed, "prompts", seed) % 2**31
        prompts = study_prompts(
            root, count, kinds=data.kinds, wordings=data.wordings, singles=data.singles, name=name
        )  # fmt: skip
        report = decontaminate(prompts, suite.prompts, whole_prompts=False)
        return tuple(report.kept(prompts)), report

    prompts, compared = composed("train", data.prompts)
    if spec.resample is None:
        return SeedInputs(prompts, compared, (), decontaminate((), suite.prompts))
    again, again_compared = composed("again", spec.resample.prompts)
    known = {prompt.text for prompt in prompts}
    return SeedInputs(prompts, compared, tuple(p for p in again if p.text not in known), again_compared)


def _shown(spec: StudySpec, prompts: Sequence[Prompt]) -> list[str]:
    """Prompts by a seeded draw, the slices in turn."""
    rng = random.Random(spec.evaluation.seed)
    by_slice: dict[str, list[str]] = {}
    for prompt in prompts:
        by_slice.setdefault(prompt.tags["slice"], []).append(prompt.id)
    chosen: list[str] = []
    for rank in range(min(spec.shown_prompts, len(prompts))):
        names = [name for name in by_slice if by_slice[name]]
        ids = by_slice[names[rank % len(names)]]
        chosen.append(ids.pop(rng.randrange(len(ids))))
    return chosen
