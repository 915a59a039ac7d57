"""Compile a rule file: each statement that tells the agent what to do becomes a rule, with a check if one is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from adhere.rules.checks.spec import MUST_FIELDS, Check, Does, Event, Instead, Never, Rule
from adhere.rules.compile.clauses import clause_check
from adhere.rules.compile.events import paths_in
from adhere.rules.compile.statements import Statement, statements_of
from adhere.rules.compile.texts import text_check

Modality = Literal["must", "should", "may"]
_CLAUSES = re.compile(
    r"\s+[-–—]\s+(?=(?:never|do not|don't) )|;\s+|,? and (?=(?:don't|do not|never) )|, (?=(?:never|do not|don't) )"
)
_DEPENDS = re.compile(
    r"\(|(?:otherwise|then|if that|in that case|else|instead|if not|if so|if yes|if none)\b", re.IGNORECASE
)
"""Matches the beginning of a sentence that depends on the sentence before it."""
_OWN = re.compile(r"(?<!\w)(?:always|never|must|do not|don't|avoid)(?!\w)", re.IGNORECASE)
"""Matches words that make a later part of a sentence a rule of its own."""
_BACK = re.compile(r"(?<!\w)(?:it|them|this|that|these|instead|one|so)(?!\w)", re.IGNORECASE)
"""Matches words that point back to what was said before, so that a part of a sentence is no rule of its own."""
_CONDITION = re.compile(
    r"(?:if|when|unless|where|once)\b|.*(?:fail\w*|errors?|unsure|timing out)\"?(?:: |$)", re.IGNORECASE
)
_TAIL = re.compile(
    r"\s+[-–—→]\s+|\s->\s|;\s|,? (?:because|since (?:it|they|this)|so that|in order to|to (?:avoid|prevent))\b|, (?:as|so|which|otherwise|prefer|use|instead)\b| as (?:it|they|this|these)\b",
    re.IGNORECASE,
)
"""Matches the beginning of a rule's reason, or of what to do instead."""
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
    """Compile a rule file, the files that it imports, and rule files in folders below into rules, in order.

    Raises:
        SpecError: See `statements_of`.
    """
    return compile_statements(statements_of(path, root=root))


def compile_statements(statements: Iterable[Statement]) -> tuple[Rule, ...]:
    """Return the rules among statements; a statement that tells the agent nothing to do is left out."""
    rules: list[Rule] = []
    names: set[str] = set()
    for statement in statements:
        checks = checks_of(statement)
        if not checks and not tells(statement.text, statement.lead, statement.code):
            continue
        modality = _modality(f"{statement.lead} {statement.text}")
        for check in checks or [None]:
            why = "" if check is not None else UNDECIDED
            rules.append(
                Rule(
                    _name(statement.text, names),
                    statement.text,
                    statement.file,
                    statement.line,
                    check,
                    why,
                    statement.scope,
                    modality,
                )
            )
    return tuple(rules)


def tells(text: str, lead: str = "", code: str = "") -> bool:
    """Tell whether a statement tells the agent to do something.

    `lead` is the sentence with a colon above its list, `code` the block of code below it.
    """
    words = re.findall(r"[A-Za-z'’]+", re.sub(r"`[^`]*`", " ", text))
    if (text.endswith(":") and not code) or (len(words) < 2 and not (lead and _TELLS.search(lead))):
        return False
    if _DESCRIBES.match(text) and not _TELLS.search(text):
        return False
    if lead and re.search(r"(?<!\w)(?:never|do not|don't|avoid|must|always|should|not)(?!\w)", lead, re.IGNORECASE):
        return True
    return bool(_TELLS.search(text)) or (bool(words) and words[0].lower() in _VERBS)


def checks_of(statement: Statement) -> Sequence[Check | None]:
    """Return the checks of a statement; a statement that requires several commands has one for each.

    Empty if no check is known. None among them stands for a part of the statement that no check covers.
    """
    if (
        (_DESCRIBES.match(statement.text) and not _TELLS.search(statement.text))
        or _DEPENDS.match(statement.text)
        or _CONDITION.match(statement.behind)
    ):
        return []
    text = f"{_without_brackets(statement.text)} {statement.code}".strip()
    whole = clause_check(text)
    if isinstance(whole, Instead):
        return [whole]
    clauses = [part for part in _CLAUSES.split(text) if part.strip()]
    if (
        len(clauses) > 1
        and not re.search(" on `?main", text)
        and not re.search(r"(?:never|not|don't) (?:in|on|at|with|for|just) ", text)
    ):
        part_checks = [(part.strip(), checks_of(statement._replace(text=part.strip(), code=""))) for part in clauses]
        is_open = any(
            not checks and tells(part) and not re.search(_BACK, part) and (not number or _OWN.search(part))
            for number, (part, checks) in enumerate(part_checks)
        )
        loose = [
            statement
            for statement in part_checks[0][1]
            if isinstance(statement, Does) and re.match(r"use\b", text, re.IGNORECASE)
        ]
        all_checks = [check for _, checks in part_checks for check in checks]
        firm_checks = (
            [check for check in all_checks if check not in loose]
            if any(checks for _, checks in part_checks[1:])
            else all_checks
        )
        return [*firm_checks, None] if firm_checks and is_open else firm_checks
    for reading in _readings(statement._replace(text=text)):
        both = re.match(
            r"(?:never|do not|don't|must not) read (?:or|and) (?:write|edit|modify|change)\w*(?: to)? (.+)",
            reading,
            re.IGNORECASE,
        )
        if both is not None and (paths := paths_in(both[1])):
            return [Never(Event(reads=paths)), Never(Event(edits=paths))]
        check = text_check(reading, heading=statement.heading) or clause_check(reading)
        if check is not None:
            return _apart(check, reading)
    return []


def _apart(check: Check, text: str) -> list[Check]:
    """Return a check for each command or file that is required, where a statement joins them by `and`."""
    name = MUST_FIELDS.get(type(check), "")
    is_joined = re.search(r"`,? (?:and|then|and then|\+) `|`, `", text) and " or `" not in text
    if not name or not is_joined:
        return [check]
    event = getattr(check, name)
    field = next((candidate for candidate in ("command", "reads", "edits") if len(getattr(event, candidate)) > 1), "")
    names = getattr(event, field) if field else ()
    if not names or any(target.startswith(("!", "**/")) for target in names):
        return [check]
    return [replace(check, **{name: replace(event, **{field: (target,)})}) for target in names]


def _core(text: str) -> str:
    """Return a statement without its reason and without what to do instead; code stays whole."""
    tail = _TAIL.search(_mask_code(text), 1)
    return (text[: tail.start()] if tail else text).strip()


def _mask_code(text: str) -> str:
    """Return a text, as long as before, with every letter of its code replaced by x."""
    return re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", text)


def _without_brackets(text: str) -> str:
    """Return a text without its parts in round brackets, except in code and except `(not …)`."""
    for bracket in reversed(list(re.finditer(r"\s*(?<!\w)\((?!not\b)[^()]*\)", _mask_code(text)))):
        if bracket.start():
            text = text[: bracket.start()] + text[bracket.end() :]
    return text


def _readings(statement: Statement) -> Iterator[str]:
    """Yield the texts in which to look for a check: the statement without its label, or joined with its lead.

    The lead is the sentence with a colon above the list, or the section's heading if that forbids or asks.
    """
    label = r"^(?:important|note|critical|warning|rule|mandatory|reminder|must|tip)\s*[:!-]\s*"
    text = _core(re.sub(label, "", statement.text, flags=re.IGNORECASE))
    text = re.sub(r"^\W*?(?=[\w`\"“])", "", text, count=1)
    lead, title = (re.sub(r"^[^\w]+|[^\w]+$", "", phrase) for phrase in (statement.lead, statement.heading))
    is_telling = re.fullmatch(f"{_BARRING_TITLE}|{_ASKING_TITLE}", title, re.IGNORECASE)
    lead = lead or (title if is_telling else "")
    is_barred = re.match(r"(?:never|do not|don't|avoid|must not|mustn't)\b", text, re.IGNORECASE)
    if re.fullmatch(_ASKING_TITLE, lead, re.IGNORECASE):
        yield f"Ask before {text[0].lower()}{text[1:]}"
        return
    barring = rf"(?:you )?(?:{_BARRING_TITLE}|never|do not|don't|avoid|must not|must never)\b"
    if re.match(barring, lead, re.IGNORECASE) and not is_barred:
        is_verb = re.search(
            r"(?:edit|modify|touch|change|run|use|commit)(?: these| the following| any of these)?(?: \w+ly)?$",
            re.split(r"\s+[-–—]\s+", lead)[0],
        )
        yield f"Never {is_verb[0].split()[0]} {text}" if is_verb else f"Never {text[0].lower()}{text[1:]}"
        return
    yield text
    if lead and re.match(r"(?:before|after|when|whenever)\b", lead, re.IGNORECASE):
        yield f"{lead}, {text[0].lower()}{text[1:]}"
    behind = re.split(r"\s[-–—]\s", statement.text, maxsplit=1)[1:]
    if behind and re.match(r"(?:always )?run `", behind[0], re.IGNORECASE):
        yield _core(behind[0])
    label, mark, rest = text.partition(": ")
    if (
        mark
        and "`" not in label
        and not re.match(r"(?:if|when|for)\b", label, re.IGNORECASE)
        and (len(label.split()) <= 4 or re.match(r"(?:never|always|use|do not|don't|no|run)\b", rest))
    ):
        yield rest


_BARRING_TITLE = r"never(?: do)?|do not|don'?ts?|don’ts?|avoid|forbidden|not allowed|must not|no-gos?|prohibited|what not to do|common mistakes(?: to avoid)?|anti-?patterns?"
_ASKING_TITLE = r"ask first|ask before(?: doing)?|(?:requires?|needs?) (?:approval|permission|confirmation)|ask (?:for )?(?:permission|approval|confirmation)"


def _modality(text: str) -> Modality:
    return (
        "should"
        if _SHOULD.search(text)
        else "may"
        if _MAY.search(text) and not re.search(r"(?:must|never|not)", text)
        else "must"
    )


def _name(text: str, names: set[str]) -> str:
    """Return an id made of the statement's first words, and add it to `names`."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    stop = frozenset("the a an to of in and or be is are you your it that this must should".split())
    base = "-".join([word for word in words if word not in stop][:6]) or "rule"
    name, number = base[:60], 2
    while name in names:
        name, number = f"{base[:56]}-{number}", number + 1
    names.add(name)
    return name
