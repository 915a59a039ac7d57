"""Prepare and run a Study. This module is above design, run and outcome.

prepared = prepare(spec, directory)      start weights, held-out suites, training prompts, audit of the split, plan
result   = prepared.run()                pools → cells → evaluations → statistics → result.json

DIR/study.json      the frozen spec and its changes
DIR/data/           pools        DIR/cells/        trained models and their records
DIR/runs/           stored Runs  DIR/evaluations/  what the statistics need of them
DIR/result.json  report.html
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import version
from pathlib import Path

import msgspec

from adhere.errors import IntegrityError, UsageError
from adhere.lines.workers import WHOLE, Shard
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.vllm import find_vllm
from adhere.progress import Progress, Silent
from adhere.schema import content_hash, decode, encode, write_atomic
from adhere.study.design.asking import estimate_asking, served_lines
from adhere.study.design.estimate import Estimate, SuiteSize, estimate, require_resources
from adhere.study.design.frozen import Template, freeze
from adhere.study.design.inputs import StudyInputs, load_inputs
from adhere.study.design.overlaps import find_overlaps
from adhere.study.design.probe import Probe, load_probe, probe
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.collect import make_result, same_result
from adhere.study.outcome.prompts import save_asked
from adhere.study.outcome.result import StudyResult
from adhere.study.run.measured import foreign_evaluations, torch_of
from adhere.study.run.work import State, Worker
from adhere.suites.base import Suite
from adhere.train.stage.guards import template_trouble


@dataclasses.dataclass(frozen=True)
class PreparedStudy(StudyInputs):
    """Holds a study whose inputs are loaded and checked, ready to run."""

    estimate: Estimate

    def describe(self) -> str:
        """Return the plan in a few lines: arms, remaining work, tokens, minutes, memory, disk, unused evaluations."""
        plan_text = self.estimate.describe(self.spec, self.plan)
        foreign = foreign_evaluations(self.directory, {task.name for task in self.tasks})
        if not foreign:
            return plan_text
        return (
            f"{plan_text}\n  not used    {len(foreign)} evaluations in {self.directory} of other seeds, settings, code "
            f"or libraries (torch {torch_of(foreign[0])}; here {version('torch')}). They stay as they are"
        )

    def probed(self, *, jobs: int = 1, progress: Progress | None = None) -> PreparedStudy:
        """Return the study with minutes measured for `jobs` processes, if work is left and none were measured yet.

        Measuring takes from some seconds to minutes, so the plan with guessed minutes is shown first.
        """
        if not self.spec.trains or self.spec.serves:
            return self
        state = State(self.directory, self.tasks)
        if load_probe(self.directory, jobs=jobs) is not None or all(state.is_done(task.name) for task in self.tasks):
            return self
        progress = progress or Silent()
        progress.say(self.describe())
        prompts = next(iter(self.inputs.values())).prompts
        with progress.step("measuring how fast this machine is with this model, for better minutes", None):
            speeds = probe(self.spec, self.directory, prompts, start=self.start, precisions=self.resolved, jobs=jobs)
        return dataclasses.replace(self, estimate=_estimate(self, speeds, jobs))

    def shared(self, jobs: int) -> PreparedStudy:
        """Return the study with the estimate for `jobs` processes."""
        return dataclasses.replace(self, estimate=_estimate(self, load_probe(self.directory, jobs=jobs), jobs))

    @property
    def device(self) -> str:
        """Device on which torch computes; `cpu` if nothing is computed here (endpoints, answers, sessions)."""
        reads_weights = any(source.weights is not None for source in self.sources.values())
        if self.spec.trains or self.spec.serves or reads_weights:  # a server of ours takes a GPU, too
            return resolve_device(self.spec.device)
        return "cpu"

    def run(self, *, shard: Shard = WHOLE, progress: Progress | None = None, command: str = "") -> StudyResult:
        """Do what the plan says, store the result and return it. `command` is the command that gets the result again.

        Raises:
            ResourceError: There is too little memory or disk; this is raised before anything is trained.
            KeyboardInterrupt: The user stopped the run; finished tasks stay, and the same call resumes.
        """
        progress = progress or Silent()
        self.begin(progress)
        Worker(self, shard=shard, progress=progress).run()
        return self.result(progress=progress, command=command)

    def begin(self, progress: Progress | None = None) -> None:
        """Check resources and the chat template, and freeze the spec or record its changes.

        Raises:
            ResourceError: There is too little memory or disk.
            UsageError: The start model has no chat template, or one that leaves the prompt out.
            RunMismatch: The directory was begun with another chat template, or holds another study.
        """
        if self.spec.serves:
            find_vllm()  # before anything is trained that it is to answer for
        require_resources(self.estimate, self.directory, self.device)
        state = State(self.directory, self.tasks)
        evaluations = sum(task.kind == "evaluation" and state.is_recorded(task.name) for task in self.tasks)
        evaluations = max(evaluations, len(list((self.directory / "evaluations").glob("*.json"))))
        is_open = any(task.kind == "cell" and not state.is_recorded(task.name) for task in self.tasks)
        template = _template(self.start) if is_open else None
        if any(arm.trained_on is not msgspec.UNSET for arm in self.spec.arms):
            find_overlaps(self.spec, self.directory, self.every_suite, progress or Silent())
        freeze(
            self.spec,
            self.directory,
            precisions=self.resolved,
            evaluations=evaluations,
            template=template,
            code=self.code,
        )
        # With it an interrupted study's records reproduce.
        save_asked(self.directory, self.suite, self.suites, is_ours=not self.spec.asked)

    def result(self, *, progress: Progress, command: str = "") -> StudyResult:
        """Return the result of what is finished, and store it; an equal stored result is left as it is."""
        with progress.step("statistics", None):
            save_asked(self.directory, self.suite, self.suites, is_ours=not self.spec.asked)
            result = make_result(self, parameters=self.estimate.parameters, command=command)
        file = self.directory / "result.json"
        if file.exists():
            try:
                earlier_result = decode(file.read_bytes(), StudyResult)
            except IntegrityError:  # of another version: written again
                earlier_result = None
            if earlier_result is not None and same_result(earlier_result, result):
                return earlier_result
        write_atomic(file, encode(result))
        return result


def prepare(spec: StudySpec, directory: Path, *, jobs: int = 1, as_stored: bool = False) -> PreparedStudy:
    """Load and check everything that a study needs, without training anything.

    The cost is estimated for `jobs` processes. `as_stored` is passed on to `load_inputs`, which explains it; a study
    that was prepared with `as_stored=True` must not be run.

    Raises:
        AdhereError: See `load_inputs`.
    """
    inputs = load_inputs(spec, directory, as_stored=as_stored)
    cost = _estimate(inputs, load_probe(directory, jobs=jobs), jobs)
    return PreparedStudy(**vars(inputs), estimate=cost)


def _estimate(study: StudyInputs, speeds: Probe | None, jobs: int) -> Estimate:
    state = State(study.directory, study.tasks)
    done = {task.name: state.is_done(task.name) for task in study.tasks}
    if not study.spec.trains:
        return estimate_asking(study.spec, study.tasks, done, study.sources, study.every_suite)
    sizes = {name: _suite_size(study.spec, name, suite) for name, suite in study.every_suite.items()}
    cost = estimate(study.spec, study.plan, study.tasks, done, start=study.start, probe=speeds, jobs=jobs, suites=sizes)
    if not study.spec.serves:
        return cost
    cells = {cell.key: cell for cell in study.plan.cells}
    lines = served_lines(
        study.spec, study.tasks, done, cells, directory=study.directory, start=study.start, suites=study.every_suite
    )
    return cost._replace(asking=tuple(lines))


def _suite_size(spec: StudySpec, name: str, suite: Suite) -> SuiteSize:
    """Return the number of prompts of a suite and the token limit of their answers in this study."""
    most = spec.evaluation.suite_tokens.get(name or spec.asked.partition(":")[0], suite.sampling.max_new_tokens)
    return SuiteSize(len(suite.prompts), most)


def _template(start: Path) -> Template:
    """Return the chat template of a model that is about to be trained, with the warning of the recipes' guard, if any.

    Training and evaluation put prompts to the model in one way, so a template that ends a turn otherwise hurts no
    comparison. It is noted for whoever serves the checkpoints.

    Raises:
        UsageError: The tokenizer has no chat template.
    """
    from adhere.models.local.transformers import load_tokenizer

    tokenizer = load_tokenizer(start)
    if not tokenizer.chat_template:
        raise UsageError(
            f"{start}: the tokenizer has no chat template, so prompts cannot be put to the model. "
            "Start from an instruction-tuned model, or give it one: template = 'chatml', "
            "or the path of a Jinja template"
        )
    trouble = template_trouble(tokenizer)
    return Template(content_hash(tokenizer.chat_template), [] if trouble is None else [str(trouble)])
