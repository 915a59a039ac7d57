"""Re-exports `adhere.integrations.verifiers.reward` under the path that verifiers' files name."""

from typing import Any

from adhere.integrations.verifiers import reward


def __getattr__(name: str) -> Any:
    return getattr(reward, name)
