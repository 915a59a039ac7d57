"""Run one call of a function that nobody has read."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adhere.errors import UsageError
from adhere.sandbox import workers
from adhere.schema import Json

Status = Literal["ok", "error", "timeout", "memory", "refused", "nondeterministic"]
MOST_SOURCE = 1_000_000  # characters
MOST_ARGS = 16_000_000  # bytes of JSON
MOST_DEPTH = 100  # of a value's nesting, as the worker has it


@dataclass(frozen=True)
class Outcome:
    """Holds the outcome of one call.

    Attributes:
        status: `ok`; `error` (it raised, or returned what is no JSON); `timeout`; `memory`; `nondeterministic` (two
            runs disagree); `refused` (nothing ran, because nothing here isolates it).
        value: What the function returned, if `status` is `ok`. A tuple comes back as a list.
        reason: One sentence for a person, if `status` is not `ok`.
        backend: What isolated the call, e.g. `"linux: landlock, seccomp, bubblewrap"`; `"none"` if it was refused.
        waited: Of `timeout`: the call did not use up its processor time, but waited, or a busy machine did not let it
            run. So this says nothing about the code.
    """

    status: Status
    value: Json
    reason: str
    backend: str
    waited: bool = False


def run(
    source: str,
    function: str,
    args: Sequence[Json],
    *,
    timeout_s: float = 1.0,
    memory_mb: int = 256,
    twice: bool = True,
) -> Outcome:
    """Call `function` of `source` with `args` in a process that can compute and do nothing else.

    The code cannot read files (except the standard library's), write, reach a network, start processes or threads, send
    signals, see this process's environment or memory, or outlast its limits. It can decide only its own return value.

    Args:
        source: Python source that defines the function.
        function: The function's name.
        args: Positional arguments: JSON values.
        timeout_s: Seconds of processor time; a call that waits is ended after twice that.
        memory_mb: Megabytes of address space, with the interpreter's own (about 40).
        twice: Run it in two interpreters with different hash seeds at the same time; if they disagree, the outcome
            is `nondeterministic`. One run says less and takes half the processor time.

    Raises:
        UsageError: An argument is no JSON value, or a limit is no positive number.
    """
    call = _check_call(source, function, args, timeout_s, memory_mb)
    try:
        pool = workers.pool()
    except workers.NoIsolation as problem:
        return Outcome("refused", None, f"nothing here isolates code: {problem}", "none")
    backend_name = _name(pool)
    with pool.lock:
        indexes = range(len(workers.HASH_SEEDS) if twice else 1)
        try:
            answers = _answers(pool, indexes, *call, timeout_s=timeout_s, memory_mb=memory_mb)
        except workers.NoIsolation as problem:
            return Outcome("refused", None, f"nothing here isolates code any more: {problem}", "none")
        except (
            BaseException
        ):  # interrupted: an answer may still be on its way, and must not be taken for the next call's
            pool.stop()
            raise
    outcomes = [_outcome(answer, backend_name) for answer in answers]
    return _merge_outcomes(outcomes, backend_name)


def backend() -> str:
    """Name what isolates code here; if nothing does, return `"none: "` and why.

    On Linux e.g. `"linux: landlock, seccomp, bubblewrap"`.
    """
    try:
        return _name(workers.pool())
    except workers.NoIsolation as problem:
        return f"none: {problem}"


def _name(pool: workers.Pool) -> str:
    return f"linux: {', '.join(pool.fences)}"


def _check_call(
    source: str, function: str, args: Sequence[Json], timeout_s: float, memory_mb: int
) -> tuple[str, str, list[Json]]:
    if not isinstance(source, str) or len(source) > MOST_SOURCE:
        raise UsageError(f"source must be a str of at most {MOST_SOURCE:,} characters")
    if not isinstance(function, str):
        raise UsageError(f"function must be the name of a function, is {function!r}")
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise UsageError(f"args must be a list of JSON values, is a {type(args).__name__}")
    if not (isinstance(timeout_s, int | float) and math.isfinite(timeout_s) and 0 < timeout_s <= 3600):
        raise UsageError(f"timeout_s must be a number of seconds above 0 and at most 3600, is {timeout_s!r}")
    if not (isinstance(memory_mb, int) and 64 <= memory_mb <= 1_000_000):
        raise UsageError(f"memory_mb must be a whole number from 64 (the interpreter needs about 40), is {memory_mb!r}")
    try:
        size = len(json.dumps(list(args), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"args must be JSON values: {error}") from error
    if size > MOST_ARGS:
        raise UsageError(f"args are {size:,} bytes of JSON; at most {MOST_ARGS:,} are taken")
    return source, function, list(args)


def _answers(
    pool: workers.Pool,
    indexes: range,
    source: str,
    function: str,
    args: list[Json],
    *,
    timeout_s: float,
    memory_mb: int,
) -> list[workers.Answer]:
    """Return the answers of some workers to the same call, which they run at the same time.

    A dead worker is replaced and asked again.
    """
    deadlines: dict[int, float] = {}
    for index in indexes:
        with contextlib.suppress(workers.DeadWorker):
            deadlines[index] = pool.workers[index].begin(
                source, function, args, timeout_s=timeout_s, memory_mb=memory_mb
            )
    answers: dict[int, workers.Answer] = {}
    for index, deadline in deadlines.items():
        with contextlib.suppress(workers.DeadWorker):
            answers[index] = pool.workers[index].finish(deadline)
    for index in indexes:
        if index not in answers:
            pool.replace(index)
            worker = pool.workers[index]
            try:
                answers[index] = worker.call(source, function, args, timeout_s=timeout_s, memory_mb=memory_mb)
            except workers.DeadWorker as problem:
                pool.replace(index)
                answers[index] = workers.Answer("error", f"the worker died twice of this call: {problem}", b"")
    return [answers[index] for index in indexes]


def _outcome(answer: workers.Answer, backend_name: str) -> Outcome:
    if answer.status == "waited":
        return Outcome("timeout", None, answer.reason, backend_name, waited=True)
    if answer.status != "ok":
        status: Status = answer.status if answer.status in {"timeout", "memory"} else "error"  # type: ignore[assignment]
        return Outcome(status, None, answer.reason, backend_name)
    try:
        value: Json = json.loads(answer.payload, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Outcome("error", None, "the process answered with what is no JSON value", backend_name)
    if not _is_within_limits(
        value
    ):  # code that finds its runner's token can write an answer that the runner did not look at
        return Outcome(
            "error",
            None,
            f"the process answered with a number that is not finite, or nested deeper than {MOST_DEPTH}",
            backend_name,
        )
    return Outcome("ok", value, "", backend_name)


def _is_within_limits(value: Json) -> bool:
    """Tell whether every number is finite and no value is nested deeper than `MOST_DEPTH`.

    `1e999` is read as infinity.
    """
    level: list[Json] = [value]
    for _ in range(MOST_DEPTH):
        if any(isinstance(part, float) and not math.isfinite(part) for part in level):
            return False
        below = [part for part in level if isinstance(part, list | dict)]
        level = [item for part in below for item in (part.values() if isinstance(part, dict) else part)]
    return not level


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON value")


def _merge_outcomes(outcomes: list[Outcome], backend_name: str) -> Outcome:
    """Merge the outcomes of the runs. If one run reached a limit, that is the outcome; else the runs must agree."""
    first = outcomes[0]
    for outcome in outcomes:
        if outcome.status in {"timeout", "memory"}:
            return outcome
    for other in outcomes[1:]:
        if other.status != first.status:
            reason = f"one run gave {_short(first)}, the other {_short(other)}"
            return Outcome("nondeterministic", None, reason, backend_name)
        if first.status == "ok" and json.dumps(first.value, sort_keys=True) != json.dumps(other.value, sort_keys=True):
            reason = f"returned {_short(first)} in one run and {_short(other)} in the other"
            return Outcome("nondeterministic", None, reason, backend_name)
    return first


def _short(outcome: Outcome) -> str:
    text = json.dumps(outcome.value) if outcome.status == "ok" else f"{outcome.status} ({outcome.reason})"
    return text if len(text) <= 80 else f"{text[:80]}…"
