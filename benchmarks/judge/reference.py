"""Our judge beside the published code: two processes that stay alive, and how the published code is loaded.

Needs nothing but Python: the reference's interpreter imports it, too.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Side:
    """A process that answers one question at a time, each a line of JSON."""

    def __init__(self, python: str, *command: str, nltk_data: str | None = None) -> None:
        environment = {**os.environ, **({"NLTK_DATA": nltk_data} if nltk_data else {})}
        self.process = subprocess.Popen(
            [python, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, question: Any) -> Any:
        """Its answer to one question."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer each line of the standard input; what a `Side` runs."""
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def load_lm_eval() -> None:
    """Make `lm_eval.tasks.ifeval` importable without the rest of lm-eval; language detection is seeded with 0."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    spec = importlib.machinery.PathFinder.find_spec("lm_eval")
    assert spec is not None and spec.submodule_search_locations is not None, "lm-eval is not installed here"
    for name, folder in (("lm_eval", ""), ("lm_eval.tasks", "tasks"), ("lm_eval.tasks.ifeval", "tasks/ifeval")):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(next(iter(spec.submodule_search_locations))) / folder)]
        sys.modules[name] = package


def stub_downloads() -> None:
    """Keep published code from downloading NLTK's data, and from importing spaCy, which no checker of ours needs."""
    import nltk

    nltk.download = lambda *_args, **_kwargs: True
    for name in ("spacy", "spacy.cli"):
        module = types.ModuleType(name)
        module.download = lambda *_args: None  # type: ignore[attr-defined]
        sys.modules[name] = module


def loose_views(text: str) -> list[str]:
    """The eight of IFEval's loose view, in order."""
    lines = text.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [text, text.replace("*", ""), *cut, *(part.replace("*", "") for part in cut)]
