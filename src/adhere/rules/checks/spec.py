"""Rules and their checks as `rules.toml` says them.

    [[rules]]
    id = "tests-before-commit"
    quote = "Run the tests before you commit."
    file = "AGENTS.txt"
    line = 12

    [rules.check]
    kind = "before"
    first = { command = ["@tests"], status = "passes" }
    then = { command = ["git commit"] }
    since = { edits = ["**"] }

A rule without a check is one that no program decides.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal, Union

import msgspec

from adhere.config import load_toml, parse_toml
from adhere.constraints.resolve import resolve
from adhere.errors import AdhereError, SpecError
from adhere.rules.shell.patterns import patterns_of
from adhere.schema import ConstraintRef, Json, Record

Words = tuple[str, ...]
Status = Literal["any", "passes", "fails"]
How = Literal["any", "create", "modify", "delete"]
By = Literal["any", "tool", "shell"]
At = Literal["final", "every"]
Of = Literal["replies", "final", "files", "commits", "pull_requests", "branches"]
SHAPES = ("conventional", "kebab", "snake", "capital", "imperative-ending", "ticket")


class Event(Record, frozen=True, omit_defaults=True):
    """An act that a check names; exactly one of the first group is set.

    Attributes:
        command: Patterns of commands (`git push --force`, `@tests`); see `shell.patterns`.
        edits: Patterns of paths that are written or removed, by a tool or a shell.
        reads: Patterns of paths that are read.
        tool: Patterns of tools' names.
        reply: Words of which a reply holds one; empty text: any reply.
        user: Words of which a message of the user holds one.
        asks: A question to the user.
        done: The reply that ends a turn.
        status: Of a command: how it must have ended.
        whole: Of a command that runs tests: it chooses no part of them.
        on: Of a commit or push: patterns of the branch.
        how, by: Of edits.
        arguments: Of a tool: patterns of its arguments' texts.
        has: Of edits: a text that is put in.
    """

    command: Words = ()
    edits: Words = ()
    reads: Words = ()
    tool: Words = ()
    reply: Words = ()
    user: Words = ()
    asks: bool = False
    done: bool = False
    status: Status = "any"
    whole: bool = False
    on: Words = ()
    how: How = "any"
    by: By = "any"
    arguments: dict[str, str] = {}
    has: str = ""

    def __post_init__(self) -> None:
        names = ("command", "edits", "reads", "tool", "reply", "user", "asks", "done")
        if sum(bool(getattr(self, name)) for name in names) != 1:
            raise ValueError(f"an event has exactly one of {', '.join(names)}")
        for command in self.command:
            patterns_of(command)


class Never(Record, frozen=True, tag="never", tag_field="kind", omit_defaults=True):
    """`event` does not happen; triggered where something of its sort does, or by `when`.

    `unless` lifts it from where that happens. With `at` = final an edit that is taken back does not count. With
    `conditional` the rule has a condition that the check does not know: what would break it is undecided.
    """

    event: Event
    when: Event | None = None
    unless: Event | None = None
    at: At = "every"
    conditional: bool = False


class Does(Record, frozen=True, tag="does", tag_field="kind", omit_defaults=True):
    """`event` happens in a session in which `when` does; without `when`: in which a file is edited.

    `conditional` is that of Never.
    """

    event: Event
    when: Event | None = None
    conditional: bool = False


class Before(Record, frozen=True, tag="before", tag_field="kind", omit_defaults=True):
    """`first` happens before every `then`, and after the last `since`."""

    first: Event
    then: Event
    since: Event | None = None


class After(Record, frozen=True, tag="after", tag_field="kind", omit_defaults=True):
    """`then` follows the last `event`; with `at` = every, the last of each turn. `until` must not come first."""

    event: Event
    then: Event
    until: Event | None = None
    at: At = "final"


class Between(Record, frozen=True, tag="between", tag_field="kind", omit_defaults=True):
    """From each `begin` to the next `end`, `event` happens (`must`) or does not."""

    begin: Event
    end: Event
    event: Event
    must: bool = True


class Instead(Record, frozen=True, tag="instead", tag_field="kind", omit_defaults=True):
    """`use` and not `avoid`; triggered where either happens."""

    use: Event
    avoid: Event


class AsksBefore(Record, frozen=True, tag="asks_before", tag_field="kind", omit_defaults=True):
    """The user is asked, and answers, before each `event`; a user who says one of `granted` was asked enough."""

    event: Event
    granted: Words = ()


class AtMost(Record, frozen=True, tag="at_most", tag_field="kind", omit_defaults=True):
    """`event` happens at most `limit` times; in edits each file counts once."""

    event: Event
    limit: int


class Text(Record, frozen=True, tag="text", tag_field="kind", omit_defaults=True):
    """Texts keep to what is set here.

    Attributes:
        of: Which texts: every reply, those that end a turn, written files, commit messages, titles and bodies of
            pull requests, names of branches.
        paths: Of files: patterns.
        constraint: Any kind that `adhere list constraints` names.
        must: Whether the constraint has to pass or to fail.
        without: Texts that do not occur.
        use: Texts that stand instead of `without`; a text with neither triggers nothing.
        has: A text that occurs.
        words: Whether `without` and `has` mean whole words in any case.
        begins: One of these begins the text.
        ends: One of these ends it.
        shape: A shape of names and messages.
        no: Things that do not occur: emoji, headings, tables, bullets, code; tabs or spaces at the beginning of a line;
            functions of Python without types.
        longest_line: Characters of a line.
        most_lines: Lines of a text.
        first_line: Whether only the first line counts, as of commit messages.
        at: Of files: each state, or the last one.
        conditional: See Never.
    """

    of: Of
    paths: Words = ("**",)
    constraint: ConstraintRef | None = None
    must: Literal["pass", "fail"] = "pass"
    without: Words = ()
    use: Words = ()
    has: str = ""
    words: bool = False
    begins: Words = ()
    ends: Words = ()
    shape: str = ""
    no: tuple[Literal["emoji", "headings", "tables", "bullets", "code", "tabs", "spaces", "untyped"], ...] = ()
    longest_line: int | None = None
    most_lines: int | None = None
    first_line: bool = False
    at: At = "every"
    conditional: bool = False

    def __post_init__(self) -> None:
        tests = (self.constraint, self.without, self.has, self.begins, self.ends, self.shape, self.no)
        if not any(tests) and self.longest_line is None and self.most_lines is None:
            raise ValueError(
                "it sets none of constraint, without, has, begins, ends, shape, no, longest_line, most_lines"
            )
        if self.shape and self.shape not in SHAPES:
            raise ValueError(f"no such shape {self.shape!r}; shapes: {', '.join(SHAPES)}")
        if self.constraint is not None:
            resolve(self.constraint)


Check = Annotated[
    Union[Never, Does, Before, After, Between, Instead, AsksBefore, AtMost, Text],  # noqa: UP007 - msgspec reads it
    msgspec.Meta(description="a check"),
]


MUST_FIELDS: dict[type, str] = {Does: "event", Before: "first", After: "then"}
"""Field of each check that holds the event which has to happen."""


class Rule(Record, frozen=True, omit_defaults=True):
    """One rule.

    Attributes:
        id: Its name.
        quote: As it is written.
        file, line: Where.
        check: How a program decides it; None: none does.
        why: Of a rule without a check: why not; of one with: how it was understood.
        scope: Patterns of files that it is about; a session that edits none of them does not trigger it.
        modality: How strongly it is said.
    """

    id: str
    quote: str
    file: str = ""
    line: int = 0
    check: Check | None = None
    why: str = ""
    scope: Words = ()
    modality: Literal["must", "should", "may"] = "must"


class RuleFile(Record, frozen=True):
    """`rules.toml`."""

    rules: tuple[Rule, ...]


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Read the rules of a TOML file.

    Raises:
        SpecError: The file is absent, a key is unknown, a check cannot be, or two rules have one id.
    """
    return _check_ids(lambda: load_toml(path, RuleFile), str(path))


def parse_rules(text: str, name: str) -> tuple[Rule, ...]:
    """Read rules as `load_rules`, but from a text; `name` stands for the file in messages."""
    return _check_ids(lambda: parse_toml(text, RuleFile, name=name), name)


def _check_ids(read_file: Callable[[], RuleFile], name: str) -> tuple[Rule, ...]:
    try:
        rules = read_file().rules
    except SpecError:
        raise
    except AdhereError as error:
        raise SpecError(f"{name}: {error}") from error
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise SpecError(f"{name}: two rules are called {rule.id!r}; give each an id of its own")
        seen.add(rule.id)
    return rules


def rules_toml(rules: tuple[Rule, ...], *, head: str = "") -> str:
    """Rules as TOML, for a person to read and correct."""
    parts = [head.rstrip()] if head else []
    for rule in rules:
        fields = msgspec.to_builtins(rule)
        check = fields.pop("check", None)
        parts.append(f"[[rules]]\n{_lines({key: one for key, one in fields.items() if one not in ('', 0, [], ())})}")
        if check is not None:
            parts.append(f"[rules.check]\n{_lines(check)}")
    return "\n\n".join(parts) + "\n"


def _lines(fields: dict[str, Json]) -> str:
    return "\n".join(f"{key} = {_toml(value)}" for key, value in fields.items() if value is not None)


def _toml(value: Json) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(one)}" for key, one in value.items() if one is not None) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    is_bare = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if is_bare else msgspec.json.encode(key).decode()
