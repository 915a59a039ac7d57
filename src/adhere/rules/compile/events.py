"""Find the events that phrases of a rule name: "committing", "the linter", "`make check`", "files in `src/`"."""

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
_RAN = re.compile(r"(?<!\w)(?:run|running|execute|executing)\w* (?:the )?`([^`]+)`", re.IGNORECASE)
_PROGRAMS = frozenset(
    "cd git npm npx pnpm yarn bun ast-grep sg node deno pip pip3 pipx uv uvx poetry pipenv python python3 pytest tox nox ruff black isort mypy pyright flake8 pylint "
    "eslint prettier tsc jest vitest mocha cargo rustc rustfmt go gofmt make just task docker docker-compose podman kubectl helm terraform mvn gradle gradlew rspec "
    "bundle rails rake ruby gem php composer dotnet swift gh glab curl wget ssh scp rm mv cp sed awk grep egrep rg find fd cat ls echo sudo chmod chown kill pkill "
    "bash sh zsh brew apt apt-get bazel cmake ninja ctest mix elixir flutter dart alembic prisma psql mysql sqlite3 redis-cli aws gcloud az vercel "
    "netlify fly wrangler pre-commit golangci-lint biome turbo nx hatch pdm rye conda mamba pixi jj hg svn tmux nohup tail head touch tee dd truncate biome oxlint playwright cypress twine".split()
)
_WORDS_TOO = frozenset(
    "go make find just task time fly head touch which node act bundle fd nx cat echo ls kill mix turbo".split()
)
"""Programs whose names are also English words: outside code they count as words."""
_ENDINGS = (
    "py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|rb|c|cc|cpp|h|hpp|cs|php|swift|vue|svelte|md|mdx|mdc|txt|json|jsonc|yaml|yml|toml|lock|"
    "ini|cfg|env|sql|proto|css|scss|html|xml|sh|bash|gradle|csv|svg|png|snap|ipynb|tf|graphql|prisma|pem|key|rst|mod|sum"
)
_FILE = re.compile(
    rf"[\w*.{{}},-]*\.(?:{_ENDINGS})|\.[\w.-]+|\*+|\*\.[\w.{{}},-]+|Makefile|Dockerfile|LICENSE|Jenkinsfile|Gemfile"
)
_BARE_FILE = re.compile(
    r"(?<![\w`/@])((?:[\w.*-]+/)+(?![\w*.-])|(?:[\w.*-]+/)*(?:[\w*-]+\.)+(?:lock|toml|json|ya?ml|md|env|py|tsx?|go|rs|sql|proto|cfg|ini|txt|config|csproj|props|sln|generated\.\w+)"
    r"|\.env(?:\.\w+)?|[a-z-]+\.js)(?![\w`/])"
)
_SMALL = frozenset(
    "the a an any your you all every each of to in at on last final first again without code file files existing please directly must should pass passes passing succeed clean green "
    "manually hand by yourself ever just also always new own changed affected relevant related local locally contents content folder folders "
    "directory directories under inside within or and then run running runs use using with via through command commands execute executing re yet".split()
)
"""Words that add no meaning to a phrase, a command or a path."""
LANGUAGE_FILES = {
    "python": ("**/*.py",), "typescript|ts": ("**/*.ts", "**/*.tsx"), "javascript|js": ("**/*.js", "**/*.jsx"), "go": ("**/*.go",),
    "rust": ("**/*.rs",), "java": ("**/*.java",), "css": ("**/*.css",), "html": ("**/*.html",), "markdown": ("**/*.md",), "react": ("**/*.tsx", "**/*.jsx"),
}  # fmt: skip
TESTS = (
    *(f"**/{folder}/**" for folder in ("tests", "test", "spec", "specs", "__tests__")),
    "test_*", "*_test.*", "*.test.*", "*.spec.*", "*_spec.*", "*Test.*", "*Tests.*", "tests.py",
)  # fmt: skip
"""Patterns of the files of tests."""
_RUN_CODE = re.compile(
    r"(?:run|running|runs|rerun|re-run|execute|executing|us(?:e|ing)|via|through|with|call(?:ing)?|invoke|invoking):? (?:the |a |your |only )?`",
    re.IGNORECASE,
)
_FILE_VERBS = "(?:edit|modif|chang|touch|alter|updat|writ|overwrit|rewrit|refactor|work|creat|add|introduc|delet|remov)\\w*|hand-edit\\w*"


class _Phrase(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    says: str
    event: Event

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{self.says})(?!\w)", re.IGNORECASE)


class Form(msgspec.Struct, forbid_unknown_fields=True, dict=True):
    """Describes a form of statements: the check that it makes, and the part of a statement in which it is searched."""

    makes: str
    says: str
    where: Literal["whole", "barred", "open"] = msgspec.field(default="whole", name="in")

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression `says`, compiled to ignore case."""
        return re.compile(self.says, re.IGNORECASE)


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    """Describes a thing in code that rules name.

    `says` is a pattern of its name, `texts` are what it looks like in code, `tests` whether it belongs to tests.
    """

    says: str
    texts: tuple[str, ...]
    tests: bool = False


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the content of `phrases.toml`."""

    phrases: list[_Phrase]
    forms: list[Form]
    things: list[Thing]
    patterns: dict[str, str]


@functools.cache
def _table() -> _Table:
    return convert(tomllib.loads(PHRASES_FILE.read_text(encoding="utf-8")), _Table)


def forms() -> list[Form]:
    """Return the forms of statements about what is done, in the order in which they are tried."""
    return _table().forms


def things() -> list[Thing]:
    """Return the things in code that rules name."""
    return _table().things


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of `phrases.toml` by its name, compiled to ignore case."""
    return re.compile(_table().patterns[name], re.IGNORECASE)


def says(text: str, words: str) -> bool:
    """Tell whether a text has whole words, in any case, that match a regular expression."""
    return re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None


def is_command(text: str) -> bool:
    """Tell whether code in a rule is a command line: it begins with a known program or with the path of a script."""
    first = text.strip().split()[0] if text.strip() else ""
    return first in _PROGRAMS or bool(
        re.match(r"\.{0,2}/?[\w./-]+\.(sh|bash|py|rb|ps1)$", first)
        and (" " in text.strip() or first.startswith("./") or first.endswith(".sh"))
    )


def is_path(text: str) -> bool:
    """Tell whether code in a rule names files."""
    bare = text.strip()
    if not bare or re.search(r"[\s()=;:|\"']", bare) or bare.startswith(("--", "@/")):
        return False
    return "/" in bare or _FILE.fullmatch(bare) is not None


def codes_of(text: str) -> list[str]:
    """Return the pieces of code (in backticks) in a text."""
    return [code.strip() for code in re.findall(r"`([^`]+)`", text)]


def pattern_of(code: str) -> str:
    """Turn a path of a rule into a pattern; a folder means every file in it."""
    if re.fullmatch(rf"\.(?:{_ENDINGS})", code) and code != ".env":
        return f"*{code}"
    code = re.sub(r"<[^<>]*>", "*", code)
    code = f"**/{code[2:]}" if code.startswith("*/") else code  # written so, `*` means any folder
    return f"{code}**" if code.endswith("/") else code


def paths_in(text: str) -> tuple[str, ...]:
    """Return patterns of the files that a text names, in code or bare."""
    files = [code for code in codes_of(text) if is_path(code)] or _BARE_FILE.findall(text)
    return tuple(dict.fromkeys(map(pattern_of, files)))


def commands_in(text: str) -> tuple[str, ...]:
    """Return the commands that a text names in code."""
    ran = {run.strip() for run in _RAN.findall(text) if not is_path(run) and re.match(r"[A-Za-z][\w.-]*(?: |$)", run)}
    return tuple(dict.fromkeys(code for code in codes_of(text) if is_command(code) or code in ran))


def event_of(text: str) -> Event | None:
    """Return the event that a phrase names (commands joined by `or` make one event); None if none is known."""
    bare = text.strip(" .,;:!")
    parts = re.split(r",? or |, ", bare)
    if len(parts) > 1 and not codes_of(bare):
        events = [event for part in parts if (event := _event_of(part)) is not None and event.command and not event.on]
        if len(events) == len(parts):
            return Event(command=tuple(dict.fromkeys(text for event in events for text in event.command)))
    return _event_of(bare)


def bare_programs(text: str) -> tuple[str, ...]:
    """Return the programs that a text names without backticks after `use` or `run`, such as `npm or yarn`."""
    text = text.lower()
    match = pattern("programs").match(text)
    words = re.split(r",? (?:or|and) |, ", match[1].strip()) if match else []
    programs = _PROGRAMS if re.match(r"us|run|call", text) else _PROGRAMS - _WORDS_TOO
    is_named = all(word in programs for word in words) or (
        any(word in programs for word in words) and "commands" in text and len(words) > 1
    )
    return tuple(words) if is_named else ()


def begun_event(text: str) -> tuple[Event | None, bool]:
    """Return the event that a phrase begins with (None: none is known), and whether the phrase says nothing more."""
    event = event_of(text)
    if event is not None:
        is_named = event.command and commands_in(text)
        return event, not is_named or is_small(re.sub("`[^`]*`", " ", text))
    masked = re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), text)
    for end in reversed([qualifier.start() for qualifier in _QUALIFIER.finditer(masked)]):
        if (event := event_of(text[:end])) is not None:
            return event, False
    return None, False


_QUALIFIER = re.compile(
    r",? (?:in|on|for|to|with|from|when|that|which|while|if|unless|during|into|by|as|where|outside|other than)\b",
    re.IGNORECASE,
)
"""Matches the beginning of what qualifies an event."""


def _event_of(bare: str) -> Event | None:  # noqa: PLR0911 - one return a form
    if remote := re.fullmatch(
        r"push\w*(?: \w+){0,2} to (?:the )?`(?!main`|master`)([\w-]+)`(?: remote)?", bare, re.IGNORECASE
    ):
        return Event(command=(f"git push {remote[1]}",))
    plain = re.sub(r"`[^`]*`", " ", bare)
    commands = commands_in(bare) or bare_programs(bare)
    paths = paths_in(bare) or language_files(plain, "(?:source )?(?:files?|code)")
    if commands and not re.match(r"(?:reading|read|see|consult)\b", bare, re.IGNORECASE):
        is_said = "`" not in bare or _RUN_CODE.search(bare) or is_small(plain)
        return Event(command=tuple(map(_without_places, commands))) if is_said else None
    if paths and says(plain, r"(?:read|consult|check|review|open)(?:ing)?|look(?:ing)? at"):
        return Event(reads=paths)
    if paths and (how := _how(plain)) is not None:
        rest = without_paths(re.sub(rf"(?<!\w)(?:{_FILE_VERBS})(?!\w)", " ", plain, flags=re.IGNORECASE))
        return Event(edits=paths, how="any" if " to `" in bare else how) if is_small(rest) else None
    bare = re.sub(r"`(?!main`|master`|--no-verify`|\*\.)[^`]*`", "`xcode`", bare)
    for phrase in _table().phrases:
        event, match = phrase.event, phrase.pattern.search(bare)
        if match is None:
            continue
        rest = re.sub(r"`\s*`", " ", f"{bare[: match.start()]} {bare[match.end() :]}")
        rest = without_paths(re.sub(r"`[^`]*`", " ", rest)) if event.edits and paths else rest.replace("`", " xcode ")
        if is_small(rest):
            return replace(event, edits=paths) if event.edits and paths else event
    run = re.fullmatch(
        r"(?:run|call|execute|invoke)(?:ning|ing)? ([a-z][a-z0-9_-]+[a-rt-z0-9])(?: yourself| directly)?", bare
    )
    if run is not None and run[1] not in {"it", "them", "everything", "anything", "code", "commands"}:
        return Event(command=(run[1],))
    is_name = is_small(without_paths(plain)) and not re.match(r"(?:in|on)\b", bare, re.IGNORECASE)
    return Event(edits=paths) if paths and is_name else None


def language_files(text: str, behind: str = "") -> tuple[str, ...]:
    """Return patterns of the files of a programming language that a text names; empty if it names none.

    `behind` is a regular expression of what must follow the language's name.
    """
    return next((files for name, files in LANGUAGE_FILES.items() if says(text, f"(?:{name}) {behind}".rstrip())), ())


def is_small(text: str) -> bool:
    """Tell whether all words of a text are such that add no meaning of their own (`_SMALL`)."""
    return not set(re.findall(r"[a-z_]+", text.lower())) - _SMALL


def without_paths(text: str) -> str:
    """Return a text without bare names of files, and without languages whose files it names."""
    languages = "|".join(LANGUAGE_FILES)
    return re.sub(
        rf"(?<!\w)(?:{languages})(?= (?:source )?(?:files?|code))", " ", _BARE_FILE.sub(" ", text), flags=re.IGNORECASE
    )


def _without_places(command: str) -> str:
    """Cut a command before the first word that stands for something else: `pytest <file>`, `make [target]`."""
    words = command.split()
    place = next(
        (number for number, word in enumerate(words) if number and re.search(r"[<>\[\]{}|]|\.\.\.|…", word)), len(words)
    )
    return " ".join(words[:place]).removesuffix(" --")


def _how(text: str) -> How | None:
    """Return how a phrase says that files change; None if it does not."""
    verbs: tuple[tuple[str, How], ...] = (
        (r"(?:edit|modif|chang|touch|alter|updat)\w*", "any"),
        (r"(?:writ|overwrit|rewrit|refactor|work)\w*|hand-edit\w*", "any"),
        (r"(?:creat|add|introduc)\w*", "create"),
        (r"(?:delet|remov)\w*", "delete"),
    )
    return next((how for words, how in verbs if says(text, words)), None)
