"""Keep `study.json`: the spec as it was when the study's first work began, and every change since.

A study may be changed while it runs, but a reader must see what was changed, and whether results were there by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

import adhere
from adhere.errors import RunMismatch
from adhere.models.local.decoder.precision import Precisions
from adhere.schema import Json, Record, content_hash, decode, decoder_of, encode, write_atomic
from adhere.study.design.spec import StudySpec

VERSION = 2
FILE = "study.json"
# What does not touch the question, the data or the answer.
FREE = frozenset({"device", "gpus", "threads", "keep_answers", "keep_weights", "shown_prompts"})


class ChangedField(Record, frozen=True):
    """Holds one entry of the spec before and after a change; None where it was absent."""

    path: str
    before: Json
    after: Json


def field_words(field: ChangedField) -> str:
    """Describe a changed entry as text.

    For a list of named tables, only the names of new, removed and changed tables are listed.
    """
    before, after = field.before, field.after
    old, new = _by_name(before), _by_name(after)
    if old is None or new is None:
        return f"{field.path}: {_plain(before)} → {_plain(after)}"
    moves = {
        "new": [name for name in new if name not in old],
        "gone": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    return f"{field.path}: " + "; ".join(f"{move} {', '.join(names)}" for move, names in moves.items() if names)


def _by_name(value: Json) -> dict[str, Json] | None:
    """Return the tables of a list by their names; None if the list holds anything else."""
    if not isinstance(value, list) or not all(isinstance(table, dict) and "name" in table for table in value):
        return None
    return {str(table["name"]): table for table in value if isinstance(table, dict)}


def _plain(value: Json) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_plain(part)}" for name, part in value.items()) or "nothing"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return "nothing" if value is None else str(value)


class Change(Record, frozen=True):
    """Holds a later spec's hash and what changed.

    `evaluations` counts the arms that had been evaluated by then; above 0, results were there.
    """

    at: str
    sha256: str
    evaluations: int
    fields: tuple[ChangedField, ...]


class FrozenStudy(Record, frozen=True):
    """Records which study a directory holds.

    Attributes:
        spec: The spec when the study began.
        sha256: Hash of that spec.
        at: Time at which the study began.
        adhere: Version that began it.
        resolved: The precisions of the whole study.
        changes: The changes of the spec since.
        current: The last spec, if it was changed.
        template_sha256: Hash of the start model's chat template; empty if the version that began the study did not
            store it.
        warnings: Warnings of the checks before the start.
        code: Hashes of the code and libraries at the last run, by what they do (`StudyInputs.code`); keys of tasks
            contain them. Empty if the version that began the study did not store them.
    """

    version: int
    spec: StudySpec
    sha256: str
    at: str
    adhere: str
    resolved: Precisions
    changes: tuple[Change, ...] = ()
    current: StudySpec | None = None  # the last spec, where it was changed
    template_sha256: str = ""
    warnings: list[str] = []
    code: dict[str, str] = {}

    @property
    def latest(self) -> StudySpec:
        """The spec as it is now."""
        return self.current or self.spec


def load_frozen(directory: Path) -> FrozenStudy | None:
    """Read the frozen study of a directory; None if none was begun.

    Raises:
        RunMismatch: The study has another format version.
    """
    file = directory / FILE
    if not file.exists():
        return None
    version = decoder_of(_Version).decode(file.read_bytes()).version
    if version != VERSION:
        raise RunMismatch(
            f"{directory} holds a study of format {version}, this adhere writes {VERSION}. Use another --out"
        )
    return decode(file.read_bytes(), FrozenStudy)


class _Version(msgspec.Struct):
    version: int


class Template(NamedTuple):
    """Holds the hash of the start model's chat template, and what is wrong with it (empty: nothing)."""

    sha256: str
    warnings: list[str]


def freeze(
    spec: StudySpec,
    directory: Path,
    *,
    precisions: Precisions,
    evaluations: int,
    template: Template | None = None,
    code: Mapping[str, str] | None = None,
) -> FrozenStudy:
    """Freeze `spec` if the directory has no frozen study; otherwise record how `spec` differs from the last one.

    Args:
        spec: The study.
        directory: Where it is stored.
        precisions: The precisions of the study.
        evaluations: How many arms have been evaluated.
        template: The chat template of the model; None if nothing is left to train.
        code: The hashes that the keys hold; None leaves the stored ones.

    Raises:
        RunMismatch: The directory holds a study of another name, or one that was begun with another chat template.
    """
    frozen_study = load_frozen(directory)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if frozen_study is None:
        frozen_study = FrozenStudy(VERSION, spec, spec_hash(spec), now, adhere.__version__, precisions)
        if template is not None:
            frozen_study = msgspec.structs.replace(
                frozen_study, template_sha256=template.sha256, warnings=template.warnings
            )
    elif frozen_study.spec.name != spec.name:
        raise RunMismatch(
            f"{directory} holds the study {frozen_study.spec.name!r}, not {spec.name!r}. Use another --out"
        )
    elif template is not None and frozen_study.template_sha256 not in {"", template.sha256}:
        raise RunMismatch(
            f"{directory} was begun with another chat template of {spec.start}: "
            "what is left would learn from other tokens. Put the template back, or use another --out"
        )
    elif fields := tuple(_differences("", _question(frozen_study.latest), _question(spec))):
        change = Change(now, spec_hash(spec), evaluations, fields)
        frozen_study = msgspec.structs.replace(
            frozen_study, changes=(*frozen_study.changes, change), current=spec, resolved=precisions
        )
    elif code is None or code == frozen_study.code:
        return frozen_study
    if code is not None:
        frozen_study = msgspec.structs.replace(frozen_study, code=dict(code))
    write_atomic(directory / FILE, encode(frozen_study))
    return frozen_study


def spec_hash(spec: StudySpec) -> str:
    """Return the hash of a spec without the keys in `FREE`, which affect neither question, data nor answer."""
    return content_hash(_question(spec))


def _question(spec: StudySpec) -> dict[str, Json]:
    return {name: value for name, value in msgspec.to_builtins(spec).items() if name not in FREE}


def _differences(path: str, before: Json, after: Json) -> Iterator[ChangedField]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted({*before, *after}):
            yield from _differences(f"{path}.{name}".lstrip("."), before.get(name), after.get(name))
    elif before != after:
        yield ChangedField(path, before, after)
