"""Define the commands of the shell, except git: each gets the repository, its words and what is piped in, and prints.

A command that fails raises ShellError.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from functools import partial

from adhere.rules.repo.machine import Machine, ShellError

Shown = Callable[[Machine, list[str], str], str]
COMMANDS: dict[str, Shown] = {}


def _command(*names: str) -> Callable[[Shown], Shown]:
    def add(function: Shown) -> Shown:
        COMMANDS.update(dict.fromkeys(names, function))
        return function

    return add


def options_of(words: Sequence[str], value_letters: str = "") -> tuple[str, dict[str, str], list[str]]:
    """Split words into letters of options (long options among them), options with a value, and the other words.

    `value_letters` are the letters of options that take a value.
    """
    letters, values, rest = "", dict[str, str](), list[str]()
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return letters, values, [*rest, *words[place + 1 :]]
        if word.startswith("-") and len(word) > 1:
            name = word.lstrip("-")
            if not word.startswith("--") and name[0] in value_letters:
                values[name[0]] = name[1:] or (words[place + 1] if place + 1 < len(words) else "")
                place += not name[1:]
            else:
                letters += name if not word.startswith("--") else f" {name} "
        else:
            rest.append(word)
        place += 1
    return letters, values, rest


def _texts(machine: Machine, paths: Sequence[str], stdin: str) -> list[tuple[str, str]]:
    return [(path, machine.read(path)) for path in paths] if paths else [("", stdin)]


@_command("true", ":", "mkdir", "sleep", "export", "set")
def _nothing(_machine: Machine, _words: list[str], _: str) -> str:
    return ""


@_command("touch")
def _touch(machine: Machine, words: list[str], _: str) -> str:
    for path in words:
        machine.write(path, machine.files.get(machine.path(path), ""))
    return ""


@_command("false")
def _false(_machine: Machine, _words: list[str], _: str) -> str:
    raise ShellError("")


@_command("pwd")
def _pwd(machine: Machine, _words: list[str], _: str) -> str:
    return f"/repo{'/' * bool(machine.cwd)}{machine.cwd}\n"


@_command("cd")
def _cd(machine: Machine, words: list[str], _: str) -> str:
    to = machine.path(words[0]) if words and words[0] != "~" else ""
    if to and to not in machine.folders():
        raise ShellError(f"cd: {words[0]}: no such folder")
    machine.cwd = to
    return ""


@_command("echo", "printf")
def _echo(_machine: Machine, words: list[str], _: str) -> str:
    end = "" if words[:1] == ["-n"] else "\n"
    return " ".join(words[1:] if words[:1] in (["-n"], ["-e"]) else words).replace("\\n", "\n") + end


@_command("ls")
def _ls(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, paths = options_of(words)
    lines = []
    for path in paths or ["."]:
        own, files = machine.path(path), machine.below(path)
        if "R" in letters:
            lines += files
        else:
            names = {file[len(own) + 1 if own else 0 :].partition("/")[0] for file in files}
            visible = sorted(name for name in names if "a" in letters or name[:1] != ".")
            lines += [own] if own in machine.files else visible
    return "".join(f"{line}\n" for line in lines)


@_command("cat")
def _cat(machine: Machine, words: list[str], stdin: str) -> str:
    letters, _values, paths = options_of(words)
    text = "".join(text for _, text in _texts(machine, paths, stdin))
    numbered_lines = (f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(keepends=True), start=1))
    return "".join(numbered_lines) if "n" in letters else text


def _cut(machine: Machine, words: list[str], stdin: str, *, from_end: bool) -> str:
    words = [f"-n{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in words]
    _letters, values, paths = options_of(words, "nc")
    count = int(values["n"]) if values.get("n", "").isdigit() else 10
    parts = []
    for _, text in _texts(machine, paths, stdin):
        lines = text.splitlines(keepends=True)
        parts += lines[-count:] if from_end and count else lines[:count]
    return "".join(parts)


COMMANDS.update(head=partial(_cut, from_end=False), tail=partial(_cut, from_end=True))


@_command("wc")
def _wc(machine: Machine, words: list[str], stdin: str) -> str:
    letters, _values, paths = options_of(words)
    rows = []
    for path, text in _texts(machine, paths, stdin):
        counts = {"l": text.count("\n"), "w": len(text.split()), "c": len(text)}
        rows.append(" ".join([*(str(counts[unit]) for unit in "lwc" if unit in (letters or "lwc")), path]).strip())
    return "\n".join(rows) + "\n"


@_command("sort")
def _sort(machine: Machine, words: list[str], stdin: str) -> str:
    letters, _values, paths = options_of(words)
    lines = [line for _, text in _texts(machine, paths, stdin) for line in text.splitlines()]
    return "".join(f"{line}\n" for line in sorted(set(lines) if "u" in letters else lines, reverse="r" in letters))


@_command("grep", "rg", "egrep")
def _grep(machine: Machine, words: list[str], stdin: str) -> str:
    letters, pattern, paths = _pattern_of(words)
    if " F" in letters or "F" in letters:
        pattern = re.escape(pattern)
    if _is_costly(pattern):
        raise ShellError("grep: this pattern is not known here", 2)
    try:
        regex = re.compile(pattern.replace("\\|", "|"), re.IGNORECASE if "i" in letters else 0)
    except re.error as error:
        raise ShellError(f"grep: {pattern}: {error}", 2) from error
    files = [file for path in paths or (["."] if "r" in letters or not stdin else []) for file in machine.below(path)]
    lines, is_named = list[str](), len(files) > 1 or (bool(files) and "r" in letters)
    for path, text in [(file, machine.files[file]) for file in files] or [("", stdin)]:
        hits = [
            (number, line)
            for number, line in enumerate(text.splitlines(), start=1)
            if (regex.search(line[:500]) is not None) is ("v" not in letters)
        ]
        if "l" in letters:
            lines += [path] * bool(hits)
        elif "c" in letters:
            lines.append(f"{path}:{len(hits)}" if is_named else str(len(hits)))
        else:
            head = f"{path}:" if is_named else ""
            lines += [f"{head}{f'{number}:' if 'n' in letters else ''}{line}" for number, line in hits]
    if not lines:
        raise ShellError("")
    return "".join(f"{line}\n" for line in lines)


def _pattern_of(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """Split the words of grep or sed into letters of options, the pattern or program, and the paths."""
    letters, values, rest = options_of(words, "e")
    return (letters, values["e"], rest) if "e" in values else (letters, "".join(rest[:1]), rest[1:])


def _is_costly(pattern: str) -> bool:
    """Tell whether a pattern may take very long: it is long, repeats groups, or has many repetitions."""
    return (
        len(pattern) > 200 or re.search(r"\)\s*[*+{?]", pattern) is not None or len(re.findall(r"[*+{]", pattern)) > 4
    )


@_command("find")
def _find(machine: Machine, words: list[str], _: str) -> str:
    begin = next((number for number, word in enumerate(words) if word.startswith("-")), len(words))
    paths = words[:begin]
    options = dict(zip(words[len(paths) :: 2], words[len(paths) + 1 :: 2], strict=False))
    if set(options) - {"-name", "-type", "-path", "-maxdepth"}:
        raise ShellError("find: only -name, -path and -type are known here")
    candidates = {file for path in paths or ["."] for file in machine.below(path)}
    if options.get("-type") == "d":
        candidates = machine.folders()
    name = options.get("-name", "*")
    return "".join(f"{path}\n" for path in sorted(candidates) if fnmatch.fnmatch(path.rpartition("/")[2], name))


@_command("rm")
def _rm(machine: Machine, words: list[str], _: str) -> str:
    letters, _values, paths = options_of(words)
    for path in paths:
        own = machine.path(path)
        if own not in machine.files and own not in machine.folders():
            if "f" in letters:
                continue
            raise ShellError(f"rm: {path}: no such file or folder")
        if own not in machine.files and "r" not in letters.lower():
            raise ShellError(f"rm: {path}: is a folder")
        for file in machine.below(path):
            del machine.files[file]
    return ""


def _copy(machine: Machine, words: list[str], _: str, *, keep: bool) -> str:
    _letters, _values, paths = options_of(words)
    if len(paths) < 2:
        raise ShellError("missing the file to copy or move, or where to")
    *sources, target = paths
    to = machine.path(target)
    for source in sources:
        own = machine.path(source)
        into = f"{to}/{own.rpartition('/')[2]}".lstrip("/") if to in machine.folders() or not to else to
        for file in machine.below(source):
            text = machine.files[file]
            if not keep:
                del machine.files[file]
            machine.write(f"/repo/{into}{file[len(own) :]}", text)
    return ""


COMMANDS.update(cp=partial(_copy, keep=True), mv=partial(_copy, keep=False))


@_command("sed")
def _sed(machine: Machine, words: list[str], stdin: str) -> str:
    letters, program, paths = _pattern_of(words)
    print_range = re.fullmatch(r"(\d+)(?:,(\d+))?p", program)
    if print_range and "n" in letters:
        first, last = int(print_range[1]), int(print_range[2] or print_range[1])
        lines = "".join(text for _, text in _texts(machine, paths, stdin)).splitlines(keepends=True)
        return "".join(lines[first - 1 : last])
    swap = re.fullmatch(r"s(.)(.*?)(?<!\\)\1(.*?)(?<!\\)\1(g?)", program)
    if not swap or _is_costly(swap[2]):
        raise ShellError("sed: only -n 'A,Bp' and s/OLD/NEW/g are known here")
    try:
        old = re.compile(re.sub(r"\\([+?|()])", r"\1", swap[2]) if swap[2] else "(?!)")
        texts = {path: text.splitlines(keepends=True) for path, text in _texts(machine, paths, stdin)}
        new, count = _plain(swap[3]), 0 if swap[4] else 1
        new_texts = {path: "".join(old.sub(new, line, count=count) for line in lines) for path, lines in texts.items()}
    except re.error as error:
        raise ShellError(f"sed: {program}: {error}") from error
    if "i" not in letters:
        return "".join(new_texts.values())
    for path, text in new_texts.items():
        machine.write(path, text)
    return ""


def _plain(text: str) -> str:
    """Return a replacement text of sed as one of Python's `re`."""
    return re.sub(r"(?<!\\)&", r"\\g<0>", text.replace("\\/", "/"))


@_command("pytest", "py.test")
def _pytest(machine: Machine, words: list[str], _: str) -> str:
    return machine.test([word for word in words if not word.startswith("-")])


@_command("ruff")
def _ruff(machine: Machine, words: list[str], _: str) -> str:
    if words[:1] == ["check"]:
        return machine.lint()
    if words[:1] != ["format"]:
        raise ShellError("ruff: check and format are known here", 2)
    n_changed = 0
    for path, text in list(machine.files.items()):
        new_text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
        if path.endswith(".py") and new_text != text:
            machine.files[path] = new_text
            n_changed += 1
    return f"{n_changed} files reformatted\n"


@_command("make")
def _make(machine: Machine, words: list[str], stdin: str) -> str:
    target = next((word for word in words if not word.startswith("-")), "test")
    if target == "test":
        return machine.test()
    if target in {"lint", "format"}:
        return _ruff(machine, ["check" if target == "lint" else target], stdin)
    raise ShellError(f"make: *** No rule to make target '{target}'. Stop.", 2)


@_command("curl", "wget", "pip", "pip3", "npm", "ssh", "scp", "docker", "uv")
def _offline(_machine: Machine, _words: list[str], _: str) -> str:
    raise ShellError("there is no network here", 6)
