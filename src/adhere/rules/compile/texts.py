"""Compile statements about texts: replies, written files, commit messages, pull requests, names of branches."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from adhere.rules.checks.spec import Check, Event, Never, Of, Text
from adhere.rules.compile.events import (
    TESTS,
    codes_of,
    is_command,
    is_path,
    language_files,
    paths_in,
    pattern,
    says,
    things,
)
from adhere.schema import ConstraintRef

_NUMBERS = {word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_LANGUAGES = "English|German|French|Spanish|Italian|Portuguese|Dutch|Polish|Russian|Japanese|Chinese|Korean"
_NOT = "never|no|not|don't|do not|don’t|avoid|without|must not|mustn't|should not|shouldn't|cannot|refrain from|forbidden|banned|prohibited|ban"
_CODE_FILES = ("**", "!*.md", "!*.mdx", "!*.txt", "!*.rst")
_THINGS = {
    "emoji": "emojis?", "headings": "headings?|headers", "tables": "(?<!sql )(?<!database )(?<!db )tables?",
    "bullets": "bullet(?:s|[- ]points?)|bulleted lists?|bullet lists?", "code": "code blocks?",
}  # fmt: skip
_TYPES = {
    name: (f": {name}", f"as {name}", f"<{name}>", f"{name}[]", f"<{name},", f", {name}>")
    for name in ("any", "unknown")
}
"""Patterns of a TypeScript type where code uses it as a type."""
_ITEM = r"(?:`[^`]+`|[\"“][^\"”]{2,80}[\"”]|(?-i:[A-Z]\w+\.[A-Z]\w+))"
_ITEMS = rf"{_ITEM}(?:(?:,| or| and| nor|/| /)+ ?{_ITEM})*"
_BARRED_ITEMS = re.compile(
    r"(?P<verb>us(?:e|ing)|call(?:ing)?|say(?:ing)?|writ(?:e|ing)|add(?:ing)?|includ(?:e|ing)|put(?:ting)?|leav(?:e|ing)|introduc(?:e|ing)|commit(?:ting)?|emit|mention|"
    r"(?:suppress|silence|ignore|disable|hide)\w* (?:\w+ ){1,6}(?:with|by|using|through))?\s*(?:(?:a|an|the|any|bare|inline|raw|new|word|words|phrase|phrases)\s+)*"
    rf"(?P<items>{_ITEMS})(?P<tail>.*)",
    re.IGNORECASE,
)
_USED_NOT = re.compile(
    rf"(?:(?:use|prefer|write|choose)\s+)?(?P<use>{_ITEMS}|(?<=use )[\w /-]{{2,40}}?)(?P<middle>(?: for [\w -]+)?),? ?\(?(?:instead of|rather than|not|over|never)\s+(?P<items>{_ITEMS})(?P<tail>.*)",
    re.IGNORECASE,
)
_KNOWN_TAIL = (
    "comments?|statements?|calls?|types?|keyword|lines?|fields?|headers?|headings?|assertions?|blocks?|anywhere|at all|directly|in|to|on|for|within|inside|the|a|an|your|any|all|"
    "new|production|application|code|codebase|source|files?|tests?|commits?|messages?|replies|responses?|answers?|final|chat|prs?|pull requests?|descriptions?|titles?|"
    r"python|typescript|javascript|ts|js|go|rust|java|react|or|and|\W+"
)


def text_check(text: str, *, heading: str = "") -> Check | None:
    """Return the check of a statement about texts; None if it is about none, or no program can decide it."""
    text = text.strip().rstrip(".!:")
    of = _subject(text, heading)
    return next((check for make in _MAKERS if (check := make(text, of)) is not None), None)


def _subject(text: str, heading: str) -> Of | None:
    """Return the sort of texts that a statement is about; None: it does not say."""
    text = re.sub(r"`[^`]*`|[\"“][^\"”]*[\"”]", lambda piece: piece[0] if is_path(piece[0].strip("`")) else " x ", text)
    subjects: tuple[tuple[Of, str], ...] = (
        ("pull_requests", "pr_text"), ("commits", "commit_text"), ("branches", "branch_text"), ("final", "final_text"),
        ("replies", "reply_text"),
    )  # fmt: skip
    for where in (text, heading):
        for of, name in subjects:
            if pattern(name).search(where) and not (
                of == "commits" and says(where, r"(?:before|after|without) (?:\w+ )?commit\w*")
            ):
                return of
        if where is text and (pattern("file_text").search(text) or paths_in(text)):
            return "files"
    return None


def _paths(text: str) -> tuple[str, ...]:
    if paths := paths_in(text):
        return paths
    files = language_files(text)
    if not files and says(text, "code|comments?|source|functions?|components?"):
        files = _CODE_FILES
    if says(text, "(?:production|application) code"):
        return (*files, *(f"!{glob}" for glob in TESTS))
    return tuple(TESTS) if says(text, "tests?") and not files else files or ("**",)


def _co_author(text: str, of: Of | None) -> Check | None:
    is_about = re.search(r"co-?authored?(?:-by)?|attribution|\"?generated with", text, re.IGNORECASE)
    if is_about and says(text, _NOT) and of in {"commits", None} and not says(text, "prs?|pull requests?"):
        return Text(of="commits", without=("Co-Authored-By", "Co-authored-by", "Generated with"))
    return None


def _things(text: str, of: Of | None) -> Check | None:
    """Compile a rule such as "no emoji in replies"; None if `text` is no such rule.

    The things are emoji, headings, tables, bullets, blocks of code and exclamation marks.
    """
    if not says(text, _NOT):
        return None
    if says(text, "exclamation (?:marks?|points?)") and of in {"replies", "final", None}:
        return Text(of=of or "replies", constraint=ConstraintRef("punctuation:no_exclamation"))
    prohibition = r"(?:no|never|without|avoid|not|don't|don’t)(?: (?:use|add|put|write|include|using|any|of|or|and|emojis?|tables?|headings?|bullet points?|bullets|in|the)\b,?)*"
    head = r"^(?:[\w']+[ :,]+){0,5}?"
    hits = {
        name: hit for name, words in _THINGS.items()
        if (hit := re.search(rf"{head}{prohibition} (?:\w+ )?(?:{words})(?!\w)", text, re.IGNORECASE))
    }  # fmt: skip
    if not hits or (list(hits) != ["emoji"] and of not in {"replies", "final"}):
        return None
    is_known = _is_known(text[max(hit.end() for hit in hits.values()) :])
    paths = _paths(text) if of == "files" else ("**",)
    return Text(of=of or "replies", no=tuple(hits), paths=paths, conditional=not is_known)  # type: ignore[arg-type]


def _limits(text: str, of: Of | None) -> Check | None:
    match = pattern("limit").search(text)
    if match is not None and of is None and "word" in match[0].lower():
        of = "final"
    if match is None or of is None or says(text, "at least"):
        return None
    digits = (match["number"] or match["number2"]).replace(",", "").lower()
    limit = int(digits) if digits.isdigit() else _NUMBERS[digits]
    unit = (match["unit"] or match["unit2"]).lower()
    limit -= says(match[0], "under|below|fewer than|less than|shorter than")
    if unit.startswith("word"):
        most = ConstraintRef("length:at_most", {"limit": limit})
        return Text(of=of, constraint=most, paths=_paths(text)) if limit else None
    if unit.startswith("line"):
        if says(text, "functions?|methods?|class(?:es)?|components?|blocks?|prs?|changes?|diffs?"):
            return None
        return Text(of=of, most_lines=limit, paths=_paths(text), at="final")
    if unit.startswith(("char", "column")) and of not in {"replies", "final"}:
        is_title = of in {"commits", "pull_requests"} and (not says(text, "body") or says(text, "subject|title"))
        return Text(of=of, longest_line=limit, first_line=is_title, paths=_paths(text))
    return None


def _language(text: str, of: Of | None) -> Check | None:
    match = re.search(rf"(?<!\w)(?:in|use|using|speak|write) ({_LANGUAGES})(?: only)?(?!\w)", text)
    if match is None or says(text[: match.start()], _NOT) or of in {"files", "branches"}:
        return None
    if of is None and not says(text, "reply|respond|answer|communicate|speak|talk"):
        return None
    return Text(of=of or "replies", constraint=ConstraintRef("language:answer_in", {"language": match[1]}))


def _ends(text: str, of: Of | None) -> Check | None:
    """Compile a rule that texts begin or end with given words; None if `text` is no such rule."""
    begins, ends = pattern("begins").search(text), pattern("ends").search(text)
    mark = begins or ends
    rest = text[mark.end() :] if mark is not None else ""
    pieces = [piece for piece in [*codes_of(rest), *re.findall(r"[\"“]([^\"”]+)[\"”]", rest)] if piece]
    is_other = of in {None, "files"} or (of == "commits" and "conventional" in text.lower())
    if not pieces or is_other or not (begins or ends):
        return None
    if says(text, r"such as|like|e\.g\.|for example"):
        return Text(of="commits", shape="ticket") if of == "commits" and says(text, "ticket|issue|jira") else None
    texts = tuple(re.sub(r"<[^>]*>$|\{[^}]*\}$|\.{3}$|…$|\*+$", "", piece) for piece in pieces)
    if not all(texts) or any("<" in piece for piece in texts):
        return None
    if says(text, _NOT) and begins:
        if of == "branches":
            return None
        word = ConstraintRef("startend:first_word", {"word": texts[0]})
        return Text(of=of, without=texts, words=True) if " " in texts[0] else Text(of=of, constraint=word, must="fail")  # type: ignore[arg-type]
    own: Of = "final" if of == "replies" else of  # type: ignore[assignment]
    return Text(of=own, begins=texts if begins else (), ends=texts if ends and not begins else ())


def _shapes(text: str, of: Of | None) -> Check | None:  # noqa: PLR0911 - one return a shape
    low = text.lower()
    if says(text, _NOT) and not (of == "commits" and pattern("no_stop").search(low)):
        return None
    form = next((code for code in codes_of(text) if re.match(r"<?[a-z]+>?(?:\(<?\w+>?\))?!?: \S", code)), None)
    is_form = (
        form is not None and form.lstrip("<").startswith("type") and (of == "commits" or re.match(r"messages?\b", low))
    )
    if is_form or (of != "branches" and pattern("conventional").match(text)):
        return Text(of="pull_requests" if of == "pull_requests" else "commits", shape="conventional", first_line=True)
    if of == "branches":
        if not re.match(r"(?:[\w']+[ :]+){0,4}?branch(?! coverage)", low):
            return None
        prefixes = [re.split(r"…|<|\*|\{|\.\.\.", code)[0] for code in codes_of(text) if "/" in code]
        if prefixes and all(prefixes):
            return Text(of="branches", begins=tuple(prefixes))
        shape = "kebab" if "kebab" in low else "snake" if re.search("snake[_ ]case", low) else ""
        return Text(of="branches", shape=shape) if shape else None
    if of == "commits":
        for shape, name in (("ticket", "names_ticket"), ("imperative-ending", "no_stop"), ("capital", "capitalized")):
            if pattern(name).search(low):
                return Text(of="commits", shape=shape, first_line=shape != "ticket")
        if re.search(r"^(?:\w+ ){0,6}lower[- ]?case", low):
            return Text(of="commits", constraint=ConstraintRef("case:lower"), first_line=True)
    return None


def _one_sentence(text: str, of: Of | None) -> Check | None:
    said_so = r"(?:repl\w*|respon\w*|answers?|messages?|summar\w*)\b.*(?<!\w)(?:in|with|to|only) (?:one|a single) (?:sentence|line)$"
    if of not in {"replies", "final"} or not re.search(said_so, text, re.IGNORECASE):
        return None
    if "sentence" in text.lower():
        return Text(of=of, constraint=ConstraintRef("length:sentences", {"count": 1}))
    return Text(of=of, most_lines=1)


def _address(text: str, _of: Of | None) -> Check | None:
    """Compile a rule such as `address me as "NAME"`; None if `text` is no such rule."""
    match = re.search(r"(?:address|call) me (?:as )?[\"“`]([^\"”`]+)[\"”`]", text, re.IGNORECASE)
    return Text(of="final", has=match[1], words=True) if match is not None and not says(text, _NOT) else None


def _forbidden_texts(text: str, of: Of | None) -> Check | None:  # noqa: PLR0911 - one return a form
    """Compile a rule that texts in code or quotes must not occur in replies, messages or files; None if it is none."""
    if says(text, _NOT) and re.search(r"(?<!\w)apologi[sz]", text, re.IGNORECASE):
        return Text(of="replies", without=("sorry", "apologies", "apologize", "apologise"), words=True)
    prohibition = pattern("not").match(text)
    if prohibition is None:
        use_not = _USED_NOT.match(pattern("lead").sub("", text))
        return _used_instead(use_not) if use_not is not None and of in {None, "files"} else None
    rest = text[prohibition.end() :]
    if pattern("todo").match(rest):
        return Text(of="files", without=tuple(re.findall("TODO|FIXME|XXX", rest)))
    match = _BARRED_ITEMS.match(rest)
    if match is None or says(match["tail"], "unless|instead of|rather than|before|until|without"):
        return None
    if not match["verb"] and (says(prohibition[0], "never|not|don't") or "`" not in match["items"]):
        return None  # `never X` without a verb is a piece of a sentence
    quoted, codes = tuple(re.findall(r"[\"“]([^\"”]+)[\"”]", match["items"])), _codes(match["items"])
    if of in {"replies", "final", "commits", "pull_requests"} or (of is None and quoted and not codes):
        return Text(of=of or "replies", without=(*quoted, *codes), words=True, conditional=not _is_known(match["tail"]))
    if (
        codes
        and not quoted
        and all(re.fullmatch(r"[A-Z][a-z]+", code) for code in codes)
        and says(match["tail"], "tools?")
    ):
        return Never(Event(tool=codes))
    if re.match("call", match["verb"] or "", re.IGNORECASE) and all(re.fullmatch(r"\w+", code) for code in codes):
        return None  # a tool, or a function
    if quoted and says(match["tail"], "comments?"):
        codes = (*codes, *(f"{mark} {phrase}" for phrase in quoted for mark in ("//", "#", "--")))
    return _not_in_files(codes, match["tail"]) if of != "branches" and (not quoted or codes) else None


def _codes(items: str) -> tuple[str, ...]:
    return (*codes_of(items), *re.findall(r"(?<![\w`])[A-Z]\w+\.[A-Z]\w+", re.sub("`[^`]*`", "", items)))


def _used_instead(match: re.Match[str]) -> Check | None:
    """Compile a rule to write `A` instead of `B` in code; None if `B` is a word that may mean something else there."""
    codes = _codes(match["items"])
    if any(re.fullmatch(r"[a-z]+", code) and code not in _TYPES for code in codes):
        return None
    check = _not_in_files(codes, f"{match['tail']} {match['middle']}")
    return replace(check, use=tuple(codes_of(match["use"]))) if check is not None else None


def _not_in_files(codes: tuple[str, ...], tail: str) -> Text | None:
    """Return a check that texts do not occur in files; None if they are commands, paths, or examples of a form."""
    is_text = [len(re.sub(r"\W", "", code)) > 2 or len(code) > 3 for code in codes]
    is_form = any(re.search(r"\{|\.\.\.|…", code) for code in codes)
    is_other = any(is_command(code) or is_path(code) or code.startswith("-") for code in codes)
    if not codes or not all(is_text) or is_form or is_other or codes_of(tail):
        return None
    without = tuple(re.sub(r"\(\)$", "(", text) for code in codes for text in _TYPES.get(code, (code,)))
    return Text(of="files", paths=_code_paths(tail), without=without, words=True, conditional=not _is_known(tail))


def _things_in_code(text: str, _of: Of | None) -> Check | None:
    """Compile a rule such as "no print statements" or "no mocks in tests"; None if `text` is no such rule."""
    for construct in things():
        match = re.match(
            rf"(?:(?:we |you )?(?:{_NOT})\s+(?:(?:us(?:e|ing)|add(?:ing)?|write|introduce|leave|commit|have|rely on|any|a|an|the|new)\s+)*"
            rf"|(?:use|prefer|write) [^,;()]+? \(?(?:not|over|instead of|rather than|never) (?:any |the )?)(?:{construct.says})(?!\w)(?P<tail>.*)",
            text, re.IGNORECASE,
        )  # fmt: skip
        if match is not None:
            paths = TESTS if construct.tests else _code_paths(match["tail"])
            return Text(
                of="files", paths=paths, without=construct.texts, words=True, conditional=not _is_known(match["tail"])
            )
    return None


def _styles(text: str, _of: Of | None) -> Check | None:
    """Compile a rule on the length of lines, on tabs or spaces, or on Python types; None if `text` is no such rule."""
    if (indent := pattern("indent").match(text)) is not None:
        no, is_counted = ("spaces", False) if indent["what"] == "tabs" else ("tabs", indent["what"] != "spaces")
        return Text(of="files", paths=_code_paths(text), no=(no,), conditional=is_counted)  # type: ignore[arg-type]
    if (line := pattern("line_length").search(text)) is not None and not says(text, "commits?|subject|body|title"):
        return Text(of="files", paths=_code_paths(text), longest_line=int(line["number"]), conditional=True)
    if pattern("type_hints").match(text) is not None:
        paths = ("**/*.py", *(f"!{glob}" for glob in TESTS))
        return Text(of="files", paths=paths, no=("untyped",), use=("def ",), conditional=True)
    return None


def _code_paths(text: str) -> tuple[str, ...]:
    paths = _paths(text)
    return _CODE_FILES if paths == ("**",) else paths


def _is_known(tail: str) -> bool:
    """Tell whether what follows a forbidden text only says where the text must not stand."""
    return re.fullmatch(rf"(?:(?<!\w)(?:{_KNOWN_TAIL})(?!\w)|\s|\W)*", tail, re.IGNORECASE) is not None


_MAKERS: tuple[Callable[[str, Of | None], Check | None], ...] = (
    _co_author, _shapes, _things, _limits, _language, _ends, _one_sentence, _address, _styles, _things_in_code, _forbidden_texts,
)  # fmt: skip
