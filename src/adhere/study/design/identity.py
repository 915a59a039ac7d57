"""What a trained cell depends on besides its settings, as one hash: code, plug-ins, libraries.

A cell is trained again when this changes, so it holds what can change weights and nothing else: an edit of a report must
not throw hours of training away, and an edit of a verifier must.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import adhere
from adhere.constraints import registry
from adhere.schema import Json, Prompt, content_hash
from adhere.train.stages import STAGES

# The parts of a recipe that the runner of stages shares with a study.
SHARED_WITH_RECIPES = frozenset({"train/recipe/lora.py", "train/recipe/order.py"})
LIBRARIES = ("torch", "transformers", "tokenizers")
# Relative to the package: what words and verdicts are, how answers are drawn and judged, how rows are made and learned.
SOURCES = (
    "schema.py",
    "text",
    "constraints",
    "models/base.py",
    "models/answers.py",
    "models/chat.py",
    "models/local",
    "pipeline/check.py",
    "pipeline/guard.py",
    "pipeline/judge.py",
    "pipeline/outcomes.py",
    "pipeline/respond.py",
    "pipeline/reward.py",
    "build/draws.py",
    "build/filter.py",
    "build/pairs.py",
    "build/pool.py",
    "build/rows.py",
    "train",
    "study/run/training.py",
)
# Of these, what only says how much something will cost, shares a recipe among machines, or fetches weights (whose hash is in
# the key), and engines that no study trains with.
EXCEPT = frozenset(
    {
        "train/budget/cost.py",
        "train/budget/estimate.py",
        "train/budget/memory.py",
        "train/parallel.py",
        "train/sharding.py",
        "models/local/embedded.py",
        "models/local/fetch.py",
        "models/local/decoder/server.py",
    }
)


def weights_identity(prompts: Sequence[Prompt], methods: Iterable[str]) -> str:
    """The hash of everything but settings and data that can change the weights of a study.

    Args:
        prompts: Training prompts: plug-ins that define their constraints are part of it.
        methods: Names of the stages' methods, likewise.
    """
    kinds = {ref for prompt in prompts for one in prompt.constraints for ref in _ids(one.id, one.params)}
    classes: list[object] = [registry.get(kind) for kind in sorted(kinds) if kind in registry]
    stages = [STAGES.get(method) for method in sorted(set(methods))]
    classes += [part for stage in stages for part in (stage.run, stage.rows, stage.settings)]
    return content_hash([source_hash(), _foreign(classes), {name: version(name) for name in LIBRARIES}])


@cache
def source_hash(root: Path | None = None) -> str:
    """The hash of the files of SOURCES under `root` [this package]."""
    root = root or Path(adhere.__file__).parent
    digest = hashlib.sha256()
    for source in SOURCES:
        path = root / source
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            name = file.relative_to(root).as_posix()
            is_a_recipes = name.startswith("train/recipe/") and name not in SHARED_WITH_RECIPES
            if file.is_file() and file.suffix != ".pyc" and name not in EXCEPT and not is_a_recipes:
                digest.update(f"{name}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _ids(name: str, params: Json) -> Iterator[str]:
    """The id of a constraint and of those inside it."""
    yield name
    stack = [params]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            inner = value.get("id")
            if isinstance(inner, str):
                yield inner
            stack += value.values()
        elif isinstance(value, list | tuple):
            stack += value


def _foreign(objects: Iterable[object]) -> dict[str, str]:
    """Source file -> hash, of what other packages define: every module of the package that defines one of `objects`."""
    found = {}
    own = Path(adhere.__file__).parent
    for one in objects:
        for file, name in _sources(one):
            if not file.is_relative_to(own):
                found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _sources(one: object) -> list[tuple[Path, str]]:
    """The files that define `one`, each with its name from the top of its package: the whole package, as its modules call each other."""
    while isinstance(one, partial):
        one = one.func
    defined = one if inspect.isclass(one) or inspect.isroutine(one) else type(one)
    file = inspect.getsourcefile(inspect.unwrap(defined))
    if file is None:
        return []
    top = sys.modules.get(defined.__module__.partition(".")[0])
    if (
        top is None or top.__file__ is None or not hasattr(top, "__path__")
    ):  # one module, or a folder that is no package
        return [(Path(file), Path(file).name)]
    root = Path(top.__file__).parent
    return [(path, path.relative_to(root.parent).as_posix()) for path in sorted(root.rglob("*.py"))]
