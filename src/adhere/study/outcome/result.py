"""Define the findings of a Study, finished or interrupted, as `result.json` stores them and `report` draws them.

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
    """Scores one arm at one seed, or pooled over seeds (`seed` None), on one slice (`all`, `new-topic/single`, …).

    `families` and `kinds` are the shares of constraints kept (strict), by family and by kind. `guard` are means beside
    the pass rate, such as length. `accounting` counts answers by what became of them (`ok`, `truncated`, …).
    """

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
    """Holds one seed's part of a contrast: pass rates of both arms, and prompts that only one of them passed.

    `gained` prompts pass only under the treatment, `lost` only under the control.
    """

    seed: int
    rate_treatment: float
    rate_control: float
    difference: float
    gained: int
    lost: int


class Contrast(Record, frozen=True):
    """Compares `treatment` with `control`, paired by prompt and by seed.

    `n_queries` counts the different requests behind the prompts. `gained` prompts pass only under the treatment, `lost`
    only under the control (summed over seeds). Interval, `p_value` and `minimum_detectable` (with 80 % power) come from
    one model (`stats.crossed`, in words: `method`); `p_adjusted` is Holm's over the contrasts of one role. `coverage`
    is the lowest share of prompts that one of the compared evaluations measured. `reason` says why a number is None.
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
    """Answers the study's question by the rule that its TOML fixed beforehand.

    `scope`: with one seed the answer is about these `checkpoints`, with several about the `method`. `reach` says this
    in a sentence. `decides` says what would decide an INCONCLUSIVE question: seeds, prompts, hours. `withheld` lists
    the reasons to give no answer, whatever the interval says. `fragile`: the interval excludes 0, but not without some
    single seed, so the answer is INCONCLUSIVE. `these_kinds`: a YES or NO that is shown for the kinds of constraint
    measured, not for kinds in general.
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
    """Holds the primary difference without one seed."""

    seed: int
    difference: float
    low: float
    high: float


class KindDifference(Record, frozen=True):
    """Holds the primary difference on the prompts that ask for one kind alone; Holm's p is over all kinds."""

    kind: str
    n_prompts: int
    difference: float
    low: float
    high: float
    p_value: float
    p_adjusted: float | None


class OverKinds(Record, frozen=True):
    """Holds the primary difference with kinds taken as a sample of kinds, on prompts that ask for one kind.

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
    """Holds the primary difference, and its interval, on the prompts that never ask for `kind`."""

    kind: str
    n_prompts: int
    difference: float
    low: float
    high: float


class KindsLeftOut(Record, frozen=True):
    """Holds the primary difference without each kind of constraint, and counts over each two kinds left out.

    Without `pairs_holding_zero` of all `pairs`, the interval holds 0. Without `worst_pair` the interval comes nearest
    to 0, or furthest beyond 0; `worst_low` is its end on that side.
    """

    each: list[LeftOutKind]
    pairs: int
    pairs_holding_zero: int
    worst_pair: list[str]
    worst_low: float | None


class LostKind(Record, frozen=True):
    """Names a trained kind that an arm hardly follows at one seed: `rate` over `n_prompts` that ask for it alone."""

    arm: str
    seed: int
    kind: str
    n_prompts: int
    rate: float


class LostWhole(Record, frozen=True):
    """Lists the cells (seed x trained kind) that an arm lost whole, and how much of the primary difference is in them.

    Attributes:
        below: A cell is lost where less than this share of its prompts counts.
        cells: How many cells each arm has: seeds times kinds.
        lost: The lost cells of every trained arm.
        share: Share of the primary difference over all cells that lies in cells that either of the two arms lost; None
            if that difference is 0.
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
        return sum(cell.arm == arm for cell in self.lost)


class Fragility(Record, frozen=True):
    """Tests on what the primary difference depends: seeds, their signs, kinds of constraint, slices.

    `left_out` is empty with one seed. `sign_flip_p` is exact over seeds; it cannot fall below 2^(1 - seeds). `slices`
    are tests of the primary contrast on each slice, with Holm's adjustment among them. `kinds_left_out` is None with
    fewer than three kinds; in older results, `kinds_left_out` and `lost_whole` are None.
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
        rows = self.kinds_left_out.each if self.kinds_left_out else []
        return [row.kind for row in rows if row.low <= 0 <= row.high]

    @property
    def deciding_seeds(self) -> list[int]:
        """Seeds without which the interval reaches 0."""
        return [row.seed for row in self.left_out if row.low <= 0 <= row.high]

    @property
    def difference_range(self) -> tuple[float, float] | None:
        """Lowest and highest difference when one seed is left out; None without seeds left out."""
        differences = [row.difference for row in self.left_out]
        return (min(differences), max(differences)) if differences else None


class GuardTest(Record, frozen=True):
    """Tests that the treatment is not worse than a reference beside the pass rate.

    The reference is the `control`, or the start. `outcome` is `holds` if the interval lies within the margin,
    `violated` if it lies beyond, and `undecided` otherwise or if nothing could be measured. Values are means over
    prompts and seeds; `worse` is how much worse the treatment is in the unit of `margin`, with its interval.
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
        """Return the name, with `_from_start` after it unless the reference is `control`, the study's own."""
        return self.name if self.control == control else f"{self.name}_from_start"


class SuiteScore(Record, frozen=True):
    """Scores one arm at one seed, or pooled over seeds (`seed` None), on a published suite.

    It has the suite's four rates, and the guard that is reported beside them.
    """

    arm: str
    seed: int | None
    prompt_strict: Share
    prompt_loose: Share
    instruction_strict: Share
    instruction_loose: Share
    guard: GuardMeans


class InstructionDifference(Record, frozen=True):
    """Compares how often two arms keep one kind of instruction of a published suite, over `n` instructions.

    Holm's p is over all kinds.
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
    """Says how often an arm passes a part of a suite's prompts, mean over seeds; `sound` is None in older records."""

    arm: str
    n_seeds: int
    passed: float | None
    sound: float | None


class SuitePart(Record, frozen=True):
    """Describes the prompts of a suite that ask only for trained kinds, for none, or for both (`mixed`).

    A kind is trained if any stage of the study had prompts that ask for the same thing, under whatever name. Contrasts
    are those of the suite, passes first; p-values are not adjusted over parts.
    """

    part: Literal["trained", "mixed", "untrained"]
    n_prompts: int
    rates: list[PartRate]
    contrasts: list[Contrast]


class SuiteFound(Record, frozen=True):
    """Holds what a study found on one published suite.

    `contrasts` begin with that of the verdict (prompts, strict). `instructions` compare two arms kind by kind, `parts`
    split the suite by whether training asked for its kinds. `floor` is None in older results.
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
    """Tells which kinds that the start kept a trained arm lost, on one suite ("": the study's prompts).

    `kept` of `kinds` the start keeps at least a tenth of the time; `difference` is the arm's mean rate over these less
    the start's, with the interval over seeds and instructions. `lost` are the kept kinds that fell by more than chance
    (Holm over the kept kinds).
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
    """Holds other harnesses' measurements of the compared checkpoints: knowledge, maths, code, safety, plain text.

    Attributes:
        treatment, control: Arms of the primary contrast; `a` and `b` of the tests.
        seeds: The seeds that the tests are over.
        cells: `ARM (seed N)` -> folder of its cell, for each checkpoint; empty for the untrained start.
        margin: By how much a rate may fall.
        perplexity_margin: By which share a perplexity may rise.
        confidence: Confidence of the intervals.
        models: Checkpoint -> what each harness calls it.
        files_sha256: Hash of the files' hashes.
        tests: One test for each task, or pool of tasks.
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
    """Compares two arms that were given equal compute, at one seed, in what they do not share.

    `a` and `b` are measured, `ratio` is a / b.
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
    """Records a change of the spec after the study began. `evaluations`: how many arms had been evaluated by then."""

    at: str
    evaluations: int
    fields: list[str]


class StageCost(Record, frozen=True):
    """Holds the cost of one trained cell (a stage on top of its parent at one seed).

    `cell` joins the stages from the start by `+`. `prompts` counts the prompts of the pools that it learns from, `rows`
    its training rows. The kinds of tokens are those of `StageLedger`; `petaflops` (1e15 operations) is computed from
    them.
    """

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
    """Holds the cost of one arm at one seed.

    It covers the arm's stages, shared ones included, and the pools that they learn from, whose prompts `prompts`
    counts. `tokens_generated` is None if the engine that drew a pool did not count. `petaflops` (1e15 operations) is
    computed from tokens; `peak_memory_gb` is that of the largest stage.
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
    """Holds a method at a budget: its cost, mean over the seeds of `gain`, and its gain over the reference.

    `budget` is a multiple of the online steps and prompts.
    """

    method: str
    budget: int
    arm: str
    tokens_trained: int | None
    answers_generated: int | None
    gain: Contrast


class Growth(Record, frozen=True):
    """Holds both compared methods at every budget; `between` compares treatment and control, budgets rising."""

    reference: str
    points: list[BudgetPoint]
    between: list[Contrast]


class Curve(Record, frozen=True):
    """Holds the log of one trained cell as parallel columns over optimizer steps; None where a step has no value."""

    cell: str
    stage: str
    method: str
    seed: int
    columns: dict[str, list[float | None]]


class CellNote(Record, frozen=True):
    """Holds a guard's note on the training of a cell that went on.

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
    """Holds a held-out prompt with the arms' answers. Prompts are chosen by a seeded draw, not by hand."""

    prompt_id: str
    slice: str
    text: str
    constraints: list[str]
    answers: list[ShownAnswer]


class ArmTraps(Record, frozen=True):
    """Counts how often an arm's stored answers keep the wording of their instructions and not the intent.

    `pipeline.intent.gate` judges. The stored answers are those to the shown prompts, at every seed.

    Attributes:
        answers: Number of answers with a text.
        taken: How many of them take a trap.
        passing: Answers that keep every constraint.
        passing_taken: How many of the passing answers take a trap.
        by_trap: For each trap, how many answers take it.
    """

    arm: str
    answers: int
    taken: int
    passing: int
    passing_taken: int
    by_trap: dict[str, int]


class DataFacts(Record, frozen=True):
    """Describes one pool of training data of one seed; `source` says in words whose answers it holds.

    `answers_passed` counts the drawn answers that ended by themselves and keep every constraint. Origins tell how an
    answer was made (`sampled`, `repaired`). `unreachable_kinds` have no SFT row. `yield_by_kind` counts, by kind of
    constraint, what was `judged`, `passed`, and became rows. `contamination` counts what the comparison with held-out
    prompts found.
    """

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
    """Explains a training setting: what the Qwen2.5 report states, what was used, and why they differ."""

    stage: str
    setting: str
    stated: str
    used: str
    why: str


class Aspect(Record, frozen=True):
    """Says of one thing that may explain a difference whether it was the same for every arm.

    `told` says in words what that rests on.
    """

    what: str
    state: Literal["equal", "differs", "unknown"]
    told: str


class DrawsPart(Record, frozen=True):
    """Says for several answers a prompt which `share` of the interval's variance comes from drawing; None: unknown."""

    draws: int
    temperature: float
    share: float | None


class StudyResult(Record, frozen=True):
    """Holds everything that a report of a Study needs.

    `spec_frozen_at` is when the spec was frozen (empty: it was not), `changes` what changed since. `arm_stages` are the
    stages of each arm, `arm_notes` its author's words. `matched`: whether arms that should cost the same did. `runs`:
    by arm, seed and suite, the name of the stored Run. `shown` are held-out prompts with each arm's answers, `settings`
    explain training settings.

    `guards` test the primary contrast; `tax` has a line for every trained arm: its perplexity of plain text against the
    start's. `notes`: what the guards of training saw in cells that went on. `fragility`: on what the primary difference
    depends; None if nothing was measured, and in results of version 2. `cells`: the checkpoint of each trained arm and
    seed that was evaluated, `ARM (seed N)` -> folder of its cell. `sides`: what other harnesses measured of the
    compared checkpoints, if their files were joined. `growth`: both compared methods at several budgets, if the study
    varies them. `floors`: of each slice, what the best answerer without a model passes. `forgotten`: what each trained
    arm lost of the kinds that the start kept. `alike`, `registered` and `draws` are of studies whose arms others
    trained: what was equal, when the rule was registered, and what several answers a prompt add to the interval.
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
        """Return the answer in one line."""
        return f"<Study {self.name}: {self.verdict.answer}: {self.verdict.headline}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the question, the answer and why, and how much was measured."""
        verdict = self.verdict
        rows = {"question": verdict.question, "answer": verdict.answer, "finding": verdict.headline}
        rows |= {"because": verdict.because, "holds for": verdict.reach}
        rows["measured"] = f"{self.n_prompts} prompts of {self.suite}, seeds {', '.join(map(str, self.seeds_finished))}"
        return notebook_table(f"Study {self.name}", rows)

    @property
    def not_worse(self) -> str:
        """The words `better at following, not worse at …` if both are shown; else empty.

        Both are shown if the verdict is YES and every side test holds.
        """
        if self.sides is None or self.verdict.answer != "YES" or rest(self.sides.tests) != "holds":
            return ""
        *first, last = (side.task for side in self.sides.tests)
        return f"better at following, not worse at {', '.join(first) + ' and ' if first else ''}{last}"


class StartFound(Record, frozen=True):
    """Holds a start model, the folder of its study (relative to the whole), and its answer."""

    start: str
    folder: str
    answer: Answer
    headline: str
    primary: Contrast


class AcrossStarts(Record, frozen=True):
    """Holds one further contrast from each start (in their order), and from all together.

    `suite` is the published suite of the contrast, or "" for the study's own prompts.
    """

    suite: str
    each: list[Contrast]
    pooled: Contrast


class StartsResult(Record, frozen=True):
    """Combines a study that was done from several start models.

    `pooled` counts each start at each seed as one run, so differences between starts widen its interval. `between`: how
    much larger the primary difference is from each other start than from the first, paired by seed and prompt.
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
        """Sentence that names the starts in which the difference holds."""
        more = [row.start for row in self.starts if (row.primary.low or 0) > 0]
        less = [row.start for row in self.starts if (row.primary.high or 0) < 0]
        clauses = [f"{words} 0 from {', '.join(names)}" for words, names in (("above", more), ("below", less)) if names]
        open_ = [row.start for row in self.starts if row.start not in (*more, *less)]
        clauses += [f"shows nothing from {', '.join(open_)}"] if open_ else []
        return f"{self.pooled.treatment} over {self.pooled.control}: {'; '.join(clauses)}."


class SeedWithKinds(Record, frozen=True):
    """Holds one seed of a study that draws kinds: the trained kinds, those only asked for, and the primary contrast.

    `folder` is the folder of the seed's own study, under `seeds/`.
    """

    seed: int
    folder: str
    trained: list[str]
    untrained: list[str]
    primary: Contrast


class DrawnKind(Record, frozen=True):
    """Compares the arms of the verdict on one kind, over the seeds that drew it for the verdict's slice.

    Rates and difference are means over prompts. `seeds` are those that asked for the kind.
    """

    kind: str
    seeds: list[int]
    n_prompts: int
    rate_treatment: float
    rate_control: float
    difference: float


class DrawnResult(Record, frozen=True):
    """Combines a study whose seeds draw their own kinds and prompts (`stats.incomplete`).

    Args:
        spec: The spec as a person wrote it.
        seeds: What each finished seed drew and found. `missing` seeds are not finished.
        answer: The answer by the rule of the spec; kinds and seeds are both samples.
        primary, passing: The verdict's contrast by what it counts, and by all that passes.
        further: The secondary contrasts, and the verdict's on each slice; Holm's p over them.
        suites: The verdict's contrast on published suites, whose prompts all seeds share.
        left_out, kinds_left_out: The primary contrast without each seed, and without each kind.
        kinds: The primary contrast kind by kind.
        withheld: The reasons to give no answer.
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
