"""Door to `adhere.integrations.inspect_ai.task`, which files of inspect name by this path."""

from typing import Any

from adhere.integrations.inspect_ai import task


def __getattr__(name: str) -> Any:
    return getattr(task, name)
