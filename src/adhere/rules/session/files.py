"""Follow the texts of a session's files as far as its log shows them whole, with edits applied in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

_How = Literal["create", "modify", "delete"]
Hunk = tuple[str, str]
"""Lines to replace, and the lines that replace them."""
MOST_KEPT = 5_000_000
"""Most characters of files that are kept at once; beyond that the oldest files are forgotten."""


class PatchEdit(NamedTuple):
    """Holds the change that a patch makes to one file; `whole` is the text of a file that is created, else None."""

    path: str
    how: _How
    added: str
    whole: str | None
    hunks: tuple[Hunk, ...]


class Files:
    """Keeps texts of files by path; a path with None is a file whose text the log does not show."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}
        self._size = 0

    def is_known(self, path: str) -> bool:
        """Tell whether the file is there, as far as the log shows."""
        return path in self._texts

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if the log does not show it."""
        return self._texts.get(path)

    def put(self, path: str, text: str | None, *, is_gone: bool = False) -> None:
        """Store the new text of a file (None: changed to a text that is not shown), or forget it if `is_gone`."""
        self._size -= len(self._texts.pop(path, None) or "")
        if is_gone:
            return
        self._texts[path] = text
        self._size += len(text or "")
        while self._size > MOST_KEPT and len(self._texts) > 1:
            oldest = next(iter(self._texts))
            self._size -= len(self._texts.pop(oldest) or "")

    def replace(self, path: str, pairs: Sequence[tuple[str, str, bool]]) -> str | None:
        """Apply edits (old, new, everywhere); return the new text.

        None if the text of the file is not known, or an `old` does not occur in it. A file that is not known is created
        by one edit with an empty `old`.
        """
        text = self._texts.get(path)
        if text is None and len(pairs) == 1 and not pairs[0][0] and path not in self._texts:
            text = ""
        for old, new, everywhere in pairs:
            if text is None or (old and old not in text) or (not old and text):
                text = None
                break
            text = new if not old else text.replace(old, new) if everywhere else text.replace(old, new, 1)
        self.put(path, text)
        return text

    def patched(self, path: str, hunks: Sequence[Hunk]) -> str | None:
        """Apply a patch's hunks; return the new text, or None if the text is not known or a hunk does not fit."""
        return self.replace(path, [(old, new, False) for old, new in hunks]) if hunks else None


_VERBS: dict[str, _How] = {
    "add": "create", "Add": "create", "create_file": "create", "delete": "delete", "Delete": "delete",
    "delete_file": "delete",
}  # fmt: skip


def edits_of_patch(fields: Mapping[str, Any]) -> Iterator[PatchEdit]:
    """Yield the edits of an `apply_patch` call, whose fields are an envelope, one operation, or a list of changes."""
    changes = fields.get("changes")
    if isinstance(changes, list):
        for change in changes:
            if isinstance(change, Mapping) and isinstance(change.get("path"), str):
                yield PatchEdit(change["path"], _VERBS.get(str(change.get("kind")), "modify"), "", None, ())
    elif isinstance(fields.get("path"), str) and isinstance(fields.get("type"), str):
        diff = fields.get("diff") if isinstance(fields.get("diff"), str) else ""
        yield _edit(fields["path"], _VERBS.get(fields["type"], "modify"), str(diff).splitlines())
    else:
        names = ("input", "patch", "diff", "patchText")
        yield from _envelope(next((fields[name] for name in names if isinstance(fields.get(name), str)), ""))


def _edit(path: str, how: _How, lines: Sequence[str]) -> PatchEdit:
    """Return the change that the lines of a patch make to one file."""
    added_text = _new_lines(lines) if how != "delete" else ""
    whole = f"{added_text}\n" if how == "create" else None
    return PatchEdit(path, how, whole or added_text, whole, tuple(_hunks(lines)) if how == "modify" else ())


def _envelope(text: str) -> Iterator[PatchEdit]:
    """Yield the edits of an envelope or of a unified diff.

    An envelope is `*** Begin Patch`, a section for each file, `*** End Patch`.
    """
    sections = re.split(r"^\*\*\* (Add|Update|Delete) File: (.+)$", text, flags=re.MULTILINE)
    if len(sections) == 1:
        yield from _unified_diff(text)
        return
    for verb, header, body in zip(sections[1::3], sections[2::3], sections[3::3], strict=True):
        path = header.strip()
        lines = [line for line in body.strip("\n").splitlines() if not line.startswith(("*** End", "*** Begin"))]
        move = next((line[13:].strip() for line in lines if line.startswith("*** Move to: ")), None)
        if move is None:
            yield _edit(path, _VERBS.get(verb, "modify"), lines)
        else:  # the file's text was somewhere else, so that it is not known whole
            yield PatchEdit(path, "delete", "", None, ())
            yield PatchEdit(move, "create", _new_lines(lines), None, ())


def _unified_diff(text: str) -> Iterator[PatchEdit]:
    for section in re.split(r"^(?=--- )", text, flags=re.MULTILINE)[1:]:
        lines = section.splitlines()
        target = next((line[4:].split("\t")[0].strip() for line in lines if line.startswith("+++ ")), "")
        source = lines[0][4:].split("\t")[0].strip()
        how: _How = "delete" if target == "/dev/null" else "create" if source == "/dev/null" else "modify"
        yield _edit(re.sub(r"^[ab]/", "", source if how == "delete" else target), how, lines[2:])


def _new_lines(lines: Sequence[str]) -> str:
    return "\n".join(line[1:] for line in lines if line.startswith("+"))


def _hunks(lines: Sequence[str]) -> Iterator[Hunk]:
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if old or new:
                yield "\n".join(old), "\n".join(new)
            old, new = [], []
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        else:
            old.append(line[1:])
            new.append(line[1:])
