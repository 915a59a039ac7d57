"""Tell whether an act is the event that a check names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from adhere.rules.checks.spec import Event
from adhere.rules.session.acts import Act, asks
from adhere.rules.session.paths import may_match, path_matches
from adhere.rules.shell.patterns import chooses_part, matches

Met = bool | None
"""None: the log does not show it."""


def meets(event: Event, act: Act) -> Met:  # noqa: PLR0911 - one return a sort of event
    """Tell whether an act is the event; None where the log does not show whether it is, or whether it happened."""
    if event.command:
        return _command(event, act)
    if event.edits:
        return _edit(event, act)
    if event.reads:
        return act.kind == "read" and path_matches(act.path, event.reads) and act.ran
    if event.tool:
        return act.kind == "call" and _is_tool(event, act) and act.ran
    if event.reply:
        return act.kind == "reply" and not act.agent and _holds(act.text, event.reply)
    if event.user:
        return act.kind == "user" and _holds(act.text, event.user)
    if event.asks:
        return asks(act)
    return act.kind == "reply" and act.final and not act.agent


def of_sort(event: Event, act: Act) -> Met:
    """Tell whether an act is of the event's sort: any command, edit, read or call of a tool, or any text said.

    None where the log does not show whether it happened.
    """
    if event.command:
        return act.kind == "command" and act.ran
    if event.edits:
        return act.kind == "edit" and act.ran
    if event.reads:
        return act.kind == "read" and act.ran
    if event.tool:
        return act.kind == "call" and act.ran
    return act.kind == ("user" if event.user else "reply")


def _command(event: Event, act: Act) -> Met:  # noqa: PLR0911 - one return a condition
    if act.kind != "command" or act.run is None or not matches(act.run, event.command):
        return False
    if act.ran is False:
        return False
    if event.on:
        if not act.branch:
            return None
        if not any(fnmatchcase(act.branch, pattern) for pattern in event.on):
            return False
    if event.whole and (part := chooses_part(act.run)) is not False:
        return None if part is None else False
    if event.status != "any":
        if act.passed is None or act.ran is None:
            return None
        return act.passed is (event.status == "passes")
    return act.ran


def _edit(event: Event, act: Act) -> Met:  # noqa: PLR0911 - one return a condition
    if act.kind == "opaque" and event.by != "tool":
        return None if act.ran is not False and _mentions(act.text or "", event.edits) else False
    if act.kind != "edit" or act.ran is False or event.by not in {"any", act.by}:
        return False
    if event.how not in {"any", act.how} or ("**" in event.edits and _is_restored(act)):
        return False
    if not path_matches(act.path, event.edits):
        return None if may_match(act.path, event.edits, tree=act.tree or not act.sure) else False
    if not act.sure and "**" not in event.edits:
        return None
    if event.has:
        return None if act.added is None else event.has in act.added
    return act.ran


def _is_restored(act: Act) -> bool:
    """Tell whether the command behind an edit is `git checkout` or `git restore`, which put a file back as it was."""
    return act.run is not None and act.run.words[:2] in {("git", "checkout"), ("git", "restore")}


def _mentions(text: str, patterns: Sequence[str]) -> bool:
    """Tell whether a program's text seems to write a file that `patterns` name; a bare `**` matches nothing."""
    for pattern in patterns:
        fixed_parts = [part for part in re.split(r"[*?\[\]{}]+", pattern) if len(part.strip("/.")) > 2]
        if (
            not pattern.startswith("!")
            and fixed_parts
            and all(part.strip("/") in text for part in fixed_parts)
            and re.search(r"write|open\(|rename|remove|unlink|>|replace|-i", text)
        ):
            return True
    return False


def _is_tool(event: Event, act: Act) -> bool:
    name = act.tool.lower()
    bare = name.rpartition("__")[2]
    if not any(fnmatchcase(name, pattern.lower()) or fnmatchcase(bare, pattern.lower()) for pattern in event.tool):
        return False
    return all(fnmatchcase(str(act.arguments.get(key, "")), pattern) for key, pattern in event.arguments.items())


def _holds(text: str | None, words: Sequence[str]) -> bool:
    return any(not word or re.search(rf"(?<!\w){re.escape(word)}", text or "", re.IGNORECASE) for word in words)
