"""Tell which commands of a command line ran, and which passed, as far as its one exit status says."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from adhere.rules.shell.parse import AndOr, Command, Compound, Redirect, Script, Simple


class Knowledge(NamedTuple):
    """Holds what is known of a command: whether it ran, and how it ended.

    Attributes:
        ran: Whether it ran; None: unknown.
        passed: Whether it ended with 0; None: unknown.
        exit_code: The line's exit code, where it is this command's; None: unknown.
    """

    ran: bool | None
    passed: bool | None
    exit_code: int | None = None


_UNKNOWN = Knowledge(None, None)
_SURE = frozenset("cd pushd popd export set source . echo printf true pwd date unset alias".split())
Seen = tuple[Command, Knowledge, tuple[Redirect, ...]]


def outcomes(script: Script, exit_code: int | None) -> Iterator[Seen]:
    """Yield every simple command in order, with what is known of it and the redirections around it."""
    return _script(script, exit_code, ran=True, around=(), strict=_is_strict(script))


def _is_strict(script: Script) -> bool:
    first = script.lists[0].pipelines[0][0] if script.lists else None
    words = [word.text for word in first.words] if isinstance(first, Simple) else []
    return words[:1] == ["set"] and any(word.startswith("-") and "e" in word for word in words[1:])


def _script(
    script: Script, code: int | None, *, ran: bool | None, around: tuple[Redirect, ...], strict: bool
) -> Iterator[Seen]:
    for place, chain in enumerate(script.lists):
        is_last = place == len(script.lists) - 1
        own = code if is_last or (strict and code == 0) else None
        own_ran = ran if not strict or place < 2 or code == 0 else None
        yield from _and_or(chain, own, ran=own_ran, around=around, strict=strict)


def _and_or(
    chain: AndOr, code: int | None, *, ran: bool | None, around: tuple[Redirect, ...], strict: bool
) -> Iterator[Seen]:
    sure = sum(1 for _ in itertools.takewhile(_hardly_fails, chain.pipelines))
    pipeline_knowledge = _of_pipelines(chain.operators, code, ran=ran, sure=sure)
    for pipeline, knowledge in zip(chain.pipelines, pipeline_knowledge, strict=True):
        for place, command in enumerate(pipeline):
            is_last = place == len(pipeline) - 1
            mine = knowledge if is_last else Knowledge(knowledge.ran, None, None)
            if not place and knowledge.passed is False and len(pipeline) > 1 and all(map(_only_shows, pipeline[1:])):
                mine = Knowledge(knowledge.ran, passed=False)  # `pipefail`: what only shows its input does not fail
            if isinstance(command, Compound):
                yield from _compound(command, mine, around=around, strict=strict)
            else:
                yield command, mine, around


def _hardly_fails(pipeline: list[Command]) -> bool:
    """Tell whether a pipeline is taken to pass, so that what follows its `&&` ran: `cd src && …`."""
    first = pipeline[0]
    return isinstance(first, Simple) and (not first.words or first.words[0].text in _SURE)


def _only_shows(command: Command) -> bool:
    return (
        isinstance(command, Simple) and bool(command.words) and command.words[0].text in {"tail", "head", "cat", "tee"}
    )


def _of_pipelines(operators: list[str], code: int | None, *, ran: bool | None, sure: int) -> list[Knowledge]:
    """Return what is known of pipelines joined by `operators`, the first `sure` of which are taken to pass."""
    n = len(operators) + 1
    if n == 1:
        return [Knowledge(ran, None if code is None or ran is None else code == 0, code)]
    if code == 0 and set(operators) == {"&&"}:
        return [Knowledge(ran, True if ran else None, 0)] * n
    if code not in (None, 0) and set(operators) == {"||"}:
        return [Knowledge(ran, False if ran else None, None)] * (n - 1) + [Knowledge(ran, False if ran else None, code)]
    if set(operators) == {"&&"}:
        n_reached = n if code is None else min(n, sure + 1)  # without a status a chain is taken to have run
        is_told = n_reached == n and code is not None and ran
        last = Knowledge(ran, passed=False, exit_code=code) if is_told else Knowledge(ran, None)
        return [*[Knowledge(ran, None)] * (n_reached - 1), last, *[_UNKNOWN] * (n - n_reached)]
    return [Knowledge(ran, None), *[_UNKNOWN] * (n - 1)]


def _compound(
    compound: Compound, knowledge: Knowledge, *, around: tuple[Redirect, ...], strict: bool
) -> Iterator[Seen]:
    around = (*around, *compound.redirects)
    if compound.kind in {"(", "{"}:
        for script in compound.scripts:
            yield from _script(script, knowledge.exit_code, ran=knowledge.ran, around=around, strict=strict)
        return
    for place, script in enumerate(compound.scripts):
        first = place == 0 and compound.kind in {"if", "while", "until"}
        ran = knowledge.ran if first else True if compound.kind in {"for", "select"} and knowledge.ran else None
        yield from _script(script, None, ran=ran, around=around, strict=False)
