"""List the commands that a command line runs, each with all its forms.

`sudo env A=1 timeout 9 uv run python3 -m pytest -x` is one command with the forms `sudo …`, `uv run …`, `python -m
pytest …` and `pytest -x`: a rule that names any of them means the command. `make check` and `npm run check` are looked
up in the Makefile or package.json if the repository is given.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adhere.rules.shell.outcome import Knowledge, outcomes
from adhere.rules.shell.parse import Redirect, Simple, Word, parse

DEEPEST = 6
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_PREFIXES: Mapping[str, tuple[str, ...]] = {
    # program: its options that take a value
    "sudo": ("-u", "-g", "-h", "-p", "-C", "-D"), "doas": ("-u", "-C"), "env": ("-u", "-C", "-S"),
    "time": ("-f", "-o"), "nohup": (), "nice": ("-n",), "ionice": ("-c", "-n"), "stdbuf": ("-i", "-o", "-e"),
    "timeout": ("-s", "-k", "--signal", "--kill-after"), "gtimeout": ("-s", "-k"), "command": (), "exec": ("-a",),
    "builtin": (), "setsid": (), "xvfb-run": ("-s", "-n"), "watch": ("-n", "-d"), "unbuffer": (), "rtk": (),
    "xargs": ("-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E", "-i"), "strace": ("-e", "-o"), "caffeinate": (),
    "npx": ("-p", "--package", "-c"), "pnpx": (), "bunx": (), "uvx": ("--from", "--with", "-p", "--python"),
    "dotenv": ("-f", "-e"), "chronic": (), "parallel": ("-j",), "cross-env": (), "retry": ("-n",),
}  # fmt: skip
_RUNNERS = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"),
    ("conda", "run"), ("mamba", "run"), ("pixi", "run"), ("bundle", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"),
    ("yarn", "exec"), ("yarn", "dlx"), ("npm", "exec"), ("direnv", "exec"), ("mise", "exec"), ("nix", "develop"),
    ("coverage", "run"), ("dotnet", "exec"), ("bun", "x"),
)  # fmt: skip
_RUNNER_VALUES = frozenset(
    "--with --extra --group --python -p --project --directory --env-file --package "
    "-n --name -C --source --filter".split()
)
_SCRIPTS = ("npm", "pnpm", "yarn", "bun")
_BINARIES = frozenset(
    "vitest jest tsc eslint prettier playwright mocha cypress biome vite next turbo nx oxlint stylelint "
    "webpack ava".split()
)
_SHORT = frozenset({"test", "start", "stop", "restart"})
_VERSION = re.compile(r"(?<=[a-z])\d+(\.\d+)*$")


@dataclass(frozen=True)
class Run:
    """Describes one command of a command line.

    Attributes:
        forms: Each way to read the command, outermost first, as a tuple of words; the program is a bare name.
        fixed: Whether no word of it holds a variable.
        cwd: Where it runs, as far as `cd` with plain words says; relative to where the line began.
        known: Whether it ran and passed.
        redirects: Its own redirections, and those of the commands around it.
        simple: The command as it was parsed.
    """

    forms: tuple[tuple[str, ...], ...]
    fixed: bool
    cwd: str
    known: Knowledge
    redirects: tuple[Redirect, ...]
    simple: Simple

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the innermost form."""
        return self.forms[-1] if self.forms else ()


def program(word: str) -> str:
    """Return the bare name of a program: without folder, .exe and version."""
    name = word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")
    return _VERSION.sub("", name) if name.startswith(("python", "pip")) else name


def runs_of(text: str, exit_code: int | None, *, repo: Path | None = None, deep: int = 0) -> Iterator[Run]:
    """Yield every command of a command line, in order.

    Args:
        text: The command line.
        exit_code: The exit code of the line; None: unknown.
        repo: Where a Makefile or package.json is read; None: nowhere.
        deep: How many command lines this one is nested in.
    """
    script = parse(text)
    cwd = ""
    for command, knowledge, redirects in outcomes(script, exit_code):
        if not isinstance(command, Simple):
            continue
        run = _run(command, knowledge, redirects, cwd)
        yield run
        if run.words[:1] == ("cd",) and run.fixed:
            cwd = _join(cwd, run.words[1] if len(run.words) > 1 else "~")
        if deep < DEEPEST:
            yield from _inner(run, command, repo=repo, deep=deep)


def _run(command: Simple, knowledge: Knowledge, redirects: tuple[Redirect, ...], cwd: str) -> Run:
    words = tuple(word.text for word in command.words if word.text or word.fixed)
    forms = tuple(_forms(tuple(word for word in words if word)))
    return Run(
        forms, all(word.fixed for word in command.words), cwd, knowledge, (*redirects, *command.redirects), command
    )


def _join(cwd: str, to: str) -> str:
    if to.startswith(("/", "~")) or re.match(r"[A-Za-z]:", to):
        return to
    return f"{cwd}/{to}" if cwd else to


def _forms(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, then those of what its wrappers run, outermost first."""
    for _ in range(DEEPEST * 2):
        if not words:
            return
        words = (program(words[0]), *words[1:])
        yield words
        inner = _unwrap(words)
        if inner is None or inner == words:
            return
        words = inner


def _unwrap(words: tuple[str, ...]) -> tuple[str, ...] | None:  # noqa: PLR0911 - one return a wrapper
    name = words[0]
    if name in _PREFIXES:
        rest = _behind_options(words[1:], _PREFIXES[name])
        if name in {"command", "exec"} and any(word in {"-v", "-V"} for word in words[1:2]):
            return None
        if name in {"timeout", "gtimeout"} and rest:
            rest = rest[1:]
        if name in {"env", "sudo", "cross-env", "dotenv"}:
            while rest and ("=" in rest[0] or rest[0] == "--"):
                rest = rest[1:]
        return rest or None
    if words[:2] in _RUNNERS:
        rest = _behind_options(words[2:], tuple(_RUNNER_VALUES))
        if words[:2] == ("coverage", "run") and words[2:3] == ("-m",):
            return words[3:] or None
        return rest or None
    if name in {"python", "py"} and "-m" in words[1:-1]:
        return words[words.index("-m") + 1 :]
    if name in {"docker", "podman"} and words[1:2] in {("exec",), ("run",)}:
        return None
    if name == "find":
        marks = [place for place, word in enumerate(words) if word in {"-exec", "-execdir", "-ok"}]
        return words[marks[0] + 1 :] or None if marks else None
    if name in _SCRIPTS and len(words) > 1:
        return words[1:] if words[1] in _BINARIES else _script_form(words)
    return None


def _script_form(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the short form of an npm script, as `npm test` for `npm run test` or `npm t`; None if there is none."""
    name, verb = words[0], words[1]
    if verb in {"run", "run-script"} and len(words) > 2 and words[2] in _SHORT:
        return (name, *words[2:])
    if name == "npm" and verb in {"t", "tst"}:
        return (name, "test", *words[2:])
    return None


def _behind_options(words: tuple[str, ...], value_options: tuple[str, ...]) -> tuple[str, ...]:
    place = 0
    while place < len(words) and words[place].startswith("-"):
        if words[place] == "--":
            return words[place + 1 :]
        place += 2 if words[place] in value_options else 1
    return words[place:]


def _inner(run: Run, command: Simple, *, repo: Path | None, deep: int) -> Iterator[Run]:
    """Yield the commands in a command: of substitutions, `bash -c`, `eval`, heredocs for a shell, make and npm."""
    own = run.known.exit_code
    scripts: list[tuple[str, int | None]] = [(text, None) for word in command.words for text in word.inner]
    scripts += [(text, own) for text in (*_shell_texts(run), *_repository_texts(run.words, repo))]
    for text, code in scripts:
        for inner in runs_of(text, code, repo=repo, deep=deep + 1):
            knowledge = inner.known if run.known.ran else Knowledge(run.known.ran, None, None)
            yield replace(inner, cwd=_join(run.cwd, inner.cwd) if inner.cwd else run.cwd, known=knowledge)


def _shell_texts(run: Run) -> Iterator[str]:
    for words in run.forms:
        if words[0] in _SHELLS:
            option = next((place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), None)
            if option is not None and len(words) > option + 1:
                yield words[option + 1]
            elif len(words) == 1 or words[1] == "-s":
                yield from (redirect.body for redirect in run.redirects if redirect.operator == "<<" and redirect.body)
        elif words[0] == "eval":
            yield " ".join(words[1:])
        elif words[0] in {"cmd", "powershell", "pwsh"} and words[1:2] and words[1].lower() in {"/c", "-c", "-command"}:
            yield " ".join(words[2:])


def _repository_texts(words: tuple[str, ...], repo: Path | None) -> Iterator[str]:
    """Yield the command lines behind `make TARGET` and `npm run NAME`."""
    if repo is None or not words:
        return
    if words[0] in {"make", "gmake"}:
        targets = [word for word in words[1:] if not word.startswith("-") and "=" not in word] or [""]
        recipes = _makefile(repo)
        for target in targets:
            yield from recipes.get(target or next(iter(recipes), ""), ())
    elif words[0] in _SCRIPTS and len(words) > 1:
        name = words[2] if words[1] in {"run", "run-script"} and len(words) > 2 else words[1]
        text = _package_scripts(repo).get(name)
        if text is not None:
            yield text


@functools.lru_cache(maxsize=64)
def _makefile(repo: Path) -> dict[str, tuple[str, ...]]:
    """Return the recipe of each target of the Makefile, after those of its prerequisites; empty without a Makefile."""
    file = next((repo / name for name in ("GNUmakefile", "makefile", "Makefile") if (repo / name).is_file()), None)
    if file is None:
        return {}
    recipes: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    targets: list[str] = []
    for line in file.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for target in targets:
                recipes[target].append(line.strip().lstrip("@-+").replace("$$", "$"))
        elif (rule := re.match(r"([^#=:\s][^#=:]*):(?!=)([^=#]*)", line)) is not None:
            targets = [target for target in rule[1].split() if not target.startswith(".")]
            for target in targets:
                recipes.setdefault(target, [])
                before.setdefault(target, []).extend(rule[2].partition(";")[0].split())
    return {target: tuple(_with_before(target, recipes, before, set())) for target in recipes}


def _with_before(
    target: str, recipes: Mapping[str, list[str]], before: Mapping[str, list[str]], seen: set[str]
) -> Iterator[str]:
    if target in seen or target not in recipes:
        return
    seen.add(target)
    for prerequisite in before.get(target, ()):
        yield from _with_before(prerequisite, recipes, before, seen)
    yield from recipes[target]


@functools.lru_cache(maxsize=64)
def _package_scripts(repo: Path) -> dict[str, str]:
    file = repo / "package.json"
    if not file.is_file():
        return {}
    try:
        scripts = json.loads(file.read_text(encoding="utf-8", errors="replace")).get("scripts", {})
    except (ValueError, AttributeError):
        return {}  # no scripts can be read: the command stays what it is
    return {name: text for name, text in scripts.items() if isinstance(text, str)} if isinstance(scripts, dict) else {}


def message_of(word: Word) -> str | None:
    """Return the text of a word, also of `"$(cat <<'EOF' … EOF)"`; None if a variable leaves it open."""
    if word.fixed:
        return word.text
    for script in word.inner:
        for and_or in parse(script).lists:
            for command in and_or.pipelines[0]:
                if isinstance(command, Simple) and command.words and command.words[0].text == "cat":
                    body = next((redirect.body for redirect in command.redirects if redirect.operator == "<<"), None)
                    if body is not None:
                        return word.text.replace(f"$({script})", body)
    return None
