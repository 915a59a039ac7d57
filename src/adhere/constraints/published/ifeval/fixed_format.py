"""IFEval's rules about form with their defects mended. Each function takes the parameters and the switched-on fixes."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Callable

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifeval import format as form
from adhere.constraints.published.ifeval.words import AT_LEAST, check_count, unless_undecidable
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import On, Values, fix, fixed_check, fixed_rule
from adhere.constraints.published.shared.patterns import META, Undecidable, marker_pattern
from adhere.constraints.published.shared.registry import Check, Param, is_never_drawn


@fixed_rule(
    "detectable_content:number_placeholders",
    fix(
        "placeholders-empty",
        "`[]` counts as a placeholder; here something must stand inside.",
        "evaluation 1.3; verifiers 9",
    ),
    fix(
        "placeholders-check-boxes",
        "A check box (`- [x]`) counts as a placeholder; here it does not.",
        "verifiers 6.3, 9",
    ),
    fix(
        "placeholders-links",
        "The text of a Markdown link (`[text](address)`) counts as a placeholder; here it does not.",
        "evaluation 1.3; verifiers 6.3, 9",
    ),
)
def _placeholders(values: Values, on: On) -> Check:
    limit = values["num_placeholders"]
    empty, boxes, links = (f"fix:placeholders-{name}" in on for name in ("empty", "check-boxes", "links"))

    pattern = re.compile(
        r"\["
        + (r"(?=[^\S\n]*+[^\s\]])" if empty else "")
        + (r"(?![^\S\n]*+[xX✓✔][^\S\n]*+\])" if boxes else "")
        + r"[^\[\]\n]*+\]"
        + (r"(?!\()" if links else "")
    )

    def count(text: Text) -> int:
        return len(pattern.findall(text.raw)) if "]" in text.raw else 0

    return check_count(count, AT_LEAST, limit, "placeholders")


_MARKS = ("rules", "minus", "nested", "emphasis", "other-marks", "empty")


@fixed_rule(
    "detectable_format:number_bullet_lists",
    fix("bullets-rules", "A horizontal rule (`---`) counts as a bullet point; here it does not.", "evaluation 4.1 #6"),
    fix(
        "bullets-minus",
        "A minus sign at the start of a line (`-5 degrees`) counts as a bullet point; "
        "here a blank must follow the dash.",
        "evaluation 4.1 #6",
    ),
    fix(
        "bullets-nested",
        "Sub-bullets count as bullet points; here only those that are indented least do (by less "
        "than two more blanks).",
        "evaluation 4.1 #6",
    ),
    fix(
        "bullets-emphasis",
        "A line that begins in italics (`*so*`) counts as a bullet point; here a blank must follow the star.",
        "evaluation 4.1 #6",
    ),
    fix("bullets-other-marks", "`+` and `•` are no bullet points; here they are.", "verifiers 6.3, 9"),
    fix(
        "bullets-empty",
        "A mark with nothing after it counts as a bullet point; here a text must follow.",
        "verifiers 6.3, 9",
    ),
)
def _bullets(values: Values, on: On) -> Check:
    rules, minus, nested, emphasis, marks, empty = (f"fix:bullets-{name}" in on for name in _MARKS)
    pattern = _bullet_pattern(rules=rules, minus=minus, emphasis=emphasis, marks=marks, empty=empty)
    target = values["num_bullets"]

    def count(raw: str) -> int:
        indents = Counter(pattern.findall(raw))
        if not nested or not indents:
            return indents.total()
        widths = {indent: len(indent.expandtabs(4)) for indent in indents}
        least = min(widths.values())
        return sum(times for indent, times in indents.items() if widths[indent] < least + 2)

    def check(text: Text) -> Finding:
        total = count(text.raw)
        score = 1.0 if total == target else min(total, target) / max(total, target)
        reason = f"found {amount(total, 'bullet points')}, needed exactly {target}"
        return verdict(total == target, reason, total, target, None, score)

    return check


def _bullet_pattern(*, rules: bool, minus: bool, emphasis: bool, marks: bool, empty: bool) -> re.Pattern[str]:
    """Compile a pattern for a line that is a bullet point; its one group is the indentation."""
    no_rule = r"(?!(?:\*[^\S\n]*+){3,}+$)(?!(?:-[^\S\n]*+){3,}+$)" if rules else ""
    filled = r"(?=.[^\S\n]*+\S)" if empty else ""
    star = r"\*(?=\s)" if emphasis else r"\*(?=[^*])"
    dash = r"-(?=\s|\Z|[-\s]*+$)" if minus else "-"
    other = r"|[+•](?=[^\S\n])" if marks else ""
    return re.compile(rf"^([^\S\n]*+){no_rule}{filled}(?:{star}|{dash}{other})", re.MULTILINE)


_LIST_STAR = re.compile(r"^([^\S\n]*+)\*(?=[^\S\n])", re.MULTILINE)
_UNDERSCORED = re.compile(r"(?<!\w)(_{1,3})(?=[^\s_])[^\n_]*+(?<!\s)\1(?!\w)")


@fixed_rule(
    "detectable_format:number_highlighted_sections",
    fix("highlights-twice", "`***x***` counts as two highlighted sections; here as one.", "evaluation 4.1 #7"),
    fix(
        "highlights-hugging",
        "Two stars on a line are a highlight whatever they mean (`2 * 3 = 6 and 4 * 5`); here they must touch the text "
        "that they highlight.",
        "evaluation 4.1 #7; verifiers 9",
    ),
    fix(
        "highlights-list-star",
        "The star of a list item pairs with a later star; here it is set aside.",
        "evaluation 4.1 #7; verifiers 9",
    ),
    fix(
        "highlights-underscores",
        "Markdown's other emphasis (`_a_`, `__a__`) is no highlight; here it is.",
        "evaluation 4.1 #7",
    ),
)
def _highlights(values: Values, on: On) -> Check:
    limit = values["num_highlights"]
    once, hugging, aside, underscores = (
        f"fix:highlights-{name}" in on for name in ("twice", "hugging", "list-star", "underscores")
    )
    inner = r"(?=[^\s*])[^\n*]*+(?<!\s)" if hugging else r"[^\n*]*+"
    single, double = rf"\*{inner}\*", rf"\*\*{inner}\*\*"
    patterns = [re.compile(f"{double}|{single}")] if once else [re.compile(single), re.compile(double)]

    def count(text: Text) -> int:
        raw = _LIST_STAR.sub(r"\1", text.raw) if aside and not hugging else text.raw  # else it cannot pair
        total = 0
        for pattern in patterns if "*" in raw else ():
            matches = pattern.findall(raw)
            total += len(matches) if hugging else sum(1 for match in matches if match.strip("*").strip())
        if underscores and "_" in raw:
            total += sum(1 for _ in _UNDERSCORED.finditer(raw))
        return total

    return check_count(count, AT_LEAST, limit, "highlighted sections")


_ROMAN = r"(?=[IVXL])(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![^\W_])"
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50}


def _number(mark: str) -> int | str:
    """Return the value of an Arabic or Roman number."""
    if mark.isdecimal():
        return int(mark) if len(mark) < 10 else mark
    digits = [_ROMAN_DIGITS[digit] for digit in mark.lower()]
    return sum(-digit if digit < after else digit for digit, after in zip(digits, [*digits[1:], 0], strict=True))


@fixed_rule(
    "detectable_format:multiple_sections",
    fix(
        "sections-exact",
        "More sections than asked for pass; here that is undecided, because two prompts of fourteen (1481 and 3429) "
        "say `at least` and the parameters do not tell them from the others. `relation` (`exactly`, "
        "`at least`) decides it.",
        "evaluation 4.1 #5; mlcommons/mobile_app_open#1060",
        relation=Param("string", choices=("exactly", "at least"), is_drawn=is_never_drawn),
    ),
    fix(
        "sections-line-start",
        "A mark in mid-sentence, or the same mark again, counts as a section; here distinct numbers at the start of a "
        "line do, in an answer of one line wherever they stand.",
        "verifiers 6.3, 9",
    ),
    fix(
        "sections-roman", "Sections with Roman numbers are not seen; here they are.", "evaluation 4.1 #5; verifiers 6.4"
    ),
    fix(
        "sections-case", "The mark must be in the case of the prompt; here in any.", "evaluation 4.1 #5; verifiers 6.4"
    ),
    fix(
        "sections-escaped",
        "The mark is run as a regular expression (`Ex. ` finds `Exx1`); here it is taken literally.",
        "verifiers 6.3, 9",
    ),
    version=2,
)
def _sections(values: Values, on: On) -> Check:
    splitter, target = values["section_spliter"].strip(), values["num_sections"]
    exact, by_line, roman, any_case, escaped = (
        f"fix:sections-{name}" in on for name in ("exact", "line-start", "roman", "case", "escaped")
    )
    if not on or not (escaped or META.isdisjoint(splitter)):
        count = form.section_count(splitter)
    else:
        count = _section_count(splitter, by_line=by_line, roman=roman, any_case=any_case)
    units = f"sections marked {splitter!r}"
    at_least = check_count(count, AT_LEAST, target, units)

    relation = values.get("relation")

    def exactly(text: Text) -> Finding:
        total = count(text)
        score = 1.0 if total == target else min(total, target) / max(total, target)
        reason = f"found {amount(total, units)}, needed exactly {target}"
        if total > target and relation is None:
            return Finding(
                "undecided", f"{reason}, or at least {target}: the parameter `relation` would say", total, target
            )
        return verdict(total == target, reason, total, target, None, score)

    return unless_undecidable(exactly if exact and relation != "at least" else at_least)


def _section_count(splitter: str, *, by_line: bool, roman: bool, any_case: bool) -> Callable[[Text], int]:
    number = rf"\d++|{_ROMAN}" if roman else r"\d++"
    body = rf"{re.escape(splitter)}\s?[^\S\n]*+({number})" if by_line else rf"{re.escape(splitter)}\s?({number})"
    flags = re.IGNORECASE if any_case else re.NOFLAG
    anywhere = re.compile(body, flags)
    at_start = re.compile(rf"^(?:[^\w\n]|_)*+{body}", flags | re.MULTILINE)

    def count(text: Text) -> int:
        if not by_line:
            return sum(1 for _ in anywhere.finditer(text.raw))
        pattern = at_start if "\n" in text.stripped else anywhere
        return len(set(map(_number, pattern.findall(text.raw))))

    return count


_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.\s?)+[A-Za-z]?\.?")
_NO_LETTER_BEFORE = r"(?<![^\W_])"
_PUBLISHED_MARKERS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


@fixed_rule(
    "detectable_content:postscript",
    fix(
        "postscript-line-start",
        "The marker counts in mid-line, inside words (`xp.s.`) and inside `P.P.S.`; here a line must begin with it, "
        "after optional markup.",
        "evaluation 4.1 #9; verifiers 6.4, 9",
    ),
    fix(
        "postscript-dots",
        "`PS:` is no postscript where `P.S.` is asked for; here the points and blanks between the "
        "letters are optional.",
        "evaluation 4.1 #9; verifiers 6.4",
    ),
    fix(
        "postscript-escaped",
        "Any other marker, `P.P.S.` with its last point too, is run as a regular expression; "
        "here it is taken literally.",
        "verifiers 6.4, 9",
    ),
)
def _postscript(values: Values, on: On) -> Check:
    marker = values["postscript_marker"].strip()
    at_start, dots, escaped = (f"fix:postscript-{name}" in on for name in ("line-start", "dots", "escaped"))
    missing = Finding("fail", f"found no postscript marked {marker!r}", None, marker)
    before = r"^(?:[^\w\n]|_)*+" if at_start else ""
    if dots and _ABBREVIATION.fullmatch(marker):
        letters = r"\.?\s?".join(filter(str.isalpha, marker))
        body = rf"{before or _NO_LETTER_BEFORE}({letters})(?![^\W_])"
    elif marker in _PUBLISHED_MARKERS:
        body = f"{before}({_PUBLISHED_MARKERS[marker]})"
    elif escaped:
        literal = marker.rstrip(".") or marker
        after = r"(?![^\W_])" if literal[-1:].isalnum() else ""
        body = f"{before}({re.escape(literal)}){after}"
    else:
        body = ""
    pattern = re.compile(body, re.IGNORECASE | re.MULTILINE)
    published_marker = marker_pattern(marker.lower())

    def check(text: Text) -> Finding:
        if body:
            match = pattern.search(text.raw)
        else:
            try:
                match = published_marker.regex(text.lower).search(text.lower)
            except Undecidable as reason:
                return Finding("undecided", str(reason))
        if match is None:
            return missing
        group = 1 if body else 0
        return Finding("pass", f"found the postscript marker {match[group]!r}", match[group], marker, match.span(group))

    return check


_FENCE = re.compile(r"```[^\n`\[{\"]*")
_PUBLISHED_FENCES = ("```json", "```Json", "```JSON", "```")
_MOST_BLOCKS = 100
_TOO_DEEP = f"nested deeper than {form.DEEPEST_JSON} levels"


@fixed_rule(
    "detectable_format:json_format",
    fix(
        "json-container",
        "A bare number or text is JSON; here the output must be an object or an array.",
        "evaluation 4.1 #10; verifiers 6.4, 9",
    ),
    fix("json-constants", "`NaN` and `Infinity` are JSON; here they are not.", "evaluation 4.1 #10; verifiers 6.4"),
    fix(
        "json-fence-label",
        "Only the labels `json`, `Json` and `JSON` are taken off a code fence; here any label is.",
        "verifiers 6.4, 9",
    ),
    fix(
        "json-surrounded",
        "Words before or after a fenced object fail it; here an object or array in one of the first 100 fences passes.",
        "evaluation 4.1 #10",
    ),
)
def _json_format(_values: Values, on: On) -> Check:
    container, constants, labels, surrounded = (
        f"fix:json-{name}" in on for name in ("container", "constants", "fence-label", "surrounded")
    )

    def trouble(value: str, *, container: bool) -> str | None:
        try:
            json.loads(value, parse_constant=_refuse if constants else None)
        except ValueError as error:
            return str(error)
        except RecursionError:
            return _TOO_DEEP
        if value.count("[") + value.count("{") > form.DEEPEST_JSON and form.is_deep(value):
            return _TOO_DEEP
        return None if not container or value[:1] in {"{", "["} else "it is neither an object nor an array"

    def check(text: Text) -> Finding:
        problem = trouble(_strip_fence(text.stripped, any_label=labels), container=container)
        if problem is None:
            return Finding("pass", "the answer is JSON")
        if surrounded and "```" in text.raw:
            for block in text.raw.split("```", 2 * _MOST_BLOCKS)[1::2]:
                value = _strip_fence(f"```{block}", any_label=labels)
                if value[:1] in {"{", "["} and trouble(value, container=True) is None:
                    return Finding("pass", "the answer holds a fenced JSON object or array")
        return Finding("fail", f"the answer is not JSON: {problem}")

    return check


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _strip_fence(value: str, *, any_label: bool) -> str:
    if any_label:
        fence = _FENCE.match(value)
        return value[fence.end() if fence else 0 :].removesuffix("```").strip()
    for label in _PUBLISHED_FENCES:
        value = value.removeprefix(label)
    return value.removesuffix("```").strip()


_HUGGED_TITLE = re.compile(r"(?<![^\W_])<<(?=[^\s<>])([^<>\n]*+)(?<!\s)>>(?![^\W_])")
_LONE_TITLE = re.compile(
    r"^(?:[^\w<>\n]|_)*+(?:title\W?)?[^\w<>\n]*+<<(?=[^\S\n]*+[^\s<>])([^<>\n]*+)>>(?:[^\w<>\n]|_)*+$",
    re.IGNORECASE | re.MULTILINE,
)


@fixed_check(
    "detectable_format:title",
    fix(
        "title-shift-operators",
        "Anything between `<<` and `>>` on a line is a title (`x << 3 and y >> 4`); "
        "here the brackets touch the title, or it stands alone on its line, and it holds no angle brackets.",
        "evaluation 4.1 #11; verifiers 6.4, 9",
    ),
)
def _title(text: Text, _values: Values) -> Finding:
    match = _HUGGED_TITLE.search(text.raw) or _LONE_TITLE.search(text.raw) if ">>" in text.raw else None
    if match is None:
        return Finding("fail", "found no title in double angular brackets")
    name = match[1].strip()[:60]
    return Finding("pass", f"found the title {name!r}", name, None, match.span(1))


_SIX_STARS = re.compile(r"(?<!\*)\*{6}(?!\*)")


@fixed_rule(
    "combination:two_responses",
    fix(
        "two-responses-six-stars",
        "Seven stars divide too, and the spare one goes to the second answer; here the divider has six.",
        "evaluation 4.1 #13; verifiers 6.4, 9",
    ),
    fix(
        "two-responses-blank-pieces",
        "A blank piece between two dividers fails the answer; here it is no answer.",
        "verifiers 6.4, 9",
    ),
)
def _two_responses(_values: Values, on: On) -> Check:
    six, blank = "fix:two-responses-six-stars" in on, "fix:two-responses-blank-pieces" in on

    def check(text: Text) -> Finding:
        pieces = _SIX_STARS.split(text.raw) if six else text.raw.split("******")
        return form.judge_two_answers([piece for piece in pieces if piece.strip()] if blank else pieces)

    return check


_CLOSERS = string.whitespace + "\"'“”‘’«»*_`"


@fixed_rule(
    "startend:end_checker",
    fix(
        "end-markup",
        "Emphasis and curly quotes after the phrase fail it; here quotes and emphasis at the end are set aside.",
        "evaluation 4.1 #15; verifiers 6.4, 9",
    ),
    fix(
        "end-quoted-phrase",
        "A phrase that is quoted itself can never be matched; here its quotation marks are set aside.",
        "verifiers 6.4",
    ),
    fix(
        "end-word-boundary",
        "A phrase is found at the end of a longer word (`end.` in `weekend.`); "
        "here no letter or digit may stand before it.",
        "verifiers 6.4, 9",
    ),
)
def _end_phrase(values: Values, on: On) -> Check:
    markup, quoted, boundary = (f"fix:end-{name}" in on for name in ("markup", "quoted-phrase", "word-boundary"))
    phrase = values["end_phrase"].strip().lower()
    if quoted:
        phrase = phrase.strip('"“” ')
    if markup:
        phrase = phrase.rstrip(_CLOSERS)

    def check(text: Text) -> Finding:
        answer = text.stripped_lower.rstrip(_CLOSERS) if markup else text.stripped_lower.strip('"')
        start = len(answer) - len(phrase)
        ending = answer[max(0, start) :][-80:]
        if not answer.endswith(phrase):
            return Finding("fail", f"the answer ends with {ending!r}, needed {phrase!r}", ending, phrase)
        if boundary and start > 0 and phrase[:1].isalnum() and answer[start - 1].isalnum():
            return Finding("fail", f"{phrase!r} is the end of a longer word", ending, phrase)
        return Finding("pass", f"the answer ends with {phrase!r}", ending, phrase)

    return check


# A mark that opens or closes; one that could do neither, or is escaped, is left alone.
_QUOTE = re.compile(r"""(?P<opens>(?<![^\s(\[{—–-])["“„](?=\S))|(?<=\S)(?<!\\)["”](?=[\s.,;:!?)\]}"”—–*_-]|\Z)""")
_CURLY_QUOTES = {"“": "”", "„": "“”"}


@fixed_rule(
    "startend:quotation",
    fix(
        "quotation-pair",
        '`"a" and "b"` counts as wrapped in quotation marks; here the first mark may not be closed before the end.',
        "evaluation 4.1 #12",
    ),
    fix("quotation-curly", "Curly quotation marks are none; here they are.", "evaluation 4.1 #12; verifiers 6.4"),
    fix("quotation-empty", '`""` is a quotation; here something must stand inside.', "verifiers 6.4, 9"),
)
def _quotation(_values: Values, on: On) -> Check:
    pair, curly, empty = (f"fix:quotation-{name}" in on for name in ("pair", "curly", "empty"))

    def check(text: Text) -> Finding:
        answer = text.stripped
        first, last = answer[0], answer[-1]
        is_quoted = len(answer) > 1 and (first == last == '"' or (curly and last in _CURLY_QUOTES.get(first, ())))
        if not is_quoted:
            return Finding("fail", "the answer does not start and end with a double quotation mark")
        if empty and not answer[1:-1].strip():
            return Finding("fail", "nothing stands between the quotation marks")
        closed_at = _first_closed(answer) if pair else None
        if closed_at is not None:
            return Finding("fail", "the first quotation mark is closed before the end of the answer", closed_at)
        return Finding("pass", "the answer stands in double quotation marks")

    return check


def _first_closed(answer: str) -> int | None:
    """Return where the quotation that opens the answer is closed before the answer's end, or None."""
    depth = 1
    for match in _QUOTE.finditer(answer, 1, len(answer) - 1):
        depth += 1 if match["opens"] else -1
        if depth == 0:
            return match.start()
    return None


_COMMAS = re.compile("[,，、،﹐﹑､︐︑߸፣᠂᠈꓾꘍꛵\u055d]")


@fixed_check(
    "punctuation:no_comma",
    fix(
        "comma-other-scripts",
        "Commas of other scripts (`，`, `、`, `،`) are allowed; here they are commas.",
        "evaluation 4.1 #16; verifiers 6.4",
    ),
)
def _no_comma(text: Text, _values: Values) -> Finding:
    match = _COMMAS.search(text.raw)
    if match is None:
        return Finding("pass", "found no comma", 0, 0)
    count = text.raw.count(",") if text.raw.isascii() else len(_COMMAS.findall(text.raw))
    return Finding("fail", f"found {amount(count, 'commas')}, allowed none", count, 0, match.span())


_OPTION = re.compile(r"My answer is (?:yes|no|maybe)\.")
_BARE_OPTION = re.compile(r"My answer is (?:yes|no|maybe)(?:\.|(?=[^\S\n]*+(?:[^\w\s]|\n|\Z)))")


@fixed_rule(
    "detectable_format:constrained_response",
    fix(
        "options-contradictory",
        "An answer that gives two of the options passes; here it fails.",
        "evaluation 4.1 #17; verifiers 6.4",
    ),
    fix(
        "options-final-point",
        "An option without its point fails; here it passes at the end of a line or before another mark.",
        "evaluation 4.1 #17; verifiers 6.4",
    ),
)
def _constrained_response(_values: Values, on: On) -> Check:
    contradictory = "fix:options-contradictory" in on
    pattern = _BARE_OPTION if "fix:options-final-point" in on else _OPTION

    def check(text: Text) -> Finding:
        match = pattern.search(text.raw)
        if match is None:
            return Finding("fail", "found none of " + ", ".join(map(repr, form.OPTIONS)))
        options = sorted({option.rstrip(".") for option in pattern.findall(text.raw)})
        if contradictory and len(options) > 1:
            return Finding("fail", f"found {' and '.join(map(repr, options))}, which contradict each other", options, 1)
        return Finding("pass", f"found {match.group()!r}", match.group(), None, match.span())

    return check
