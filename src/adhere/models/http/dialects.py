"""The differences of servers from OpenAI's chat completions, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adhere.errors import UnknownName, nearest
from adhere.models.http.native import ANTHROPIC, GEMINI, Native
from adhere.models.http.providers import PROVIDERS
from adhere.schema import Json

Batching = Literal["openai", "anthropic"]


@dataclass(frozen=True)
class Dialect:
    """Describes one kind of server.

    Args:
        name: Its name on the command line.
        max_tokens: The parameter that limits the answer.
        sends_seed: Whether it takes a seed.
        pinned: Fields sent with every request, so that nothing is changed silently on the way.
        about: What is pinned and why, for the docs and the stored settings.
        in_flight: Requests that it can answer at once, unless the user says otherwise; None: the number is found by
            trying.
        native: Its own API, if that is not OpenAI's; None: OpenAI's.
        batch: Whose batch API it has; None: unknown, so OpenAI's is tried.
        batch_share: Price of a batch as a share of the price of single requests.
    """

    name: str
    max_tokens: str = "max_tokens"
    sends_seed: bool = True
    pinned: Mapping[str, Json] = field(default_factory=dict)
    about: str = ""
    in_flight: int | None = None
    native: Native | None = None
    batch: Batching | None = None
    batch_share: float = 1.0


GENERIC = Dialect(
    "openai-compatible", about="Nothing is pinned: what such a server does with unknown parameters differs."
)
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        GENERIC,
        Dialect(
            "openrouter",
            pinned={
                "provider": {"require_parameters": True},
                "plugins": [{"id": "context-compression", "enabled": False}],
            },
            about="Only providers that take every parameter (require_parameters), and no compression of long prompts: "
            "both happen silently otherwise. Answers may come from several providers; each response names its own.",
        ),
        Dialect(
            "openai",
            max_tokens="max_completion_tokens",
            about="max_completion_tokens, which newer models insist on.",
            batch="openai",
            batch_share=0.5,
        ),
        Dialect(
            "anthropic",
            sends_seed=False,
            about=(
                "Anthropic's own messages: its OpenAI-compatible API returns no thinking, "
                "and ignores response_format, effort and seed."
            ),
            native=ANTHROPIC,
            batch="anthropic",
            batch_share=0.5,
        ),
        Dialect(
            "gemini",
            about=(
                "Gemini's own generateContent: its OpenAI-compatible API puts thoughts into the answer, "
                "and blocked prompts have no choices."
            ),
            native=GEMINI,
        ),
        Dialect("vllm", about="It queues without bound and never rejects, so the limits here are the only ones."),
        Dialect("llama.cpp", in_flight=1, about="Requests beyond its slots wait; the model's name is ignored."),
        Dialect("ollama", in_flight=1, about="Prompts longer than num_ctx are cut silently: compare prompt_tokens."),
        Dialect("lmstudio", in_flight=1, about="One model is loaded at a time."),
        Dialect("adhere", in_flight=1, about="One answer at a time; further requests wait, or get 429."),
        Dialect("sglang", about="Reasoning arrives as reasoning_content."),
    )
}
_HOSTS = {
    provider.host: provider.name
    for provider in PROVIDERS.values()
    if provider.hosts_dialect and provider.name in DIALECTS
}
_OWNERS = {
    "vllm": "vllm",
    "llamacpp": "llama.cpp",
    "library": "ollama",
    "organization_owner": "lmstudio",
    "sglang": "sglang",
    "adhere": "adhere",
}


def dialect(name: str) -> Dialect:
    """Return the dialect with this name.

    Raises:
        UnknownName: There is no such dialect.
    """
    if name not in DIALECTS:
        raise UnknownName(f"Unknown dialect {name!r}.{nearest(name, DIALECTS)} Dialects: {', '.join(DIALECTS)}")
    return DIALECTS[name]


def guess(host: str, models: Sequence[Mapping[str, Any]] = ()) -> Dialect:
    """Guess the dialect of a server from its host and from the owners of its models."""
    for suffix, name in _HOSTS.items():
        if host == suffix or host.endswith(f".{suffix}"):
            return DIALECTS[name]
    owners = {str(row.get("owned_by", "")) for row in models}
    return next((DIALECTS[name] for owner, name in _OWNERS.items() if owner in owners), GENERIC)
