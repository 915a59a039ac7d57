"""Directories and what lies in them: a run, a sweep or a study. Whoever lists, draws or verifies runs asks here.

A directory is a sweep if it has a `sweep.json`, a study if it has a `study.json` (begun) or a `result.json` (finished),
and a run if it has a `manifest.json` beside `responses/` (a made data set has a `manifest.json` too) or a
`shards.json`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Literal, NamedTuple, get_args

Kind = Literal["run", "sweep", "study"]
Word = Literal["running", "judging", "complete", "incomplete", "stopped"]
"""How far a run or study is.

`complete`: every answer is there and judged. `incomplete`: its command came to an end, but calls failed or answers are
missing. `stopped`: its command did not come to an end, and nobody is at work on it.
"""
WORDS: tuple[Word, ...] = get_args(Word)
SHARDED, SHARDS = "shards.json", "shards"
"""What a sharded Run has: its note, and the folder of its shards (`store.sharded`)."""
MOST_ITEMS = 1000
DEPTH = 4


class Item(NamedTuple):
    """One thing that is stored. `id` names it in addresses: it says nothing about paths."""

    id: str
    kind: Kind
    name: str
    directory: Path


def kind_of(directory: Path) -> Kind | None:
    """Tell what is stored in a directory itself; None: nothing that can be shown."""
    if (directory / "sweep.json").exists():
        return "sweep"
    if (directory / "study.json").exists() or (directory / "result.json").exists():
        return "study"
    if (directory / SHARDED).exists():
        return "run"
    return "run" if (directory / "manifest.json").exists() and (directory / "responses").is_dir() else None


def shelf(root: Path) -> list[Item]:
    """Every run, sweep and study below a directory (or in it), newest first.

    What belongs to a sweep or study is not listed apart.
    """
    items: list[Item] = []
    for folder, folders, _ in os.walk(root, followlinks=False):
        path = Path(folder)
        kind = kind_of(path)
        if kind is not None or len(path.relative_to(root).parts) >= DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if kind is not None:
            name = str(path.relative_to(root)) if path != root else path.resolve().name
            items.append(item_of(kind, name, path))
        if len(items) >= MOST_ITEMS:
            break
    return sorted(items, key=lambda item: (-last_change(item.directory), item.name))


def item_of(kind: Kind, name: str, directory: Path) -> Item:
    """Return what lies in a directory, with the id that it has wherever it is listed."""
    return Item(hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:16], kind, name, directory)


def runs_in(item: Item) -> list[Path]:
    """The directories of the Runs that belong to something that is stored; of a sharded Run, of its shards."""
    if item.kind == "run":
        return sorted(item.directory.glob(f"{SHARDS}/[0-9]*")) or [item.directory]
    return sorted(file.parent for file in item.directory.glob("runs/*/manifest.json"))


def run_folders(root: Path) -> list[Path]:
    """Every directory in or below `root` that has what a Run has, in a sweep or a study too.

    Of a sharded Run itself, not its shards.
    """
    folders = {file.parent for name in ("manifest.json", SHARDED) for file in root.glob(f"**/{name}")}
    return sorted(folder for folder in folders if folder.parent.name != SHARDS)


def last_change(directory: Path) -> float:
    """When a file directly in a directory was last written (seconds since 1970); 0 where that cannot be found out."""
    try:
        return max(file.stat().st_mtime for file in (directory, *directory.iterdir()))
    except (OSError, ValueError):
        return 0.0


def state_word(*, n_asked: int | None, n_answered: int, failed: int, is_sealed: bool, is_at_work: bool) -> Word:
    """The one word for how far something is.

    Args:
        n_asked: Answers that it needs; None where nobody can say.
        n_answered: Keys that have a row, failed calls among them.
        failed: Failed calls.
        is_sealed: Its summary is stored.
        is_at_work: A process holds it, or rows came just now.
    """
    if is_sealed:
        return "incomplete" if failed or (n_asked is not None and n_answered < n_asked) else "complete"
    if not is_at_work:
        return "stopped"
    return "judging" if n_answered == n_asked else "running"


def discard_if_empty(directory: Path) -> bool:
    """Remove a Run in which nothing was answered, spent or sent; tell whether it was one.

    Only what was asked may lie in it: an answer, a ledger or the id of a batch keeps it.
    """
    files = [file for file in directory.rglob("*") if file.is_file()]
    asked_alone = {file.name for file in files if file.stat().st_size} <= {"manifest.json", "prompts.jsonl"}
    if not (directory / "manifest.json").is_file() or not asked_alone:
        return False
    shutil.rmtree(directory)
    return True
