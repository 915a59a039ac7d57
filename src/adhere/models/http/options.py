"""The options of an endpoint that a user may set: one object for `eval`, `sweep` and the Python API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from adhere.errors import UsageError
from adhere.models.http.dialects import Dialect, dialect
from adhere.models.http.dispatch import Policy
from adhere.models.http.extra import check_fields
from adhere.models.http.wire import Prices
from adhere.schema import Json

MEGABYTE = 1 << 20
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[str, ...] = get_args(Effort)
ResponseFormat = Literal["json_object", "json_schema"]
RESPONSE_FORMATS: tuple[str, ...] = get_args(ResponseFormat)
LONGEST_ANSWER_S = 1_800.0


@dataclass(frozen=True)
class EndpointOptions:
    """Holds how requests are sent to an endpoint, how many at once, and what they may cost.

    Only `dialect`, `reasoning_effort`, `response_format`, `provider`, `send` and `omit` can change an answer, so only
    they are part of a Run's name. All others may change from one run of a command to the next, and a stored Run is
    continued.

    Args:
        timeout_s: Limit for a whole answer. None: 60 s and 0.1 s for each token that it may have, at most 30 minutes.
        connect_s: Limit until a connection is open.
        stall_s: Limit without a byte of a streamed answer.
        most_bytes: A longer reply is not read.
        stream: Whether answers are streamed, which measures the time to the first token.
        concurrency: Requests under way at once, to all models together.
        model_concurrency: Requests under way at once to one model. None: what the server is known to answer at
            once, else 100.
        requests_per_minute: Cap for each model; None: no cap.
        tokens_per_minute: Cap for each model; None: no cap.
        max_cost_usd: Nothing is sent that could make everything in one directory cost more; None: no cap.
        price: USD a token, for models whose price the endpoint does not list.
        reasoning_effort: Sent with every request.
        response_format: What the server must enforce: any JSON object, or the schema that the prompt asks for
            (`data:json_schema`; prompts without one are asked as they are). None: the prompt's words alone.
        provider: Behind a gateway: only this provider answers, and no other one instead of it.
        dialect: The kind of server; None: guessed.
        patience_s: How long a model that only fails, or asks for a pause, is waited for before it is set aside.
        wait_s: How long a server that does not listen yet is waited for.
        send: Fields added to every request: `{"top_k": 20}`; `a.b` is a field of the object in `a`.
        omit: Fields left out of every request, such as `seed`.

    Raises:
        UsageError: An option is out of its range, the dialect is unknown, or a field cannot be added or left out.
    """

    timeout_s: float | None = None
    connect_s: float = 10.0
    stall_s: float = 120.0
    most_bytes: int = 32 * MEGABYTE
    stream: bool = False
    concurrency: int = 1_000
    model_concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_cost_usd: float | None = None
    price: Prices | None = None
    reasoning_effort: Effort | None = None
    response_format: ResponseFormat | None = None
    provider: str | None = None
    dialect: str | None = None
    patience_s: float = 300.0
    wait_s: float = 30.0
    send: Mapping[str, Json] = field(default_factory=dict)
    omit: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.reasoning_effort is not None and self.reasoning_effort not in EFFORTS:
            raise UsageError(f"reasoning_effort is one of {', '.join(EFFORTS)}, got {self.reasoning_effort!r}")
        if self.response_format is not None and self.response_format not in RESPONSE_FORMATS:
            raise UsageError(f"response_format is one of {', '.join(RESPONSE_FORMATS)}, got {self.response_format!r}")
        if self.dialect is not None:
            dialect(self.dialect)
        check_fields(self.send, self.omit)
        for name in ("timeout_s", "connect_s", "stall_s", "requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be above 0, got {value}")
        for name in ("max_cost_usd", "patience_s", "wait_s"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise UsageError(f"{name} must be at least 0, got {value}")
        if self.concurrency < 1 or (self.model_concurrency or 1) < 1:
            raise UsageError("concurrency and model_concurrency are at least 1")

    def total_s(self, max_new_tokens: int) -> float:
        """Return the limit in seconds for a whole answer of at most `max_new_tokens` tokens."""
        if self.timeout_s is not None:
            return self.timeout_s
        return min(LONGEST_ANSWER_S, 60 + max_new_tokens / 10)

    def policy(self, kind: Dialect) -> Policy:
        """Return the caps and the patience of the dispatcher with this kind of server."""
        slots = self.model_concurrency if self.model_concurrency is not None else kind.in_flight
        together = self.concurrency
        if self.model_concurrency is None and kind.in_flight is not None:
            together = min(together, kind.in_flight)
        return Policy(
            concurrency=together,
            lane_concurrency=Policy.lane_concurrency if slots is None else slots,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            max_cost_usd=self.max_cost_usd,
            patience_s=self.patience_s,
        )

    def sent(self, kind: Dialect) -> dict[str, Json]:
        """Return the fields that these options add to each request to this kind of server.

        Raises:
            UsageError: The server has no such option.
        """
        fields: dict[str, Json] = dict(kind.pinned)
        if self.reasoning_effort is not None:
            fields |= (
                {"reasoning": {"effort": self.reasoning_effort}}
                if kind.name == "openrouter"
                else {"reasoning_effort": self.reasoning_effort}
            )
        if self.response_format is not None:
            if kind.name == "anthropic" and self.response_format == "json_object":
                raise UsageError("Anthropic enforces schemas only: use --response-format json_schema")
            fields["response_format"] = {"type": self.response_format}
        if self.stream and kind.native is not None:
            raise UsageError(f"Answers of {kind.name}'s own API are not streamed here: leave --stream out")
        if self.provider is not None:
            if kind.name != "openrouter":
                raise UsageError(
                    f"A provider can be chosen at openrouter only; this server is taken for {kind.name} (--dialect)"
                )
            fields["provider"] = {"require_parameters": True, "only": [self.provider], "allow_fallbacks": False}
        return fields


def price_of(text: str) -> Prices:
    """Parse a price such as `0.15,0.60`: USD for a million prompt tokens and for a million answer tokens.

    Raises:
        UsageError: `text` is not two numbers of at least 0.
    """
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or not all(0 <= number < math.inf for number in numbers):
        raise UsageError(
            f"A price is two numbers, USD a million prompt and answer tokens, such as 0.15,0.60; got {text!r}"
        )
    return Prices(numbers[0] / 1e6, numbers[1] / 1e6)
