"""Door to `adhere.integrations.verl.advantages`, which files of verl name by this path."""

from typing import Any

from adhere.integrations.verl import advantages


def __getattr__(name: str) -> Any:
    return getattr(advantages, name)
