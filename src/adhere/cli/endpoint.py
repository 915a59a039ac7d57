"""The options of an endpoint, the same for every command that asks one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from adhere.cli.options import Number, flag, option, with_options

if TYPE_CHECKING:
    from adhere.models.http.options import EndpointOptions

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_OPTIONS = (
    option(
        "--timeout",
        "timeout_s",
        type=Number(min=0.1),
        help="Seconds for a whole answer [60, and 0.1 for each token it may have].",
    ),
    flag("--stream", help="Stream answers, which measures the time to the first token."),
    option("--concurrency", type=click.IntRange(1), default=1000, help="Requests at once, at most."),
    option(
        "--model-concurrency",
        type=click.IntRange(1),
        help="The same for one model [100; 1 where the server answers one at a time].",
    ),
    option("--rpm", "requests_per_minute", type=Number(min=0.1), help="Requests a minute to one model, at most."),
    option("--tpm", "tokens_per_minute", type=Number(min=1), help="Tokens a minute to one model, at most."),
    option(
        "--max-cost",
        "max_cost_usd",
        type=Number(0),
        help="USD that everything in one directory may cost, over all runs of the command.",
    ),
    option(
        "--price",
        metavar="IN,OUT",
        help="USD a million prompt tokens and a million answer tokens, of models whose price is not listed.",
    ),
    option("--reasoning-effort", type=click.Choice(_EFFORTS), help="How much a reasoning model thinks."),
    option(
        "--response-format",
        type=click.Choice(("json_object", "json_schema")),
        help=(
            "What the server enforces: any JSON object, or the schema that a prompt asks for [the "
            "prompt's words alone]."
        ),
    ),
    option(
        "--send",
        multiple=True,
        metavar="KEY=JSON",
        help="A field added to every request (top_k=20); stored with the run, so no secrets. May be repeated.",
    ),
    option("--omit", multiple=True, metavar="KEY", help="A field left out of every request (seed). May be repeated."),
    option("--provider", help="At OpenRouter: only this provider answers."),
    option("--dialect", help="What kind of server it is [guessed]."),
    option(
        "--patience",
        "patience_s",
        type=Number(0),
        default=300.0,
        help="Seconds to wait for a model that only fails or asks for a pause; then it is set aside.",
    ),
    option(
        "--wait", "wait_s", type=Number(0), default=30.0, help="Seconds to wait for a server that is still starting."
    ),
)
_NAMES = (
    "timeout_s", "stream", "concurrency", "model_concurrency", "requests_per_minute", "tokens_per_minute",
    "max_cost_usd", "price", "reasoning_effort", "response_format", "provider", "dialect", "patience_s", "wait_s",
    "send", "omit",
)  # fmt: skip


def endpoint_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options of an endpoint; it receives them as one `endpoint: EndpointOptions`."""

    @wraps(command)
    def called(**options: Any) -> Any:
        from adhere.models.http.extra import parse_send
        from adhere.models.http.options import EndpointOptions, price_of

        values = {name: options.pop(name) for name in _NAMES}
        if values["price"] is not None:
            values["price"] = price_of(values["price"])
        values |= {"send": parse_send(values["send"]), "omit": tuple(dict.fromkeys(values["omit"]))}
        return command(**options, endpoint=EndpointOptions(**values))

    return with_options(called, _OPTIONS)


def endpoint_for(name: str, endpoint: EndpointOptions) -> EndpointOptions | None:
    """Return the options for this model; None if it runs on this machine and no option differs from its default."""
    from adhere.models.catalog import is_endpoint
    from adhere.models.http.options import EndpointOptions

    return endpoint if is_endpoint(name) or endpoint != EndpointOptions() else None
