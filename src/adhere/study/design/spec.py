"""Describe a Study as a person writes it: start model, data, evaluation, stages, arms and the rule of the verdict."""

from __future__ import annotations

import random
from typing import Annotated, Literal, NamedTuple

import msgspec

from adhere.build.rows import Limits
from adhere.constraints import registry
from adhere.errors import SpecError, UnknownName
from adhere.pipeline.compare.sides import MARGIN, PERPLEXITY_MARGIN
from adhere.pipeline.reward import RewardKind
from adhere.schema import Counts, Json, Record, content_hash, convert, derive_seed
from adhere.study.design.command import COMMAND, METHOD, command_settings
from adhere.suites.generated.core.deal import kinds_of
from adhere.suites.generated.core.slices import SLICES, Sizes
from adhere.train.recipe import StageSpec
from adhere.train.settings import Lora, OptimizerSettings
from adhere.train.stage.settings import Reward, reward_trouble
from adhere.train.stages import Stage

STUDY_KEYS = ("method", "equal_compute_to", "reward", "lora", "rated_by", "answers", "budget", "kept")

Answers = Literal["verified", "plain", "both"]
RULES = "rules:"
"""Prefix of a suite that is a file of rules; answers to it are sessions of agents."""


class NamedStage(NamedTuple):
    """Holds a stage of the study with its full settings.

    `equal_compute_to` names an arm: this stage trains until it has spent the compute that the arm spends beyond the
    stages that both share. `reward` is the reward of an online stage (`train.stage.settings.Reward`), `lora` the
    adapter that is trained.

    `rated_by` rates pairs by the six criteria for a reward model with `labels = "criteria"`: a model, or `programs`,
    which know two of the criteria. With `answers = "plain"` an SFT stage learns from the start model's own answers to
    queries without constraints, those that ended by themselves, as many and about as long as the verified ones. This is
    the control that separates following from ending. With `answers = "both"` it learns from as many plain answers in
    addition to the verified ones. `kept` is the share of its change that a stage leaves: its weights are merged with
    those that it started from; 1 leaves all of it. `budget` multiplies the steps of an online stage and its resampled
    prompts.
    """

    name: str
    stage: Stage
    settings: OptimizerSettings
    equal_compute_to: str | None
    reward: Reward = "dense"
    lora: Lora | None = None
    rated_by: str = "programs"
    answers: Answers = "verified"
    budget: int = 1
    kept: float = 1.0

    @property
    def key(self) -> list[Json]:
        """Settings, beside method and its settings, on which the stage's cells depend."""
        part = [] if self.kept == 1 else [self.kept]
        return [self.reward if self.stage.online else "", msgspec.to_builtins(self.lora), self.rated_by, *part]


class LongSpec(Record, frozen=True):
    """Describes the part of the training prompts that leaves room for long answers.

    The prompts are in IFEval's manner (`suites.generated.core.free`). SFT rows and pairs hold their answers in the same
    share. An online stage takes these prompts only if its own `max_new_tokens` is as large.

    Args:
        share: Share of the prompts, of SFT and of the resampled data alike.
        kinds: Kinds that the prompts ask for, all with free wordings, ours or IFTrain's.
        max_new_tokens: Token limit of the answers to these prompts.
    """

    kinds: list[str]
    share: float = 0.25
    max_new_tokens: int = 256


class DataSpec(Record, frozen=True):
    """Describes the data that SFT learns from: answers of the start model.

    Every seed composes its own prompts and draws its own answers.

    Args:
        prompts: How many training prompts are composed at each seed.
        kinds: Ids of the train kinds that are trained and measured; empty: all of `core`. A small budget teaches ten
            better than thirty.
        wordings: In how many wordings each kind is said; None: in all that training may use.
        singles: Of every ten prompts, how many have one constraint; the others have two.
        draws: Answers drawn for each prompt, at `temperature`, of at most `max_new_tokens` tokens.
        repair: Whether failing answers are also repaired by a small program edit (and verified).
        limits: How many rows are kept, per prompt and in all.
        seed: Root of every draw, together with the study's seed.
        model: Model that answers, as `adhere eval` names it: an endpoint that serves the start model, or another model;
            without it the start model here.
        long: The part of the prompts that leaves room for long answers; None: there is none.
    """

    prompts: int = 300
    kinds: list[str] = []
    wordings: int | None = None
    singles: int = 8
    draws: int = 6
    temperature: float = 1.0
    max_new_tokens: int = 64
    repair: bool = True
    limits: Limits = Limits()
    seed: int = 0
    long: LongSpec | None = None
    model: str | msgspec.UnsetType = msgspec.UNSET  # a spec without it keeps its hash

    @property
    def most_tokens(self) -> int:
        """Largest token limit of any training answer."""
        return self.max_new_tokens if self.long is None else self.long.max_new_tokens


class ResampleSpec(Record, frozen=True):
    """Describes the data that preference and online stages learn from: answers of the model after SFT to new prompts.

    The Qwen2.5 report (section 4.2) resamples answers to a new set of queries with its SFT model, and scores them for
    the order of online training (4.3). Stages on top of `after` take their pairs and their order from here, and a
    control that trains on SFT rows also gets the rows made here. Without `[resample]`, all stages learn from the start
    model's answers.

    Args:
        after: Name of the stage whose model draws; several names if arms have different SFT stages, as of two trainers.
        prompts: How many new training prompts are composed at each seed, as in [data].
        draws: Answers drawn for each prompt, at `temperature`.
        repair: Whether prompts without a passing answer get a repaired one.
        limits: How many rows are kept.
    """

    after: str | list[str]
    prompts: int = 200
    draws: int = 8
    temperature: float = 1.0
    repair: bool = True
    limits: Limits = Limits()

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of `after`, as a tuple."""
        return (self.after,) if isinstance(self.after, str) else tuple(self.after)


class EvaluationSpec(Record, frozen=True):
    """Describes how every arm is evaluated.

    Answers are greedy, to held-out prompts (`suites.generated.core.slices`), from one engine at one precision (`bf16`
    only where models are served). `coverage` is the share of prompts that every compared evaluation must have measured;
    below it there is no verdict.

    Args:
        suites: Published suites that every arm is measured on as well: `ifeval:PATH`, any suite that `adhere eval`
            takes and a program judges. A path is relative to where the study is started.
        suite_tokens: Token limit of an answer by name of the suite (`ifeval`); otherwise the suite's own limit.
        suite_limit: Most prompts of each published suite, an even share of each slice; None: all.
        dev: Prompts for choosing settings, instead of the held-out ones; `[tune]` sets it.
        draws: Answers to each prompt [1], of models that others trained; more than 1 needs a `temperature` above 0.
        temperature: Temperature of these answers [0, greedy].
        across_engines: Compare arms that different engines answer, or that are prompted or stopped differently.
        new_kind: Prompts that ask for one of `new_kinds`, which training never saw though it may know their family;
            `[kinds]` sets `new_kinds`.
    """

    seed: int = 0
    new_topic: Sizes = Sizes()
    new_wording: Sizes = Sizes()
    new_family: Sizes = Sizes()
    max_new_tokens: int = 64
    precision: Literal["fp32", "bf16"] = "fp32"
    coverage: float = 0.99
    suites: list[str] = []
    suite_tokens: dict[str, int] = {}
    suite_limit: int | None = None
    dev: Sizes | None = None
    draws: int | msgspec.UnsetType = msgspec.UNSET  # a spec without these keeps its hash
    temperature: float | msgspec.UnsetType = msgspec.UNSET
    across_engines: bool | msgspec.UnsetType = msgspec.UNSET
    new_kind: Sizes | msgspec.UnsetType = msgspec.UNSET
    new_kinds: list[str] | msgspec.UnsetType = msgspec.UNSET

    @property
    def suite_names(self) -> list[str]:
        """Names of the published suites: the part before the colon."""
        return [name.partition(":")[0] for name in self.suites]

    @property
    def prompts(self) -> int:
        """Number of prompts of all slices."""
        sizes = [self.dev] if self.dev is not None else self.sizes.values()
        return sum(size.single + size.multiple for size in sizes)

    @property
    def sizes(self) -> dict[str, Sizes]:
        """The held-out slices and how many prompts each has."""
        new_kind = {} if self.new_kind is msgspec.UNSET else {"new-kind": self.new_kind}
        old = {"new-topic": self.new_topic, "new-wording": self.new_wording, "new-family": self.new_family}
        return old | new_kind

    @property
    def slices(self) -> list[str]:
        """Names of what a contrast may be over: everything, a slice, a number of constraints, or both."""
        further = [] if self.new_kind is msgspec.UNSET else ["new-kind", "new-kind/single", "new-kind/multiple"]
        return ["all", "single", "multiple", "new-topic", "new-wording", "new-family", *SLICES, *further]


class DrawnKinds(Record, frozen=True):
    """Lets every seed draw its own kinds of constraint, so that a verdict holds for other seeds and kinds, too.

    Each seed is a study of its own, with its own kinds and its own held-out prompts (`study.drawn`).

    Args:
        among: Ids of the kinds that are drawn from; only those of part `train` are ever trained.
        trained: How many kinds are trained at each seed, and asked for on new topics and in new wordings.
        untrained: How many of the other kinds are asked for in the slice `new-kind`.
        seed: Root of the draw, together with the study's seed.
    """

    among: list[str]
    trained: Annotated[int, msgspec.Meta(ge=2)]
    untrained: Annotated[int, msgspec.Meta(ge=0)] = 0
    seed: int = 0

    def at(self, seed: int) -> tuple[list[str], list[str]]:
        """Return (the kinds that are trained at a seed, those that are only asked for), each sorted."""
        rng = random.Random(derive_seed(self.seed, "kinds", seed))
        able = [
            kind.id for kind in kinds_of("train", [name for name in self.among if registry.get(name).part == "train"])
        ]
        trained = sorted(rng.sample(able, self.trained))
        others = sorted({*self.among} - {*trained})
        return trained, sorted(rng.sample(others, self.untrained))


class FinalsSpec(Record, frozen=True):
    """Describes the second round of a tuning: the `best` trials of each stage run again at further `seeds`."""

    best: Annotated[int, msgspec.Meta(ge=1)]
    seeds: list[int]


class TuneSpec(Record, frozen=True):
    """Describes how settings of stages are chosen before the study begins, with as many trials for each stage.

    Args:
        grid: By stage, the values of each setting; every combination is a trial.
        seeds: Seeds at which trials are trained: none of the study's.
        tokens: Completion tokens that every trial of every method trains on, in place of the compute that its stage is
            matched to. None: a stage of equal compute takes the compute of the trial with the same number, so that
            settings and budget are searched for together.
        finals: The best trials of each stage are trained at further seeds, and chosen by all of them; None: the best of
            the first round is chosen.
        widen: Where a chosen number lies at the edge of its grid, the grids of all stages are widened by a value on
            that side, at most so many times. An edge at 0 does not count.
        dev: Prompts that trials are measured on. They share no query, topic, phrase, key, word or wording with training
            or test.
    """

    grid: dict[str, dict[str, list[Json]]]
    seeds: list[int] = msgspec.field(default_factory=lambda: [1000])
    tokens: int | None = None
    finals: FinalsSpec | None = None
    widen: int = 0
    dev: Sizes = Sizes(single=80, multiple=40)


BySeed = str | dict[str, str] | msgspec.UnsetType


class ArmSpec(Record, frozen=True):
    """Describes an arm: a recipe inside the study, or a model that others trained.

    `stages` are names of stages, run in order from the start model. Instead, an arm may have `models` (names as `adhere
    eval` takes them) or `answers` (existing files of answers, or folders of sessions): one text with `{seed}` in it, or
    a table from seed to name. `{start}` in a name stands for each of the study's `starts`. Without `{seed}` the arm is
    one model, which answers once. `trained_on` names files of the arm's training rows, to be compared with the prompts.
    `seeds` are the study's seeds at which the arm is run [all].
    """

    name: str
    stages: list[str] = []
    note: str = ""
    seeds: list[int] | None = None
    models: BySeed = msgspec.UNSET  # a spec without these keeps its hash
    answers: BySeed = msgspec.UNSET
    trained_on: list[str] | msgspec.UnsetType = msgspec.UNSET

    @property
    def source(self) -> str | dict[str, str] | None:
        """The models or answers of others; None for an arm of stages, and for the start model."""
        return next((source for source in (self.models, self.answers) if source is not msgspec.UNSET), None)

    @property
    def is_start(self) -> bool:
        """Whether the arm is the start model as it is."""
        return not self.stages and self.source is None

    @property
    def is_seeded(self) -> bool:
        """Whether the arm has one model or file of answers for each seed."""
        return isinstance(self.source, dict) or "{seed}" in (self.source or "")

    def of_start(self, start: str) -> ArmSpec:
        """Return the arm with `{start}` in the names of its models or answers filled in."""

        def fill(by_seed: BySeed) -> BySeed:
            if isinstance(by_seed, dict):
                return {seed: name.replace("{start}", start) for seed, name in by_seed.items()}
            return by_seed.replace("{start}", start) if isinstance(by_seed, str) else by_seed

        return msgspec.structs.replace(self, models=fill(self.models), answers=fill(self.answers))

    def at(self, seed: int | None) -> str:
        """Return the name of the arm's model or file of answers at a seed.

        Raises:
            SpecError: The table has no name for this seed.
        """
        if isinstance(self.source, dict):
            if str(seed) not in self.source:
                raise SpecError(
                    f"arms.{self.name}: the table has no seed {seed}; it has {', '.join(self.source)}. Add it, or "
                    "leave the seed out of the study's seeds"
                )
            return self.source[str(seed)]
        return (self.source or "").replace("{seed}", str(seed))


class ContrastSpec(Record, frozen=True):
    """Names two arms to compare on one slice (see `EvaluationSpec.slices`)."""

    treatment: str
    control: str
    slice: str = "all"


class VerdictSpec(Record, frozen=True):
    """States the question and the rule that answers it, fixed before the study runs.

    With the interval of treatment minus control: YES where it lies above 0, NO where it lies below 0, EQUIVALENT where
    it lies within ± `smallest_effect`, INCONCLUSIVE otherwise. `smallest_effect` is a difference of rates: 0.03 is 3
    points. `counts` is what counts as following, in contrasts on the study's own prompts and in [tune]: `passing`
    [without it], `sound`, an answer that passes and is more than the letter (`run.measured.Measurement.sound`), or
    `responsive`, one that passes and responds to its request (`pipeline.responding`). `suite` asks the question on a
    suite of `adhere list suites` (`ifeval:PATH`) instead of held-out prompts of ours, or, as `rules:FILE`, of the rules
    that agents were told, whose sessions are the answers (`design.rules`). `judge` pins the judge: the hash that
    `adhere study --register` prints; another judge is refused.
    """

    question: str
    treatment: str
    control: str
    slice: str = "all"
    smallest_effect: float = 0.03
    confidence: float = 0.95
    secondary: list[ContrastSpec] = []
    counts: Counts = msgspec.UNSET  # a spec without it keeps its hash
    suite: str | msgspec.UnsetType = msgspec.UNSET
    judge: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def primary(self) -> ContrastSpec:
        """The contrast that answers the question."""
        return ContrastSpec(self.treatment, self.control, self.slice)


class StartSpec(Record, frozen=True):
    """Names a start model, and for a base model its `template`, as in StudySpec."""

    model: str
    template: str = ""


class GuardSpec(Record, frozen=True):
    """Sets how much worse the treatment may be than the control, and than the start, beside the pass rate.

    These are margins of tests of non-inferiority.

    Args:
        words: Share of the reference's mean words that may be lost, here and on every published suite.
        topic_words: How far the share of the query's topic words may fall, but never by more than the share
            `of_its_own`.
        of_its_own: Largest share of the reference's own value that may be lost, for no result could violate a margin
            above that value.
        repetition: How far the share of repetitive answers may rise.
        echo: How far the share of answers that mostly repeat the prompt may rise.
        empty_form: How far the share of answers with hardly a word beyond the prompt's may rise.
        perplexity: By which share the perplexity of plain text may rise.
        solved: How far the share of tasks that sessions solved may fall [0.05].
        side: By how much a rate that another harness measured may fall (a share: 0.02 are two points).
        side_perplexity: By which share a perplexity that another harness measured may rise.
    """

    words: float = 0.2
    topic_words: float = 0.05
    of_its_own: float = 0.25
    repetition: float = 0.05
    echo: float = 0.05
    empty_form: float = 0.05
    perplexity: float = 0.1
    side: float = MARGIN
    side_perplexity: float = PERPLEXITY_MARGIN
    solved: float | msgspec.UnsetType = msgspec.UNSET  # a spec without it keeps its hash


class StudySpec(Record, frozen=True):
    """Describes a whole study.

    `stages` maps a name to a table: its `method` (see `adhere list stages`), the settings of that method, and what
    `NamedStage` has beside them. A stage shared by arms is trained once. `reward` is that of all online stages that
    name none of their own. `starts` are several start models instead of `start` alone: the whole study is done from
    each (`study.starts`). `budgets` are multiples of the online steps and prompts, at each of which both arms of the
    verdict are trained (`design.budgets`). `template` gives a base model a chat template, `chatml` or the path of a
    Jinja template (relative to where the study is started); its tokens are trained. `device` and `threads` say where it
    runs. `precision` is that of training and of drawing answers to train on, not of evaluation: `auto` takes bf16 where
    this machine is faster in it, once for the whole study. With `keep_weights` false a trained
    model is deleted when nothing needs it any more. `kinds` draws other kinds of constraint at every seed. With
    `keep_answers` true every answer of every evaluation is packed with the records, so that whoever finds a better
    measure can count again (`run.answers`). With `served_by` a server is started for each model that draws or answers;
    `gpus` are those of a job that does cells (`--emit slurm`), beside what stages say.
    """

    name: str
    verdict: VerdictSpec
    arms: list[ArmSpec]
    stages: dict[str, dict[str, Json]] = {}
    start: str = ""
    seeds: list[int] = msgspec.field(default_factory=lambda: [0])
    threads: int | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    data: DataSpec = DataSpec()
    resample: ResampleSpec | None = None
    tune: TuneSpec | None = None
    evaluation: EvaluationSpec = EvaluationSpec()
    guards: GuardSpec = GuardSpec()
    reward: Reward = "dense"
    shown_prompts: int = 5
    keep_weights: bool = True
    keep_answers: bool | msgspec.UnsetType = msgspec.UNSET  # a spec without it keeps its hash
    served_by: Literal["vllm"] | msgspec.UnsetType = msgspec.UNSET
    gpus: Annotated[int, msgspec.Meta(ge=0)] | msgspec.UnsetType = msgspec.UNSET
    template: str = ""
    budgets: list[int] = []
    starts: list[str | StartSpec] = []
    kinds: DrawnKinds | msgspec.UnsetType = msgspec.UNSET  # a spec without it keeps its hash

    @property
    def trains(self) -> bool:
        """Whether anything is drawn or trained here, or the start model measured."""
        return any(arm.source is None for arm in self.arms)

    @property
    def serves(self) -> bool:
        """Whether servers of vLLM are started for the study on this machine."""
        names = [] if self.data.model is msgspec.UNSET else [self.data.model]
        for arm in self.arms:
            names += arm.source.values() if isinstance(arm.source, dict) else [arm.source or ""]
        return self.served_by == "vllm" or any(name.startswith("vllm/") for name in names)

    @property
    def most_gpus(self) -> int:
        """Number of GPUs of a job that trains the study's cells: the most that the study or a stage asks for."""
        of_stages = [getattr(self.stage(name).settings, "gpus", 0) for name in self.stages]
        return max([0 if self.gpus is msgspec.UNSET else self.gpus, *of_stages])

    @property
    def start_arm(self) -> str | None:
        """Name of the arm that is the start model as it is, or None."""
        return next((arm.name for arm in self.arms if arm.is_start), None)

    @property
    def references(self) -> list[str]:
        """The arms that the treatment is tested against: the control, then the start arm if it is another one."""
        control, start = self.verdict.control, self.start_arm
        return [control] if start in {None, self.verdict.treatment, control} else [control, start]

    @property
    def asked(self) -> str:
        """The full name of the suite that the verdict is about; empty: held-out prompts of ours."""
        suite = self.verdict.suite
        if suite is msgspec.UNSET:
            return ""
        return next((name for name in self.evaluation.suites if name.partition(":")[0] == suite), suite)

    @property
    def asks_rules(self) -> bool:
        """Whether the verdict is about rules that agents were told; the answers are sessions."""
        return self.asked.startswith(RULES)

    @property
    def other_suites(self) -> list[str]:
        """Full names of the published suites that every arm is measured on beside the suite of the verdict."""
        return [name for name in self.evaluation.suites if name != self.asked]

    @property
    def suite_names(self) -> list[str]:
        """Names of `other_suites`: the part before the colon."""
        return [name.partition(":")[0] for name in self.other_suites]

    @property
    def draws(self) -> int:
        """Number of answers to each prompt in evaluations."""
        return 1 if self.evaluation.draws is msgspec.UNSET else self.evaluation.draws

    @property
    def temperature(self) -> float:
        """Temperature of the answers in evaluations."""
        return 0.0 if self.evaluation.temperature is msgspec.UNSET else self.evaluation.temperature

    @property
    def each_start(self) -> list[StartSpec]:
        """The several start models; empty if there is `start` alone."""
        return [StartSpec(start) if isinstance(start, str) else start for start in self.starts]

    def from_start(self, model: str) -> StudySpec:
        """Return the study from `model` alone, with this model's template if it is one of `starts`."""
        template = next((start.template for start in self.each_start if start.model == model), self.template)
        arms = [arm.of_start(model) for arm in self.arms]
        return msgspec.structs.replace(self, start=model, template=template, starts=[], arms=arms)

    def at_seed(self, seed: int) -> StudySpec:
        """Return the study at one of its seeds alone, with the kinds and held-out prompts that this seed draws."""
        return msgspec.structs.replace(self.with_kinds_of(seed), seeds=[seed], tune=None)

    def with_kinds_of(self, seed: int) -> StudySpec:
        """Return the study with the kinds and held-out prompts that one seed draws, or unchanged if none are drawn."""
        if self.kinds is msgspec.UNSET:
            return self
        trained, others = self.kinds.at(seed)
        evaluation = msgspec.structs.replace(
            self.evaluation, seed=derive_seed(self.evaluation.seed, "held-out", seed) % 2**31, new_kinds=others
        )
        data = msgspec.structs.replace(self.data, kinds=trained)
        return msgspec.structs.replace(self, data=data, evaluation=evaluation, kinds=msgspec.UNSET)

    @property
    def pool_reward(self) -> RewardKind:
        """The reward that scores the answers of pools. It is no reward model, for that is trained on these answers."""
        return self.reward if self.reward in ("dense", "binary") else "dense"

    @property
    def sha256(self) -> str:
        """The hash of everything written in the spec."""
        return content_hash(self)

    def arm(self, name: str) -> ArmSpec:
        """Return the arm called `name`."""
        return next(arm for arm in self.arms if arm.name == name)

    def stage(self, name: str) -> NamedStage:
        """Return a named stage with its typed settings.

        Raises:
            SpecError: The method is missing or unknown, or a setting is unknown or not allowed.
        """
        table = dict(self.stages[name])
        method, equal_compute_to = table.pop("method", None), table.pop("equal_compute_to", None)
        if not isinstance(method, str):
            raise SpecError(f"stages.{name}: needs a method, e.g. method = 'sft' (adhere list stages)")
        if equal_compute_to is not None and not isinstance(equal_compute_to, str):
            raise SpecError(f"stages.{name}.equal_compute_to: got {equal_compute_to!r}, must be the name of an arm")
        own = {key: table.pop(key) for key in STUDY_KEYS[2:] if key in table}
        if method == METHOD:
            if equal_compute_to is not None or own:
                key = "equal_compute_to" if equal_compute_to is not None else next(iter(own))
                raise SpecError(f"stages.{name}.{key}: a command cannot be told so; put what it needs into the command")
            return NamedStage(name, COMMAND, command_settings(name, table), None)
        if "trainer" in table:
            return self._stage_of_others(name, method, table, equal_compute_to, own)
        spec = StageSpec(method, table)
        try:
            kind = spec.kind
            study_settings = convert({"reward": self.reward} | own, _Own)
            settings = spec.resolved()
            if study_settings.budget > 1 and "steps" in settings.__struct_fields__:
                settings = msgspec.structs.replace(settings, steps=study_settings.budget * settings.steps)  # type: ignore[attr-defined]
            return NamedStage(name, kind, settings, equal_compute_to, *msgspec.structs.astuple(study_settings))
        except UnknownName as error:
            raise SpecError(f"stages.{name}.method: {error}") from error
        except (SpecError, msgspec.ValidationError) as error:
            raise SpecError(f"stages.{name}: {error}") from error

    def _stage_of_others(
        self, name: str, method: str, table: dict[str, Json], equal_compute_to: str | None, own: dict[str, Json]
    ) -> NamedStage:
        """Return a stage that another project's trainer runs, on our rows and our reward."""
        from adhere.study.design.by_trl import KEYS, by_trl

        where, trainer = f"stages.{name}", table.pop("trainer")
        if trainer != "trl":
            raise SpecError(f"{where}.trainer: got {trainer!r}, must be 'trl'. Others run by method = 'command'")
        alone = next((key for key in own if key not in {"reward", "lora"}), None)
        if equal_compute_to is not None or alone is not None:
            raise SpecError(f"{where}.{alone or 'equal_compute_to'}: TRL cannot be told so; leave it or `trainer` out")
        others = {key: table.pop(key) for key in KEYS if key in table}
        if self.precision != "auto":  # which asks what *our* products are faster in
            table.setdefault("precision", self.precision)
        try:
            study_settings = convert({"reward": self.reward} | own, _Own)
            settings = by_trl(
                name, StageSpec(method, table), own=others, reward=study_settings.reward, lora=study_settings.lora
            )
        except UnknownName as error:
            raise SpecError(f"{where}.method: {error}") from error
        except msgspec.ValidationError as error:
            raise SpecError(f"{where}: {error}") from error
        return NamedStage(name, COMMAND, settings, None)


class _Own(Record, frozen=True):
    """Types the keys of a stage's table that belong to the study; the last fields of NamedStage, in its order."""

    reward: Reward
    lora: Lora | None = None
    rated_by: str = "programs"
    answers: Answers = "verified"
    budget: Annotated[int, msgspec.Meta(ge=1)] = 1
    kept: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0

    def __post_init__(self) -> None:
        if (trouble := reward_trouble(self.reward)) is not None:
            raise ValueError(trouble)


def in_slice(name: str, group: str) -> bool:
    """Tell whether the suite's slice `name` ("new-topic/single") belongs to `group`.

    A group is the slice itself, "new-topic", "single" or "all".
    """
    return group in {"all", name, *name.split("/")}
