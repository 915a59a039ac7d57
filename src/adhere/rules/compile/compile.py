"""A rule file as rules: each statement that tells the agent to do something, with a check where a program decides it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from adhere.rules.checks.spec import After, Before, Check, Does, Event, Instead, Never, Rule
from adhere.rules.compile.clauses import clause_check
from adhere.rules.compile.events import paths_in
from adhere.rules.compile.statements import Statement, statements_of
from adhere.rules.compile.texts import text_check

Modality = Literal["must", "should", "may"]
_CLAUSES = re.compile(r";\s+|,? and (?=(?:don't|do not|never|no) )|, (?=(?:never|do not|don't) )")
UNDECIDED = "no program decides this; a person or a model has to read it"
_SHOULD = re.compile(
    r"(?<!\w)(?:should|prefer|try to|ideally|aim|recommend\w*|when possible|where possible|if possible|consider|generally|favor|favour)(?!\w)",
    re.IGNORECASE,
)
_MAY = re.compile(r"(?<!\w)(?:may|can|optional\w*|feel free|allowed to|you could)(?!\w)", re.IGNORECASE)
_TELLS = re.compile(
    r"(?<!\w)(?:always|never|must|should|shall|do not|don't|don’t|avoid|prefer|ensure|make sure|required?|only|forbidden|not allowed|cannot|before|after|whenever|no longer|mandatory|refrain|instead of|rather than|need to|have to|remember|needs?|when you|if you|also update)(?!\w)",
    re.IGNORECASE,
)
_VERBS = frozenset(
    "add ask avoid be begin break build call check choose commit confirm consider copy create cut define delete describe do document edit end ensure "
    "explain export extract fetch fix follow format generate give handle have implement import include inform inline install keep leave limit lint "
    "load log look maintain make mark match mention mock move name note open order organize pass pin place prefer prefix preserve provide push put quote read "
    "refactor reference remove rename reply report request respond restart return reuse review run save say search separate set show sign skip split start "
    "state stay stick stop store structure summarize test treat try type update use validate verify wait work wrap write tag speak answer document always never no not".split()
)
_DESCRIBES = re.compile(
    r"^(?:this|the|it|we|our|there|these|that|a|an|its|see)\b(?!.*(?<!\w)(?:must|never|should|always|not|only|read[- ]only|generated|off[- ]limits)(?!\w))",
    re.IGNORECASE,
)


def compile_file(path: Path, *, root: Path | None = None) -> tuple[Rule, ...]:
    """Read a rule file, what it imports, and files of its sort in folders below, as rules in order.

    Raises:
        SpecError: See `statements_of`.
    """
    return compile_statements(statements_of(path, root=root))


def compile_statements(statements: Iterable[Statement]) -> tuple[Rule, ...]:
    """Return the rules among statements; what tells the agent nothing is none."""
    rules: list[Rule] = []
    names: set[str] = set()
    for one in statements:
        checks: list[Check | None] = [*checks_of(one)]
        if not checks and not tells(one.text, one.lead):
            continue
        modality = _modality(f"{one.lead} {one.text}")
        for check in checks or [None]:
            why = "" if check is not None else UNDECIDED
            rules.append(Rule(_name(one.text, names), one.text, one.file, one.line, check, why, one.scope, modality))
    return tuple(rules)


def tells(text: str, lead: str = "") -> bool:
    """Tell whether a statement tells somebody to do something."""
    words = re.findall(r"[A-Za-z'’]+", re.sub(r"`[^`]*`", " ", text))
    if text.endswith(":") or (len(words) < 2 and not (lead and _TELLS.search(lead))):
        return False
    if _DESCRIBES.match(text) and not _TELLS.search(text):
        return False
    if lead and re.search(r"(?<!\w)(?:never|do not|don't|avoid|must|always|should|not)(?!\w)", lead, re.IGNORECASE):
        return True
    return bool(_TELLS.search(text)) or (bool(words) and words[0].lower() in _VERBS)


def checks_of(one: Statement) -> list[Check]:
    """The checks of a statement; one that requires several commands has one for each. Empty: none that we know."""
    if _DESCRIBES.match(one.text) and not _TELLS.search(one.text):
        return []
    clauses = [part for part in _CLAUSES.split(one.text) if part.strip()]
    if (
        len(clauses) > 1
        and not isinstance(clause_check(one.text), Instead)
        and " on `main`" not in one.text
        and " on main" not in one.text
    ):
        parts = [checks_of(one._replace(text=part.strip())) for part in clauses]
        loose = [check for check in parts[0] if isinstance(check, Does) and re.match(r"use\b", one.text, re.IGNORECASE)]
        return [check for part in parts for check in part if check not in loose]
    for said in _readings(one):
        both = re.match(
            r"(?:never|do not|don't|must not) read (?:or|and) (?:write|edit|modify|change)\w*(?: to)? (.+)",
            said,
            re.IGNORECASE,
        )
        if both is not None and (paths := paths_in(both[1])):
            return [Never(Event(reads=paths)), Never(Event(edits=paths))]
        check = text_check(said, heading=one.heading) or clause_check(said)
        if check is not None:
            return _apart(check, said)
    return []


def _apart(check: Check, said: str) -> list[Check]:
    """A check for each command that is required, where a statement joins them by `and`."""
    name = {Before: "first", After: "then", Does: "event"}.get(type(check))
    event = getattr(check, name) if name is not None else None
    if (
        event is None
        or len(event.command) < 2
        or not re.search(r"`,? (?:and|then|and then) `|`, `", said)
        or " or `" in said
    ):
        return [check]
    return [replace(check, **{str(name): replace(event, command=(one,))}) for one in event.command]


def _readings(one: Statement) -> Iterator[str]:
    """The statement alone, behind the sentence that its list stands under, and without a condition's label."""
    text = re.sub(
        r"^(?:important|note|critical|warning|rule|mandatory|reminder|must|tip)\s*[:!-]\s*",
        "",
        one.text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\s*\((?:[^()`]*)\)\s*$", "", text)
    lead = one.lead.rstrip(": ")
    if not lead and re.fullmatch(
        r"(?:never|do not|don't|don’t|avoid|forbidden|not allowed|must not|no-gos?|prohibited|what not to do)[.!:]?",
        one.heading,
        re.IGNORECASE,
    ):
        lead = "Never"
    if (
        lead
        and re.match(r"(?:never|do not|don't|avoid|you must not|must not|must never)\b", lead, re.IGNORECASE)
        and not re.match(r"(?:never|do not|don't|avoid)\b", text, re.IGNORECASE)
    ):
        yield (
            f"Never {text[0].lower()}{text[1:]}"
            if not re.search(r"(?:edit|modify|touch|change|run|use|commit)\w*$", lead, re.IGNORECASE)
            else f"{lead} {text}"
        )
        return
    yield text
    if lead and re.match(r"(?:before|after|when|whenever)\b", lead, re.IGNORECASE):
        yield f"{lead}, {text[0].lower()}{text[1:]}"
    label, mark, rest = text.partition(": ")
    if (
        mark
        and "`" not in label
        and (len(label.split()) <= 4 or re.match(r"(?:never|always|use|do not|don't|no|run)\b", rest))
    ):
        yield rest


def _modality(text: str) -> Modality:
    return (
        "should"
        if _SHOULD.search(text)
        else "may"
        if _MAY.search(text) and not re.search(r"(?:must|never|not)", text)
        else "must"
    )


def _name(text: str, taken: set[str]) -> str:
    """An id of the statement's first words."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    stop = frozenset("the a an to of in and or be is are you your it that this must should".split())
    base = "-".join([word for word in words if word not in stop][:6]) or "rule"
    name, number = base[:60], 2
    while name in taken:
        name, number = f"{base[:56]}-{number}", number + 1
    taken.add(name)
    return name


__all__ = ["UNDECIDED", "checks_of", "compile_file", "compile_statements", "tells"]
