"""Compile statements about what is done: never, always, before, after, when, instead of, ask before."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from adhere.rules.checks.spec import After, AsksBefore, Before, Check, Does, Event, How, Instead, Never
from adhere.rules.compile.events import (
    TESTS,
    bare_programs,
    begun_event,
    codes_of,
    commands_in,
    event_of,
    forms,
    is_command,
    is_path,
    is_small,
    paths_in,
    pattern,
    says,
    without_paths,
)  # fmt: skip
from adhere.rules.shell.patterns import groups, patterns_of

_STALE = ("tests", "lint", "format", "typecheck", "build")
_ANY_EDIT = Event(edits=("**", "!*.md", "!*.txt", "!*.rst", "!*.log"))
"""Edits after which a check of files is out of date."""
_SAME = (("delet", "remov"), ("install", "dependenc", "package"), ("publish", "releas"))
"""Stems of words with one meaning: a user who says one grants the others too."""
_MANAGERS = (("uv", "poetry", "pipenv", "conda", "pip"), ("pnpm", "npm", "yarn", "bun"))
_EVERY_EDIT = Event(edits=("**",))
Match = re.Match[str]


class _Clauses(NamedTuple):
    main: str
    link: str
    other: str


def clause_check(text: str) -> Check | None:
    """Return the check of a statement about what is done; None if no program can decide it."""
    text = re.sub(
        r"^(?:never|do not|don't|must not) (?:skip|omit|forget(?: to)?|bypass) (?=.+(?:before|after)\b)",
        "",
        text.strip().rstrip(".!:"),
        flags=re.IGNORECASE,
    )
    prohibition = pattern("not").match(text)
    rest = text[prohibition.end() :] if prohibition is not None else None
    texts = {"whole": text, "barred": rest, "open": text if prohibition is None else None}
    for form in forms():
        part = texts[form.where]
        match = form.pattern.search(part) if part is not None else None
        if match is not None and (check := _MAKERS[form.makes](match)) is not None:
            return check
    return _order_check(text)


def _group(match: Match) -> str:
    """Return the text of the group that matched; each reading of a form has one."""
    return match[match.lastindex or 0]


def _asks(match: Match) -> Check | None:
    event = event_of(_group(match))
    if event is None:
        return None
    stems = pattern("granted").findall(_group(match).lower())
    stems += [other for stem in stems for family in _SAME if stem in family for other in family]
    stems += [glob.rpartition("/")[2] for glob in event.edits if not re.search(r"[*?{!]", glob)]
    return AsksBefore(event, granted=tuple(dict.fromkeys(stems)))


def _instead(match: Match) -> Check | None:
    text = re.split(r"[;(—]|\s[-–]\s", match["avoid"])[0] if match["avoid"].count("`") != 1 else match["avoid"]
    if says(match["use"], "before|after|when"):
        return None
    use, avoid = _usable(match["use"]), _usable(text)
    is_conditional = says(re.sub("`[^`]*`", "", text), "when|if|unless|while|whenever")
    if use is not None and avoid is not None:
        return Instead(use, avoid) if use != avoid and not is_conditional else None
    is_bar = avoid is not None and re.search(r"instead of|rather than", match.string)
    return Never(avoid, conditional=is_conditional) if avoid is not None and is_bar else None


def _usable(text: str) -> Event | None:
    """Return the command or tool that a phrase names, in backticks or not; None if there is none."""
    if commands := commands_in(text):
        return Event(command=commands)
    if codes_of(text) and says(text, "tools?"):
        return Event(tool=tuple(codes_of(text)))
    if tool := re.search(r"\b(?:the |your )?([A-Z]\w+) tools?\b", text):
        return Event(tool=(tool[1],))
    bare = re.sub(r"^(?:the |raw |plain |bare )+", "", text.strip(" .,;:")).lower()
    word = re.match(r"[a-z0-9_.-]+(?: (?:install|test|run|add|commit|push|build))?(?=$|[ ,;.(])", bare)
    rest = bare[word.end() :].strip() if word else ""
    is_short = not rest or re.match(r"^(?:for|when|to|in|as|everywhere|here|\(|or|and|,|directly)", rest)
    return Event(command=(word[0],)) if word and is_short and is_command(word[0]) else None


def _edits_only(match: Match) -> Check | None:
    paths, plain = paths_in(_group(match)), without_paths(re.sub("`[^`]*`", " ", _group(match)))
    return Never(Event(edits=("**", *(f"!{path}" for path in paths)))) if paths and is_small(plain) else None


def _pass_before(match: Match) -> Check | None:
    event = event_of(match[1])
    return Before(Event(command=("@tests",), status="passes"), event, since=_ANY_EDIT) if event is not None else None


def _searches(match: Match) -> Check | None:
    event = _usable(_group(match))
    rivals = tuple(program for program in ("grep", "egrep", "rg") if event is not None and program not in event.command)
    return Instead(event, Event(command=rivals)) if event is not None else None


def _does(match: Match) -> Check | None:
    event = _usable(match[1])
    return Does(event) if event is not None else None


def _needs_test(_match: Match) -> Check:
    """Return the check of a rule that a change of code needs a test: a session that edits code edits a test.

    The check is conditional: a person decides which change needs a test, and whether one exists already.
    """
    sources = ("**/*.*", "!*.md", "!*.txt", "!*.json", "!*.toml", "!*.yml", "!*.yaml", *(f"!{glob}" for glob in TESTS))
    return Does(Event(edits=TESTS), when=Event(edits=sources), conditional=True)


def _note(match: Match) -> Check | None:
    """Return the check of a rule that a file must be edited when code changes; None if no file is named.

    If the rule says which changes are meant, the check is conditional.
    """
    paths = paths_in(match["then"])
    return Does(Event(edits=paths), when=_ANY_EDIT, conditional=bool(match["what"])) if paths else None


def _manager(match: Match) -> Check:
    """Return the check of a rule that names one package manager: its rivals are not used."""
    use = match["use"].lower()
    rivals = next(names for names in _MANAGERS if use in names)
    return Instead(Event(command=(use,)), Event(command=tuple(rival for rival in rivals if rival != use)))


def _entry(match: Match) -> Check | None:
    sources, targets = paths_in(match["when"]), paths_in(match["then"])
    return Does(Event(edits=targets), when=Event(edits=sources)) if sources and targets else None


def _passive(match: Match) -> Check | None:
    verb, paths = match["verb"].lower(), paths_in(match["what"])
    if paths and verb == "committed":
        return _never_committed(paths)
    if paths and verb not in {"run", "used", "pushed"}:
        how: How = "delete" if verb in {"deleted", "removed"} else "create" if verb == "created" else "any"
        return Never(Event(edits=paths, how=how))
    commands = commands_in(match["what"])
    return Never(Event(command=commands)) if commands else None


def _never_committed(paths: tuple[str, ...]) -> Check | None:
    return Never(Event(command=tuple(f"git add {path}" for path in paths))) if paths else None


def _forbidden(match: Match) -> Check | None:
    event = _usable(match[1])
    if event is None and (paths := paths_in(match[1])):
        event = Event(edits=paths)
    if event is None and (programs := bare_programs(f"use {re.sub(r' ?[(][^)]*[)]', '', match[1])}")):
        event = Event(command=programs)
    return Never(event) if event is not None else None


def _read_only(match: Match) -> Check | None:
    paths = paths_in(match[1])
    return Never(Event(edits=paths)) if paths else None


_MAKERS: Mapping[str, Callable[[Match], Check | None]] = {
    "asks": _asks, "instead": _instead, "edits_only": _edits_only, "tested": _pass_before, "searches": _searches,
    "does": _does, "needs_test": _needs_test, "entry": _entry, "passive": _passive, "forbidden": _forbidden,
    "read_only": _read_only, "manager": _manager,
    "changeset": lambda _: Does(Event(edits=(".changeset/**",)), conditional=True),
    "noted": _note,
    "draft": lambda _: Never(Event(command=("gh pr create !--draft",)), when=Event(command=("gh pr create",))),
    "not_on_main": lambda _: Never(Event(command=("git commit",), on=("main", "master"))),
    "stages_by_name": lambda _: Never(Event(command=("git add -A", "git add .", "git add --all", "git commit -a"))),
    "tool": lambda match: Never(Event(tool=(match[1],))),
    "not_committed": lambda match: _never_committed(paths_in(match.string)),
}  # fmt: skip


def _cut(text: str) -> _Clauses | None:
    """Split a statement into its main clause, its link and its other clause, in either order; None without a link."""
    match = pattern("link").search(text)
    if match is None:
        return None
    link, rest = match[1].lower(), text[match.end() :]
    if match.start() > 1:
        return _Clauses(text[: match.start()].strip(" ,;"), link, re.split(r", (?=so|and|because)|;", rest)[0])
    bare = re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), rest)
    comma = re.search(r"[,:]\s|\s(?=(?:always|you must|make sure|please|run)\s)", bare)
    return None if comma is None else _Clauses(rest[comma.start() :].strip(" ,:"), link, rest[: comma.start()])


def _order_check(text: str) -> Check | None:
    clauses = _cut(text)
    if clauses is None:
        return _plain(text)
    main, link, other = clauses
    if pattern("last_edit").search(text) and (check := _after_last(text, main, other)) is not None:
        return check
    prohibition = pattern("not").match(main)
    if prohibition is not None:
        return _bars(main[prohibition.end() :], link, other)
    event, second = event_of(pattern("lead").sub("", main)), event_of(other)
    if event is None or second is None or event == second:
        return None
    if says(main, "say|claim|state|mention|tell|write that") or (link == "if" and re.search(r"not|n't", other)):
        return None
    is_passing = event.command and pattern("passing").search(main)
    return _requirement(replace(event, status="passes") if is_passing else event, link, second)


def _after_last(text: str, main: str, other: str) -> Check | None:
    """Return the check of a rule that a command follows the last edit; None if no command is named.

    With `commit` in the text: the command runs after the last edit and before the commit.
    """
    events = [event_of(part) for part in (pattern("lead").sub("", main), other)]
    run = next((event for event in events if event is not None and event.command), None)
    if run is None or re.match(r"(?:if|when)\b", text, re.IGNORECASE):
        return None
    run = replace(run, status="passes") if pattern("passing").search(text) else run
    paths = paths_in(text)
    edits = Event(edits=paths) if paths else _ANY_EDIT
    is_commit = re.search(r"(?<!\w)commit", text)
    return Before(run, Event(command=("git commit",)), since=edits) if is_commit else After(edits, run)


def _bars(text: str, link: str, other: str) -> Check | None:
    event, second = event_of(text), event_of(other.removeprefix("just "))
    if event is None or event.asks or event == second:
        return None
    if event.done:
        is_check = second is not None and link in {"until", "unless", "before", "without"} and _goes_stale(second)
        return After(_ANY_EDIT, replace(second, status="passes")) if is_check and second is not None else None
    if link in {"without", "until", "before", "unless"} and second is not None:
        first = replace(second, status="passes") if _goes_stale(second) else second
        return (
            AsksBefore(event)
            if second.asks
            else Before(first, event, since=_EVERY_EDIT if other.startswith("just ") else None)
        )
    return Never(event, conditional=second is None or not second.done)


def _requirement(event: Event, link: str, second: Event) -> Check | None:
    if link in {"before", "prior to"}:
        if event.asks:
            return AsksBefore(second)
        return After(_ANY_EDIT, event) if second.done and not event.reads else Before(event, second)
    if link in {"after", "once", "every time", "each time"} and not second.done:
        is_any = second.edits == ("**",) and second.how == "any" and _goes_stale(event)
        return After(_ANY_EDIT if is_any else second, event)
    if link in {"after", "once", "when", "whenever", "if", "while"}:
        if second.done:
            return After(_ANY_EDIT, event) if _goes_stale(event) else Does(event)
        return After(second, event) if _goes_stale(event) else Does(event, when=second)
    return None


def _goes_stale(event: Event) -> bool:
    """Tell whether an event is a run of a checker (tests, linters …), which any later edit makes out of date."""
    stale_programs = {words[0] for name in _STALE for text in groups()[name] for words in patterns_of(text)}
    return any(
        text[1:] in _STALE or any(words[0] in stale_programs for words in patterns_of(text)) for text in event.command
    )


def _plain(text: str) -> Check | None:
    prohibition = pattern("not").match(text)
    if prohibition is not None:
        return _plainly_barred(text[prohibition.end() :])
    bare = pattern("lead").sub("", text)
    is_strong = bare != text or re.match(r"(?:run|use|execute|update|read|create|write)\b", text, re.IGNORECASE)
    event, is_all = begun_event(bare)
    if event is None or not is_strong or event.done or event.asks or "**" in event.edits:
        return None
    if says(re.sub(r"`[^`]*`", "", bare), "never|not|forbidden|only|full|whole|entire|if|when|unless|otherwise"):
        return None
    verbs = r"(?:run|execute|use)\b" if event.command else r"(?:update|add|write|create|maintain|keep)\b"
    if re.match(r"read\b" if event.reads else verbs, bare, re.IGNORECASE):
        is_demanded = says(text[: len(text) - len(bare)], "must|always|shall|make sure|ensure|required|sure")
        is_sure = is_all and is_demanded and not re.search(" to | for ", bare)
        return Does(event, conditional=not is_sure) if is_all or event.command else None
    is_passing = event.command and is_all and says(text, "(?:must|should) pass")
    return After(_ANY_EDIT, replace(event, status="passes")) if is_passing else None


def _plainly_barred(rest: str) -> Check | None:
    codes = codes_of(rest)
    if re.match(r"commit\w*\b", rest, re.IGNORECASE) and not pattern("commits_alone").search(rest):
        return None
    options = [code for code in codes if re.fullmatch(r"--?[A-Za-z][\w-]*", code)]
    if options and "--no-verify" not in options and len(options) == len(codes):
        commands = tuple(f"* {option}" for option in options)
        return Never(Event(command=commands), conditional=says(rest, "unless|when|if|for"))
    event, is_all = begun_event(rest)
    if event is None or event.done or event.asks or says(rest, "full|whole|entire|all"):
        return None
    is_unknown = event.command and codes and is_path(codes[0]) and not commands_in(rest)
    return None if is_unknown else Never(event, conditional=not is_all)
