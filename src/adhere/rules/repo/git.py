"""Run git on a repository in memory: commands that change one branch or show it; no remote, no merge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import unified_diff

from adhere.rules.repo.commands import COMMANDS, Shown, options_of
from adhere.rules.repo.machine import Commit, Machine, ShellError


def git(machine: Machine, words: list[str], stdin: str) -> str:
    """Run one git command and return what it prints.

    Raises:
        ShellError: The command fails, or is not known here.
    """
    command = _GIT.get(words[0]) if words else None
    if command is None:
        raise ShellError(f"git: {' '.join(words[:1]) or 'a command'} is not known here")
    return command(machine, words[1:], stdin)


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (letter, path) of each file that differs, by path: A added, D deleted, M modified."""
    paths = sorted({*before, *now})
    return [
        ("A" if path not in before else "D" if path not in now else "M", path)
        for path in paths
        if before.get(path) != now.get(path)
    ]


def _status(machine: Machine, _words: list[str], _: str) -> str:
    changes = _changes(machine.head, machine.files)
    lines = [f"{'A ' if path in machine.staged else ' ' + letter} {path}" for letter, path in changes]
    return "\n".join([f"On branch {machine.branch}", *(lines or ["nothing to commit, working tree clean"])]) + "\n"


def _diff_of(before: Mapping[str, str], now: Mapping[str, str], paths: Sequence[str]) -> str:
    lines = list[str]()
    for path in paths:
        old, new = before.get(path, "").splitlines(), now.get(path, "").splitlines()
        lines += unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _diff(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, rest = options_of(words)
    now = {**machine.head, **{path: text for path, text in machine.staged.items() if text is not None}}
    is_staged = "staged" in letters or "cached" in letters
    changed_paths = [path for _, path in _changes(machine.head, now if is_staged else machine.files)]
    paths = [path for path in rest if path != "HEAD"]
    inside = {file for path in paths for file in machine.below(path)}
    chosen = [path for path in changed_paths if not paths or path in inside]
    return _diff_of(machine.head, now if is_staged else machine.files, chosen)


def _add(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, paths = options_of(words)
    if "A" in letters or "all" in letters or "u" in letters or "." in paths:
        added_paths = [path for _, path in _changes(machine.head, machine.files)]
    else:
        added_paths = []
        for path in paths:
            own = machine.path(path)
            added_paths += [own] if own in machine.head else machine.below(path)
    machine.staged.update({path: machine.files.get(path) for path in added_paths})
    return ""


def _commit(machine: Machine, words: list[str], stdin: str) -> str:
    messages, letters = list[str](), ""
    place = 0
    while place < len(words):
        word = words[place]
        if (short := re.fullmatch(r"-([a-zA-Z]*)m(.*)", word, re.DOTALL)) or word == "--message":
            letters += short[1] if short else ""
            inline_text = short[2] if short else ""
            messages.append(inline_text or (words[place + 1] if place + 1 < len(words) else ""))
            place += not inline_text
        elif word.startswith("--message="):
            messages.append(word.partition("=")[2])
        elif word == "-F" and words[place + 1 : place + 2] == ["-"]:
            messages.append(stdin.rstrip("\n"))
            place += 1
        else:
            letters += f" {word} "
        place += 1
    if "a" in letters.replace("--allow-empty", "").replace("--amend", "").replace(" --", "") or "--all " in letters:
        _add(machine, ["-u"], "")
    history = machine.branches[machine.branch]
    is_amended = "--amend" in letters
    message = "\n\n".join(messages) or (history[-1].message if is_amended else "")
    if not message.strip():
        raise ShellError("Aborting commit due to empty commit message: give -m MESSAGE")
    files = dict(machine.head)
    for path, text in machine.staged.items():
        if text is None:
            files.pop(path, None)
        else:
            files[path] = text
    changes = _changes(machine.head, files)
    if not changes and not is_amended and "--allow-empty" not in letters:
        raise ShellError(f"On branch {machine.branch}\nnothing added to commit (use git add)")
    commit = Commit(message, files)
    machine.branches[machine.branch] = [*(history[:-1] if is_amended else history), commit]
    machine.staged.clear()
    return f"[{machine.branch} {commit.mark}] {message.splitlines()[0]}\n {len(changes)} files changed\n"


def _switch(machine: Machine, words: list[str], stdin: str) -> str:
    letters, _values, rest = options_of(words)
    is_new = "b" in letters.lower() or "c" in letters.lower().replace("create", "c")
    if not rest:
        raise ShellError("git: name a branch")
    name = rest[0]
    if is_new:
        if name in machine.branches:
            raise ShellError(f"fatal: a branch named '{name}' already exists", 128)
        machine.branches[name] = list(machine.branches[machine.branch])
    elif name not in machine.branches:
        return _restore(machine, rest, stdin)
    elif _changes(machine.head, machine.files) and name != machine.branch:
        raise ShellError("error: your local changes would be overwritten; commit them first")
    machine.branch = name
    if not is_new:
        machine.files = dict(machine.head)
    return f"Switched to {'a new branch' if is_new else 'branch'} '{name}'\n"


def _restore(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, paths = options_of(words)
    targets = list(machine.head) if "." in paths else [machine.path(path) for path in paths]
    for path in targets:
        if path not in machine.head:
            raise ShellError(f"error: pathspec '{path}' did not match any file known to git")
        machine.staged.pop(path, None)
        if "staged" not in letters:
            machine.files[path] = machine.head[path]
    return ""


def _branch(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, rest = options_of(words)
    if rest and not letters:
        machine.branches.setdefault(rest[0], list(machine.branches[machine.branch]))
        return ""
    return (
        f"{machine.branch}\n"
        if "show-current" in letters
        else "".join(f"{'*' if name == machine.branch else ' '} {name}\n" for name in sorted(machine.branches))
    )


def _log(machine: Machine, words: list[str], _: str) -> str:
    most = next((int(word.lstrip("-n")) for word in words if re.fullmatch(r"-n?\d{1,4}", word)), 20)
    commits = machine.branches[machine.branch][::-1][:most]
    return "".join(f"{commit.mark} {commit.message.splitlines()[0]}\n" for commit in commits)


def _show(machine: Machine, _words: list[str], _: str) -> str:
    history = machine.branches[machine.branch]
    before = history[-2].files if len(history) > 1 else {}
    changed_paths = [path for _, path in _changes(before, history[-1].files)]
    diff = _diff_of(before, history[-1].files, changed_paths)
    return f"commit {history[-1].mark}\n\n    {history[-1].message}\n\n{diff}"


def _reset(machine: Machine, words: list[str], _: str) -> str:
    machine.staged.clear()
    if "--hard" in words:
        machine.files = dict(machine.head)
    return ""


def _remote(_machine: Machine, _words: list[str], _: str) -> str:
    raise ShellError("fatal: there is no remote repository here", 128)


_GIT: Mapping[str, Shown] = {
    "status": _status, "diff": _diff, "add": _add, "commit": _commit, "checkout": _switch, "switch": _switch,
    "restore": _restore, "branch": _branch, "log": _log, "show": _show, "reset": _reset, "push": _remote,
    "pull": _remote, "fetch": _remote, "rm": COMMANDS["rm"],
}  # fmt: skip
