"""Door to `adhere.integrations.trl.environment`, which files of TRL name by this path."""

from typing import Any

from adhere.integrations.trl import environment


def __getattr__(name: str) -> Any:
    return getattr(environment, name)
