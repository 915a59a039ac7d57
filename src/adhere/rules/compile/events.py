"""Phrases of a rule as events: "committing", "the linter", "`make check`", "files in `src/`"."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path

import msgspec

from adhere.rules.checks.spec import Event, How
from adhere.schema import convert

PHRASES_FILE = Path(__file__).with_name("phrases.toml")
_RAN = re.compile(r"(?<!\w)(?:run|running|call|calling|execute|executing|invoke)\w* (?:the )?`([^`]+)`", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")
_PROGRAMS = frozenset(
    "cd git npm npx pnpm yarn bun node deno pip pip3 pipx uv uvx poetry pipenv python python3 pytest tox nox ruff black isort mypy pyright flake8 pylint "
    "eslint prettier tsc jest vitest mocha cargo rustc rustfmt go gofmt make just task docker docker-compose podman kubectl helm terraform mvn gradle gradlew rspec "
    "bundle rails rake ruby gem php composer dotnet swift gh glab curl wget ssh scp rm mv cp sed awk grep egrep rg find fd cat ls echo sudo chmod chown kill pkill "
    "bash sh zsh brew apt apt-get bazel cmake ninja ctest mix elixir flutter dart alembic prisma psql mysql sqlite3 redis-cli aws gcloud az vercel "
    "netlify fly wrangler pre-commit golangci-lint biome turbo nx hatch pdm rye conda mamba pixi jj hg svn tmux nohup tail head touch tee dd truncate biome oxlint playwright cypress twine".split()
)


_ENDINGS = (
    "py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|php|swift|vue|svelte|md|mdx|mdc|txt|json|jsonc|yaml|yml|toml|lock|"
    "ini|cfg|env|sql|proto|css|scss|html|xml|sh|bash|gradle|csv|svg|png|snap|ipynb|tf|graphql|prisma|pem|key|rst|mod|sum"
)

_SMALL = frozenset(
    "the a an any your you all every each of to in at last final first again without code file files existing".split()
)
_WORDS_TOO = frozenset(
    "go make find just task time fly head touch which node act bundle fd nx cat echo ls kill mix turbo".split()
)
"""Programs whose names are words of English, too: they are programs in code only."""


class Phrase(msgspec.Struct, forbid_unknown_fields=True):
    """A row of `phrases.toml`."""

    says: str
    event: dict[str, object]


@functools.cache
def _phrases() -> list[tuple[re.Pattern[str], Event]]:
    document = tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8"))
    rows = convert(document["phrases"], list[Phrase])
    return [(re.compile(rf"(?<!\w)(?:{row.says})(?!\w)", re.IGNORECASE), convert(row.event, Event)) for row in rows]


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
    return "/" in bare or bool(
        re.fullmatch(
            rf"[\w*.{{}},-]*\.(?:{_ENDINGS})|\.[\w.-]+|\*+|\*\.[\w.{{}},-]+|Makefile|Dockerfile|LICENSE|Jenkinsfile|Gemfile",
            bare,
        )
    )


def codes_of(text: str) -> list[str]:
    """The pieces of code in a text."""
    return [one.strip() for one in _CODE.findall(text)]


def pattern_of(code: str) -> str:
    """A path of a rule as a pattern; a folder means all in it."""
    if re.fullmatch(rf"\.(?:{_ENDINGS})", code) and code != ".env":
        return f"*{code}"
    return f"{code}**" if code.endswith("/") else code


def paths_in(text: str) -> tuple[str, ...]:
    """Patterns of the files that a text names, in code or bare."""
    named = [pattern_of(one) for one in codes_of(text) if is_path(one)]
    if not named:
        bare = re.findall(
            r"(?<![\w`/@])((?:[\w.-]+/)+[\w.*-]*|\.env(?:\.\w+)?|[\w-]+\.(?:lock|toml|json|ya?ml|md|env|py|ts|tsx|js|go|rs|sql|proto|cfg|ini|txt|generated\.\w+))(?![\w`/])",
            text,
        )
        named = [pattern_of(one) for one in bare]
    return tuple(dict.fromkeys(named))


def commands_in(text: str) -> tuple[str, ...]:
    """The commands that a text names in code."""
    ran = {one.strip() for one in _RAN.findall(text) if not is_path(one) and re.match(r"[A-Za-z][\w.-]*(?: |$)", one)}
    return tuple(dict.fromkeys(one for one in codes_of(text) if is_command(one) or one in ran))


def event_of(text: str) -> Event | None:
    """The event that a phrase names, or one of those that it joins by `or`; None: none that is known."""
    bare = text.strip(" .,;:!")
    parts = re.split(r",? or ", bare)
    if len(parts) > 1 and not codes_of(bare):
        events = [_event_of(part) for part in parts]
        if all(one is not None and one.command and not one.on for one in events):
            return Event(
                command=tuple(dict.fromkeys(text for one in events if one is not None for text in one.command))
            )
    return _event_of(bare)


def bare_programs(text: str) -> tuple[str, ...]:
    """`npm or yarn` without backticks, after `use` or `run`."""
    match = re.match(
        r"(?:us(?:e|ing)|run(?:ning)?|call(?:ing)?)? ?((?:[a-z0-9-]+(?:, (?:or |and )?| or | and )?)+)(?: (?:commands?|here|anywhere|directly|in this repo\w*))?$",
        text,
    )
    words = re.split(r",? (?:or|and) |, ", match[1].strip()) if match else []
    known = _PROGRAMS if re.match(r"us|run|call", text) else _PROGRAMS - _WORDS_TOO
    return tuple(words) if words and all(word in known for word in words) else ()


def _event_of(bare: str) -> Event | None:  # noqa: PLR0911 - one return a form
    commands = commands_in(bare) or bare_programs(bare)
    paths = paths_in(bare)
    if commands and not re.match(r"(?:reading|read|see|consult)\b", bare, re.IGNORECASE):
        return Event(command=commands)
    if paths and re.search(
        r"(?<!\w)(?:read(?:ing)?|consult(?:ing)?|check(?:ing)?|review(?:ing)?|look(?:ing)? at|open(?:ing)?)\b",
        bare,
        re.IGNORECASE,
    ):
        return Event(reads=paths)
    if paths and (how := _how(bare)) is not None:
        return Event(edits=paths, how="any" if re.search(r" to `", bare) else how)
    for pattern, event in _phrases():
        match = pattern.search(bare)
        if (
            match is not None
            and event.edits == ("**",)
            and event.how == "any"
            and not paths
            and not _is_all(match, bare)
        ):
            continue
        if match is not None:
            if event.edits and paths:
                return msgspec.structs.replace(event, edits=paths)
            return event
    bare_run = re.fullmatch(
        r"(?:run|call|execute|invoke)(?:ning|ing)? ([a-z][a-z0-9_-]+[a-rt-z0-9])(?: yourself| directly)?", bare
    )
    if bare_run is not None and bare_run[1] not in {"it", "them", "everything", "anything", "code", "commands"}:
        return Event(command=(bare_run[1],))
    return (
        Event(edits=paths)
        if paths
        and len(bare) <= 60
        and re.match(r"(?:the |any |a |files? |anything )*(?:in |under |inside |matching )?`?[\w./*]", bare)
        and not re.match(r"[a-z]+ing\b", bare)
        else None
    )


def _is_all(match: re.Match[str], text: str) -> bool:
    """Whether a phrase is all of a text but small words: "change the version number" is about more than changes."""
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    return not set(re.findall(r"[a-z_]+", rest.lower())) - _SMALL


def _how(text: str) -> How | None:
    """How a phrase says that files change; None: it does not."""
    verbs: tuple[tuple[str, How], ...] = (
        (r"(?:edit|modif|chang|touch|alter|updat|writ|overwrit|rewrit|refactor|work)\w*|hand-edit\w*", "any"),
        (r"(?:creat|add|introduc)\w*", "create"),
        (r"(?:delet|remov)\w*", "delete"),
    )
    if re.search(r"(?<!\w)(?:edit|modif|chang|touch|alter|updat)", text, re.IGNORECASE):
        return "any"
    return next((how for pattern, how in verbs if re.search(rf"(?<!\w)(?:{pattern})\b", text, re.IGNORECASE)), None)


__all__ = [
    "PHRASES_FILE",
    "bare_programs",
    "codes_of",
    "commands_in",
    "event_of",
    "is_command",
    "is_path",
    "paths_in",
    "pattern_of",
]
