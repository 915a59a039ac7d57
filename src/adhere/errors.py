"""The exceptions that adhere raises.

    AdhereError                  anything below; printed without a traceback, exit code `exit_code` (5: failed)
    ├── UsageError (ValueError)  the caller asked for something that cannot be (exit 2)
    │   ├── SpecError            a TOML or JSON document is wrong: names file, line, key, nearest valid name
    │   ├── UnknownName (KeyError)  no such constraint, suite, model or stage: did you mean …?
    │   └── BadParameter         a constraint's parameter lies outside its declared domain
    ├── MissingExtra (ImportError)   an optional package is absent: names the pip command
    ├── MissingModel (FileNotFoundError)  a model's files are absent: names the path and the command that fetches it
    ├── IntegrityError           bytes do not match their recorded hash, or a stored file cannot be understood
    ├── ContaminationError       training data overlaps held-out prompts
    ├── ResourceError (OSError)  too little disk or memory for what was asked
    ├── Divergence               training produced a loss or gradient that is not a number: names stage and step
    ├── RunMismatch              a stored Run or Study was made from another spec
    ├── Incomplete               coverage below the limit (exit 3)
    ├── GateError                a run is not good enough for what was asked of it (exit 6)
    └── OutOfCredit              the endpoint wants money first (exit 4)

Our own bugs are not AdhereErrors and keep their traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Word = TypeVar("Word", bound=str)

EXIT_CODES = {
    0: "done",
    1: "found what cannot be right (adhere claims, reproduce, audit)",
    2: "usage: an argument, a name or a file that was given cannot be used",
    3: "incomplete: too little was measured, or too little to tell a gate",
    4: "out of credit, or less is left than what is asked for costs",
    5: "failed: the message says why (disk, damaged file, nothing answers)",
    6: "a gate does not hold (--fail-below, --fail-if-worse-than)",
    130: "interrupted; what was finished is stored",
}
"""The exit codes of every command. `adhere --help` and docs/reference/cli.md print this table."""


class AdhereError(Exception):
    """Base of every error that is not a bug of ours; `str(error)` says what to do."""

    exit_code = 5


class UsageError(AdhereError, ValueError):
    """The caller asked for something that cannot be."""

    exit_code = 2


class SpecError(UsageError):
    """A document that a person wrote is wrong; the message names file, line and key."""


class UnknownName(UsageError, KeyError):
    """A name that no registry knows; the message suggests the nearest one."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class BadParameter(UsageError):
    """A constraint's parameter lies outside its declared domain."""


class MissingExtra(AdhereError, ImportError):
    """An optional package is not installed."""

    exit_code = 2


class MissingModel(AdhereError, FileNotFoundError):
    """A model's files are not where they should be. `fetchable` is the name that `adhere fetch` takes, if any."""

    exit_code = 2

    def __init__(self, message: str, *, fetchable: str | None = None) -> None:
        super().__init__(message)
        self.fetchable = fetchable


class IntegrityError(AdhereError):
    """Stored bytes do not match what was recorded about them."""


class ContaminationError(AdhereError):
    """Training data overlaps the held-out prompts."""


class ResourceError(AdhereError, OSError):
    """Too little disk or memory for what was asked."""


class Divergence(AdhereError):
    """Training produced a loss or a gradient that is not finite."""


class RunMismatch(AdhereError):
    """A directory holds a Run or Study made from another spec."""

    exit_code = 2


class Incomplete(AdhereError):
    """Some measurements are missing; what was measured is stored."""

    exit_code = 3


class GateError(AdhereError):
    """A run is measured, and is not good enough for what was asked of it."""

    exit_code = 6


class OutOfCredit(AdhereError):
    """An endpoint has no credit left, or less than what is asked for costs; what was measured is stored."""

    exit_code = 4


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the closest known name, or `""` if none is close."""
    import difflib  # needed when something went wrong only

    matches = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def one_of(value: object, words: Sequence[Word], noun: str) -> Word:
    """Return `value` if it is one of `words`; `noun` names it in the message.

    Raises:
        UsageError: `value` is none of `words`.
    """
    for word in words:
        if value == word:
            return word
    close = nearest(value, words) if isinstance(value, str) else ""
    raise UsageError(f"Unknown {noun} {value!r}.{close} It is one of {', '.join(map(repr, words))}")
