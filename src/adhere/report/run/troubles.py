"""Count why answers of a Run are missing or undecided, most frequent first, with advice for each reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from adhere.report.pieces.numbers import plural
from adhere.schema import Response, Verdict
from adhere.store.run import Run

SHOWN = 3


class Reason(NamedTuple):
    """Holds a message and the number of answers that have it."""

    text: str
    answers: int


class Troubles(NamedTuple):
    """Holds the reasons of failed calls, and of undecided verdicts (strict view), each by frequency."""

    failed: tuple[Reason, ...]
    undecided: tuple[Reason, ...]


NO_TROUBLES = Troubles((), ())

# What our own messages begin with -> what a person can do. The first that fits counts.
_ADVICE = (
    (r"HTTP 404",
        "The server has no model of this name, or nothing at this path: GET BASE_URL/models lists its models"),
    (r"HTTP 40[13]", "The server wants a key, or another one: adhere list models names the variable that holds it"),
    (r"HTTP 402", "The account has no credit left"),
    (r"HTTP (429|5\d\d)",
        "The server has no room just now, or fails: run the same command again later, or with a lower --concurrency"),
    (r"HTTP 4\d\d",
        "The server refuses the request as it is; its message says what it lacks. Once that is mended, add --recheck"),
    (r"timeout|no connection within", "Run the same command again with a larger --timeout"),
    (r"Client\w*Error|Connection\w*|ServerDisconnected\w*",
        "Nothing answered at this address. Is the server running, and is the URL right?"),
    (r"The prompt has \d+ tokens",
        "The model reads less than that: give fewer --max-new-tokens, or leave such prompts out"),
    (r"turn \d+ has no answer",
        "An earlier turn of the conversation failed; running the same command again asks it once more"),
)  # fmt: skip


def troubles_of(run: Run) -> Troubles:
    """Count failed calls and undecided verdicts of a stored Run; of a sharded one, only shards with any are read."""
    failed, undecided = Counter[str](), Counter[str]()
    for part in run.parts():
        summary = part.summary() if part.is_shard and part.is_sealed else None
        kinds = () if summary is None else summary.overall.kinds.values()
        if summary is None or summary.accounting.error or any(kind.undecided for kind in kinds):
            more = _count_reasons(part.responses(), part.verdicts())
            failed, undecided = failed + more[0], undecided + more[1]
    return Troubles(_by_frequency(failed), _by_frequency(undecided))


def _count_reasons(responses: Iterable[Response], verdicts: Iterable[Verdict]) -> tuple[Counter[str], Counter[str]]:
    failed = Counter(response.error or "no message" for response in responses if response.status == "error")
    undecided = Counter(
        f"{verdict.constraint_id}: {verdict.reason}"
        for verdict in verdicts
        if verdict.view == "strict" and verdict.outcome == "undecided"
    )
    return failed, undecided


def trouble_lines(troubles: Troubles) -> list[str]:
    """Return a sentence for each of the most frequent reasons, with advice; the other reasons are counted."""
    lines = []
    for reason in troubles.failed[:SHOWN]:
        helps = advice(reason.text)
        lines.append(f"{plural(reason.answers, 'call')} failed: {reason.text}{f'. {helps}' if helps else ''}")
    lines += [f"{plural(reason.answers, 'verdict')} undecided: {reason.text}" for reason in troubles.undecided[:SHOWN]]
    for noun, reasons in (
        ("other reasons of failed calls", troubles.failed),
        ("other undecided constraints", troubles.undecided),
    ):
        if len(reasons) > SHOWN:
            rest = sum(reason.answers for reason in reasons[SHOWN:])
            lines.append(
                f"{len(reasons) - SHOWN} {noun}, {plural(rest, 'answer')}: adhere report RUN --html shows them"
            )
    return lines


def advice(error: str) -> str:
    """Return what a user can do about a failed call; empty if only asking again helps."""
    return next((helps for begins, helps in _ADVICE if re.match(begins, error)), "")


def _by_frequency(counts: Counter[str]) -> tuple[Reason, ...]:
    return tuple(Reason(text, answers) for text, answers in counts.most_common())
