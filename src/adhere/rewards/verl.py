"""Door to `adhere.integrations.verl.reward`, which files of verl name by this path."""

from typing import Any

from adhere.integrations.verl import reward


def __getattr__(name: str) -> Any:
    return getattr(reward, name)
