"""Door to `adhere.integrations.lm_eval.task`, which files of lm-eval name by this path."""

from typing import Any

from adhere.integrations.lm_eval import task


def __getattr__(name: str) -> Any:
    return getattr(task, name)
