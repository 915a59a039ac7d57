"""Forwards to `adhere.integrations.open_instruct.verifier`; files of open-instruct name this path."""

from typing import Any

from adhere.integrations.open_instruct import verifier


def __getattr__(name: str) -> Any:
    return getattr(verifier, name)
