"""Find what directories hold: a run, a sweep or a study. All code that lists, draws or verifies runs asks here.

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
"""Progress of a run or study, in one word.

`complete`: every answer is stored and judged. `incomplete`: the command ended, but calls failed or answers are missing.
`stopped`: the command did not end by itself, and no process is at work.
"""
WORDS: tuple[Word, ...] = get_args(Word)
SHARDED, SHARDS = "shards.json", "shards"
"""What a sharded Run has: its note, and the folder of its shards (`store.sharded`)."""
MOST_ITEMS = 1000
DEPTH = 4


class Item(NamedTuple):
    """Names one stored thing. `id` is for addresses, and tells nothing about paths."""

    id: str
    kind: Kind
    name: str
    directory: Path


def kind_of(directory: Path) -> Kind | None:
    """Tell what a directory itself holds; None: nothing that can be shown."""
    if (directory / "sweep.json").exists():
        return "sweep"
    if (directory / "study.json").exists() or (directory / "result.json").exists():
        return "study"
    if (directory / SHARDED).exists():
        return "run"
    return "run" if (directory / "manifest.json").exists() and (directory / "responses").is_dir() else None


def shelf(root: Path) -> list[Item]:
    """Return every run, sweep and study below a directory (or in it), newest first.

    The parts of a sweep or study are not listed.
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
    """Return the item of a directory, with the id that it has wherever it is listed."""
    return Item(hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:16], kind, name, directory)


def runs_in(item: Item) -> list[Path]:
    """Return the directories of the Runs in a stored item; for a sharded Run, those of its shards."""
    if item.kind == "run":
        return sorted(item.directory.glob(f"{SHARDS}/[0-9]*")) or [item.directory]
    return sorted(file.parent for file in item.directory.glob("runs/*/manifest.json"))


def run_folders(root: Path) -> list[Path]:
    """Return every Run's directory in or below `root`, also in a sweep or a study.

    For a sharded Run it is the Run's, not its shards'.
    """
    folders = {file.parent for name in ("manifest.json", SHARDED) for file in root.glob(f"**/{name}")}
    return sorted(folder for folder in folders if folder.parent.name != SHARDS)


def last_change(directory: Path) -> float:
    """Return when a file directly in a directory was last written (seconds since 1970); 0 if that is unknown."""
    try:
        return max(file.stat().st_mtime for file in (directory, *directory.iterdir()))
    except (OSError, ValueError):
        return 0.0


def state_word(*, n_asked: int | None, n_answered: int, failed: int, is_sealed: bool, is_at_work: bool) -> Word:
    """Return the word for how far something is.

    Args:
        n_asked: Number of answers needed; None: unknown.
        n_answered: Number of keys with a row, failed calls included.
        failed: Number of failed calls.
        is_sealed: Whether the summary is stored.
        is_at_work: Whether a process holds it, or rows came just now.
    """
    if is_sealed:
        return "incomplete" if failed or (n_asked is not None and n_answered < n_asked) else "complete"
    if not is_at_work:
        return "stopped"
    return "judging" if n_answered == n_asked else "running"


def discard_if_empty(directory: Path) -> bool:
    """Remove a Run in which nothing was answered, spent or sent; tell whether it was removed.

    An answer, a ledger or the id of a batch keeps it.
    """
    files = [file for file in directory.rglob("*") if file.is_file()]
    asked_alone = {file.name for file in files if file.stat().st_size} <= {"manifest.json", "prompts.jsonl"}
    if not (directory / "manifest.json").is_file() or not asked_alone:
        return False
    shutil.rmtree(directory)
    return True
