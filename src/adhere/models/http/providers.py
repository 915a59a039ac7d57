"""Providers by name, one row each: their address, the variable of their key, and the form of model names.

An OpenAI-compatible provider needs no more than a row: names, keys, completion and listings are derived from it.
Differences of its server are in `dialects`, under the provider's name.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit


class Provider(NamedTuple):
    """Describes one provider of models.

    Attributes:
        name: The beginning of its models' names: `openai` in `openai/gpt-4o-mini`.
        base_url: The address of its API, without a slash at the end.
        variable: The environment variable of its key.
        about: What it is, in a few words.
        model: The form of a model's name after the slash.
        maker: The maker of its models, as foreign records name it; "": the model's own name says it.
        hosts_dialect: Whether a base URL on its host implies its dialect. Not if the host has two APIs.
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
        """The host name of its API."""
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
