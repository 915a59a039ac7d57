"""Forwards to `adhere.integrations.trl.environment`; files of TRL name this path."""

from typing import Any

from adhere.integrations.trl import environment


def __getattr__(name: str) -> Any:
    return getattr(environment, name)
