"""Hash the code that a trained cell or an evaluation depends on: declared versions, plug-ins, libraries.

Our own code is named by the versions that it declares, not by its text, so moving, renaming or rewriting it trains
nothing anew:

    the decoder     DECODER_VERSION, how answers are drawn from weights
    the judge       VERIFIER_VERSION and the version of each kind that judges
    the rows        ROWS_VERSION, how judged answers become rows
    the methods     LOOP_VERSION, which all share, and the version of each Stage

A test runs each on fixed inputs and compares with stored results, so that no result changes unless a version goes up
(tests/unit/study/test_declared_versions.py). Code of other packages declares nothing, so its text is hashed.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import adhere
from adhere.build.rows import ROWS_VERSION
from adhere.build.transforms.base import TRANSFORMS
from adhere.constraints import registry
from adhere.constraints.published.iftrain.twins import TWINS
from adhere.models.local.decoder import DECODER_VERSION
from adhere.pipeline.judge import VERIFIER_VERSION, verifier_version
from adhere.schema import Json, Prompt, content_hash
from adhere.study.design.command import COMMAND, METHOD
from adhere.train.loop import LOOP_VERSION
from adhere.train.stages import STAGES

LIBRARIES = ("torch", "transformers", "tokenizers")
RATING = "six_criteria"  # the transform that rates the pairs of a reward model


def drawing_identity(prompts: Iterable[Prompt]) -> str:
    """Return the hash of the code that draws answers to `prompts`, judges them and makes rows of them."""
    return content_hash([{"rows": ROWS_VERSION}, _judging(prompts)])


def judging_identity(prompts: Iterable[Prompt]) -> str:
    """Return the hash of the code that draws and judges answers to `prompts`, as an evaluation does."""
    return content_hash(_judging(prompts))


def training_identity(method: str) -> str:
    """Return the hash of the code that trains by one method; how rows are drawn has a hash of its own."""
    stage = COMMAND if method == METHOD else STAGES.get(method)
    versions: dict[str, Json] = {
        "method": f"{method} {stage.version}",
        "loop": LOOP_VERSION,
        "decoder": DECODER_VERSION,
        "judge": VERIFIER_VERSION,
    }
    if stage.yields != "weights":
        versions["rating"] = TRANSFORMS.get(RATING).version
    return content_hash([versions, _foreign([stage.run, stage.rows, stage.settings]), _libraries()])


def _judging(prompts: Iterable[Prompt]) -> Json:
    kinds = {
        (kind, prompt.tags.get("profile"))
        for prompt in prompts
        for turn in prompt.turns
        for ref in turn.constraints
        for kind in _ids(ref.id, ref.params)
    }
    kinds |= {(TWINS[kind].own, None) for kind, _ in kinds if kind in TWINS and TWINS[kind].own in registry}
    kind_versions = sorted({verifier_version(kind, profile=profile) + f" {kind}" for kind, profile in kinds})
    own = {registry.get(kind) for kind, _ in kinds if kind in registry}
    return [
        {"decoder": DECODER_VERSION, "judge": VERIFIER_VERSION, "kinds": kind_versions},
        _foreign(own),
        _libraries(),
    ]


def _libraries() -> Json:
    return {name: version(name) for name in LIBRARIES}


def _ids(name: str, params: Json) -> Iterator[str]:
    """Yield the id of a constraint and of the constraints inside it."""
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


def _foreign(objects: Iterable[object]) -> list[str]:
    """Return the sorted sha256 (hex) of the source files behind those `objects` that other packages define."""
    files = {file for member in objects if not _is_own(member) for file in _sources(member)}
    return sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def _is_own(member: object) -> bool:
    file = inspect.getsourcefile(inspect.unwrap(_definition(member)))  # type: ignore[arg-type]
    return file is not None and Path(file).is_relative_to(Path(adhere.__file__).parent)


def _definition(member: object) -> object:
    while isinstance(member, partial):
        member = member.func
    return member if inspect.isclass(member) or inspect.isroutine(member) else type(member)


def _sources(member: object) -> list[Path]:
    """Return the source files of the whole package that defines `member`, as its modules call each other.

    It is one file if `member` is defined in a single module, and none for a built-in.
    """
    definition = _definition(member)
    file = inspect.getsourcefile(inspect.unwrap(definition))  # type: ignore[arg-type]
    if file is None:
        return []
    top = sys.modules.get(definition.__module__.partition(".")[0])
    # Without a path it is one module; without a file, a folder that is no package.
    if top is None or top.__file__ is None or not hasattr(top, "__path__"):
        return [Path(file)]
    return sorted(Path(top.__file__).parent.rglob("*.py"))
