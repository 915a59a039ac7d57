"""A Study as a person writes it: start model, data, evaluation, named stages, arms and the rule of the verdict."""

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
"""What a suite begins with that is a file of rules; answers to it are sessions of agents."""


class NamedStage(NamedTuple):
    """A stage of the study with its full settings.

    `equal_compute_to` names an arm: this stage trains until it has spent the compute that the arm spends beyond the
    stages that both share. `reward` is an online stage's (`train.stage.settings.Reward`), `lora` the adapter that is
    trained.
    `rated_by` is who rates pairs by the six criteria for a reward model with `labels = "criteria"`: a model, or
    `programs`, which know two of them. `answers = "plain"`: an SFT stage learns from the start model's own answers to
    queries without constraints that ended by themselves, as many and about as long as the verified ones: the control
    that separates following from ending. `answers = "both"` replays as many plain answers beside the verified ones.
    `kept` is the share of its change that a stage leaves: its weights are merged with those that it started from; 1
    leaves all of it. `budget`: an online stage takes so many times its steps, on so many times the resampled prompts.
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
        """The inputs of its cells beside method and settings."""
        part = [] if self.kept == 1 else [self.kept]
        return [self.reward if self.stage.online else "", msgspec.to_builtins(self.lora), self.rated_by, *part]


class LongSpec(Record, frozen=True):
    """The part of the training prompts that leaves room for long answers.

    In IFEval's manner (`suites.generated.core.free`). SFT rows and pairs hold its answers in the same share. Online
    stages take these prompts only where their own `max_new_tokens` is as large.

    Args:
        share: Of the prompts, of SFT and of the resampled data alike.
        kinds: What they ask for: kinds that have free wordings, ours or IFTrain's.
        max_new_tokens: Limit of their answers.
    """

    kinds: list[str]
    share: float = 0.25
    max_new_tokens: int = 256


class DataSpec(Record, frozen=True):
    """The data that SFT learns from: answers of the start model.

    Every seed composes its own prompts and draws its own answers.

    Args:
        prompts: How many training prompts are composed at each seed.
        kinds: Ids of the train kinds that are trained and measured; empty: all of `core`. A small budget teaches ten
            better than thirty.
        wordings: In how many wordings each kind is said; None: in all that training may use.
        singles: Of every ten prompts, how many have one constraint; the others have two.
        draws: Answers drawn for each, at `temperature`, of at most `max_new_tokens` tokens.
        repair: Whether failing answers are also repaired by a small program edit (and verified).
        limits: How many rows are kept, per prompt and in all.
        seed: Root of every draw, together with the study's seed.
        model: Who answers, as `adhere eval` names it: an endpoint that serves the start model, or another model;
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
        """The most tokens that any training answer may have."""
        return self.max_new_tokens if self.long is None else self.long.max_new_tokens


class ResampleSpec(Record, frozen=True):
    """The data that preference and online stages learn from: answers of the model after SFT to a new set of prompts.

    The Qwen2.5 report (section 4.2) resamples answers to a new set of queries with its SFT model, and scores them for
    the order of online training (4.3). Stages on top of `after` take their pairs and their order from here, and a
    control that trains on SFT rows also gets the rows made here. Where it is not given, all stages learn from the start
    model's answers.

    Args:
        after: Name of the stage whose model draws; several, where arms have an SFT stage each, of two trainers say.
        prompts: How many new training prompts are composed at each seed, as in [data].
        draws: Answers drawn for each, at `temperature`.
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
        """The stages of `after`."""
        return (self.after,) if isinstance(self.after, str) else tuple(self.after)


class EvaluationSpec(Record, frozen=True):
    """How every arm is evaluated.

    Greedy, on held-out prompts (`suites.generated.core.slices`), on one engine at one precision (`bf16` only where
    models are served). `coverage` is the share of prompts that every compared evaluation must have measured; below it
    there is no verdict.

    Args:
        suites: Published suites that every arm is measured on as well: `ifeval:PATH`, any suite that `adhere eval`
            takes and a program judges. A path is relative to where the study is started.
        suite_tokens: How long their answers may be, by name (`ifeval`); else as long as the suite's own limit.
        suite_limit: At most so many prompts of each, an even share of each slice; None: all.
        dev: Prompts for choosing settings, instead of the held-out ones; `[tune]` sets it.
        draws: Answers a prompt [1], of models that others trained; above 1 at a `temperature` above 0.
        temperature: Of their answers [0, greedy].
        across_engines: Compare arms that different engines answer, or that are prompted or stopped differently.
        new_kind: Prompts that ask for one of `new_kinds`, which training never saw though it may know their family;
            `[kinds]` sets what they are.
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
        """The names of the published suites: what stands before the colon."""
        return [name.partition(":")[0] for name in self.suites]

    @property
    def prompts(self) -> int:
        """The number of prompts of all slices."""
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
        """The names of what a contrast may be over: everything, a slice, a number of constraints, or both."""
        further = [] if self.new_kind is msgspec.UNSET else ["new-kind", "new-kind/single", "new-kind/multiple"]
        return ["all", "single", "multiple", "new-topic", "new-wording", "new-family", *SLICES, *further]


class DrawnKinds(Record, frozen=True):
    """Kinds of constraint that every seed draws anew, so that an answer is about kinds as it is about seeds.

    Each seed is a study of its own, with its own kinds and its own held-out prompts (`study.drawn`).

    Args:
        among: Ids of the kinds that are drawn from; only those of part `train` are ever trained.
        trained: How many are trained at each seed, and asked for on new topics and in new wordings.
        untrained: How many of the others are asked for in the slice `new-kind`.
        seed: Root of the draw, together with the study's seed.
    """

    among: list[str]
    trained: Annotated[int, msgspec.Meta(ge=2)]
    untrained: Annotated[int, msgspec.Meta(ge=0)] = 0
    seed: int = 0

    def at(self, seed: int) -> tuple[list[str], list[str]]:
        """The kinds that are trained at a seed, and those that are only asked for."""
        rng = random.Random(derive_seed(self.seed, "kinds", seed))
        able = [kind.id for kind in kinds_of("train", [one for one in self.among if registry.get(one).part == "train"])]
        trained = sorted(rng.sample(able, self.trained))
        others = sorted({*self.among} - {*trained})
        return trained, sorted(rng.sample(others, self.untrained))


class FinalsSpec(Record, frozen=True):
    """The second round of a tuning: the `best` trials of each stage, at `seeds` beside those of the first."""

    best: Annotated[int, msgspec.Meta(ge=1)]
    seeds: list[int]


class TuneSpec(Record, frozen=True):
    """Choosing the settings of stages before the study begins, with as many trials for each of them.

    Args:
        grid: Of each tuned stage, the values of each setting; every combination is a trial.
        seeds: What trials are trained at: none of the study's.
        tokens: Completion tokens that every trial of every method trains on, in place of what its stage is matched to;
            None: a stage of equal compute takes what the trial of the same number took, so that its settings and its
            budget are searched for together.
        finals: The best trials of each stage are trained at further seeds, and chosen by all of them; None: the best of
            the first round is chosen.
        widen: Where a chosen number lies at the edge of its grid, the grids of all stages are widened by a value on
            that side, at most so many times. An edge at 0 is none.
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
    """A recipe inside the study, or what others trained.

    `stages` are names of stages, run in order from the start model. In their place an arm takes `models`, names
    as `adhere eval` takes them, or `answers`, files of answers that are there, or folders of sessions: one text with
    `{seed}` in it, or a table from seed to name; `{start}` in it is each of the study's `starts`. Without a seed it is
    one model, answered once. `trained_on` names files of its training rows, to be compared with what is asked. `seeds`
    are those of the study's at which it is run [all].
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
        """The models or answers that are there; None for an arm of stages, and for the start model."""
        return next((one for one in (self.models, self.answers) if one is not msgspec.UNSET), None)

    @property
    def is_start(self) -> bool:
        """Tell whether it is the start model as it is."""
        return not self.stages and self.source is None

    @property
    def is_seeded(self) -> bool:
        """Tell whether it has a model or a file of answers a seed."""
        return isinstance(self.source, dict) or "{seed}" in (self.source or "")

    def of_start(self, start: str) -> ArmSpec:
        """The arm with `{start}` in the names of its models or answers filled in."""

        def fill(one: BySeed) -> BySeed:
            if isinstance(one, dict):
                return {seed: name.replace("{start}", start) for seed, name in one.items()}
            return one.replace("{start}", start) if isinstance(one, str) else one

        return msgspec.structs.replace(self, models=fill(self.models), answers=fill(self.answers))

    def at(self, seed: int | None) -> str:
        """The name of its model or file of answers at a seed.

        Raises:
            SpecError: A table that has none for it.
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
    """One arm against another on one slice (see `EvaluationSpec.slices`)."""

    treatment: str
    control: str
    slice: str = "all"


class VerdictSpec(Record, frozen=True):
    """The question and the rule that answers it, fixed before the study runs.

    With the interval of treatment minus control: YES where it lies above 0, NO where it lies below 0, EQUIVALENT where
    it lies within ± `smallest_effect`, INCONCLUSIVE otherwise. `smallest_effect` is a difference of rates: 0.03 is 3
    points. `counts` is what counts as following, in contrasts on the study's own prompts and in [tune]: `passing`
    [without it], `sound`, an answer that passes and is more than the letter (`run.measured.Measurement.sound`), or
    `responsive`, one that passes and responds to its request (`pipeline.responding`).
    `suite` asks the question on a suite of `adhere list suites` (`ifeval:PATH`) instead of held-out prompts of ours,
    or, as `rules:FILE`, of the rules that agents were told, whose sessions are the answers (`design.rules`).
    `judge` pins the judge: the hash that `adhere study --register` prints; another judge is refused.
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
    """A start model; `template` as that of the study, for a base model."""

    model: str
    template: str = ""


class GuardSpec(Record, frozen=True):
    """How much worse the treatment may be than the control, and than the start, beside the pass rate.

    Margins of the tests of non-inferiority.

    Args:
        words: Share of the reference's mean words that may be lost, here and on every published suite.
        topic_words: How far the share of the query's topic words may fall, but never by more than the share
            `of_its_own`.
        of_its_own: Share of what the reference itself has that may be lost: a margin above what there is could not be
            missed.
        repetition: How far the share of repetitive answers may rise.
        echo: How far the share of answers may rise that mostly repeat the prompt.
        empty_form: How far the share of answers may rise that say hardly a word which the prompt does not have.
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
    """A whole study.

    `stages` maps a name to a table: its `method` (see `adhere list stages`), the settings of that method, and what
    `NamedStage` has beside them. A stage shared by arms is trained once. `reward` is that of all online stages that
    name none of their own. `starts` are several start models instead of `start` alone: the whole study is done from
    each (`study.starts`). `budgets` are times the online steps and prompts at which both arms of the verdict are
    trained (`design.budgets`). `template` gives a base model a chat template, `chatml` or the path of a Jinja template
    (relative to where the study is started); its tokens are trained. `device` and `threads` say where it runs,
    `precision` in what trained and drawn (evaluation is always fp32): `auto` takes bf16 where this machine is faster in
    it, once for the whole study. With `keep_weights` false a trained model is deleted when nothing needs it any more.
    `kinds` draws other kinds of constraint at every seed. With `keep_answers` true every answer of every evaluation is
    packed with the records, so that whoever finds a better measure can count again (`run.answers`). With `served_by` a
    server is started for each model that draws or answers; `gpus` are those of a job that does cells (`--emit slurm`),
    beside what stages say.
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
        """Tell whether anything is drawn or trained here, or the start model measured."""
        return any(arm.source is None for arm in self.arms)

    @property
    def serves(self) -> bool:
        """Tell whether servers of vLLM are started for it on this machine."""
        names = [] if self.data.model is msgspec.UNSET else [self.data.model]
        for arm in self.arms:
            names += arm.source.values() if isinstance(arm.source, dict) else [arm.source or ""]
        return self.served_by == "vllm" or any(name.startswith("vllm/") for name in names)

    @property
    def most_gpus(self) -> int:
        """The GPUs of a job that does its cells: the most that the study or a stage asks for."""
        of_stages = [getattr(self.stage(name).settings, "gpus", 0) for name in self.stages]
        return max([0 if self.gpus is msgspec.UNSET else self.gpus, *of_stages])

    @property
    def start_arm(self) -> str | None:
        """The arm that is the start model as it is."""
        return next((arm.name for arm in self.arms if arm.is_start), None)

    @property
    def asked(self) -> str:
        """The full name of the suite that the verdict is about; empty: held-out prompts of ours."""
        suite = self.verdict.suite
        if suite is msgspec.UNSET:
            return ""
        return next((one for one in self.evaluation.suites if one.partition(":")[0] == suite), suite)

    @property
    def asks_rules(self) -> bool:
        """Tell whether the verdict is about rules that agents were told, and sessions are the answers."""
        return self.asked.startswith(RULES)

    @property
    def other_suites(self) -> list[str]:
        """Full names of the published suites that every arm is measured on beside that of the verdict."""
        return [one for one in self.evaluation.suites if one != self.asked]

    @property
    def suite_names(self) -> list[str]:
        """Return what `other_suites` are called: what stands before the colon."""
        return [name.partition(":")[0] for name in self.other_suites]

    @property
    def draws(self) -> int:
        """Answers a prompt in evaluations."""
        return 1 if self.evaluation.draws is msgspec.UNSET else self.evaluation.draws

    @property
    def temperature(self) -> float:
        """Return the temperature of the answers in evaluations."""
        return 0.0 if self.evaluation.temperature is msgspec.UNSET else self.evaluation.temperature

    @property
    def each_start(self) -> list[StartSpec]:
        """The several start models; none where there is `start` alone."""
        return [StartSpec(one) if isinstance(one, str) else one for one in self.starts]

    def from_start(self, model: str) -> StudySpec:
        """The study from `model` alone: with the template of this model, where it is one of `starts`."""
        template = next((one.template for one in self.each_start if one.model == model), self.template)
        arms = [arm.of_start(model) for arm in self.arms]
        return msgspec.structs.replace(self, start=model, template=template, starts=[], arms=arms)

    def at_seed(self, seed: int) -> StudySpec:
        """The study at one of its seeds alone, with the kinds and the held-out prompts that this seed draws."""
        return msgspec.structs.replace(self.with_kinds_of(seed), seeds=[seed], tune=None)

    def with_kinds_of(self, seed: int) -> StudySpec:
        """The study with the kinds and the held-out prompts that one seed draws; itself where none are drawn."""
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
        """The reward that scores the answers of pools: a reward model is trained on them, so it cannot."""
        return self.reward if self.reward in ("dense", "binary") else "dense"

    @property
    def sha256(self) -> str:
        """The hash of everything written in the spec."""
        return content_hash(self)

    def arm(self, name: str) -> ArmSpec:
        """The arm called `name`."""
        return next(arm for arm in self.arms if arm.name == name)

    def stage(self, name: str) -> NamedStage:
        """A named stage with its typed settings.

        Raises:
            SpecError: No method, an unknown one, or a setting that it does not have or allow.
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
            return NamedStage(
                name,
                kind,
                settings,
                equal_compute_to,
                study_settings.reward,
                study_settings.lora,
                study_settings.rated_by,
                study_settings.answers,
                study_settings.budget,
                study_settings.kept,
            )
        except UnknownName as error:
            raise SpecError(f"stages.{name}.method: {error}") from error
        except (SpecError, msgspec.ValidationError) as error:
            raise SpecError(f"stages.{name}: {error}") from error

    def _stage_of_others(
        self, name: str, method: str, table: dict[str, Json], equal_compute_to: str | None, own: dict[str, Json]
    ) -> NamedStage:
        """A stage that somebody else's trainer runs, on our rows and our reward."""
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
    """The keys of a stage's table that are the study's, with their types."""

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
    """Whether the suite's slice `name` ("new-topic/single") belongs to `group`.

    Itself, "new-topic", "single" or "all".
    """
    return group in {"all", name, *name.split("/")}
