"""Define rules and their checks as `rules.toml` holds them.

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

A rule without a check is one that no program can decide.
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
    """Describes the acts that a check is about; exactly one of `command` … `done` is set.

    Attributes:
        command: Patterns of commands (`git push --force`, `@tests`); see `shell.patterns`.
        edits: Patterns of paths that a tool or a shell writes or removes.
        reads: Patterns of paths that are read.
        tool: Patterns of tools' names.
        reply: Texts of which a reply holds at least one; an empty text: any reply.
        user: Texts of which a message of the user holds at least one.
        asks: Whether the event is a question to the user.
        done: Whether the event is the reply that ends a turn.
        status: Of a command: how it must have ended.
        whole: Of a command that runs tests: whether it must run all of them.
        on: Of a commit or push: patterns of the branch.
        how, by: Of an edit: whether it creates, modifies or deletes, and whether a tool or a shell does it.
        arguments: Of a tool: patterns of its arguments' texts.
        has: Of an edit: a text that it puts in.
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
    """Demands that `event` does not happen.

    The rule is triggered if `when` happens; without `when`, if something of the event's sort does (any command, any
    edit). Once `unless` happens, the rule is lifted. With `at` = final, an edit that is taken back does not count. With
    `conditional`, the rule has a condition that the check does not know: what would break it is undecided.
    """

    event: Event
    when: Event | None = None
    unless: Event | None = None
    at: At = "every"
    conditional: bool = False


class Does(Record, frozen=True, tag="does", tag_field="kind", omit_defaults=True):
    """Demands that `event` happens in a session in which `when` does; without `when`: in which a file is edited.

    `conditional` means the same as in Never.
    """

    event: Event
    when: Event | None = None
    conditional: bool = False


class Before(Record, frozen=True, tag="before", tag_field="kind", omit_defaults=True):
    """Demands that `first` happens before every `then`, and again after each `since`."""

    first: Event
    then: Event
    since: Event | None = None


class After(Record, frozen=True, tag="after", tag_field="kind", omit_defaults=True):
    """Demands that `then` follows the last `event`; with `at` = every, the last of each turn.

    If `until` is set, `then` must come before it.
    """

    event: Event
    then: Event
    until: Event | None = None
    at: At = "final"


class Between(Record, frozen=True, tag="between", tag_field="kind", omit_defaults=True):
    """Demands that from each `begin` to the next `end`, `event` happens (`must`) or does not."""

    begin: Event
    end: Event
    event: Event
    must: bool = True


class Instead(Record, frozen=True, tag="instead", tag_field="kind", omit_defaults=True):
    """Demands `use` and forbids `avoid`; triggered where either happens."""

    use: Event
    avoid: Event


class AsksBefore(Record, frozen=True, tag="asks_before", tag_field="kind", omit_defaults=True):
    """Demands that the user is asked, and answers, before `event`; a user's message with one of `granted` is enough."""

    event: Event
    granted: Words = ()


class AtMost(Record, frozen=True, tag="at_most", tag_field="kind", omit_defaults=True):
    """Demands that `event` happens at most `limit` times; of edits, each file counts once."""

    event: Event
    limit: int


class Text(Record, frozen=True, tag="text", tag_field="kind", omit_defaults=True):
    """Demands that texts keep to what is set here.

    Attributes:
        of: Which texts: every reply, those that end a turn, written files, commit messages, titles and bodies of
            pull requests, names of branches.
        paths: Of files: patterns of their paths.
        constraint: Any kind that `adhere list constraints` names.
        must: Whether the constraint has to pass or to fail.
        without: Texts that must not occur.
        use: Texts to write instead of `without`; a text with neither does not trigger the rule.
        has: A text that must occur.
        words: Whether `without` and `has` mean whole words in any case.
        begins: Texts, with one of which the text must begin.
        ends: Texts, with one of which the text must end.
        shape: A shape of names and messages that the text must have.
        no: Things that must not occur: emoji, headings, tables, bullets, code; tabs or spaces at the beginning of a
            line; Python functions without types.
        longest_line: Most characters in a line.
        most_lines: Most lines in a text.
        first_line: Whether only the first line counts, as of commit messages.
        at: Of files: whether each state counts, or the last one.
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
"""The field of each check that holds the event which has to happen."""


class Rule(Record, frozen=True, omit_defaults=True):
    """Holds one rule.

    Attributes:
        id: Its name.
        quote: Its words, as they are written.
        file, line: Where they are written.
        check: How a program decides the rule; None: no program can.
        why: Without a check: why there is none; with one: how the rule was understood.
        scope: Patterns of files that the rule is about; a session that edits none of them does not trigger it.
        modality: How strongly the rule is put.
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
    """Holds the content of `rules.toml`."""

    rules: tuple[Rule, ...]


def load_rules(path: Path) -> tuple[Rule, ...]:
    """Read the rules of a TOML file.

    Raises:
        SpecError: The file is absent, a key is unknown, a check is invalid, or two rules have one id.
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
    """Write rules as TOML, for a person to read and correct."""
    parts = [head.rstrip()] if head else []
    for rule in rules:
        fields = msgspec.to_builtins(rule)
        check = fields.pop("check", None)
        parts.append(
            f"[[rules]]\n{_lines({key: field for key, field in fields.items() if field not in ('', 0, [], ())})}"
        )
        if check is not None:
            parts.append(f"[rules.check]\n{_lines(check)}")
    return "\n\n".join(parts) + "\n"


def _lines(fields: dict[str, Json]) -> str:
    return "\n".join(f"{key} = {_toml(value)}" for key, value in fields.items() if value is not None)


def _toml(value: Json) -> str:
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_toml(part)}" for key, part in value.items() if part is not None) + " }"
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    is_bare = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if is_bare else msgspec.json.encode(key).decode()
