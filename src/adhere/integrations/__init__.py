"""Other projects (called houses), a folder each: what we read from it, write for it and run inside it.

verl/             its reward function, advantages that leave out what was not measured, a recipe as its config
verifiers/        verifiers and prime-rl: a Taskset, `load_environment`, a reward
open_instruct/    a verifier for its registry
trl/              rows with a reward function, an environment factory for several turns
openrlhf/         its reward function and agent executor
nemo_gym/         a resources server and its rows
openenv/          an Environment and its server
inspect_ai/       `inspect eval adhere/follow -T suite=core`; reads and writes its logs
lm_eval/          what the task folder calls that `adhere export --suite` writes; `python -m
                  adhere.integrations.lm_eval.model run --model adhere …`
evalscope/        the benchmark `adhere` of EvalScope
opencompass/      read only
promptfoo/        read only
every_eval_ever/  write only: the record of a run that its community collects
emit.py           a recipe as the config of one of them (`adhere train --emit`): `launch` in its folder
shared/           what they share: what every reader returns, one conversation judged, what configs have in common

Reading and writing need no house installed. A module that needs one says what to install.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from adhere.errors import MissingExtra


def need_harness(module: str, package: str) -> ModuleType:
    """Import a module of a harness, or say how to install it.

    Raises:
        MissingExtra: The module, or one that it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"This needs {package}, and the package {error.name or module!r} is not installed. Run: "
            f"pip install {package} (in an environment of its own where its pins clash with yours)"
        ) from error
