"""Forwards to `adhere.integrations.verifiers.environment`; files of verifiers and prime-rl name this path."""

from typing import Any

from adhere.integrations.verifiers import environment


def __getattr__(name: str) -> Any:
    return getattr(environment, name)
