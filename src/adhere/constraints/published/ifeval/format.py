"""IFEval's rules about form: lists, sections, marks, beginnings and ends. Each function makes the check of one kind.

Source: google-research `instruction_following_eval` at 26d8ccdab, quirks included. Ours differs in method: what
backtracks quadratically there (bullets, placeholders, titles, postscripts) is a linear scan here with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifeval.words import AT_LEAST, Values, check_count, unless_undecidable
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.patterns import Undecidable, marker_pattern, section_pattern
from adhere.constraints.published.shared.registry import Check, judge_by

# `\[.*?\]`, entering each line's last unclosed bracket once: "" is captured where no bracket closes it.
_PLACEHOLDER = re.compile(r"\[[^\]\n]*+(\]?)")
# `^\s*\*[^\*].*$`: white space before the star may cross lines, so only the star's own line matters; the character
# after the star may be the newline, and then the next line belongs to the match.
_STAR_BULLET = re.compile(r"\n[^\S\n]*\*[^*].*")
_DASH_BULLET = re.compile(r"\n[^\S\n]*-")
_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_PS = {"P.P.S": re.compile(r"p\.\s?p\.\s?s"), "P.S.": re.compile(r"p\.\s?s\.")}
_JSON_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
DEEPEST_JSON = 500
OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


def placeholders(values: Values) -> Check:
    """Count square brackets that are closed on their line, `[]` and links included."""

    def count(text: Text) -> int:
        return _PLACEHOLDER.findall(text.raw).count("]") if "[" in text.raw else 0

    return check_count(count, AT_LEAST, values["num_placeholders"], "placeholders", only_shrinks=True)


@judge_by
def bullets(text: Text, values: Values) -> Finding:
    """Count lines that start with one star, or with a dash (rules and minus signs included)."""
    target = values["num_bullets"]
    tail = f", needed exactly {target}"
    total = count_bullets(text.raw)
    score = 1.0 if total == target else min(total, target) / max(total, target)
    return verdict(total == target, f"found {amount(total, 'bullet points')}{tail}", total, target, None, score)


def count_bullets(raw: str) -> int:
    """Count star bullets and dash bullets."""
    stars, dashes = "*" in raw, "-" in raw
    if not stars and not dashes:
        return 0
    raw = "\n" + raw
    return (len(_STAR_BULLET.findall(raw)) if stars else 0) + (len(_DASH_BULLET.findall(raw)) if dashes else 0)


@judge_by
def constrained_response(text: Text, _values: Values) -> Finding:
    """Look for one of the three sentences, case kept; more than one pass as well."""
    for option in OPTIONS:
        position = text.raw.find(option)
        if position >= 0:
            return Finding("pass", f"found {option!r}", option, None, (position, position + len(option)))
    return Finding("fail", "found none of " + ", ".join(map(repr, OPTIONS)))


def highlights(values: Values) -> Check:
    """Count `*x*` and `**x**` on one line with something visible inside; a doubled pair may count twice."""

    def count(text: Text) -> int:
        raw = text.raw
        if "*" not in raw:
            return 0
        single = sum(1 for part in _HIGHLIGHT.findall(raw) if part.strip("*").strip())
        double = sum(1 for part in _DOUBLE_HIGHLIGHT.findall(raw) if part[2:-2].strip()) if "**" in raw else 0
        return single + double

    return check_count(count, AT_LEAST, values["num_highlights"], "highlighted sections", only_shrinks=True)


def sections(values: Values) -> Check:
    """Count the places where the unescaped, case-sensitive splitter is followed by a number."""
    splitter = values["section_spliter"].strip()
    count = section_count(splitter)
    return unless_undecidable(check_count(count, AT_LEAST, values["num_sections"], f"sections marked {splitter!r}"))


def section_count(splitter: str) -> Callable[[Text], int]:
    """Return a function that counts the sections of a text; it raises Undecidable if the splitter cannot be run."""
    mark = section_pattern(splitter)

    def count(text: Text) -> int:
        if mark.is_plain and splitter not in text.raw:
            return 0
        regex = mark.regex(text.raw)
        total = sum(1 for _ in regex.finditer(text.raw))
        return total * (1 + regex.groups)  # the split that the published code counts also returns groups

    return count


def postscript(values: Values) -> Check:
    """Look for the marker anywhere in the lower-cased text; unusual markers are unescaped patterns."""
    marker = values["postscript_marker"].strip()
    usual = _PS.get(marker)
    other = marker_pattern(marker.lower())
    missing = Finding("fail", f"found no postscript marked {marker!r}", None, marker)

    def check(text: Text) -> Finding:
        if usual is not None:
            match = usual.search(text.lower) if "p." in text.lower else None
        else:
            try:
                match = other.regex(text.lower).search(text.lower)
            except Undecidable as reason:
                return Finding("undecided", str(reason))
        return (
            missing
            if match is None
            else Finding("pass", f"found the postscript marker {match.group()!r}", match.group(), marker)
        )

    return check


@judge_by
def json_format(text: Text, _values: Values) -> Finding:
    """Check that the answer, without one code fence, is JSON as Python reads it: scalars and NaN too."""
    value = text.stripped
    for fence in ("```json", "```Json", "```JSON", "```"):
        value = value.removeprefix(fence)
    trouble = json_trouble(value.removesuffix("```").strip())
    if trouble is None:
        return Finding("pass", "the answer is JSON")
    return Finding("fail", f"the answer is not JSON: {trouble}")


def json_trouble(value: str) -> str | None:
    """Say why the text is not JSON; None if it is.

    Nesting deeper than 500 levels is no JSON here; the published code crashes on it.
    """
    if value.count("[") + value.count("{") > DEEPEST_JSON and is_deep(value):
        return f"nested deeper than {DEEPEST_JSON} levels"
    import json  # here: not every prompt asks for it

    try:
        json.loads(value)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def is_deep(value: str) -> bool:
    """Tell whether brackets outside of texts nest deeper than `DEEPEST_JSON` levels."""
    depth = 0
    for match in _JSON_MARKS.finditer(value):
        mark = value[match.start()]
        if mark in "[{":
            depth += 1
            if depth > DEEPEST_JSON:
                return True
        elif mark in "]}":
            depth -= 1
    return False


@judge_by
def title(text: Text, _values: Values) -> Finding:
    """Look for `<<` and `>>` on one line with something visible between; shift operators count too."""
    raw = text.raw
    start = raw.find("<<") if ">>" in raw else -1
    while start >= 0:
        newline = raw.find("\n", start)
        line_end = newline if newline >= 0 else len(raw)
        end = raw.rfind(">>", start + 3, line_end)
        if end >= 0:
            name = raw[start : end + 2].lstrip("<").rstrip(">").strip()
            if name:
                return Finding("pass", f"found the title {name[:60]!r}", name[:60], None, (start, end + 2))
        start = raw.find("<<", line_end)
    return Finding("fail", "found no title in double angular brackets")


@judge_by
def two_responses(text: Text, _values: Values) -> Finding:
    """Check for exactly two different pieces between `******`; blank pieces are allowed only at the ends."""
    return judge_two_answers(text.raw.split("******"))


def judge_two_answers(pieces: Sequence[str]) -> Finding:
    """Judge the pieces of an answer as `two_responses` does."""
    pieces = [piece.strip() for piece in pieces]
    if not all(pieces[1:-1]):
        return Finding("fail", "a piece between two ****** dividers is blank")
    answers = [piece for piece in pieces if piece]
    if len(answers) != 2:
        return Finding("fail", f"found {amount(len(answers), 'answers')} divided by ******, needed 2", len(answers), 2)
    if answers[0] == answers[1]:
        return Finding("fail", "the two answers are the same", 1, 2)
    return Finding("pass", "found two different answers divided by ******", 2, 2)


@judge_by
def repeat_prompt(text: Text, values: Values) -> Finding:
    """Check that the answer starts with the request, in any case; nothing need follow."""
    request = values["prompt_to_repeat"].strip().lower()
    if text.stripped_lower.startswith(request):
        return Finding("pass", "the answer starts with the request")
    return Finding("fail", "the answer does not start with the request, word for word")


@judge_by
def end_phrase(text: Text, values: Values) -> Finding:
    """Check that the answer ends with the phrase, in any case, without the answer's double quotes or a word border."""
    phrase = values["end_phrase"].strip().lower()
    answer = text.stripped_lower.strip('"')
    if answer.endswith(phrase):
        return Finding("pass", f"the answer ends with {phrase!r}")
    end = answer[-len(phrase) :] if phrase else ""
    return Finding("fail", f"the answer ends with {end[-80:]!r}, needed {phrase!r}", end[-80:], phrase)


@judge_by
def quotation(text: Text, _values: Values) -> Finding:
    """Check that the answer begins and ends with a double quotation mark, two different ones."""
    answer = text.stripped
    if len(answer) > 1 and answer[0] == answer[-1] == '"':
        return Finding("pass", "the answer stands in double quotation marks")
    return Finding("fail", "the answer does not start and end with a double quotation mark")


def no_comma(values: Values) -> Check:  # noqa: ARG001 - no parameters
    """Look for an ASCII comma."""
    clean = Finding("pass", "found no comma", 0, 0)

    def check(text: Text) -> Finding:
        position = text.raw.find(",")
        if position < 0:
            return clean
        count = text.raw.count(",")
        return Finding("fail", f"found {amount(count, 'commas')}, allowed none", count, 0, (position, position + 1))

    return check
