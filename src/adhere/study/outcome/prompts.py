"""Keep the prompts that a study asked with its records, so that statistics need no code that makes prompts.

DIR/suites/held-out.json   the study's own prompts, whole: their hash is that of every evaluation
DIR/suites/NAME.json       of a published suite the ids and kinds of its prompts; texts and parameters stay in its own
                           file
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from adhere.errors import IntegrityError
from adhere.schema import ConstraintRef, Prompt, Turn, decode, encode, write_atomic
from adhere.suites.base import Suite

FOLDER, OWN = "suites", "held-out"
KEPT_TAGS = ("query", "slice")


def save_asked(directory: Path, own: Suite, suites: Mapping[str, Suite], *, is_ours: bool = True) -> None:
    """Write the suites that are not stored yet.

    `is_ours`: the suite of the verdict holds prompts of ours, which are kept whole.
    """
    bare = {name: _bare_suite(suite) for name, suite in suites.items()}
    for name, suite in {OWN: own if is_ours else _bare_suite(own), **bare}.items():
        file = directory / FOLDER / f"{name}.json"
        if not file.exists() or "tasks_by" in suite.settings:  # sessions may be added, and tasks with them
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, encode(suite))


def load_asked(directory: Path, *, sha256: str, is_ours: bool = True) -> dict[str, Suite]:
    """Return the suite of the verdict under "", and the other published ones by name.

    Prompts of published suites are kept without texts, so their hash cannot be compared (`is_ours` False).

    Raises:
        IntegrityError: A file is missing or damaged, or the own prompts do not have the hash `sha256`.
    """
    suites: dict[str, Suite] = {}
    for file in sorted((directory / FOLDER).glob("*.json")):
        try:
            suites["" if file.stem == OWN else file.stem] = decode(file.read_bytes(), Suite)
        except IntegrityError as error:
            raise IntegrityError(f"{FOLDER}/{file.name}: {error}") from error
    if "" not in suites:
        raise IntegrityError(
            f"The records hold no {FOLDER}/{OWN}.json. Pack them again: adhere study SPEC --records FILE"
        )
    if is_ours and suites[""].sha256 != sha256:
        raise IntegrityError(
            f"{FOLDER}/{OWN}.json is not what the study asked: sha256 {suites[''].sha256}, not {sha256}"
        )
    return suites


def _bare_suite(suite: Suite) -> Suite:
    return msgspec.structs.replace(suite, prompts=tuple(map(_bare, suite.prompts)))


def _bare(prompt: Prompt) -> Prompt:
    turns = tuple(Turn("", tuple(ConstraintRef(ref.id, {}) for ref in turn.constraints)) for turn in prompt.turns)
    return Prompt(prompt.id, turns, tags={name: prompt.tags[name] for name in KEPT_TAGS if name in prompt.tags})
