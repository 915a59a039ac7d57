"""At home in others' houses: our suites and our judge inside other harnesses, and our runs in their files.

A folder a harness: `read` what it stored, `write` our runs as its files, its `task` for our suites, and for lm-eval a
`model` for any of ours.

inspect_ai/     `inspect eval adhere/follow -T suite=core`
lm_eval/        what the task folder calls that `adhere export --suite` writes; `python -m adhere.harness.lm_eval.model
                run --model adhere …`
evalscope/      the benchmark `adhere` of EvalScope
opencompass/    read only
every_eval_ever/  write only: the record of a run that its community collects
imported.py     what every reader returns
export.py       stored runs as any harness's files; conversations.py: a run, one conversation after the other
scoring.py      one conversation judged, in the four numbers that all of them know
messages.py     conversations as inspect and EvalScope keep them

Reading and writing need no harness installed. A module that needs one says what to install.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from adhere.errors import MissingExtra


def need_harness(module: str, package: str) -> ModuleType:
    """Import a module of a harness, or say how to get it.

    Raises:
        MissingExtra: It, or something it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"This needs {package}, and the package {error.name or module!r} is not installed. Run: "
            f"pip install {package} (in an environment of its own where its pins clash with yours)"
        ) from error
