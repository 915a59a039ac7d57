"""Re-exports `adhere.integrations.openrlhf.reward` under the path that OpenRLHF's files name."""

from typing import Any

from adhere.integrations.openrlhf import reward
from adhere.integrations.openrlhf.reward import reward_func

__all__ = ["reward_func"]


def __getattr__(name: str) -> Any:
    return getattr(reward, name)
