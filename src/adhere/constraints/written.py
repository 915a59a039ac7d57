"""Define checks that a model wrote: functions that are not trusted and run in the sandbox.

`adhere build checks` makes them.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from adhere.constraints.base import Constraint, ListOf, Words, kind, param
from adhere.constraints.finding import Finding
from adhere.sandbox import run

FUNCTION = "evaluate"
TIMEOUT_S = 1.0
MEMORY_MB = 256
MOST_FUNCTIONS = 5


@dataclasses.dataclass(frozen=True)
class AnyText:
    """A text of 1 to `longest` characters, on any number of lines."""

    longest: int

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and 0 < len(value) <= self.longest and value.strip():
            return None
        return f"must be a text of 1 to {self.longest} characters, not only blanks"

    def invalid(self) -> Sequence[object]:
        return ["", " \n", "x" * (self.longest + 1), 3, None]


@kind
class Written(Constraint):
    """Most of the functions say True. Each is Python text that defines `evaluate(response) -> bool`.

    With a function that looks for "!": "Yes!" passes, "Yes." fails. A function that raises, takes too long, answers
    with no bool or disagrees with itself has no vote; without a majority of all functions the verdict is undecided.
    Nothing runs without isolation.

    Attributes:
        instruction: What the model is asked for.
        functions: The functions, as text.
        good: An answer that passes.
        bad: An answer that fails.
    """

    id: ClassVar[str] = "written:check"
    is_task: ClassVar[bool] = True
    phrasings: ClassVar[tuple[str, ...]] = (
        "{instruction}",
        "Keep to this rule: {instruction}",
        "One rule for your answer: {instruction}",
        "There is one thing that your answer has to do: {instruction}",
    )
    passing: ClassVar[tuple[dict[str, Any], str]] = (
        {
            "instruction": "Use at least one exclamation mark.",
            "functions": ("def evaluate(response):\n    return '!' in response\n",),
            "good": "Yes!",
            "bad": "Yes.",
        },
        "Yes!",
    )
    failing: ClassVar[tuple[dict[str, Any], str]] = (passing[0], "Yes.")

    instruction: str = param(Words(400))
    functions: tuple[str, ...] = param(ListOf(AnyText(8000), 1, MOST_FUNCTIONS), said=False)
    good: str = param(AnyText(4000), said=False)
    bad: str = param(AnyText(4000), said=False)

    def check(self, text: str) -> Finding:
        votes, silent = [], []
        for number, source in enumerate(self.functions, start=1):
            outcome = run(source, FUNCTION, [text], timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB)
            if outcome.status == "ok" and isinstance(outcome.value, bool):
                votes.append(outcome.value)
            elif outcome.status == "ok":
                silent.append(f"function {number} returned {outcome.value!r:.60}, no bool")
            else:
                silent.append(f"function {number}: {outcome.status} ({outcome.reason})")
        total, passed = len(self.functions), sum(votes)
        if 2 * passed > total:
            return Finding("pass", f"{passed} of {total} functions pass it", passed, total, score=passed / total)
        if 2 * (len(votes) - passed) > total:
            return Finding(
                "fail",
                f"{passed} of {total} functions pass it: {self.instruction}",
                passed,
                total,
                score=passed / total,
            )
        return Finding("undecided", "; ".join(silent) or f"{passed} of {total} functions pass it: no majority")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        """Return the example; real checks come from a file, each as a whole."""
        return cls(**cls.passing[0])

    def witness(self) -> str:
        return self.good

    def counter_witness(self) -> str:
        return self.bad

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether `other` is the same check; what model-written checks ask for is not known."""
        return isinstance(other, Written) and other.instruction == self.instruction
