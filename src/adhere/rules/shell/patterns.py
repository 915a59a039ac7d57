"""Tell whether a command is one that a rule names: `git push --force`, `npm run build`, `@tests`.

A pattern is a program, words that come first among the command's own words, and options at any place. An option with
`!` must be absent. `@name` is a group of `groups.toml`. A command that only asks for help, a version or a rehearsal
does not match.
"""

from __future__ import annotations

import functools
import re
import shlex
import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from adhere.errors import SpecError, nearest
from adhere.rules.shell.forms import Run, program

GROUPS_FILE = Path(__file__).with_name("groups.toml")
_REHEARSALS = frozenset({"--help", "--version", "--dry-run", "--collect-only", "--co", "--just-print", "--fixtures"})
_SHORT = {"--force": "-f", "--recursive": "-r", "--all": "-a", "--draft": "-d"}
_VALUED = {
    "git": ("-C", "-c", "--git-dir", "--work-tree"), "docker": ("--context", "-H"), "gh": ("-R", "--repo"),
    "kubectl": ("-n", "--namespace", "--context"), "npm": ("--prefix", "-w", "--workspace"), "make": ("-C", "-f", "-I"),
    "pnpm": ("-C", "--dir", "--filter", "-F"), "yarn": ("--cwd",), "cargo": ("--manifest-path", "--color"),
    "go": ("-C",), "terraform": (), "uv": ("--directory", "--project"),
    "pip": ("-r", "-c", "-e", "-i", "--requirement", "--editable", "--index-url"), "poetry": ("-C", "--directory"),
}  # fmt: skip


@functools.cache
def groups() -> dict[str, tuple[str, ...]]:
    """Return the patterns of each group of commands by its name, without the `@`."""
    document = tomllib.loads(GROUPS_FILE.read_text(encoding="utf-8"))
    return {name: tuple(patterns) for name, patterns in document.items()}


@functools.lru_cache(maxsize=1024)
def patterns_of(command: str) -> tuple[tuple[str, ...], ...]:
    """Return the patterns that a text stands for: those of a group, or the text itself as words.

    Raises:
        SpecError: There is no such group, or the text has an open quote.
    """
    if command.startswith("@"):
        commands_by_group = groups()
        if command[1:] not in commands_by_group:
            names = ", ".join(f"@{name}" for name in commands_by_group)
            raise SpecError(
                f"no group of commands {command!r}.{nearest(command[1:], commands_by_group)} Groups: {names}"
            )
        return tuple(pattern for text in commands_by_group[command[1:]] for pattern in patterns_of(text))
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SpecError(f"the command {command!r} cannot be read: {error}") from error
    while len(words) > 1 and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
        words = words[1:]
    if words == ["npm"]:
        return (("npm",), ("npx",))  # one program under two names
    return ((program(words[0]), *words[1:]),) if words else ()


def matches(run: Run, commands: Iterable[str]) -> bool:
    """Tell whether one of the patterns `commands` matches a command."""
    by_program, globs = _by_program(tuple(commands))
    for form in run.forms:
        if any(_matches(form, pattern) for pattern in by_program.get(form[0], ())):
            return True
        if any(fnmatchcase(form[0], pattern[0]) and _matches(form, pattern) for pattern in globs):
            return True
    return False


_Patterns = tuple[tuple[str, ...], ...]


@functools.lru_cache(maxsize=512)
def _by_program(commands: tuple[str, ...]) -> tuple[dict[str, list[tuple[str, ...]]], _Patterns]:
    """Return the patterns by their program, and those whose program is a glob."""
    by_program: dict[str, list[tuple[str, ...]]] = {}
    globs: list[tuple[str, ...]] = []
    for pattern in (pattern for text in commands for pattern in patterns_of(text)):
        if re.search(r"[*?\[]", pattern[0]):
            globs.append(pattern)
        else:
            by_program.setdefault(pattern[0], []).append(pattern)
    return by_program, tuple(globs)


def _matches(form: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether a command has the words and options of a pattern; the pattern's program is not looked at."""
    options = [word for word in pattern[1:] if word.startswith("-") and word != "--"]
    own = form[1 : form.index("--")] if "--" in form[1:] else form[1:]
    if any(word in _REHEARSALS and not options for word in own) or (own == ("-n",) and form[0] == "make"):
        return False
    if not all(_has_option(own, option) for option in options):
        return False
    if any(_has_option(own, word[1:]) for word in pattern[1:] if word.startswith("!-")):
        return False
    names = [word for word in pattern[1:] if not word.startswith(("-", "!-"))]
    words = _own_words(form)
    return len(words) >= len(names) and all(_is_word(word, name) for word, name in zip(words, names, strict=False))


def chooses_part(run: Run) -> bool | None:
    """Tell whether a command that runs tests selects some of them by path, name or filter; None if unclear."""
    form = next(
        (form for form in reversed(run.forms) if any(_matches(form, pattern) for pattern in patterns_of("@tests"))), ()
    )
    if any(
        re.match(r"-(?:k|m|t|run|p|-filter\S*|-testNamePattern|-grep|-last-failed|-lf|-package)(?:=|$)", word)
        for word in form
    ):
        return True
    chosen = [word for word in _own_words(form) if re.search(r"::|\.\w+$|[A-Z]\w+Test|_test|test_", word)]
    rest = [word for word in _own_words(form) if word not in {"test", "run", "tests", "./...", "verify", "check", "."}]
    return True if chosen else None if rest else False


def _is_word(word: str, name: str) -> bool:
    return word == name or fnmatchcase(word, name) or word.removeprefix("./") == name.removeprefix("./")


def _own_words(form: Sequence[str]) -> list[str]:
    """Return the words of a command that are neither options nor values of options known to take one."""
    value_options = _VALUED.get(form[0], ())
    words: list[str] = []
    place = 1
    while place < len(form):
        word = form[place]
        if word in value_options:
            place += 1
        elif not word.startswith("-") and not (form[0] == "cargo" and word.startswith("+")):
            words.append(word)
        place += 1
    return words


def _has_option(words: Sequence[str], option: str) -> bool:
    if any(word == option or word.startswith(f"{option}=") for word in words):
        return True
    option = _SHORT.get(option, option)
    if not re.fullmatch(r"-[A-Za-z]{1,3}", option):
        return False
    letters = {letter for word in words if re.fullmatch(r"-[A-Za-z]{1,5}", word) for letter in word[1:]}
    return set(option[1:].replace("R", "r")) <= {"r" if letter == "R" else letter for letter in letters}
