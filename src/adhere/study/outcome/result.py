"""The findings of a finished (or interrupted) Study, as `result.json` stores them and `report` draws them.

A StudyResult holds every number that a report shows; reports compute nothing but their layout.
"""

from __future__ import annotations

from typing import Literal

from adhere.pipeline.compare.sides import SideTest, rest
from adhere.schema import EngineInfo, Json, Record
from adhere.store.summary import Floor, GuardMeans, Share
from adhere.study.design.overlapping import Overlap
from adhere.study.design.registered import Registration
from adhere.study.design.tuned import Tuning
from adhere.study.run.measured import ShownAnswer
from adhere.terminal import notebook_table

Answer = Literal["YES", "NO", "EQUIVALENT", "INCONCLUSIVE"]
Scope = Literal["checkpoints", "method"]
Role = Literal["primary", "secondary", "slice"]


class ArmScore(Record, frozen=True):
    """One arm at one seed, or pooled over seeds (`seed` None), on one slice (`all`, `new-topic/single`, …)."""

    arm: str
    seed: int | None
    slice: str
    prompt_strict: Share
    prompt_loose: Share
    instruction_strict: Share
    families: dict[str, Share]
    kinds: dict[str, Share]
    guard: GuardMeans
    accounting: dict[str, int]


class SeedEstimate(Record, frozen=True):
    """One seed's part of a contrast: pass rates of both arms, and prompts that only one of them passed."""

    seed: int
    rate_treatment: float
    rate_control: float
    difference: float
    gained: int
    lost: int


class Contrast(Record, frozen=True):
    """`treatment` minus `control`, paired by prompt and by seed.

    `gained` prompts pass only under the treatment, `lost` only under the control (summed over seeds). Interval,
    `p_value` and `minimum_detectable` (with 80 % power) come from one model (`stats.crossed`); `p_adjusted` is Holm's
    over the contrasts of one role. `coverage` is the lowest share of prompts that one of the compared evaluations
    measured. `reason` says why a number is None.
    """

    name: str
    role: Role
    treatment: str
    control: str
    slice: str
    n_prompts: int
    n_queries: int
    n_seeds: int
    rate_treatment: float | None
    rate_control: float | None
    difference: float | None
    low: float | None
    high: float | None
    confidence: float
    gained: int
    lost: int
    p_value: float | None
    p_adjusted: float | None
    minimum_detectable: float | None
    coverage: float
    by_seed: list[SeedEstimate]
    method: str = ""
    reason: str = ""


class StudyVerdict(Record, frozen=True):
    """The answer to the study's question, by the rule that its TOML fixed beforehand.

    `scope`: with one seed the answer is about these `checkpoints`, with several about the `method`. `reach` says so in
    a sentence. `decides` says what would decide an INCONCLUSIVE question: seeds, prompts, hours. `withheld` lists what
    forbids an answer, whatever the interval says. `fragile`: the interval excludes 0, but not without some single seed,
    so the answer is INCONCLUSIVE. `these_kinds`: a YES or NO that is shown for the kinds of constraint measured, not
    for kinds in general.
    """

    question: str
    answer: Answer
    headline: str
    rule: str
    because: str
    scope: Scope
    reach: str
    decides: str
    withheld: list[str]
    primary: Contrast
    fragile: bool = False
    these_kinds: bool = False


class LeftOut(Record, frozen=True):
    """The primary difference without one seed."""

    seed: int
    difference: float
    low: float
    high: float


class KindDifference(Record, frozen=True):
    """The primary difference on the prompts that ask for one kind of constraint alone; Holm's p over all kinds."""

    kind: str
    n_prompts: int
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float | None


class OverKinds(Record, frozen=True):
    """The primary difference with kinds of constraint taken as a sample of kinds, on prompts that ask for one kind.

    Prompts that ask for several belong to no single kind and are left out. A number is None, with the `reason`, where
    fewer than two kinds were measured.
    """

    n_kinds: int
    n_prompts: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    each: list[KindDifference]
    reason: str = ""


class LeftOutKind(Record, frozen=True):
    """The primary difference on the prompts that do not ask for one kind of constraint, alone or among others."""

    kind: str
    n_prompts: int
    difference: float
    low: float
    high: float


class KindsLeftOut(Record, frozen=True):
    """The primary difference without each kind of constraint, and without each two.

    `pairs_holding_zero` of `pairs` leave an interval that holds 0; `worst_pair` leaves the interval that comes nearest
    to 0, or furthest beyond it, and `worst_low` its end on that side.
    """

    each: list[LeftOutKind]
    pairs: int
    pairs_holding_zero: int
    worst_pair: list[str]
    worst_low: float | None


class LostKind(Record, frozen=True):
    """A trained kind that an arm hardly follows at one seed: `rate` over `n_prompts` that ask for it alone."""

    arm: str
    seed: int
    kind: str
    n_prompts: int
    rate: float


class LostWhole(Record, frozen=True):
    """Cells of seed x trained kind that an arm lost whole, and how much of the primary difference comes from them.

    Attributes:
        below: A cell is lost where less than this share of its prompts counts.
        cells: How many cells each arm has: seeds times kinds.
        lost: Those that are lost, of every trained arm.
        share: Of the primary difference over all these cells, the part that lies in cells that either of the two arms
            lost. None where that difference is 0.
        difference, low, high: The primary difference over the cells that neither lost, mean over seeds with t
            interval; None where fewer than two seeds have such cells.
    """

    below: float
    cells: int
    lost: list[LostKind]
    share: float | None
    difference: float | None
    low: float | None
    high: float | None

    def count(self, arm: str) -> int:
        """Return how many cells an arm lost."""
        return sum(one.arm == arm for one in self.lost)


class Fragility(Record, frozen=True):
    """Tests of what the primary difference hangs on: each seed, their signs, the kinds of constraint, the slices.

    `left_out` is empty with one seed. `sign_flip_p` is exact over seeds; it cannot fall below 2^(1 - seeds). `slices`
    are tests of the primary contrast on each slice, with Holm's adjustment among them. `kinds_left_out` is None with
    fewer than three kinds, and like `lost_whole` in results that are older than them.
    """

    left_out: list[LeftOut]
    sign_flip_p: float | None
    kinds: OverKinds
    slices: list[Contrast]
    kinds_left_out: KindsLeftOut | None = None
    lost_whole: LostWhole | None = None

    @property
    def deciding_kinds(self) -> list[str]:
        """Kinds of constraint without which the interval reaches 0."""
        each = self.kinds_left_out.each if self.kinds_left_out else []
        return [one.kind for one in each if one.low <= 0 <= one.high]

    @property
    def deciding_seeds(self) -> list[int]:
        """Seeds without which the interval reaches 0."""
        return [one.seed for one in self.left_out if one.low <= 0 <= one.high]

    @property
    def difference_range(self) -> tuple[float, float] | None:
        """The lowest and the highest difference that is left when one seed is left out."""
        differences = [one.difference for one in self.left_out]
        return (min(differences), max(differences)) if differences else None


class GuardTest(Record, frozen=True):
    """A test that the treatment is not worse than a reference beside the pass rate.

    The reference is the `control`, or the start. `holds`: the interval lies within the margin; `violated`: it lies
    beyond; `undecided` otherwise, or where nothing could be measured. Values are means over prompts and seeds; `worse`
    is how much worse the treatment is in the unit of `margin`, with its interval.
    """

    name: str
    treatment: str
    control: str
    value_treatment: float | None
    value_control: float | None
    worse: float | None
    low: float | None
    high: float | None
    margin: float
    outcome: Literal["holds", "violated", "undecided"]

    def key(self, control: str) -> str:
        """Its name, and `_from_start` where the reference is not the control of the study."""
        return self.name if self.control == control else f"{self.name}_from_start"


class SuiteScore(Record, frozen=True):
    """One arm at one seed, or pooled over seeds (`seed` None), on a published suite.

    Its four numbers, and what stands beside them.
    """

    arm: str
    seed: int | None
    prompt_strict: Share
    prompt_loose: Share
    instruction_strict: Share
    instruction_loose: Share
    guard: GuardMeans


class InstructionDifference(Record, frozen=True):
    """How often two arms keep one kind of instruction of a published suite, over `n` instructions.

    Holm's p over all kinds.
    """

    id: str
    treatment: str
    control: str
    n: int
    rate_treatment: float
    rate_control: float
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None


class PartRate(Record, frozen=True):
    """How often an arm passes a part of a suite's prompts, mean over its seeds; `sound` None in older records."""

    arm: str
    n_seeds: int
    passed: float | None
    sound: float | None


class SuitePart(Record, frozen=True):
    """The prompts of a suite that ask only for trained kinds, for none, or for both (`mixed`).

    A kind is trained if any stage of the study had prompts that ask for the same thing, under whatever name. Contrasts
    are those of the suite, passes first; p-values are not adjusted over parts.
    """

    part: Literal["trained", "mixed", "untrained"]
    n_prompts: int
    rates: list[PartRate]
    contrasts: list[Contrast]


class SuiteFound(Record, frozen=True):
    """A published suite as an outcome of the study. `contrasts` begin with that of the verdict (prompts, strict).

    `floor` is None in results that are older than it.
    """

    name: str
    sha256: str
    n_prompts: int
    n_instructions: int
    contrasts: list[Contrast]
    scores: list[SuiteScore]
    instructions: list[InstructionDifference]
    floor: Floor | None = None
    parts: list[SuitePart] = []


class Forgotten(Record, frozen=True):
    """A trained arm's loss of kinds of constraint that the start kept, on one suite ("": the study's prompts).

    `kept` of `kinds` the start keeps at least a tenth of the time; `difference` is the arm's mean rate over these less
    the start's, with the interval over seeds and instructions. `lost` are those among them that fell by more than
    chance (Holm over them).
    """

    arm: str
    suite: str
    kinds: int
    kept: int
    difference: float | None
    low: float | None
    high: float | None
    lost: list[InstructionDifference]


class StudySides(Record, frozen=True):
    """Other harnesses' measurements of the compared checkpoints: knowledge, maths, code, safety, plain text.

    Attributes:
        treatment, control: Arms of the primary contrast; `a` and `b` of the tests.
        seeds: Those that the tests are over.
        cells: Which checkpoints: `ARM (seed N)` -> folder of its cell; empty for the untrained start.
        margin: By how much a rate may fall.
        perplexity_margin: By which share a perplexity may rise.
        confidence: Of the intervals.
        models: Checkpoint -> what each harness calls it.
        files_sha256: Of the files' hashes.
        tests: One a task, or pool of tasks.
    """

    version: int
    treatment: str
    control: str
    seeds: list[int]
    cells: dict[str, str]
    margin: float
    perplexity_margin: float
    confidence: float
    models: dict[str, list[str]]
    files_sha256: str
    tests: list[SideTest]


class Match(Record, frozen=True):
    """Two arms that were given equal compute, at one seed, in what they do not share.

    Measured, with the ratio a / b.
    """

    arm: str
    to: str
    seed: int
    what: str
    a: int
    b: int
    ratio: float
    within: bool


class SpecChange(Record, frozen=True):
    """A change of the spec after the study had begun. `evaluations`: how many arms had been evaluated by then."""

    at: str
    evaluations: int
    fields: list[str]


class StageCost(Record, frozen=True):
    """The ledger of one trained cell (a stage on top of its parent at one seed)."""

    cell: str
    stage: str
    method: str
    arms: list[str]
    seed: int
    steps: int
    prompts: int
    rows: int
    answers_generated: int
    tokens_generated: int
    tokens_trained: int
    tokens_processed: int
    tokens_scored: int
    petaflops: float
    minutes: float
    minutes_generating: float
    peak_memory_gb: float


class ArmCost(Record, frozen=True):
    """The cost of one arm at one seed.

    Its stages and those it shares with other arms, plus the pools that they learn from. `tokens_generated` is None
    where the engine that drew a pool did not count.
    """

    arm: str
    seed: int
    prompts: int
    answers_generated: int
    tokens_generated: int | None
    tokens_trained: int
    petaflops: float
    minutes: float
    peak_memory_gb: float


class BudgetPoint(Record, frozen=True):
    """A method at a budget.

    What it was charged, mean over the seeds of `gain`, and what it gained over the reference.
    """

    method: str
    budget: int
    arm: str
    tokens_trained: int | None
    answers_generated: int | None
    gain: Contrast


class Growth(Record, frozen=True):
    """Both compared methods at every budget; `between` is treatment against control at each budget, in rising order."""

    reference: str
    points: list[BudgetPoint]
    between: list[Contrast]


class Curve(Record, frozen=True):
    """The log of one trained cell: parallel columns over optimizer steps; a value is None where the stage has none."""

    cell: str
    stage: str
    method: str
    seed: int
    columns: dict[str, list[float | None]]


class CellNote(Record, frozen=True):
    """A guard's note on the training of a cell that went on.

    `column` of its log was `above` the limit in `bad` of `steps` steps. `first` is the step at which the guard tripped.
    A note is a finding about the arm, not a fault of the study.
    """

    cell: str
    stage: str
    seed: int
    column: str
    above: float
    first: int
    bad: int
    steps: int
    advice: str


class ShownPrompt(Record, frozen=True):
    """A held-out prompt shown side by side. Prompts are chosen by a seeded draw, not by hand."""

    prompt_id: str
    slice: str
    text: str
    constraints: list[str]
    answers: list[ShownAnswer]


class ArmTraps(Record, frozen=True):
    """How often an arm keeps the letter of its instructions and not the intent, of its stored answers.

    As `pipeline.intent.gate` judges. Records hold the answers to the shown prompts at every seed, the answers of a Run
    that is not kept in full.

    Attributes:
        answers: With a text.
        taken: Of these, how many take a trap.
        passing: Answers that keep every constraint.
        passing_taken: Of these, how many take a trap: the letter alone.
        by_trap: For each trap, how many answers take it.
    """

    arm: str
    answers: int
    taken: int
    passing: int
    passing_taken: int
    by_trap: dict[str, int]


class DataFacts(Record, frozen=True):
    """One pool: drawn at one seed from the start model, or from the model after SFT (`source`)."""

    seed: int
    source: str
    sha256: str
    prompts: int
    answers_drawn: int
    answers_passed: int
    tokens_generated: int | None
    minutes: float
    sft_rows: int
    sft_by_origin: dict[str, int]
    pairs: int
    pairs_by_origin: dict[str, int]
    rl_prompts: int
    unreachable_kinds: list[str]
    yield_by_kind: dict[str, dict[str, int]]
    contamination: dict[str, Json]


class SettingNote(Record, frozen=True):
    """Where a training setting comes from: what the Qwen2.5 report states, what was used, and why they differ."""

    stage: str
    setting: str
    stated: str
    used: str
    why: str


class Aspect(Record, frozen=True):
    """One thing that may explain a difference: whether it was the same for every arm."""

    what: str
    state: Literal["equal", "differs", "unknown"]
    told: str


class DrawsPart(Record, frozen=True):
    """Several answers a prompt: `share` of the variance behind the interval that comes from them; None: unknown."""

    draws: int
    temperature: float
    share: float | None


class StudyResult(Record, frozen=True):
    """Everything a report of a Study needs.

    `guards` test the primary contrast; `tax` has a line for every trained arm: its perplexity of plain text against the
    start's. `notes`: what the guards of training saw in cells that went on. `fragility`: what the primary difference
    hangs on; None where nothing was measured, and in results of version 2. `cells`: the checkpoint of each trained arm
    and seed that was evaluated, `ARM (seed N)` -> folder of its cell. `sides`: what other harnesses measured of the
    compared checkpoints, where their files were joined. `growth`: both compared methods at several budgets, where the
    study varies them. `floors`: of each slice, what the best answerer without a model passes. `forgotten`: what each
    trained arm lost of the kinds that the start kept. `alike`, `registered` and `draws` are of studies whose arms
    others trained: what was equal, when the rule was registered, and what several answers a prompt add to the interval.
    """

    version: int
    name: str
    spec_sha256: str
    spec: dict[str, Json]
    spec_frozen_at: str
    changes: list[SpecChange]
    start_model: str
    engine: EngineInfo
    suite: str
    suite_sha256: str
    n_prompts: int
    slices: list[str]
    arms: list[str]
    arm_stages: dict[str, list[str]]
    arm_notes: dict[str, str]
    seeds: list[int]
    seeds_finished: list[int]
    failures: list[str]
    verdict: StudyVerdict
    contrasts: list[Contrast]
    guards: list[GuardTest]
    matched: list[Match]
    scores: list[ArmScore]
    data: list[DataFacts]
    stage_costs: list[StageCost]
    arm_costs: list[ArmCost]
    curves: list[Curve]
    shown: list[ShownPrompt]
    runs: dict[str, str]
    settings: list[SettingNote]
    warnings: list[str]
    environment: dict[str, Json]
    minutes: float
    created: str
    tax: list[GuardTest] = []
    notes: list[CellNote] = []
    cells: dict[str, str] = {}
    sides: StudySides | None = None
    fragility: Fragility | None = None
    suites: list[SuiteFound] = []
    tuning: Tuning | None = None
    growth: Growth | None = None
    traps: list[ArmTraps] = []
    floors: dict[str, Floor] = {}
    forgotten: list[Forgotten] = []
    alike: list[Aspect] = []
    registered: Registration | None = None
    draws: DrawsPart | None = None
    overlaps: list[Overlap] = []

    def __repr__(self) -> str:
        """Return the answer in a line."""
        return f"<Study {self.name}: {self.verdict.answer}: {self.verdict.headline}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the question, the answer and why, and how much was measured."""
        verdict = self.verdict
        rows = {"question": verdict.question, "answer": verdict.answer, "finding": verdict.headline}
        rows |= {"because": verdict.because, "holds for": verdict.reach}
        rows["measured"] = f"{self.n_prompts} prompts of {self.suite}, seeds {', '.join(map(str, self.seeds_finished))}"
        return notebook_table(f"Study {self.name}", rows)

    @property
    def not_worse(self) -> str:
        """`better at following, not worse at …`, where both are shown: the verdict is YES, and every side test holds.

        Else empty.
        """
        if self.sides is None or self.verdict.answer != "YES" or rest(self.sides.tests) != "holds":
            return ""
        *first, last = (side.task for side in self.sides.tests)
        return f"better at following, not worse at {', '.join(first) + ' and ' if first else ''}{last}"


class StartFound(Record, frozen=True):
    """A start model, where its study lies (relative to the whole), and what it answered."""

    start: str
    folder: str
    answer: Answer
    headline: str
    primary: Contrast


class AcrossStarts(Record, frozen=True):
    """One more contrast from each start (in their order), and all together.

    `suite` is the published suite that it is on, or "" for the study's own prompts.
    """

    suite: str
    each: list[Contrast]
    pooled: Contrast


class StartsResult(Record, frozen=True):
    """All starts. `pooled` counts each start at each seed as one run, so differences between starts widen its interval.

    `between`: how much more the primary difference is from one start than from the first, paired by seed and prompt.
    `further`: the secondary contrasts, and those on published suites; p-values are not adjusted over them.
    """

    version: int
    name: str
    question: str
    starts: list[StartFound]
    pooled: Contrast
    between: list[Contrast]
    further: list[AcrossStarts] = []

    @property
    def holds(self) -> str:
        """A sentence that names the starts in which the difference holds."""
        more = [one.start for one in self.starts if (one.primary.low or 0) > 0]
        less = [one.start for one in self.starts if (one.primary.high or 0) < 0]
        clauses = [f"{words} 0 from {', '.join(names)}" for words, names in (("above", more), ("below", less)) if names]
        open_ = [one.start for one in self.starts if one.start not in (*more, *less)]
        clauses += [f"shows nothing from {', '.join(open_)}"] if open_ else []
        return f"{self.pooled.treatment} over {self.pooled.control}: {'; '.join(clauses)}."


class SeedWithKinds(Record, frozen=True):
    """One seed of a study that draws kinds: those that it trained, those only asked for, and its primary contrast.

    `folder` is that of its own study, under `seeds/`.
    """

    seed: int
    folder: str
    trained: list[str]
    untrained: list[str]
    primary: Contrast


class DrawnKind(Record, frozen=True):
    """The arms of the verdict on one kind, over the seeds that drew it for the verdict's slice.

    Rates and difference are means over prompts. `seeds` are those that asked for it.
    """

    kind: str
    seeds: list[int]
    n_prompts: int
    rate_treatment: float
    rate_control: float
    difference: float


class DrawnResult(Record, frozen=True):
    """A study whose seeds draw their own kinds and prompts (`stats.incomplete`).

    Args:
        spec: As a person wrote it.
        seeds: What each finished seed drew and found. `missing` seeds are not finished.
        answer: By the rule of the spec; kinds and seeds are both samples.
        primary, passing: The verdict's contrast by what it counts, and by all that passes.
        further: The secondary contrasts, and the verdict's on each slice; Holm's p over them.
        suites: The verdict's contrast on published suites, whose prompts all seeds share.
        left_out, kinds_left_out: The primary contrast without each seed, and without each kind.
        kinds: The primary contrast kind by kind.
        withheld: What forbids an answer.
        tuning: How the settings were chosen; None where they were given.
    """

    version: int
    name: str
    spec: Json
    spec_sha256: str
    question: str
    seeds: list[SeedWithKinds]
    missing: list[int]
    answer: Answer
    headline: str
    rule: str
    because: str
    decides: str
    fragile: bool
    primary: Contrast
    passing: Contrast
    further: list[Contrast]
    suites: dict[str, Contrast]
    left_out: list[LeftOut]
    kinds_left_out: list[LeftOutKind]
    kinds: list[DrawnKind]
    withheld: list[str]
    tuning: Tuning | None
    minutes: float
