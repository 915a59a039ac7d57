"""Door to `adhere.integrations.verifiers.reward`, which files of verifiers name by this path."""

from typing import Any

from adhere.integrations.verifiers import reward


def __getattr__(name: str) -> Any:
    return getattr(reward, name)
