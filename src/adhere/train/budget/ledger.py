"""The cost of a stage: counted while it runs, stored with its result, so that arms can be compared at equal cost."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, Protocol

from adhere.schema import Record

LogRow = dict[str, float | None]


class StageLedger(Record, frozen=True):
    """Holds the cost of one stage.

    Attributes:
        steps: Optimizer steps taken; those with nothing to learn from are not counted.
        prompts: Prompts answered (online) or rows and pairs read (offline), counted each time.
        answers_generated: Answers drawn from the policy.
        answers_unmeasured: Of these, how many the judge gave no score; they are left out of what is learned from.
        groups_thrown_away: Groups of answers that did not differ in score and were replaced by those of other prompts
            (`rounds` of GRPO).
        tokens_generated: Tokens of the drawn answers, end tokens included.
        tokens_trained: Completion tokens through forward and backward, counted per row.
        tokens_processed: Tree tokens through forward and backward: prompts included, shared beginnings once.
        tokens_scored: Tree tokens through a forward pass without gradient (reference log-probs).
        seconds: Wall-clock time of the whole stage.
        seconds_generating: Of these, drawing answers.
        seconds_scoring: Of these, judging answers.
        peak_memory_bytes: Highest use so far, of the CUDA GPU if the stage ran on one, else of the process;
            never lower than an earlier stage's.
        parameters_trained: Weights that the optimizer moved.
        parameters_frozen: Weights that the optimizer left unchanged (embeddings and head).
        precision: Precision of the matrix products in training.
        rollout_precision: Precision of drawing answers; empty if none are drawn.
        device: Device type that the stage ran on.
    """

    steps: int = 0
    prompts: int = 0
    answers_generated: int = 0
    answers_unmeasured: int = 0
    groups_thrown_away: int = 0
    tokens_generated: int = 0
    tokens_trained: int = 0
    tokens_processed: int = 0
    tokens_scored: int = 0
    seconds: float = 0.0
    seconds_generating: float = 0.0
    seconds_scoring: float = 0.0
    peak_memory_bytes: int = 0
    parameters_trained: int = 0
    parameters_frozen: int = 0
    precision: str = ""
    rollout_precision: str = ""
    device: str = ""

    @property
    def equivalent_tokens(self) -> int:
        """Compute, in tokens of forward and backward.

        A token drawn, or passed forward without gradient, counts a third.
        """
        return self.tokens_processed + (self.tokens_scored + self.tokens_generated) // 3


_observer: ContextVar[Callable[[LogRow], None] | None] = ContextVar("observer", default=None)


@contextmanager
def observing(see: Callable[[LogRow], None]) -> Iterator[None]:
    """Call `see` with every log row of the stages inside the block as it comes.

    An error from `see` ends the stage.
    """
    token = _observer.set(see)
    try:
        yield
    finally:
        _observer.reset(token)


class StepLog(list[LogRow]):
    """A list of a stage's log rows that tells the observer of each; `more` returns columns to add to a row."""

    more: Callable[[], LogRow] | None = None

    def append(self, row: LogRow) -> None:
        if self.more is not None:
            row |= self.more()
        super().append(row)
        observer = _observer.get()
        if observer is not None:
            observer(row)


def values_of(log: Sequence[LogRow], column: str) -> list[float]:
    """Return the values of a column, from the rows that have one."""
    return [value for row in log if (value := row.get(column)) is not None]


class Artefact(Protocol):
    """Anything that a stage may leave besides weights, such as a reward model."""

    def save(self, directory: Path) -> None:
        """Write the artefact into `directory`, which is created."""


class StageResult(NamedTuple):
    """Holds one log row for each step, the stage's cost, and its artefact if it makes one.

    The model was trained in place.
    """

    log: list[LogRow]
    ledger: StageLedger
    artefact: Artefact | None = None


class Tally:
    """Counts a stage's cost while it runs; the fields are named as in StageLedger."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.steps = self.prompts = self.answers_generated = self.answers_unmeasured = self.groups_thrown_away = 0
        self.tokens_generated = self.tokens_trained = self.tokens_processed = self.tokens_scored = 0
        self.seconds_generating = self.seconds_scoring = 0.0
        self.parameters_trained = self.parameters_frozen = 0
        self.precision = self.rollout_precision = self.device = ""

    def close(self) -> StageLedger:
        """Return the ledger so far."""
        counts = {name: value for name, value in vars(self).items() if name != "started"}
        seconds, peak = time.perf_counter() - self.started, peak_memory_bytes(self.device)
        return StageLedger(**counts, seconds=seconds, peak_memory_bytes=peak)


def peak_memory_bytes(device: str = "cpu") -> int:
    """Return the most memory that this process has used: as torch counts it for `cuda`, else resident memory."""
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts kilobytes on Linux, bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
