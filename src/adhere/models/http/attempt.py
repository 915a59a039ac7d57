"""The result of one call: the terms in which the wire tells the dispatcher what a reply means."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from adhere.models.base import Request
from adhere.schema import Failure, Response

Kind = Literal["answered", "failed", "timeout", "limited", "transient", "forbidden", "lane-stopped", "denied"]
Denied = Literal["credit", "key", "address", "request"]


class Attempt(NamedTuple):
    """Holds the result of one call.

    Attributes:
        kind: `answered`: `response` is final, and an answer. `failed`: `response` is final, but no answer (too long
            a context). `timeout`: the time limit ended it. `limited`: no room just now. `transient`: worth trying
            again. `forbidden`: this request was refused, or this model is (HTTP 403). `lane-stopped`: this model will
            not answer anything. `denied`: the key, the credit or the address was refused, which may concern this model
            only, or the whole endpoint.
        response: The answer; for every other kind the `error` Response that stands if no later attempt succeeds.
        reason: What happened, in words, for the log and for people.
        retry_after_s: The pause that the server asked for.
        scope: Whose limit was met, if the server says so.
        tokens: Tokens that count against a cap on tokens a minute.
        denied: For `denied`: what was refused. `request`: a field that the user can leave out, or streaming.
        suspects: The thing that an error's words blame and that a user can correct. If the first replies of a model
            all blame it, the model is `denied`. Once one request is answered, the others' errors are their own, as
            `kind` says.
        may_cost: Whether it may have cost money although the server did not say how much. False: it cost nothing.
    """

    kind: Kind
    response: Response
    reason: str = ""
    retry_after_s: float | None = None
    scope: Literal["lane", "endpoint"] | None = None
    tokens: int = 0
    denied: Denied | None = None
    suspects: Denied | None = None
    may_cost: bool = True


FAILURES: dict[Kind, Failure] = {"failed": "final", "timeout": "timeout"}
"""Chances that asking again helps, by kind of failure; `passing` for every kind not listed."""


def response_to(request: Request, **fields: Any) -> Response:
    """Make a Response that has the request's key and seed, and `fields`."""
    return Response(request.prompt_id, request.turn, request.draw, seed=request.seed, **fields)


def failed_attempt(
    kind: Kind, request: Request, reason: str, *, latency_s: float, may_cost: bool, evidence: str | None = None
) -> Attempt:
    """Make an Attempt without a reply: a time-out, a refused connection, a reply beyond the size that is read."""
    response = response_to(
        request,
        text="",
        status="error",
        latency_s=latency_s,
        error=reason,
        evidence=evidence,
        failure=FAILURES.get(kind, "passing"),
    )
    return Attempt(kind, response, reason, may_cost=may_cost)
