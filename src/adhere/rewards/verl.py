"""Re-exports `adhere.integrations.verl.reward` under the path that verl's files name."""

from typing import Any

from adhere.integrations.verl import reward


def __getattr__(name: str) -> Any:
    return getattr(reward, name)
