"""Statements about what is done as checks: never, always, before, after, when, instead of, ask before."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from adhere.rules.checks.spec import After, AsksBefore, Before, Check, Does, Event, Instead, Never
from adhere.rules.compile.events import bare_programs, codes_of, commands_in, event_of, is_command, is_path, paths_in
from adhere.rules.shell.patterns import groups, patterns_of

_NOT = re.compile(
    r"^(?:please |you |agents? |must |should |shall |may |can |always |also |and |but |so |important: |note: )*(?:never|do not|don't|don’t|must not|mustn't|should not|shouldn't|avoid|refrain from|cannot|can't|no|not|forbidden:?|under no circumstances)\b[: ]*(?:ever |directly |manually |try to |attempt to )*",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:please |you |agents? |must |should |shall |always |also |and |then |so |important: |note: |make sure (?:to |that |you )?|ensure (?:that )?(?:you )?|be sure to |remember to |it is important to |need to |have to |are required to |want you to |immediately )+",
    re.IGNORECASE,
)
_PASSIVE_NOT = re.compile(
    r"(.+?) (?:must|should|may|can|is|are) (?:never|not)(?: to)? be (edited|modified|changed|touched|deleted|removed|committed|pushed|run|used|created|overwritten|hand-edited|renamed)\b(?: (?:by hand|manually|directly))?",
    re.IGNORECASE,
)
_NEEDS_TEST = re.compile(
    r"(?:every|each|all|any|new)\b.{0,60}\b(?:comes? with|gets?|has|have|needs?|requires?) (?:a|an|their own|its own) (?:\w+ )?(?:test|spec)\b",
    re.IGNORECASE,
)
_TESTS = (
    "tests/**",
    "test/**",
    "spec/**",
    "__tests__/**",
    "test_*",
    "*_test.*",
    "*.test.*",
    "*.spec.*",
    "*_spec.*",
    "tests.py",
)
_FORBIDDEN = re.compile(r"(.+?) (?:is|are) (?:forbidden|banned|not allowed|prohibited|not permitted)\b", re.IGNORECASE)
_READ_ONLY = re.compile(
    r"(.+?) (?:is|are) (?:read[- ]only|generated|auto-?generated|off[- ]limits|frozen|vendored|immutable)\b",
    re.IGNORECASE,
)
_ONLY_EDIT = re.compile(
    r"^(?:you (?:may|should|must|can) )?only (?:ever )?(?:edit|modify|change|touch|write(?: to)?|work (?:in|on))\b(.+)|^(?:edit|modify|change|touch) only\b(.+)",
    re.IGNORECASE,
)
_LAST_EDIT = re.compile(r"(?<!\w)(?:after|since) (?:the|your|any) (?:last|final) (?:edit|change)", re.IGNORECASE)
_OUTSIDE = re.compile(r"(?:edit|modify|change|touch|write|create)\w*(?: \w+)* outside(?: of)? (.+)", re.IGNORECASE)
_ONLY_THEN = re.compile(
    r"^(\w+)(?: \w+)? only (?:when|if|after|once) (?:i|the user|asked|explicitly|told)\b.*|^(\w+)(?: \w+)? only on request",
    re.IGNORECASE,
)
_ON_REQUEST = re.compile(
    r"^only (?:ever )?(.+?) (?:when|if|after|once) (?:i|the user|asked|explicitly|you are|you're)\b.*", re.IGNORECASE
)
_COMMITS_ALONE = re.compile(
    r"commit\w*(?: (?:anything|changes|code|yourself|directly|straight|to|on|the|any|or push|your|work|main|master|`main`|`master`|branch|and push))*$",
    re.IGNORECASE,
)
_FAILING = re.compile(
    r"(.+?) (?:with|while|when|if)(?: any| the)? (?:failing|broken|red|tests? (?:is|are)? ?(?:fail|broken|red))",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"(?:every|each|any|all) (?:code )?changes? (?:to|in) (.+?) (?:needs?|requires?|must have|must come with|must be accompanied by) (.+)",
    re.IGNORECASE,
)
_ASK = re.compile(
    r"(?<!\w)(?:ask|check with|confirm with|get (?:explicit )?(?:approval|permission|confirmation)|request (?:approval|permission)|seek (?:approval|permission))\b.*?\b(?:before|prior to|first before)\b(.+)",
    re.IGNORECASE,
)
_UNASKED = re.compile(
    r"(?<!\w)(?:without (?:first )?(?:asking|(?:explicit |my |user |prior )*(?:permission|approval|confirmation|consent|being asked|request))|unless (?:i |the user |you(?:'re| are) |explicitly |specifically |it is |it's )*(?:ask|request|told|instructed|approve|say)\w*(?: \w+)*|until (?:i |the user )\w+)",
    re.IGNORECASE,
)
_INSTEAD = (
    re.compile(
        r"(?:with|by|through) (?P<use>`[^`]+`|[\w-]+),? (?:and )?(?:not|never) (?:with |by |through )?(?P<avoid>`[^`]+`|[\w-]+)$",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:use|prefer|run|call|choose|favor|favour|pick|stick (?:to|with))\s+(?P<use>.+?),?\s+(?:instead of|rather than|over|not|and not|and never|never|, not|in place of|in preference to)\s+(?P<avoid>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:instead of|rather than|in place of)\s+(?P<avoid>.+?),?\s+(?:always\s+)?(?:use|prefer|run|call)\s+(?P<use>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:never|do not|don't|avoid)\s+(?:use |using |run |running |call |calling )?(?P<avoid>.+?)[;,.:—–-]+\s*(?:always |please |instead )*(?:use|prefer|run)\s+(?P<use>.+)",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<use>.+?) (?:must|should) be used (?:instead of|rather than) (?P<avoid>.+)", re.IGNORECASE),
)
_LINK = re.compile(
    r"(?<!\w)(before|after|when|whenever|if|every time|each time|once(?= you| the| it| all| every)|without|until|unless|prior to|while)\b(?: you| you've| you have| ever| any time)?\s+",
    re.IGNORECASE,
)
_STALE = frozenset({"@tests", "@lint", "@format", "@typecheck", "@build"})
_REQUIRED_TO_PASS = re.compile(r"(?<!\w)(?:pass(?:es|ing)?|succeed\w*|green|clean)(?!\w)", re.IGNORECASE)
_ANY_EDIT = Event(edits=("**", "!*.md", "!*.txt", "!*.rst", "!*.log"))
"""What makes a check of files stale."""


class _Clauses(NamedTuple):
    main: str
    link: str
    other: str


def clause_check(said: str) -> Check | None:
    """The check of a statement about what is done; None: it is none that a program decides."""
    said = said.strip().rstrip(".!")
    for make in (_asks, _instead, _only, _special, _passive, _tool, _commit_path, _read_first):
        if (check := make(said)) is not None:
            return check
    return _order_check(said)


def _asks(said: str) -> Check | None:
    match = _ASK.search(said)
    event = event_of(match[1]) if match is not None and not _NOT.match(said) else None
    if event is not None:
        return AsksBefore(event, granted=_grants(match[1] if match else ""))
    unasked = _UNASKED.search(said)
    barred = _NOT.match(said)
    if unasked is None or barred is None:
        return None
    event = event_of(said[barred.end() : unasked.start()])
    return AsksBefore(event, granted=_grants(said[barred.end() : unasked.start()])) if event is not None else None


def _grants(text: str) -> tuple[str, ...]:
    """Words by which a user asks for it."""
    stems = re.findall(
        r"push|commit|install|delet|remov|deploy|publish|releas|migrat|document|readme|markdown|merg|pull request|rebas|amend|creat|dependenc|rename",
        text.lower(),
    )
    return tuple(dict.fromkeys(stems))


def _instead(said: str) -> Check | None:
    for pattern in _INSTEAD:
        match = pattern.search(said)
        if match is None or re.search(r"(?<!\w)(?:before|after|when)(?!\w)", match["use"], re.IGNORECASE):
            continue
        use, avoid = _usable(match["use"]), _usable(match["avoid"])
        if use is not None and avoid is not None:
            return Instead(use, avoid) if use != avoid else None
        if avoid is not None and re.search(r"instead of|rather than", said):
            return Never(avoid)
    return None


def _usable(text: str) -> Event | None:
    """A command or a tool that a phrase names, backticks or not."""
    commands = commands_in(text)
    if commands:
        return Event(command=commands)
    if codes_of(text) and re.search(r"(?<!\w)tools?(?!\w)", text, re.IGNORECASE):
        return Event(tool=tuple(codes_of(text)))
    tool = re.search(r"\b(?:the |your )?([A-Z]\w+) tools?\b", text)
    if tool:
        return Event(tool=(tool[1],))
    bare = re.sub(r"^(?:the |raw |plain |bare )+", "", text.strip(" .,;:")).lower()
    word = re.match(r"[a-z0-9_.-]+(?: (?:install|test|run|add|commit|push|build))?(?=$|[ ,;.(])", bare)
    rest = bare[word.end() :].strip() if word else ""
    is_short = not rest or re.match(r"^(?:for|when|to|in|as|everywhere|here|\(|or|and|,|directly)", rest)
    return Event(command=(word[0],)) if word and is_short and is_command(word[0]) else None


def _only(said: str) -> Check | None:
    match = _ONLY_EDIT.match(said)
    paths = paths_in(match[1] or match[2]) if match else ()
    return Never(Event(edits=("**", *(f"!{path}" for path in paths)))) if paths else None


def _special(said: str) -> Check | None:  # noqa: PLR0911 - one return a form
    """Edits outside a folder, acts on request only, commits with failing tests, a changelog's entry for each change."""
    barred = _NOT.match(said)
    if barred is not None:
        rest = said[barred.end() :]
        outside = _OUTSIDE.match(rest)
        if outside is not None:
            paths = paths_in(outside[1])
            return Never(Event(edits=("**", *(f"!{path}" for path in paths)))) if paths else None
        failing = _FAILING.match(rest)
        event = event_of(failing[1]) if failing is not None else None
        return (
            Before(Event(command=("@tests",), status="passes"), event, since=_ANY_EDIT) if event is not None else None
        )
    asked = _ON_REQUEST.match(said)
    event = event_of(asked[1]) if asked is not None else None
    if asked is not None and event is not None:
        return AsksBefore(event, granted=_grants(asked[1]))
    then = _ONLY_THEN.match(said)
    event = event_of(then[1] or then[2]) if then is not None else None
    if then is not None and event is not None:
        return AsksBefore(event, granted=_grants(then[1] or then[2]))
    if re.match(r"(?:commit|work|push)\w* on .*never on `?(?:main|master)`?", said, re.IGNORECASE):
        return Never(Event(command=("git commit",), on=("main", "master")))
    if re.match(
        r"(?:stage|add|commit) (?:files )?(?:only )?(?:by (?:name|path)|named files|explicit)", said, re.IGNORECASE
    ):
        return Never(Event(command=("git add -A", "git add .", "git add --all", "git commit -a")))
    tool = re.match(
        r"(format|search|lint)\w* (?:the code |code |files )?(?:with|by) (.+)|use (.+) (?:for|to) (search)",
        said,
        re.IGNORECASE,
    )
    used = _usable(tool[2] or tool[3]) if tool is not None else None
    if tool is not None and used is not None:
        is_search = (tool[1] or tool[4]).lower() == "search"
        return Instead(used, Event(command=("grep", "egrep"))) if is_search else Does(used)
    if _NEEDS_TEST.match(said):
        return Does(
            Event(edits=_TESTS),
            when=Event(edits=("**/*.*", "!*.md", "!*.txt", "!*.json", *(f"!{one}" for one in _TESTS))),
        )
    entry = _ENTRY.match(said)
    if entry is not None and (sources := paths_in(entry[1])) and (targets := paths_in(entry[2])):
        return Does(Event(edits=targets), when=Event(edits=sources))
    return None


def _passive(said: str) -> Check | None:
    """`src/gen/` must not be edited; files in `vendor/` are generated."""
    match = _PASSIVE_NOT.match(said)
    if match is not None:
        verb = match[2].lower()
        paths = paths_in(match[1])
        how = {"deleted": "delete", "removed": "delete", "created": "create"}.get(verb, "any")
        if paths and verb not in {"run", "used", "pushed", "committed"}:
            return Never(Event(edits=paths, how=how))  # type: ignore[arg-type]
        if paths and verb == "committed":
            return Never(Event(command=tuple(f"git add {path}" for path in paths)))
        if commands := commands_in(match[1]):
            return Never(Event(command=commands))
    match = _FORBIDDEN.match(said)
    named = bare_programs(f"use {re.sub(r' ?[(][^)]*[)]', '', match[1])}") if match is not None else ()
    if (
        match is not None
        and (event := _usable(match[1]) or _event_named(match[1]) or (Event(command=named) if named else None))
        is not None
    ):
        return Never(event)
    match = _READ_ONLY.match(said)
    paths = paths_in(match[1]) if match else ()
    return Never(Event(edits=paths)) if paths else None


def _event_named(text: str) -> Event | None:
    """Commands or paths that a text names in code."""
    if commands := commands_in(text):
        return Event(command=commands)
    return Event(edits=paths) if (paths := paths_in(text)) else None


def _tool(said: str) -> Check | None:
    """Never use the WebSearch tool."""
    barred = _NOT.match(said)
    match = re.search(
        r"(?<!\w)(?:use|call|invoke|using|calling)\s+(?:the |any )?[`\"]?([A-Z]\w+|mcp__\w+)[`\"]?(?: tools?)(?!\w)",
        said,
    )
    if barred is not None and match is not None:
        return Never(Event(tool=(match[1],)))
    return None


def _commit_path(said: str) -> Check | None:
    """Never commit `.env`."""
    barred = _NOT.match(said)
    if barred is None or not re.match(r"(?:commit|add|check in|stage)\w*\b", said[barred.end() :], re.IGNORECASE):
        return None
    paths = paths_in(said) if re.match(r"commit|check in|stage", said[barred.end() :], re.IGNORECASE) else ()
    return Never(Event(command=tuple(f"git add {path}" for path in paths))) if paths else None


def _read_first(said: str) -> Check | None:
    """Read a file before you change anything."""
    bare = _LEAD.sub("", said)
    clauses = _cut(bare)
    if clauses is None or clauses.link not in {"before", "prior to"}:
        return None
    first, then = event_of(clauses.main), event_of(clauses.other)
    return Before(first, then) if first is not None and first.reads and then is not None else None


def _cut(said: str) -> _Clauses | None:
    """A statement as its main clause, its link and its other clause, whichever stands first."""
    match = _LINK.search(said)
    if match is None:
        return None
    link = match[1].lower()
    if match.start() <= 1:
        rest = said[match.end() :]
        place = _comma(rest)
        return None if place is None else _Clauses(rest[place:].strip(" ,:"), link, rest[:place])
    other = re.split(r", (?=so|and|because)|;", said[match.end() :])[0]
    return _Clauses(said[: match.start()].strip(" ,;"), link, other)


def _comma(text: str) -> int | None:
    """Where the first clause ends: a comma or colon outside code."""
    bare = re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), text)
    match = re.search(r"[,:]\s|\s(?=(?:always|you must|make sure|please|run)\s)", bare)
    return match.start() if match else None


def _order_check(said: str) -> Check | None:
    clauses = _cut(said)
    if clauses is None:
        return _plain(said)
    main, link, other = clauses
    if _LAST_EDIT.search(said) and (check := _after_last(said, main, other)) is not None:
        return check
    barred = _NOT.match(main)
    event = event_of(main[barred.end() :] if barred else _LEAD.sub("", main))
    second = event_of(other)
    if event is None or event == second or (second is None and link != "unless"):
        return None
    if re.search(r"(?<!\w)(?:say|claim|state|mention|tell|write that)(?!\w)", main) or (
        link == "if" and re.search(r"not|n't", other)
    ):
        return None
    if barred is not None:
        return _bars(event, link, second)
    return _requirement(event, link, second, passes=bool(_REQUIRED_TO_PASS.search(main)))


def _after_last(said: str, main: str, other: str) -> Check | None:
    """Run the tests before committing, after your last edit: nothing changes between the run and the commit."""
    events = [event_of(part) for part in (_LEAD.sub("", main), other)]
    run = next((one for one in events if one is not None and one.command), None)
    if run is None or re.match(r"(?:if|when)\b", said, re.IGNORECASE):
        return None
    run = replace(run, status="passes") if _REQUIRED_TO_PASS.search(said) else run
    then = event_of("committing") if re.search(r"(?<!\w)commit", said) else None
    paths = paths_in(said)
    edits = Event(edits=paths) if paths else _ANY_EDIT
    return Before(run, then, since=edits) if then is not None else After(edits, run)


def _bars(event: Event, link: str, second: Event | None) -> Check | None:
    if link in {"without", "until", "before", "unless"} and second is not None:
        first = replace(second, status="passes") if second.command else second
        return AsksBefore(event) if second.asks else Before(first, event)
    if link in {"when", "whenever", "if", "while"} and second is not None and not second.done:
        return None
    return Never(event)


def _requirement(  # noqa: PLR0911 - one return a link
    event: Event, link: str, second: Event | None, *, passes: bool
) -> Check | None:
    if second is None:
        return None
    event = replace(event, status="passes") if passes and event.command else event
    if link in {"before", "prior to"}:
        if event.asks:
            return AsksBefore(second)
        return Before(event, second) if not second.done else After(_ANY_EDIT, event)
    if link in {"after", "once", "every time", "each time"}:
        return After(second, event)
    if link in {"when", "whenever", "if", "while"}:
        if second.done:
            return After(_ANY_EDIT, event) if _since(event) else Does(event)
        return After(second, event) if event.command and _since(event) else Does(event, when=second)
    return None


def _since(event: Event) -> Event | None:
    """What makes a check of files stale."""
    known = {
        pattern[0]
        for name in ("tests", "lint", "format", "typecheck", "build")
        for text in groups()[name]
        for pattern in patterns_of(text)
    }
    if not event.command:
        return None
    is_check = set(event.command) & _STALE or any(
        pattern[0] in known for text in event.command for pattern in patterns_of(text)
    )
    return _ANY_EDIT if is_check else None


def _plain(said: str) -> Check | None:  # noqa: PLR0911 - one return a form
    barred = _NOT.match(said)
    if barred is not None:
        rest = said[barred.end() :]
        if re.match(r"commit\w*\b", rest, re.IGNORECASE) and not _COMMITS_ALONE.match(rest):
            return None
        options = [one for one in codes_of(rest) if re.fullmatch(r"--?[A-Za-z][\w-]*", one)]
        if options and "--no-verify" not in options and len(options) == len(codes_of(rest)):
            return Never(Event(command=tuple(f"* {one}" for one in options)))
        event = event_of(rest)
        if (
            event is None
            or event.done
            or event.asks
            or re.search(r"(?<!\w)(?:full|whole|entire|all)(?: \w+)? tests?", rest)
        ):
            return None
        if event.command and is_path(codes_of(rest)[0] if codes_of(rest) else "") and not commands_in(rest):
            return None
        return Never(event)
    bare = _LEAD.sub("", said)
    is_strong = bare != said or re.match(r"(?:run|use|execute|update|read|create|write)\b", said, re.IGNORECASE)
    event = event_of(bare)
    if event is None or not is_strong or event.done or event.asks or (event.edits and "**" in event.edits):
        return None
    if re.search(r"(?<!\w)(?:never|not|forbidden|only)(?!\w)", bare):
        return None
    if re.match(r"(?:run|execute|use)\b", bare, re.IGNORECASE) and event.command:
        return Does(event)
    if re.match(r"(?:update|add|write|create|maintain|keep)\b", bare, re.IGNORECASE) and event.edits:
        return Does(event)
    if re.search(r"(?<!\w)(?:must|should) pass(?!\w)", said, re.IGNORECASE) and event.command:
        return After(_ANY_EDIT, Event(command=event.command, status="passes"))
    return Does(event) if re.match(r"read\b", bare, re.IGNORECASE) and event.reads else None


__all__ = ["clause_check"]
