"""What a finished (or interrupted) Study found, as it is stored in `result.json` and drawn by `report`.

A StudyResult holds every number that a report shows; reports compute nothing but their layout.
"""

from __future__ import annotations

from typing import Literal

from adhere.schema import EngineInfo, Json, Record

Answer = Literal["YES", "NO", "INCONCLUSIVE"]


class Rate(Record, frozen=True):
    """`passed` of `n` prompts with a measurement, with its interval. `rate` is None when n is 0."""

    passed: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


class Guard(Record, frozen=True):
    """What stands beside every pass rate: whether answers became short, repetitive or empty of content.

    Means are over answers with a text. `content_share` is the share of the query's topic words that the answer uses;
    `distinct_2` is the share of different word pairs; `echo_share` the share of answers that mostly repeat the prompt.
    """

    mean_words: float | None
    distinct_2: float | None
    content_share: float | None
    repetition_share: float | None
    echo_share: float | None
    truncated_share: float | None


class ArmScore(Record, frozen=True):
    """One arm at one seed, or pooled over seeds (`seed` None), on one slice (`all`, `in-family`, `new-family`)."""

    arm: str
    seed: int | None
    slice: str
    prompt_strict: Rate
    prompt_loose: Rate
    instruction_strict: Rate
    families: dict[str, Rate]
    kinds: dict[str, Rate]
    guard: Guard
    accounting: dict[str, int]


class Contrast(Record, frozen=True):
    """`treatment` minus `control`, paired by prompt (and by seed where there are several).

    `gained` prompts pass only under the treatment, `lost` only under the control (summed over seeds). `p_value` is exact
    McNemar's with one seed, the two-way t test's with several. `p_adjusted` is Holm's
    over the secondary contrasts. `minimum_detectable` is the difference that this design finds with 80 % power.
    `method` names how [low, high] was computed; [bootstrap_low, bootstrap_high] is the paired BCa bootstrap's (one seed); `reason` says why a number is None.
    """

    name: str
    role: Literal["primary", "secondary"]
    treatment: str
    control: str
    slice: str
    n_prompts: int
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
    method: str = ""
    reason: str = ""
    bootstrap_low: float | None = None
    bootstrap_high: float | None = None


class StudyVerdict(Record, frozen=True):
    """The answer to the study's question, by the rule that its TOML fixed beforehand."""

    question: str
    answer: Answer
    rule: str
    because: str
    scope: str
    primary: Contrast


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
    minutes: float
    minutes_generating: float
    peak_memory_gb: float


class ArmCost(Record, frozen=True):
    """What one arm cost at one seed: its stages and those it shares with other arms, plus its part of the common data."""

    arm: str
    seed: int
    prompts: int
    answers_generated: int
    tokens_generated: int
    tokens_trained: int
    minutes: float
    peak_memory_gb: float


class Curve(Record, frozen=True):
    """The log of one trained cell: parallel columns over optimizer steps; a value is None where the stage has none."""

    cell: str
    stage: str
    method: str
    seed: int
    columns: dict[str, list[float | None]]


class ShownAnswer(Record, frozen=True):
    """One arm's answer to a shown prompt, with the judge's reasons (strict view)."""

    arm: str
    text: str
    status: str
    passed: bool | None
    reasons: list[str]


class ShownPrompt(Record, frozen=True):
    """A held-out prompt shown side by side. Prompts are chosen by a seeded draw, not by hand."""

    prompt_id: str
    slice: str
    text: str
    constraints: list[str]
    answers: list[ShownAnswer]


class DataFacts(Record, frozen=True):
    """The common data of all arms."""

    sha256: str
    prompts: int
    answers_drawn: int
    answers_passed: int
    tokens_generated: int
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


class StudyResult(Record, frozen=True):
    """Everything a report of a Study needs."""

    version: int
    name: str
    spec_sha256: str
    spec: dict[str, Json]
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
    verdict: StudyVerdict
    contrasts: list[Contrast]
    scores: list[ArmScore]
    data: DataFacts
    stage_costs: list[StageCost]
    arm_costs: list[ArmCost]
    curves: list[Curve]
    shown: list[ShownPrompt]
    settings: list[SettingNote]
    warnings: list[str]
    environment: dict[str, Json]
    minutes: float
    created: str
