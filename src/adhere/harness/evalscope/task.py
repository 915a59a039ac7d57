"""Door to `adhere.integrations.evalscope.task`, which files of EvalScope name by this path."""

from typing import Any

from adhere.integrations.evalscope import task


def __getattr__(name: str) -> Any:
    return getattr(task, name)
