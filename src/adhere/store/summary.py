"""Define the numbers of a Run, as `summary.json` holds them and `pipeline.summarize` computes them."""

from __future__ import annotations

import msgspec

from adhere.schema import Record


class Share(Record, frozen=True):
    """Holds `passed` of `n` with its interval.

    `rate` is None if n is 0, and [low, high] are None if nothing tells how sure it is.
    """

    passed: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


class Rate(Record, frozen=True):
    """Holds a share of what was measured, under its two denominators.

    `of_all` counts every answer that was judged: finished, cut, empty, refused. `of_completed` counts only answers that
    the model finished (status `ok`). Failed calls, missing answers and undecided verdicts count in neither. [low, high]
    are 95 % Wilson intervals, widened for answers that share a prompt. A number is None, with the `reason`, where its
    denominator is 0.
    """

    passed: int
    n: int
    of_all: float | None
    low: float | None
    high: float | None
    passed_completed: int
    n_completed: int
    of_completed: float | None
    low_completed: float | None
    high_completed: float | None
    reason: str = ""

    @property
    def share(self) -> Share:
        """Share that passed of all answers that were judged."""
        return Share(self.passed, self.n, self.of_all, self.low, self.high)


class Accounting(Record, frozen=True):
    """Counts what became of every answer asked for: n = ok + truncated + empty + refused + error + missing."""

    n: int
    ok: int
    truncated: int
    empty: int
    refused: int
    error: int
    missing: int

    @property
    def checked(self) -> int:
        """Number of answers that a verifier could look at."""
        return self.ok + self.truncated + self.empty + self.refused


class Tally(Record, frozen=True):
    """Counts the verdicts on one kind or family of constraints: passed + failed + undecided = checked (strict view)."""

    checked: int
    passed: int
    failed: int
    undecided: int
    strict: Rate
    loose: Rate


class GuardMeans(Record, frozen=True):
    """Holds means beside every pass rate, which show whether answers became short, repetitive or empty of content.

    Means are over the `n` answers with a visible text; shares named `…_share` of answers have the same denominator,
    except `truncated_share`, which is of all answers that were checked, and `sound_share`, which is of all prompts that
    were decided and ask for words, not for calls or moves. A mean is None if its denominator is 0, or if no prompt
    names topic words; the last four are None in older summaries too. `content_share` is the share of the query's topic
    words that the answer uses, `distinct_2` the share of different word pairs, `echo_share` the share of answers that
    mostly repeat the prompt, and `form_share` the share of answers with hardly a word that the prompt does not have.
    `sound_share` is the share of prompts that pass (strict view) with no answer that is form alone, an echo or
    repetitive. `responsive_share` is the share that pass with answers that respond to their request
    (`pipeline.responding`), of the prompts for which that can be told. `style_leak_share` is the share of answers in a
    form that nobody asked for (one case, quotes, bullets). `n` is None for a mean over training seeds.
    """

    mean_words: float | None
    distinct_2: float | None
    content_share: float | None
    repetition_share: float | None
    echo_share: float | None
    truncated_share: float | None
    n: int | None = None
    form_share: float | None = None
    sound_share: float | None = None
    responsive_share: float | None = None
    style_leak_share: float | None = None


class Floor(Record, frozen=True):
    """Names the best of thirty answerers without a model (strict view), which passes `rate` of its `n` prompts.

    A model's rate near the floor says nothing about following. Answerers are defined in `pipeline.floors.bots`.
    """

    answerer: str
    rate: float
    n: int


class SliceScore(Record, frozen=True):
    """Holds the numbers of one slice, or of all prompts.

    `floor` is None where no program decides about a text (episodes, statements for a model to judge), where the present
    judge does not know a stored constraint, and in older summaries.

    `coverage` is the share of (prompt, draw) that passed or failed: `pipeline.outcomes.together` decided them. A prompt
    passes when every constraint of every turn does. `instruction_macro` is the mean over prompts of the share of their
    constraints that pass strictly; `mean_of_four` averages the four rates above it (both of all answers).
    """

    n_prompts: int
    accounting: Accounting
    coverage: float
    prompt_strict: Rate
    instruction_strict: Rate
    prompt_loose: Rate
    instruction_loose: Rate
    instruction_macro: float | None
    mean_of_four: float | None
    families: dict[str, Tally]
    kinds: dict[str, Tally]
    guard: GuardMeans
    floor: Floor | None = None


class Measure(Record, frozen=True):
    """Holds one number beside the rates, from a suite's own way of asking (`pipeline.summarize.measures`).

    `scope` is what the number is about (a level, a turn, a role); empty: everything. `value` is a share, unless `name`
    says what it counts. [low, high] is a 95 % interval. A number can be None; `reason` says why. `n` counts `what`.
    """

    name: str
    scope: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    what: str
    reason: str = ""


Sums = tuple[int, int, int, int, int, int]
"""The fields of `stats.ClusterSums`, with prompts as clusters."""


class TrialSums(Record, frozen=True):
    """Holds the sums that a Rate is made from, over the clusters (prompts) that have trials.

    `completed` covers only finished answers. `shares` adds up the share that passed of each prompt's trials,
    `undecided` counts trials that are in no rate.
    """

    every: Sums = (0, 0, 0, 0, 0, 0)
    completed: Sums = (0, 0, 0, 0, 0, 0)
    undecided: int = 0
    shares: float = 0.0


class TallySums(Record, frozen=True):
    """Holds the sums that a Tally is made from."""

    outcomes: dict[str, int]
    strict: TrialSums
    loose: TrialSums


class CountSums(Record, frozen=True):
    """Holds the sums that rates are made from: of conversations and constraints (strict, loose), by family and kind."""

    prompt: tuple[TrialSums, TrialSums]
    instruction: tuple[TrialSums, TrialSums]
    families: dict[str, TallySums]
    kinds: dict[str, TallySums]


class SliceSums(Record, frozen=True):
    """Holds the sums of a SliceScore.

    `guard` has (sum, number) for each mean of its GuardMeans, `texts` their `n`. `floors` has (passed, answered)
    prompts for each answerer without a model.
    """

    n_prompts: int
    accounting: Accounting
    counts: CountSums
    texts: int
    guard: dict[str, tuple[float, int]]
    floors: dict[str, tuple[int, int]] = {}


class DrawSums(Record, frozen=True):
    """Holds the sums behind measures over several draws, of prompts whose every draw was measured.

    `passed` has the passed draws of each prompt, `clusters` the prompts' clusters, `by_draw` the prompts that each draw
    passed.
    """

    passed: tuple[int, ...] = ()
    clusters: tuple[str, ...] = ()
    by_draw: tuple[int, ...] = ()


class SummarySums(Record, frozen=True):
    """Holds the sums that a Summary is made from; sums of disjoint prompts add up to those of all."""

    overall: SliceSums
    slices: dict[str, SliceSums]
    draws: DrawSums


class Summary(Record, frozen=True):
    """Holds all numbers of a Run.

    `verifier_versions` names the version that judged each kind; `damage` counts unreadable rows. `sums` are set in a
    shard of a sharded Run (`store.sharded`), so that shards are added up without their rows. `floor` is the floor of
    all prompts.
    """

    version: int
    draws: int
    overall: SliceScore
    slices: dict[str, SliceScore]
    verifier_versions: dict[str, str]
    damage: int = 0
    measures: tuple[Measure, ...] = ()
    sums: SummarySums | msgspec.UnsetType = msgspec.UNSET
    floor: Floor | None = None

    @property
    def coverage(self) -> float:
        """The coverage over all prompts; see SliceScore."""
        return self.overall.coverage

    @property
    def accounting(self) -> Accounting:
        """The accounting over all prompts."""
        return self.overall.accounting
