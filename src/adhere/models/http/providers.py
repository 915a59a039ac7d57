"""Providers by name, one row each. Where they are, whose key opens them, what they are called in names of models.

A row is all that an OpenAI-compatible provider needs: names, keys, completion and listings are derived from it. What a
server does otherwise stands in `dialects`, under the provider's name.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Provider(NamedTuple):
    """One provider of models.

    Attributes:
        name: As names of models begin: `openai/gpt-4o-mini`.
        base_url: Where its API is, without a slash at the end.
        variable: The environment variable of its key.
        about: What it is, in a few words.
        model: The form of a model's name behind the slash.
        maker: Who makes its models, as other people's records name them; "": the model's own name says it.
        hosts_dialect: Whether a base URL of its host is taken for its dialect. Not where the host has two APIs.
    """

    name: str
    base_url: str
    variable: str
    about: str
    model: str = "NAME"
    maker: str = ""
    hosts_dialect: bool = True

    @property
    def host(self) -> str:
        """The host of its API."""
        return urlsplit(self.base_url).hostname or ""


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OpenRouter", "AUTHOR/SLUG"),
        Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OpenAI", maker="openai"),
        Provider(
            "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "Anthropic's own API", maker="anthropic"
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta",
            "GEMINI_API_KEY",
            "Gemini's own API",
            maker="google",
            hosts_dialect=False,  # /v1beta/openai of the same host is OpenAI-compatible
        ),
    )
}
