"""Let a stage of a study be a user's own command: what it may contain, and what its cells depend on.

    [stages.grpo]
    method = "command"
    command = ["accelerate", "launch", "train.py", "--model", "{start}", "--rows", "{rl}", "--out", "{out}"]
    sources = ["train.py"]
    environment = "/opt/trl/bin/python"
    learning_rate = 1e-6            # fills {learning_rate}; so does [tune.grid.grpo]

docs/guide/referee.md says what the command gets and what it must leave in `{out}`; `run.command` runs it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from adhere.errors import SpecError, UsageError, nearest
from adhere.schema import Json, convert
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import StageResult
from adhere.train.settings import OptimizerSettings
from adhere.train.stages import Stage

METHOD, VERSION = "command", 1
PLACES = ("start", "sft", "pairs", "rl", "seed", "out", "resume", "threads", "port")
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_PACKAGES = "import importlib.metadata as m; print(sorted({f'{d.name}=={d.version}' for d in m.distributions()}))"
PACKAGES_S = 60.0  # that a Python may take to list its packages

RowShape = Literal["trl", "verl", "openrlhf", "sharegpt", "llamafactory"]


class CommandSettings(OptimizerSettings, frozen=True):
    """Describes a command that trains.

    Attributes:
        command: The program and its arguments. A name in braces is replaced: one of `PLACES`, such as `{start}`, the
            weights to start from, or a key of `fill`.
        sources: Files that the training depends on, such as its script; their content is part of the key of the
            trained model, so a change trains it anew.
        environment: The Python whose folder comes first on PATH, and whose packages are part of that key; empty: the
            Python that runs the study.
        gpus: GPUs that it takes, for `--engine ray` and `--emit slurm`.
        rows: Shape of the rows that the command reads.
        hours: Hours after which it is stopped and the training has failed.
        fill: Values of further names in braces.
        held: Hashes of `sources` and of the packages of `environment`. Filled in when the study begins.
    """

    command: Annotated[tuple[str, ...], Meta(min_length=1)] = ("",)
    sources: tuple[str, ...] = ()
    environment: str = ""
    gpus: Annotated[int, Meta(ge=0)] = 0
    rows: RowShape = "trl"
    hours: Annotated[float, Meta(gt=0)] = 24.0
    fill: dict[str, Json] = {}
    held: dict[str, str] = {}

    @property
    def needs_rows(self) -> bool:
        """Whether the command names a file of rows; else no data is drawn for it."""
        return any(f"{{{table}}}" in part for table in ("sft", "pairs", "rl") for part in self.command)

    def with_inputs(self) -> CommandSettings:
        """Return the settings with `held` filled in.

        Raises:
            UsageError: A source or the Python does not exist.
        """
        return msgspec.structs.replace(self, held={**_hashes(self.sources), **_packages_of(self.environment)})


def _hashes(sources: tuple[str, ...]) -> dict[str, str]:
    try:
        return {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in sources}
    except OSError as error:
        raise UsageError(f"sources: {error.filename} cannot be read ({error.strerror})") from error


@cache
def _packages_of(environment: str) -> dict[str, str]:
    """Return the hash of all packages that a Python has installed; empty without an environment."""
    if not environment:
        return {}
    python = shutil.which(environment)
    if python is None:
        raise UsageError(f"environment = {environment!r}: no such Python. Give the path of one, as .venv/bin/python")
    try:
        command = [python, "-c", _PACKAGES]
        ran = subprocess.run(command, capture_output=True, timeout=PACKAGES_S, check=True)  # noqa: S603 - the spec's own
    except (subprocess.SubprocessError, OSError) as error:
        raise UsageError(f"environment = {environment!r} does not list its packages: {error}") from error
    return {"packages": hashlib.sha256(ran.stdout).hexdigest()}


def _cannot_run(*_: Any, **__: Any) -> StageResult:
    raise UsageError("method = 'command' is a stage of studies; a recipe trains by the methods of `adhere list stages`")


def _work(_settings: CommandSettings, _data: Shape) -> Work:
    """Return no work: what a command costs is unknown before it has run."""
    return Work(steps=0, trained=0, processed=0)


COMMAND = Stage(
    METHOD,
    "somebody's own command, given rows and weights",
    "",
    CommandSettings,
    "sft+pairs",
    lambda pool, _: [*pool.sft, *pool.pairs, *pool.rl],
    _cannot_run,
    _work,
    {},
    version=VERSION,
)


def command_settings(name: str, table: Mapping[str, Json]) -> CommandSettings:
    """Return the settings of a stage whose method is a command. Further keys fill the command's placeholders.

    Raises:
        SpecError: A key is not used, a placeholder is not filled, or a value is not allowed.
    """
    own = [field for field in CommandSettings.__struct_fields__ if field not in OptimizerSettings.__struct_fields__]
    fields = {key: value for key, value in table.items() if key in own}
    try:
        settings = convert(fields, CommandSettings)
    except msgspec.ValidationError as error:
        raise SpecError(f"stages.{name}: {error}") from error
    if not settings.command[0]:
        raise SpecError(f"stages.{name}: method = 'command' needs command = ['program', 'argument', …]")
    placeholders = {place for part in settings.command for place in _PLACE.findall(part)}
    fill = {key: value for key, value in table.items() if key not in own} | settings.fill
    unread = [key for key in fill if key not in placeholders]
    if unread:
        raise SpecError(
            f"stages.{name}.{unread[0]}: the command has no {{{unread[0]}}}, so the setting would do nothing."
            f"{nearest(unread[0], own)} Keys of a command: {', '.join(own[:-1])}"
        )
    unknown = sorted(placeholders - {*PLACES, *fill})
    if unknown:
        raise SpecError(
            f"stages.{name}.command: nothing fills {{{unknown[0]}}}.{nearest(unknown[0], PLACES)} There are "
            f"{', '.join(f'{{{place}}}' for place in PLACES)}, and every key that the stage sets"
        )
    if "out" not in placeholders:
        raise SpecError(f"stages.{name}.command: has no {{out}}, so nothing says where the trained weights go")
    return msgspec.structs.replace(settings, fill=fill)


def fill_in(command: tuple[str, ...], values: Mapping[str, Json]) -> list[str]:
    """Return the command with its placeholders filled in, as far as `values` has them."""

    def fill(place: re.Match[str]) -> str:
        return _word(values[place[1]]) if place[1] in values else place[0]

    return [_PLACE.sub(fill, part) for part in command]


def _word(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)
