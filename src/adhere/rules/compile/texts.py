"""Statements about texts as checks: replies, written files, commit messages, names of branches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from adhere.rules.checks.spec import Check, Event, Never, Text
from adhere.rules.compile.events import codes_of, is_command, is_path, paths_in
from adhere.schema import ConstraintRef

Of = Literal["replies", "final", "files", "commits", "branches"]
_NUMBERS = {word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NUMBER = rf"(\d[\d,]*|{'|'.join(_NUMBERS)})"
_LIMIT = re.compile(
    rf"(?:(?:under|below|within|at most|up to|no (?:more|longer) than|not (?:exceed|more than|longer than)|fewer than|less than|shorter than|max(?:imum)?(?: of)?|limit\w*(?: \w+){{0,4}} to|exceed(?:s|ing)?|over|longer than|more than|keep to|<=?|≤)\s*)+{_NUMBER}\s*-?\s*(words?|sentences?|lines?|characters?|chars?|columns?|paragraphs?|bullets?|bullet points)"
    rf"|{_NUMBER}\s*-?\s*(words?|sentences?|lines?|characters?|chars?|columns?|paragraphs?) (?:or (?:fewer|less)|max(?:imum)?|at most|limit)",
    re.IGNORECASE,
)
_LANGUAGES = "English German French Spanish Italian Portuguese Dutch Polish Russian Japanese Chinese Korean Turkish Arabic Hindi Swedish".split()
_REPLIES = re.compile(
    r"(?<!\w)(?:repl(?:y|ies)|respon(?:d|se|ses)|answers?|messages? to (?:the user|me)|summar(?:y|ies)|explanations?|chat|talk(?:ing)? to|(?:final )?reports?|say|tone)(?!\w)",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"(?<!\w)(?:(?:final|closing|last) (?:repl(?:y|ies)|responses?|answers?|messages?|reports?|summar(?:y|ies))|reports?|summar(?:y|ies)|when (?:you(?:'re| are) )?(?:done|finished)|at the end of (?:a|the|each|every) (?:task|turn))",
    re.IGNORECASE,
)
_COMMITS = re.compile(
    r"(?<!\w)commit(?:s| messages?| titles?| subjects?)(?!\w)|(?:subject|title) lines?", re.IGNORECASE
)
_BRANCHES = re.compile(r"(?<!\w)branch(?:es)?(?: names?)?(?!\w)", re.IGNORECASE)
_FILES = re.compile(
    r"(?<!\w)(?:code|files?|comments?|source|functions?|docs|documentation|readme|modules?|lines?|components?|tests?)(?!\w)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"(?<!\w)(?:never|no|not|don't|do not|don’t|avoid|without|must not|mustn't|should not|shouldn't|cannot|refrain from|forbidden|banned|prohibited|ban)(?!\w)",
    re.IGNORECASE,
)
_CODE_FILES = (
    "**/*.py",
    "**/*.ts",
    "**/*.tsx",
    "**/*.js",
    "**/*.jsx",
    "**/*.go",
    "**/*.rs",
    "**/*.java",
    "**/*.kt",
    "**/*.rb",
    "**/*.c",
    "**/*.cc",
    "**/*.cpp",
    "**/*.h",
    "**/*.cs",
    "**/*.php",
    "**/*.swift",
    "**/*.vue",
    "**/*.svelte",
    "**/*.scala",
    "**/*.sh",
    "**/*.sql",
)
_LANGUAGE_FILES = {
    "python": ("**/*.py",), "typescript": ("**/*.ts", "**/*.tsx"), "javascript": ("**/*.js", "**/*.jsx"), "go": ("**/*.go",),
    "rust": ("**/*.rs",), "java": ("**/*.java",), "css": ("**/*.css",), "html": ("**/*.html",), "markdown": ("**/*.md",), "react": ("**/*.tsx", "**/*.jsx"),
}  # fmt: skip


def text_check(said: str, *, heading: str = "") -> Check | None:
    """The check of a statement about texts; None: it is not about one, or not one that a program decides."""
    of = _subject(said, heading)
    return next((check for make in _MAKERS if (check := make(said, of)) is not None), None)


def _subject(said: str, heading: str) -> Of | None:
    """Which texts a statement is about; None: it does not say."""
    said = re.sub(r"`[^`]*`|[\"“][^\"”]*[\"”]", lambda piece: piece[0] if is_path(piece[0].strip("`")) else " x ", said)
    for where in (said, heading):
        if _COMMITS.search(where) and not re.search(
            r"(?<!\w)(?:before|after|without) (?:\w+ )?commit", where, re.IGNORECASE
        ):
            return "commits"
        if _BRANCHES.search(where):
            return "branches"
        if _FINAL.search(where):
            return "final"
        if _REPLIES.search(where) or re.search(
            r"(?<!\w)(?:communicat|style of repl|responses?|tone|repl(?:y|ies)|answers?|messages?|talking|chat)",
            where,
            re.IGNORECASE,
        ):
            return "replies"
        if where is said and (_FILES.search(where) or paths_in(where)):
            return "files"
    return None


def _paths(said: str) -> tuple[str, ...]:
    named = paths_in(said)
    if named:
        return named
    language = next(
        (files for name, files in _LANGUAGE_FILES.items() if re.search(rf"(?<!\w){name}(?!\w)", said, re.IGNORECASE)),
        None,
    )
    if language:
        return language
    return (
        _CODE_FILES
        if re.search(r"(?<!\w)(?:code|comments?|source|functions?|components?)(?!\w)", said, re.IGNORECASE)
        else ("**",)
    )


def _emoji_and_marks(said: str, of: Of | None) -> Check | None:
    """No emoji, headings, tables, bullets, blocks of code."""
    if not _NOT.search(said):
        return None
    if re.search(r"(?<!\w)exclamation (?:marks?|points?)", said, re.IGNORECASE) and of in {"replies", "final", None}:
        return Text(of=of or "replies", constraint=ConstraintRef("punctuation:no_exclamation"))
    things = {
        "emoji": r"emojis?",
        "headings": r"headings?|headers",
        "tables": r"tables?",
        "bullets": r"bullet(?:s|[- ]points?)|bulleted lists?|bullet lists?",
        "code": r"code blocks?",
    }
    named = tuple(
        name for name, pattern in things.items() if re.search(rf"(?<!\w)(?:{pattern})(?!\w)", said, re.IGNORECASE)
    )
    if (
        not named
        or re.search(r"(?<!\w)(?:sql|database|db|http|request) (?:tables?|headers?)", said, re.IGNORECASE)
        or (named != ("emoji",) and of not in {"replies", "final"})
    ):
        return None
    return Text(of=of or "replies", no=named, paths=_paths(said) if of == "files" else ("**",))  # type: ignore[arg-type]


def _limits(said: str, of: Of | None) -> Check | None:
    match = _LIMIT.search(said)
    if match is not None and of is None and "word" in match[0].lower():
        of = "final"
    if match is None or of is None or re.search(r"(?<!\w)at least", said, re.IGNORECASE):
        return None
    digits = (match[1] or match[3]).replace(",", "").lower()
    limit = int(digits) if digits.isdigit() else _NUMBERS[digits]
    unit = (match[2] or match[4]).lower()
    if re.search(rf"(?<!\w)(?:under|below|fewer than|less than|shorter than)\s*{_NUMBER}", match[0], re.IGNORECASE):
        limit -= 1
    if unit.startswith(("word", "sentence", "paragraph")):
        kinds = {"word": ("length:at_most", "limit"), "sente": ("compose", ""), "parag": ("compose", "")}
        kind, name = kinds[unit[:4] if unit.startswith("word") else unit[:5]]
        return (
            Text(of=of, constraint=ConstraintRef(kind, {name: limit}), paths=_paths(said)) if name and limit else None
        )
    if unit.startswith("line"):
        return Text(of=of, most_lines=limit, paths=_paths(said), at="final")
    if unit.startswith(("char", "column")):
        is_title = of == "commits" and not re.search(r"(?<!\w)body(?!\w)", said, re.IGNORECASE)
        whole = of in {"replies", "final"}
        return None if whole else Text(of=of, longest_line=limit, first_line=is_title, paths=_paths(said))
    return None


def _language(said: str, of: Of | None) -> Check | None:
    match = re.search(rf"(?<!\w)(?:in|use|using|speak|write) ({'|'.join(_LANGUAGES)})(?: only)?(?!\w)", said)
    if match is None or _NOT.search(said[: match.start()]):
        return None
    if of is None and not re.search(r"(?<!\w)(?:always|reply|respond|answer|write|communicate)", said, re.IGNORECASE):
        return None
    known = (
        "English",
        "German",
        "French",
        "Spanish",
        "Italian",
        "Portuguese",
        "Dutch",
        "Polish",
        "Russian",
        "Japanese",
        "Chinese",
        "Korean",
    )
    if of in {"files", "branches"} or match[1] not in known:
        return None
    try:
        return Text(of=of or "replies", constraint=ConstraintRef("language:answer_in", {"language": match[1]}))
    except ValueError:
        return None


def _ends(said: str, of: Of | None) -> Check | None:
    """Begin or end with a text."""
    pieces = [one for one in [*codes_of(said), *re.findall(r"[\"“]([^\"”]+)[\"”]", said)] if one]
    begins = re.search(
        r"(?<!\w)(?:begin|start|prefix|open)(?:s|ed|ing)?(?: each| every| all| your| it| them| the)?(?: \w+){0,4}? with(?!\w)|(?<!\w)must be prefixed|(?<!\w)prefix(?:ed)?(?!\w)|(?<!\w)branch\w*(?: names?)? (?:must|should) be (?:named|called)(?!\w)",
        said,
        re.IGNORECASE,
    )
    ends = re.search(
        r"(?<!\w)(?:end|finish|close|conclude|sign off)(?:s|ed|ing)?(?: each| every| all| your| it| them| the)?(?: \w+){0,4}? with(?!\w)",
        said,
        re.IGNORECASE,
    )
    if not pieces or of in {None, "files"} or not (begins or ends):
        return None
    if of == "commits" and "conventional" in said.lower():
        return None
    is_barred = _NOT.search(said) is not None
    if re.search(r"(?<!\w)(?:such as|like|e\.g\.|for example)(?!\w)", said, re.IGNORECASE):
        return (
            Text(of="commits", shape="ticket")
            if of == "commits" and re.search(r"(?<!\w)(?:ticket|issue|jira)", said, re.IGNORECASE)
            else None
        )
    texts = tuple(re.sub(r"<[^>]*>$|\{[^}]*\}$|\.{3}$|…$|\*+$", "", one) for one in pieces)
    if is_barred and begins:
        return (
            None
            if of == "branches"
            else _phrase(
                of,
                texts,
                ConstraintRef("startend:first_word", {"word": texts[0]}) if " " not in texts[0] else None,
            )
        )
    of = "final" if of == "replies" else of
    return Text(of=of, begins=texts if begins else (), ends=texts if ends and not begins else ())


def _phrase(of: Of, texts: tuple[str, ...], constraint: ConstraintRef | None) -> Check | None:
    if constraint is not None:
        return Text(of=of, constraint=constraint, must="fail")
    return Text(of=of, without=texts, words=True)


def _shapes(said: str, of: Of | None) -> Check | None:  # noqa: PLR0911 - one return a shape
    low = said.lower()
    if re.search(r"(?<!\w)conventional[ -]commits?(?!\w)", low) and not _NOT.search(said):
        return Text(of="commits", shape="conventional", first_line=True)
    prefixes = [re.split(r"…|<|\*|\{|\.\.\.", one)[0] for one in codes_of(said) if "/" in one]
    form = next((one for one in codes_of(said) if re.match(r"<?[a-z]+>?(?:\(<?\w+>?\))?!?: \S", one)), None)
    if form is not None and (of == "commits" or re.match(r"messages?\b", low)) and not _NOT.search(said):
        is_type = form.lstrip("<").startswith("type")
        return Text(of="commits", shape="conventional", first_line=True) if is_type else None
    if of == "branches" and prefixes and all(prefixes) and not _NOT.search(said):
        return Text(of="branches", begins=tuple(prefixes))
    if of == "branches" and "kebab" in low:
        return Text(of="branches", shape="kebab")
    if of == "branches" and ("snake_case" in low or "snake case" in low):
        return Text(of="branches", shape="snake")
    if (
        of == "commits"
        and re.search(
            r"(?:reference|include|mention|contain|name|link)\w* (?:the |an? |its )?(?:related )?(?:issue|ticket|jira)",
            low,
        )
        and not _NOT.search(said)
    ):
        return Text(of="commits", shape="ticket")
    if of == "commits" and re.search(
        r"(?:no|not|without|omit)(?: end (?:\w+ )?with)?(?: an?| the)?(?: trailing)? (?:period|full stop)", low
    ):
        return Text(of="commits", shape="imperative-ending", first_line=True)
    if of == "commits" and re.search(r"lower[- ]?case", low) and not _NOT.search(said):
        return Text(of="commits", constraint=ConstraintRef("case:lower"), first_line=True)
    if of == "commits" and re.search(r"capitali[sz]", low) and not _NOT.search(said):
        return Text(of="commits", shape="capital", first_line=True)
    return None


def _forbidden_words(said: str, of: Of | None) -> Check | None:  # noqa: PLR0911 - one return a form
    """Texts in code or quotes that must not stand in replies, messages or files."""
    quoted = re.findall(r"[\"“]([^\"”]{2,80})[\"”]", said)
    codes = [one for one in codes_of(said) if len(one) > 1]
    barred = _NOT.search(said)
    if barred is None or re.search(
        r"(?<!\w)(?:unless|instead of|rather than|before|without asking|until)(?!\w)", said, re.IGNORECASE
    ):
        return None
    verb = re.match(r"(?:never|no) `", said, re.IGNORECASE) or re.search(
        r"(?<!\w)(?:us(?:e|ing)|call(?:ing)?|apologi[sz]e|say(?:ing)?|writ(?:e|ing)|add(?:ing)?|includ(?:e|ing)|put(?:ting)?|leav(?:e|ing)|contain\w*|mention\w*|introduc\w*|commit(?:ting)?|words?|phrases?|apologi[sz]e|no)(?!\w)",
        said,
        re.IGNORECASE,
    )
    if re.search(r"(?<!\w)apologi[sz]", said, re.IGNORECASE):
        return Text(of="replies", without=("sorry", "apologies", "apologize", "apologise"), words=True)
    if verb is None or ("`" in said and barred.start() > said.index("`")):
        return None
    if of is None and quoted and re.search(r"(?<!\w)(?:say|mention|words?|phrases?|write)(?!\w)", said, re.IGNORECASE):
        of = "replies"
    if of in {"replies", "final", "commits"} and (quoted or codes):
        return Text(of=of, without=tuple(quoted or codes), words=True)
    if re.search(r"(?<!\w)(?:commit|push|work)\w* (?:directly )?(?:on|to)(?!\w)", said, re.IGNORECASE):
        return None
    plain = [
        one
        for one in codes
        if not is_command(one) and not is_path(one) and re.search(r"[A-Za-z]{2}", one) and not one.startswith("-")
    ]
    codes = [one for one in codes if not is_path(one)]
    if (
        plain
        and len(plain) == len(codes)
        and not quoted
        and re.search(
            r"us(?:e|ing)|call|never `|writ|add|includ|put|leav|contain|introduc|commit|no ", said, re.IGNORECASE
        )
    ):
        if all(re.fullmatch(r"[A-Za-z]\w*", one) and one[0].isupper() and one[1:].islower() for one in plain):
            return (
                Never(Event(tool=tuple(plain)))
                if re.search(r"(?<!\w)tools?(?!\w)", said, re.IGNORECASE)
                else Text(
                    of="files",
                    paths=_paths(said) if _paths(said) != ("**",) else _CODE_FILES,
                    without=tuple(plain),
                    words=True,
                )
            )
        files = _paths(said)
        is_word = all(re.fullmatch(r"\w+", one) for one in plain)
        return Text(of="files", paths=_CODE_FILES if files == ("**",) else files, without=tuple(plain), words=is_word)
    if re.search(r"(?<!\w)(?:TODO|FIXME|XXX)s?(?!\w)", said):
        return Text(of="files", without=tuple(re.findall(r"TODO|FIXME|XXX", said)))
    return None


def _co_author(said: str, of: Of | None) -> Check | None:
    if (
        re.search(r"co-?authored?(?:-by)?|attribution|\"?generated with", said, re.IGNORECASE)
        and _NOT.search(said)
        and of in {"commits", None}
    ):
        return Text(of="commits", without=("Co-Authored-By", "Co-authored-by", "Generated with"))
    return None


def _short_subject(said: str, of: Of | None) -> Check | None:
    if (
        of in {"replies", "final"}
        and re.search(r"(?<!\w)(?:one|a single) (?:sentence|line)(?!\w)", said, re.IGNORECASE)
        and re.search(r"(?<!\w)(?:in|with|to|only)(?!\w)", said)
    ):
        return (
            Text(of=of, constraint=ConstraintRef("length:sentences", {"count": 1}))
            if "sentence" in said.lower()
            else Text(of=of, most_lines=1)
        )
    return None


_MAKERS: tuple[Callable[[str, Of | None], Check | None], ...] = (
    _co_author, _shapes, _emoji_and_marks, _limits, _language, _ends, _short_subject, _forbidden_words,
)  # fmt: skip


__all__ = ["text_check"]
