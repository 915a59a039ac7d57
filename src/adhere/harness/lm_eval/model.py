"""Door to `adhere.integrations.lm_eval.model`, which commands of lm-eval name by this path."""

import runpy
from typing import Any

HERE = "adhere.integrations.lm_eval.model"

if __name__ == "__main__":
    runpy.run_module(HERE, run_name="__main__", alter_sys=True)


def __getattr__(name: str) -> Any:
    import importlib

    return getattr(importlib.import_module(HERE), name)
