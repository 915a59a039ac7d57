"""Phrases of a rule as events: "committing", "the linter", "`make check`", "files in `src/`"."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from adhere.rules.checks.spec import Event, How
from adhere.schema import convert

PHRASES_FILE = Path(__file__).with_name("phrases.toml")
_RAN = re.compile(r"(?<!\w)(?:run|running|call|calling|execute|executing|invoke)\w* (?:the )?`([^`]+)`", re.IGNORECASE)
_PROGRAMS = frozenset(
    "cd git npm npx pnpm yarn bun node deno pip pip3 pipx uv uvx poetry pipenv python python3 pytest tox nox ruff black isort mypy pyright flake8 pylint "
    "eslint prettier tsc jest vitest mocha cargo rustc rustfmt go gofmt make just task docker docker-compose podman kubectl helm terraform mvn gradle gradlew rspec "
    "bundle rails rake ruby gem php composer dotnet swift gh glab curl wget ssh scp rm mv cp sed awk grep egrep rg find fd cat ls echo sudo chmod chown kill pkill "
    "bash sh zsh brew apt apt-get bazel cmake ninja ctest mix elixir flutter dart alembic prisma psql mysql sqlite3 redis-cli aws gcloud az vercel "
    "netlify fly wrangler pre-commit golangci-lint biome turbo nx hatch pdm rye conda mamba pixi jj hg svn tmux nohup tail head touch tee dd truncate biome oxlint playwright cypress twine".split()
)
_WORDS_TOO = frozenset(
    "go make find just task time fly head touch which node act bundle fd nx cat echo ls kill mix turbo".split()
)
"""Programs whose names are words of English, too: they are programs in code only."""
_ENDINGS = (
    "py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|php|swift|vue|svelte|md|mdx|mdc|txt|json|jsonc|yaml|yml|toml|lock|"
    "ini|cfg|env|sql|proto|css|scss|html|xml|sh|bash|gradle|csv|svg|png|snap|ipynb|tf|graphql|prisma|pem|key|rst|mod|sum"
)
_FILE = re.compile(
    rf"[\w*.{{}},-]*\.(?:{_ENDINGS})|\.[\w.-]+|\*+|\*\.[\w.{{}},-]+|Makefile|Dockerfile|LICENSE|Jenkinsfile|Gemfile"
)
_BARE_FILE = re.compile(
    r"(?<![\w`/@])((?:[\w.-]+/)+[\w.*-]*|\.env(?:\.\w+)?"
    r"|[\w-]+\.(?:lock|toml|json|ya?ml|md|env|py|ts|tsx|js|go|rs|sql|proto|cfg|ini|txt|generated\.\w+))(?![\w`/])"
)
_SMALL = frozenset(
    "the a an any your you all every each of to in at last final first again without code file files existing".split()
)


class _Phrase(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    says: str
    event: Event

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{self.says})(?!\w)", re.IGNORECASE)


class Form(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    """A form of statements: which check it makes, and in which part of a statement it is looked for."""

    makes: str
    says: str
    where: Literal["whole", "barred", "open"] = msgspec.field(default="whole", name="in")

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """Its regular expression, for any case."""
        return re.compile(self.says, re.IGNORECASE)


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """`phrases.toml`."""

    phrases: list[_Phrase]
    forms: list[Form]
    patterns: dict[str, str]


@functools.cache
def _table() -> _Table:
    return convert(tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8")), _Table)


def forms() -> list[Form]:
    """The forms of statements about what is done, in the order in which they are tried."""
    return _table().forms


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of `phrases.toml` by its name, for any case."""
    return re.compile(_table().patterns[name], re.IGNORECASE)


def says(text: str, words: str) -> bool:
    """Tell whether whole words of a text, in any case, are those of a regular expression."""
    return re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None


def is_command(text: str) -> bool:
    """Tell whether code in a rule is a command line: it begins with a program that is known, or a script of a folder."""
    first = text.strip().split()[0] if text.strip() else ""
    return first in _PROGRAMS or bool(
        re.match(r"\.{0,2}/?[\w./-]+\.(sh|bash|py|rb|ps1)$", first)
        and (" " in text.strip() or first.startswith("./") or first.endswith(".sh"))
    )


def is_path(text: str) -> bool:
    """Tell whether code in a rule names files."""
    bare = text.strip()
    if not bare or re.search(r"[\s()=;:<>|\"']", bare) or bare.startswith(("--", "@/")):
        return False
    return "/" in bare or _FILE.fullmatch(bare) is not None


def codes_of(text: str) -> list[str]:
    """The pieces of code in a text."""
    return [one.strip() for one in re.findall(r"`([^`]+)`", text)]


def pattern_of(code: str) -> str:
    """A path of a rule as a pattern; a folder means all in it."""
    if re.fullmatch(rf"\.(?:{_ENDINGS})", code) and code != ".env":
        return f"*{code}"
    return f"{code}**" if code.endswith("/") else code


def paths_in(text: str) -> tuple[str, ...]:
    """Patterns of the files that a text names, in code or bare."""
    named = [one for one in codes_of(text) if is_path(one)] or _BARE_FILE.findall(text)
    return tuple(dict.fromkeys(map(pattern_of, named)))


def commands_in(text: str) -> tuple[str, ...]:
    """The commands that a text names in code."""
    ran = {one.strip() for one in _RAN.findall(text) if not is_path(one) and re.match(r"[A-Za-z][\w.-]*(?: |$)", one)}
    return tuple(dict.fromkeys(one for one in codes_of(text) if is_command(one) or one in ran))


def event_of(text: str) -> Event | None:
    """The event that a phrase names, or one of those that it joins by `or`; None: none that is known."""
    bare = text.strip(" .,;:!")
    parts = re.split(r",? or ", bare)
    if len(parts) > 1 and not codes_of(bare):
        events = [one for part in parts if (one := _event_of(part)) is not None and one.command and not one.on]
        if len(events) == len(parts):
            return Event(command=tuple(dict.fromkeys(text for one in events for text in one.command)))
    return _event_of(bare)


def bare_programs(text: str) -> tuple[str, ...]:
    """`npm or yarn` without backticks, after `use` or `run`."""
    match = pattern("programs").match(text)
    words = re.split(r",? (?:or|and) |, ", match[1].strip()) if match else []
    known = _PROGRAMS if re.match(r"us|run|call", text) else _PROGRAMS - _WORDS_TOO
    return tuple(words) if words and all(word in known for word in words) else ()


def _event_of(bare: str) -> Event | None:  # noqa: PLR0911 - one return a form
    commands = commands_in(bare) or bare_programs(bare)
    paths = paths_in(bare)
    if commands and not re.match(r"(?:reading|read|see|consult)\b", bare, re.IGNORECASE):
        return Event(command=commands)
    if paths and says(bare, r"(?:read|consult|check|review|open)(?:ing)?|look(?:ing)? at"):
        return Event(reads=paths)
    if paths and (how := _how(bare)) is not None:
        return Event(edits=paths, how="any" if " to `" in bare else how)
    for phrase in _table().phrases:
        event, match = phrase.event, phrase.pattern.search(bare)
        is_any_edit = event.edits == ("**",) and event.how == "any"
        if match is not None and (paths or not is_any_edit or _is_all(match, bare)):
            return replace(event, edits=paths) if event.edits and paths else event
    run = re.fullmatch(r"(?:run|call|execute|invoke)(?:ning|ing)? ([a-z][a-z0-9_-]+[a-rt-z0-9])(?: yourself| directly)?", bare)
    if run is not None and run[1] not in {"it", "them", "everything", "anything", "code", "commands"}:
        return Event(command=(run[1],))
    is_name = len(bare) <= 60 and re.match(
        r"(?![a-z]+ing\b)(?:the |any |a |files? |anything )*(?:in |under |inside |matching )?`?[\w./*]", bare
    )
    return Event(edits=paths) if paths and is_name else None


def _is_all(match: re.Match[str], text: str) -> bool:
    """Whether a phrase is all of a text but small words: "change the version number" is about more than changes."""
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    return not set(re.findall(r"[a-z_]+", rest.lower())) - _SMALL


def _how(text: str) -> How | None:
    """How a phrase says that files change; None: it does not."""
    verbs: tuple[tuple[str, How], ...] = (
        (r"(?:edit|modif|chang|touch|alter|updat)\w*", "any"),
        (r"(?:writ|overwrit|rewrit|refactor|work)\w*|hand-edit\w*", "any"),
        (r"(?:creat|add|introduc)\w*", "create"),
        (r"(?:delet|remov)\w*", "delete"),
    )
    return next((how for words, how in verbs if says(text, words)), None)


__all__ = [
    "PHRASES_FILE", "Form", "bare_programs", "codes_of", "commands_in", "event_of", "forms", "is_command", "is_path",
    "paths_in", "pattern", "pattern_of", "says",
]  # fmt: skip
