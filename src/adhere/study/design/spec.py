"""A Study as a person writes it: start model, data, evaluation, named stages, arms and the rule of the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from adhere.build.rows import Limits
from adhere.config import load_toml, locate
from adhere.errors import SpecError, UnknownName, UsageError, nearest
from adhere.pipeline.compare.sides import MARGIN, PERPLEXITY_MARGIN
from adhere.pipeline.reward import RewardKind
from adhere.schema import Counts, Json, Record, content_hash, convert
from adhere.suites.generated.core.deal import kinds_of
from adhere.suites.generated.core.free import free_kinds
from adhere.suites.generated.core.slices import SLICES, Sizes
from adhere.train.recipe import StageSpec
from adhere.train.recipe.spec import settle_reward
from adhere.train.settings import Lora, OptimizerSettings
from adhere.train.stage.settings import Reward, passing_trouble, reward_trouble, uses_reward_model
from adhere.train.stages import Stage

STUDY_KEYS = ("method", "equal_compute_to", "reward", "lora", "rated_by", "answers", "budget", "kept")


Answers = Literal["verified", "plain", "both"]


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
        """What its cells depend on beside method and settings."""
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

    @property
    def most_tokens(self) -> int:
        """Of any training answer."""
        return self.max_new_tokens if self.long is None else self.long.max_new_tokens


class ResampleSpec(Record, frozen=True):
    """The data that preference and online stages learn from: answers of the model after SFT to a new set of prompts.

    The Qwen2.5 report (section 4.2) resamples answers to a new set of queries with its SFT model, and scores them for
    the order of online training (4.3). Stages on top of `after` take their pairs and their order from here, and a
    control that trains on SFT rows also gets the rows made here. Where it is not given, all stages learn from the start
    model's answers.

    Args:
        after: Name of the stage whose model draws.
        prompts: How many new training prompts are composed at each seed, as in [data].
        draws: Answers drawn for each, at `temperature`.
        repair: Whether prompts without a passing answer get a repaired one.
        limits: How many rows are kept.
    """

    after: str
    prompts: int = 200
    draws: int = 8
    temperature: float = 1.0
    repair: bool = True
    limits: Limits = Limits()


class EvaluationSpec(Record, frozen=True):
    """How every arm is evaluated.

    Greedy, on held-out prompts (`suites.generated.core.slices`), on one engine at one precision. `coverage` is the
    share of prompts that every compared evaluation must have measured; below it there is no verdict.

    Args:
        suites: Published suites that every arm is measured on as well: `ifeval:PATH`, any suite that `adhere eval`
            takes and a program judges. A path is relative to where the study is started.
        suite_tokens: How long their answers may be, by name (`ifeval`); else as long as the suite's own limit.
        suite_limit: At most so many prompts of each, an even share of each slice; None: all.
        dev: Prompts for choosing settings, instead of the held-out ones; `[tune]` sets it.
    """

    seed: int = 0
    new_topic: Sizes = Sizes()
    new_wording: Sizes = Sizes()
    new_family: Sizes = Sizes()
    max_new_tokens: int = 64
    precision: Literal["fp32"] = "fp32"
    coverage: float = 0.99
    suites: list[str] = []
    suite_tokens: dict[str, int] = {}
    suite_limit: int | None = None
    dev: Sizes | None = None

    @property
    def suite_names(self) -> list[str]:
        """What the published suites are called: what stands before the colon."""
        return [name.partition(":")[0] for name in self.suites]

    @property
    def prompts(self) -> int:
        """Of all slices."""
        sizes = [self.dev] if self.dev is not None else [self.new_topic, self.new_wording, self.new_family]
        return sum(size.single + size.multiple for size in sizes)

    @property
    def slices(self) -> list[str]:
        """What a contrast may be over: everything, a slice, a number of constraints, or both."""
        return ["all", "single", "multiple", "new-topic", "new-wording", "new-family", *SLICES]


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


class ArmSpec(Record, frozen=True):
    """A recipe inside the study: names of stages, run in order from the start model.

    `seeds` are those of the study's at which it is run [all].
    """

    name: str
    stages: list[str] = []
    note: str = ""
    seeds: list[int] | None = None


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
    [without it], or `sound`, an answer that passes and is more than the letter (`run.measured.Measurement.sound`).
    """

    question: str
    treatment: str
    control: str
    slice: str = "all"
    smallest_effect: float = 0.03
    confidence: float = 0.95
    secondary: list[ContrastSpec] = []
    counts: Counts = msgspec.UNSET  # a spec without it keeps its hash

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
    """

    name: str
    verdict: VerdictSpec
    arms: list[ArmSpec]
    stages: dict[str, dict[str, Json]]
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
    template: str = ""
    budgets: list[int] = []
    starts: list[str | StartSpec] = []

    @property
    def each_start(self) -> list[StartSpec]:
        """The several start models; none where there is `start` alone."""
        return [StartSpec(one) if isinstance(one, str) else one for one in self.starts]

    def from_start(self, model: str) -> StudySpec:
        """The study from `model` alone: with the template of this model, where it is one of `starts`."""
        template = next((one.template for one in self.each_start if one.model == model), self.template)
        return msgspec.structs.replace(self, start=model, template=template, starts=[])

    @property
    def pool_reward(self) -> RewardKind:
        """By which the answers of pools are scored: a reward model is trained on them, so it cannot."""
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
        method, matched = table.pop("method", None), table.pop("equal_compute_to", None)
        if not isinstance(method, str):
            raise SpecError(f"stages.{name}: needs a method, e.g. method = 'sft' (adhere list stages)")
        if matched is not None and not isinstance(matched, str):
            raise SpecError(f"stages.{name}.equal_compute_to: got {matched!r}, must be the name of an arm")
        own = {key: table.pop(key) for key in STUDY_KEYS[2:] if key in table}
        spec = StageSpec(method, table)
        try:
            kind = spec.kind
            given = convert({"reward": self.reward} | own, _Own)
            settings = spec.resolved()
            if given.budget > 1 and "steps" in settings.__struct_fields__:
                settings = msgspec.structs.replace(settings, steps=given.budget * settings.steps)  # type: ignore[attr-defined]
            return NamedStage(
                name,
                kind,
                settings,
                matched,
                given.reward,
                given.lora,
                given.rated_by,
                given.answers,
                given.budget,
                given.kept,
            )
        except UnknownName as error:
            raise SpecError(f"stages.{name}.method: {error}") from error
        except (SpecError, msgspec.ValidationError) as error:
            raise SpecError(f"stages.{name}: {error}") from error


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


def load_study(path: Path, *, seeds: Sequence[int] | None = None) -> StudySpec:
    """Read and validate a study's TOML. `seeds` replaces its seeds.

    Raises:
        SpecError: Naming file, line, key and the nearest valid name.
    """
    spec = load_toml(path, StudySpec, settle=settle_reward)
    if seeds is not None:
        spec = msgspec.structs.replace(spec, seeds=list(seeds))
    _locate_unknown_settings(spec, path)
    try:
        validate(spec)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error
    return spec


def parse_seeds(text: str) -> list[int]:
    """`3` is the seeds 0, 1, 2; `3,5,8` are those three (`5,` is the seed 5 alone).

    Raises:
        SpecError: Anything else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise SpecError(f"--seeds {text}: write how many (--seeds 5) or which (--seeds 3,5,8)")
    if "," in text:
        return [int(part) for part in parts]
    if int(parts[0]) < 1:
        raise SpecError(f"--seeds {text}: a study needs at least one seed")
    return list(range(int(parts[0])))


def _locate_unknown_settings(spec: StudySpec, path: Path) -> None:
    """The settings of a stage are typed by its method, so `load_toml` cannot know them; the line is named here."""
    text = path.read_text(encoding="utf-8")
    for name, table in spec.stages.items():
        method = table.get("method")
        if not isinstance(method, str):
            continue
        try:
            kind = StageSpec(method).kind
        except UnknownName as error:
            raise SpecError(f"{path}:{locate(text, ['stages', name, 'method'])}: {error}") from error
        known = [*STUDY_KEYS, *(field.encode_name for field in msgspec.structs.fields(kind.settings))]
        for key in table:
            if key not in known:
                line = locate(text, ["stages", name, key])
                raise SpecError(
                    f"{path}:{line}: unknown key {key!r} in stages.{name}.{nearest(key, known)} Valid "
                    f"keys: {', '.join(known)}"
                )


def validate(spec: StudySpec) -> None:
    """Check what types cannot say.

    Raises:
        SpecError: A name that nothing has, a number outside its range, or a repeated name.
    """
    _require_unique("arm", [arm.name for arm in spec.arms])
    _require_unique("seed", [str(seed) for seed in spec.seeds])
    for arm in spec.arms:
        for stage in arm.stages:
            _require_known(f"arms.{arm.name}.stages", stage, spec.stages)
        _require_reward_model(spec, arm)
    arms = [arm.name for arm in spec.arms]
    for where, contrast in _contrasts(spec):
        _require_known(f"{where}.treatment", contrast.treatment, arms)
        _require_known(f"{where}.control", contrast.control, arms)
        _require_known(f"{where}.slice", contrast.slice, spec.evaluation.slices)
        if not _size(spec.evaluation, contrast.slice):
            raise SpecError(f"{where}.slice: [evaluation] has no prompts in {contrast.slice!r}")
        if contrast.treatment == contrast.control:
            raise SpecError(f"{where}: {contrast.treatment!r} is compared with itself")
    for name in spec.stages:
        found = spec.stage(name)
        _require_matched_arm(spec, found)
        _require_own_keys(spec, found)
    if spec.resample is not None:
        _require_known("resample.after", spec.resample.after, spec.stages)
    if not spec.start and not spec.starts:
        raise SpecError("start is missing: start = 'MODEL', or starts = ['MODEL', …] for the whole study from each")
    if spec.starts:
        _require_unique("start", [one.model for one in spec.each_start])
    if spec.evaluation.suites:
        _require_unique("suite of [evaluation]", spec.evaluation.suite_names)
    for name in spec.evaluation.suite_tokens:
        _require_known("evaluation.suite_tokens", name, spec.evaluation.suite_names)
    _require_train_kinds(spec.data.kinds)
    _require_ranges(spec)
    _require_long(spec.data)
    _require_seeds_of_arms(spec)


def _require_reward_model(spec: StudySpec, arm: ArmSpec) -> None:
    has_model = False
    for name in arm.stages:
        stage = spec.stage(name)
        if stage.stage.online and uses_reward_model(stage.reward) and not has_model:
            raise SpecError(
                f"arms.{arm.name}: {name!r} has reward = 'model', and no stage before it trains a reward model. "
                "Put one of method 'reward-model' before it"
            )
        has_model = has_model or stage.stage.yields == "reward-model"


def _require_own_keys(spec: StudySpec, stage: NamedStage) -> None:
    """The keys of a stage that are the study's fit its method."""
    where, method = f"stages.{stage.name}", stage.stage.name
    if "reward" in spec.stages[stage.name] and not stage.stage.online:
        raise SpecError(f"{where}.reward: {method!r} draws no answers to reward; take the key out")
    if (trouble := passing_trouble(method, stage.reward)) is not None:
        raise SpecError(f"{where}.reward: {trouble}")
    if stage.answers != "verified" and stage.stage.data != "sft":
        raise SpecError(f"{where}.answers: plain answers have no pairs and no scores, so only SFT learns from them")
    if stage.kept < 1 and (stage.lora or stage.stage.yields != "weights"):
        raise SpecError(f"{where}.kept: only a stage that trains whole weights can leave a part of its change")
    if stage.budget > 1 and not stage.stage.online:
        raise SpecError(f"{where}.budget: {method!r} is not online; only online stages have a budget")
    if stage.budget > 1 and spec.resample is None:
        raise SpecError(f"{where}.budget: the further prompts are resampled ones; give the study a [resample]")


def _require_train_kinds(kinds: Sequence[str]) -> None:
    try:
        kinds_of("train", kinds)
    except (UnknownName, UsageError) as error:
        raise SpecError(f"data.kinds: {error}") from error


def _require_long(data: DataSpec) -> None:
    if data.long is None:
        return
    try:
        free_kinds(data.long.kinds)
    except (UnknownName, UsageError) as error:
        raise SpecError(f"data.long.kinds: {error}") from error
    if not 0 < data.long.share < 1:
        raise SpecError(f"data.long.share: got {data.long.share}, must lie between 0 and 1")
    if data.long.max_new_tokens <= data.max_new_tokens:
        raise SpecError(
            f"data.long.max_new_tokens: got {data.long.max_new_tokens}, must be larger than data.max_new_tokens "
            f"({data.max_new_tokens})"
        )


def _require_seeds_of_arms(spec: StudySpec) -> None:
    """An arm at some seeds is no part of the verdict, and nothing that is trained at others is matched to it."""
    for arm in (arm for arm in spec.arms if arm.seeds is not None):
        where = f"arms.{arm.name}.seeds"
        if not arm.seeds:
            raise SpecError(f"{where}: give at least one seed, or leave it out")
        if arm.name in {spec.verdict.treatment, spec.verdict.control}:
            raise SpecError(
                f"{where}: the verdict compares this arm, so it runs at all seeds of the study; leave it out"
            )
        for other in spec.arms:
            matched = [name for name in other.stages if spec.stage(name).equal_compute_to == arm.name]
            if matched and not set(other.seeds or spec.seeds) <= set(arm.seeds):
                raise SpecError(f"{where}: {matched[0]!r} of arm {other.name!r} is matched to it at other seeds, too")


def _require_matched_arm(spec: StudySpec, stage: NamedStage) -> None:
    """The arm whose compute is matched must be trained before the arms that use this stage."""
    matched = stage.equal_compute_to
    if matched is None:
        return
    where = f"stages.{stage.name}.equal_compute_to"
    if not {"equivalent_tokens", "trained_tokens"} & set(stage.settings.__struct_fields__):
        raise SpecError(
            f"{where}: method {stage.stage.name!r} cannot train to a budget; only 'more-sft' and 'online-dpo' can"
        )
    arms = [arm.name for arm in spec.arms]
    _require_known(where, matched, arms)
    users = [arm.name for arm in spec.arms if stage.name in arm.stages]
    early = [name for name in users if arms.index(name) <= arms.index(matched)]
    if early:
        raise SpecError(f"{where}: arm {matched!r} must stand before arm {early[0]!r}, whose compute it sets")


def _contrasts(spec: StudySpec) -> list[tuple[str, ContrastSpec]]:
    rule = spec.verdict
    return [("verdict", rule.primary)] + [
        (f"verdict.secondary[{index}]", item) for index, item in enumerate(rule.secondary)
    ]


def _require_unique(noun: str, names: list[str]) -> None:
    if not names:
        raise SpecError(f"a study needs at least one {noun}")
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise SpecError(f"{noun} {', '.join(sorted(repeated))} is given twice")


def _require_known(where: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        raise SpecError(f"{where}: unknown name {name!r}.{nearest(name, names)} Known: {', '.join(names)}")


def _require_ranges(spec: StudySpec) -> None:
    data, again, evaluation = spec.data, spec.resample, spec.evaluation
    for where, value in _counts(spec).items():
        if value < 1:
            raise SpecError(f"{where}: got {value}, must be at least 1")
    if any(budget < 1 for budget in spec.budgets):
        raise SpecError(f"budgets: got {spec.budgets}, each must be at least 1 (times the online steps and prompts)")
    drawings: list[tuple[str, DataSpec | ResampleSpec]] = [("data", data), *([("resample", again)] if again else [])]
    for where, drawn in drawings:
        if drawn.draws < 2:
            raise SpecError(f"{where}.draws: got {drawn.draws}, must be at least 2: a variance needs two answers")
        if drawn.temperature <= 0:
            raise SpecError(
                f"{where}.temperature: got {drawn.temperature}, must be above 0: greedy draws are all the same"
            )
    if not 0 <= data.singles <= 10:
        raise SpecError(f"data.singles: got {data.singles}, must be from 0 to 10 (of every ten prompts)")
    shares = {
        "verdict.confidence": spec.verdict.confidence,
        "verdict.smallest_effect": spec.verdict.smallest_effect,
        **{f"guards.{name}": getattr(spec.guards, name) for name in GuardSpec.__struct_fields__},
    }
    for where, share in shares.items():
        if not 0 < share < 1:
            raise SpecError(f"{where}: got {share}, must lie between 0 and 1")
    if not 0 < evaluation.coverage <= 1:
        raise SpecError(f"evaluation.coverage: got {evaluation.coverage}, must lie between 0 and 1")


def _counts(spec: StudySpec) -> dict[str, int]:
    """Every number of the spec that must be at least 1; those that are not given are left out."""
    data, evaluation = spec.data, spec.evaluation
    counts = {
        "data.prompts": data.prompts,
        "data.max_new_tokens": data.max_new_tokens,
        "data.long.max_new_tokens": data.long.max_new_tokens if data.long else None,
        "data.wordings": data.wordings,
        "resample.prompts": spec.resample.prompts if spec.resample else None,
        "evaluation.max_new_tokens": evaluation.max_new_tokens,
        "evaluation: prompts in all slices": evaluation.prompts,
        "evaluation.suite_limit": evaluation.suite_limit,
        **{f"evaluation.suite_tokens.{name}": most for name, most in evaluation.suite_tokens.items()},
    }
    return {where: value for where, value in counts.items() if value is not None}


def in_slice(name: str, wanted: str) -> bool:
    """Whether the suite's slice `name` ("new-topic/single") belongs to `wanted`.

    Itself, "new-topic", "single" or "all".
    """
    return wanted in {"all", name, *name.split("/")}


def _size(evaluation: EvaluationSpec, wanted: str) -> int:
    sizes = {
        f"{name}/{number}": getattr(size, number)
        for name, size in {
            "new-topic": evaluation.new_topic,
            "new-wording": evaluation.new_wording,
            "new-family": evaluation.new_family,
        }.items()
        for number in ("single", "multiple")
    }
    return sum(size for name, size in sizes.items() if in_slice(name, wanted))
