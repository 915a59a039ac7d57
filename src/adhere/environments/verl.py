"""Forwards to `adhere.integrations.verl.advantages`; files of verl name this path."""

from typing import Any

from adhere.integrations.verl import advantages


def __getattr__(name: str) -> Any:
    return getattr(advantages, name)
