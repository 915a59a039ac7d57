"""The numbers of a Run, as `summary.json` holds them. They are computed by `pipeline.summarize`."""

from __future__ import annotations

import msgspec

from adhere.schema import Record


class Share(Record, frozen=True):
    """`passed` of `n` with its interval.

    `rate` is None where n is 0, and [low, high] where nothing says how sure it is.
    """

    passed: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


class Rate(Record, frozen=True):
    """A share of what was measured, under its two denominators.

    `of_all` counts every answer that was judged: finished, cut, empty, refused. `of_completed` counts only answers that
    the model finished (status `ok`). Failed calls, missing answers and undecided verdicts are measurements of neither.
    [low, high] are 95 % Wilson intervals, widened for answers that share a prompt. A number is None, with the `reason`,
    where its denominator is 0.
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
        """The share that passed of all answers that were judged."""
        return Share(self.passed, self.n, self.of_all, self.low, self.high)


class Accounting(Record, frozen=True):
    """The fate of every answer that was asked for: n = ok + truncated + empty + refused + error + missing."""

    n: int
    ok: int
    truncated: int
    empty: int
    refused: int
    error: int
    missing: int

    @property
    def checked(self) -> int:
        """Answers that a verifier could look at."""
        return self.ok + self.truncated + self.empty + self.refused


class Tally(Record, frozen=True):
    """Verdicts on one kind of constraint, or one family: passed + failed + undecided = checked (strict view)."""

    checked: int
    passed: int
    failed: int
    undecided: int
    strict: Rate
    loose: Rate


class GuardMeans(Record, frozen=True):
    """Means beside every pass rate, which show whether answers became short, repetitive or empty of content.

    Means are over the `n` answers with a visible text; shares named `…_share` of answers have the same denominator,
    except `truncated_share`, which is of all answers that were checked, and `sound_share`, which is of all prompts that
    were decided and ask for words, not for calls or moves. None where the denominator is 0, or where no prompt names
    topic words; the last four also in summaries that are older than they. `content_share` is the share of the query's
    topic words that the answer uses, `distinct_2` that of different word pairs, `echo_share` that of answers that
    mostly repeat the prompt, `form_share` that of answers with hardly a word that the prompt does not have.
    `sound_share` passes (strict view) by answers of which none is form alone, an echo or repetitive; `responsive_share`
    by answers that respond to their request (`pipeline.responding`), of the prompts of which that can be told.
    `style_leak_share` is that of answers in a form that nobody asked for (one case, quotes, bullets). `n` is None for a
    mean over training seeds.
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
    """The best of thirty answerers without a model (strict view): it passes `rate` of the `n` prompts that it got.

    A rate near its floor says nothing of following. `answerer` names it (`pipeline.floors.bots`).
    """

    answerer: str
    rate: float
    n: int


class SliceScore(Record, frozen=True):
    """The numbers of one slice, or of all prompts.

    `floor` is None where no program decides about a text (episodes, statements for a model to judge), where today's
    judge does not know a stored constraint, and in summaries that are older than it.

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
    """One number beside the rates, from a suite's own way of asking (`pipeline.summarize.measures`).

    `scope` is what it is about (a level, a turn, a role); empty: everything. It is a share, unless `name` says what it
    counts. [low, high] is a 95 % interval; a number is None where there is none, and `reason` says why. `n` counts
    `what`.
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
"""`stats.ClusterSums`, of prompts."""


class TrialSums(Record, frozen=True):
    """The sums that a Rate is made from, over the clusters (prompts) that have trials.

    `completed`: only those of finished answers. `shares` adds up the share that passed of each prompt's trials,
    `undecided` counts trials that are in no rate.
    """

    every: Sums = (0, 0, 0, 0, 0, 0)
    completed: Sums = (0, 0, 0, 0, 0, 0)
    undecided: int = 0
    shares: float = 0.0


class TallySums(Record, frozen=True):
    """The sums that a Tally is made from."""

    outcomes: dict[str, int]
    strict: TrialSums
    loose: TrialSums


class CountSums(Record, frozen=True):
    """The sums that the rates are made from: of conversations and constraints (strict, loose), by family and kind."""

    prompt: tuple[TrialSums, TrialSums]
    instruction: tuple[TrialSums, TrialSums]
    families: dict[str, TallySums]
    kinds: dict[str, TallySums]


class SliceSums(Record, frozen=True):
    """The sums of a SliceScore. `guard` is (sum, number) of each mean of its GuardMeans, `texts` their `n`.

    `floors` is (passed, answered) prompts of each answerer without a model.
    """

    n_prompts: int
    accounting: Accounting
    counts: CountSums
    texts: int
    guard: dict[str, tuple[float, int]]
    floors: dict[str, tuple[int, int]] = {}


class DrawSums(Record, frozen=True):
    """The sums behind measures over several draws, of prompts of which every draw was measured.

    `passed` draws of each prompt, the `clusters` of these prompts, and how many prompts each draw passed.
    """

    passed: tuple[int, ...] = ()
    clusters: tuple[str, ...] = ()
    by_draw: tuple[int, ...] = ()


class SummarySums(Record, frozen=True):
    """The sums that a Summary is made from: those of disjoint prompts add up to that of all."""

    overall: SliceSums
    slices: dict[str, SliceSums]
    draws: DrawSums


class Summary(Record, frozen=True):
    """All numbers of a Run.

    `verifier_versions` names the version that judged each kind; `damage` counts unreadable rows. `sums` are there in a
    shard of a sharded Run (`store.sharded`), so that its shards are added up without their rows. `floor` is that of all
    prompts.
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
