"""Define the content of a leaderboard, as `leaderboard.json` stores it and `sweep.leaderboard` computes it."""

from __future__ import annotations

from typing import Literal

from adhere.schema import SCHEMA_VERSION, EngineInfo, Record, Sampling
from adhere.store.summary import Accounting, Floor, Rate

ModeOfFailure = Literal["test", "constraint", "truncated", "refused", "empty", "format wrapping", "timeout", "error"]
TestNoun = Literal["test", "family", "slice"]


class Example(Record, frozen=True):
    """Holds one real answer behind a number; `prompt` and `answer` may be cut, and then say so.

    `status` is the Response's.
    """

    prompt_id: str
    turn: int
    draw: int
    prompt: str
    status: str
    answer: str
    reason: str


class Failure(Record, frozen=True):
    """Describes one way in which a model failed: `count` times of `of`, with up to three answers.

    For the modes `test` and `constraint`, `name` is the test or constraint, and `of` how often it was judged. `format
    wrapping` counts constraints that pass once quotes, stars or a first or last line are removed (loose), of those that
    fail strictly. The other modes are statuses of answers, of all that were asked for. `error` has one row for each
    reason (`name`), without time-outs.
    """

    mode: ModeOfFailure
    name: str
    count: int
    of: int
    examples: tuple[Example, ...] = ()


class Spread(Record, frozen=True):
    """Holds the mean and percentiles of the seconds of `n` answers; None where none was timed."""

    n: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class Cost(Record, frozen=True):
    """Holds a cost in USD.

    A number is None, with the `reason`, where the cost of answers is unknown, or where none was correct.
    """

    total_usd: float | None
    per_correct_usd: float | None
    reason: str = ""


class Tokens(Record, frozen=True):
    """Counts the tokens of all answers that report them (`n`); None if none does. `completion` includes reasoning."""

    n: int
    prompt: int | None
    completion: int | None
    reasoning: int | None


class Cell(Record, frozen=True):
    """Holds one model on one test: `passed` of `n` measured (strict) with interval; None where nothing was measured.

    `partial` is the mean closeness of the `n_partial` verdicts that carry one; it is never part of the rate.
    """

    test: str
    passed: int
    n: int
    rate: float | None
    low: float | None
    high: float | None
    n_partial: int
    partial: float | None


class Row(Record, frozen=True):
    """Holds one model on one suite.

    `rank` is by `prompt_strict.of_all`; [rank_low, rank_high] holds the true rank with 95 %. All three are None where
    `unranked` says why. [bound_low, bound_high] is that rate if everything that was not measured had failed, or passed.
    `timeouts` are among `accounting.error`. `run` is the directory of the answers. `floor` is the suite's.
    """

    model: str
    suite: str
    run: str
    engine: EngineInfo
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    unranked: str
    coverage: float
    accounting: Accounting
    timeouts: int
    prompt_strict: Rate
    prompt_loose: Rate
    instruction_strict: Rate
    instruction_loose: Rate
    instruction_macro: float | None
    mean_of_four: float | None
    bound_low: float
    bound_high: float
    slices: dict[str, Rate]
    n_partial: int
    partial: float | None
    latency: Spread
    first_token: Spread
    cost: Cost
    tokens: Tokens
    providers: dict[str, int]
    cells: tuple[Cell, ...]
    failures: tuple[Failure, ...]
    floor: Floor | None = None


class Difficulty(Record, frozen=True):
    """Says how hard a test is: the share passed over all models; the interval treats each model as one cluster."""

    test: str
    n_models: int
    passed: int
    n: int
    rate: float | None
    low: float | None
    high: float | None


class SuiteFacts(Record, frozen=True):
    """Describes one suite of the board.

    `tests` are the columns of the matrix, in the suite's order, and `noun` says what they are: templates (`test`),
    families of constraints, or slices. `easiest`, `median`, `hardest` are among them. `resolvable` is the smallest
    difference of two rates that makes two typical ranked models certainly different.
    """

    name: str
    version: str
    sha256: str
    n_prompts: int
    draws: int
    limit: int | None
    mode: str
    sampling: Sampling
    noun: TestNoun
    tests: tuple[Difficulty, ...]
    easiest: str
    median: str
    hardest: str
    n_ranked: int
    resolvable: float | None


class Dead(Record, frozen=True):
    """Names a wanted model that was not measured to the end, and why.

    The model did not answer the small question, or was set aside.
    """

    model: str
    reason: str


class Leaderboard(Record, frozen=True):
    """Holds the rows of each suite in turn, ranked ones first. Counts of models are None where no endpoint was swept.

    listed >= wanted = alive + dead + unknown (not yet asked). `left_out` counts the reasons why listed models were not
    wanted. `alive` models answered the small question, `dead` ones did not. `set_aside` are alive models that were not
    asked to the end, with the reason. `stopped` says why asking ended early. A rank needs at least `min_coverage`;
    `confidence` is that of every interval.
    """

    suites: tuple[SuiteFacts, ...]
    rows: tuple[Row, ...]
    base_url: str = ""
    snapshot: str = ""
    listed: int | None = None
    wanted: int | None = None
    alive: int | None = None
    dead: tuple[Dead, ...] = ()
    left_out: dict[str, int] = {}
    stopped: str = ""
    set_aside: tuple[Dead, ...] = ()
    min_coverage: float = 0.98
    confidence: float = 0.95
    version: int = SCHEMA_VERSION
