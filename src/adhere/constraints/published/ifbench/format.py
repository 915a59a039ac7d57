"""IFBench `format:` kinds: lists, nesting, quotes, templates, line shapes.

Source: allenai/IFBench at db69a6f and its checkers of July 2025, quirks included. Ours differs in that every scan is
linear: lists are not shortened while they are walked, but the outcome of doing so is kept.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.emoji import is_emoji
from adhere.constraints.published.ifbench.english.splitter import iterate, pieces
from adhere.constraints.published.ifbench.features import EDGES, MARKS, bare, bare_words, without_marks
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    Check,
    accept,
    at_least,
    one_of,
    published_check,
    published_kind,
    published_pair,
    quote,
    reject,
    verdict,
)
from adhere.constraints.published.ifbench.ratio import Sentences, punkt
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.punkt import iterate_spans
from adhere.constraints.published.shared.treebank import is_contracted, windows

_OPENS, _CLOSES = re.compile(r"[(\[{]"), re.compile(r"[)\]}]")
_PARTNER = {")": "(", "]": "[", "}": "{"}
_NO_BRACKETS = bytes(code for code in range(256) if chr(code) not in "()[]{}")
_PAIRS = (b"()", b"[]", b"{}")
_NEEDED_LEVELS = 5


def _brackets(raw: str) -> str:
    """Return the brackets of a text; empty pairs in a row become one."""
    brackets = raw.encode("ascii", "ignore").translate(None, _NO_BRACKETS)
    for pair in _PAIRS:
        while pair + pair in brackets:
            brackets = brackets.replace(pair + pair, pair)
    return brackets.decode("ascii")


@published_check("format:parentheses", BOTH, "Nest parentheses, brackets and braces at least 5 levels deep.")
def parentheses(text: Text) -> Finding:
    """Measure how deeply brackets are nested; a closing bracket that does not fit restarts the count."""
    brackets = _brackets(text.raw)
    levels: list[str] = []
    deepest = depth = at = 0
    while at < len(brackets):
        bracket = brackets[at]
        partner = _PARTNER.get(bracket)
        at += 1
        if partner is None:
            levels.append(bracket)
            depth = max(depth, len(levels))
            if depth < _NEEDED_LEVELS:
                continue
            closing = _CLOSES.search(brackets, at)  # whether it fits decides
            if closing is None:
                break
            if brackets[closing.start() - 1] == _PARTNER[closing[0]]:
                depth += closing.start() - at
                return accept(f"found brackets {depth} levels deep", depth, _NEEDED_LEVELS)
            at = closing.end()
        elif levels and levels[-1] == partner:
            levels.pop()
            deepest = max(deepest, depth)
            continue
        levels, depth = [], 0
        opening = _OPENS.search(brackets, at)
        if opening is None:
            break
        at = opening.start()
    return reject(f"found brackets {deepest} levels deep, needed 5", deepest, _NEEDED_LEVELS)


_QUOTE = re.compile("[\"']")


@published_check("format:quotes", BOTH, "Put quotes within quotes within quotes, double and single ones in turn.")
def quotes(text: Text) -> Finding:
    """Measure how deeply quotes are nested; apostrophes count as quotes."""
    levels: list[str] = []
    deepest = closed_levels = 0
    for mark in _QUOTE.findall(text.raw):
        if levels and levels[-1] == mark:
            levels.pop()
            closed_levels = max(closed_levels, deepest - len(levels))
            if closed_levels >= 3:
                return accept("found quotes 3 levels deep", 3, 3)
        else:
            levels.append(mark)
            deepest = max(deepest, len(levels))
    return reject(f"found quotes that close {closed_levels} levels, needed 3", closed_levels, 3)


_LETTERED = re.compile(r"\W*[aA]\W*[bB]\W*[cC]\W*")


@published_kind(
    "format:options",
    BOTH,
    "Answer with one of these options and nothing else: {options}",
    options=one_of("yes/no/maybe", "I know or I don't know", "a), b), c), d)"),
)
def options(options: str) -> Check:
    """Compare the answer with the options, which are split at "/", else at "or", else at ",".

    Lettered options must be given exactly, others in any case.
    """
    separator = next((mark for mark in ("/", "or") if mark in options), ",")
    choices = [option.strip() for option in options.split(separator)]
    exact = _LETTERED.match(options) is not None
    allowed = frozenset(choices if exact else (choice.strip(EDGES).lower() for choice in choices))

    def check(text: Text) -> Finding:
        answer = text.raw if exact else text.raw.strip(EDGES).lower()
        return verdict(
            answer in allowed, f"found {quote(answer)}, needed one of {choices}", quote(answer), list(choices)
        )

    return check


@published_check("format:newline", BOTH, "Write each word on a line of its own.")
def newline(text: Text) -> Finding:
    """Check that there are as many non-empty lines as words, after removing marks."""
    lines = bare(text).strip().split("\n")
    n_lines, words = len(lines) - lines.count(""), len(bare_words(text))
    return verdict(
        n_lines == words,
        f"found {amount(n_lines, 'lines')} and {amount(words, 'words')}, needed as many",
        n_lines,
        words,
    )


@published_pair("format:emoji", "End every sentence with an emoji.", punkt, pieces)
def emoji(text: Text, sentences: Sentences) -> Finding:
    """Check each sentence without marks for an emoji at its end.

    This is one of its last two characters, or the first of the next sentence.
    """
    all_sentences = sentences(text)
    for order, sentence in enumerate(all_sentences, 1):
        core = without_marks(sentence).strip()
        if not core:
            return reject(f"sentence {order}, {quote(sentence)}, holds only marks")
        if is_emoji(core[-1]) or is_emoji(core[-2:-1]):
            continue
        after = without_marks("".join(all_sentences[order : order + 1])).strip()
        if not after or not is_emoji(after[0]):
            return reject(f"sentence {order} ends without an emoji: {quote(sentence[-40:])}")
    return accept(f"all {len(all_sentences)} sentences end with an emoji", len(all_sentences))


_MANY_LINES = 10_000


@published_check("format:line_indent", BOTH, "Indent each line further than the one before, like stairs.")
def line_indent(text: Text) -> Finding:
    """Compare the blanks at the start of each line with those of the line before.

    Blank lines are removed as the published loop does it, which misses some.
    """
    # At least half of the lines stay, and stairs of so many would take more characters than there are.
    count = text.raw.count("\n") + 1
    stairs = count // 2
    if stairs > _MANY_LINES and stairs * (stairs - 1) // 2 > len(text.raw):
        return reject(f"found {count} lines, too many to be indented like stairs", count)
    lines = _without_blank_lines(text.lines)
    before = -1
    for order, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip(" "))
        if indent <= before:
            reason = f"line {order} is indented by {indent}, needed more than the {before} before"
            return reject(reason, indent, before + 1)
        before = indent
    return accept(f"{len(lines)} lines are indented like stairs", len(lines))


def _without_blank_lines(lines: Sequence[str]) -> list[str]:
    """Return what is left after `for line in lines: if line is blank: lines.remove(line)`.

    Each removal makes the loop skip the next line, so as many blank lines survive as are skipped. The first equal line
    is removed each time, so the last ones survive.
    """
    contents = list(map(str.strip, lines))
    if all(contents):
        return list(lines)
    skipped: Counter[str] = Counter()
    at, end = 0, len(lines)
    while at < end:
        if contents[at]:
            at += 1
            continue
        if at + 1 < end and not contents[at + 1]:
            skipped[lines[at + 1]] += 1
        at += 2
    survivors: list[str] = []
    for at in range(end - 1, -1, -1):
        line = lines[at]
        if contents[at]:
            survivors.append(line)
        elif skipped[line]:
            skipped[line] -= 1
            survivors.append(line)
    survivors.reverse()
    return survivors


_AROUND_QUOTES = string.digits + MARKS.replace('"', "")


@published_pair(
    "format:quote_unquote", "Follow every quoted phrase by an explanation without quotes.", new=False, old=True
)
def quote_unquote(text: Text, is_old: bool) -> Finding:  # noqa: FBT001 - which of the two checkers
    """Check that no two double quotes follow each other, and none ends the answer; an answer without quotes passes.

    In 2025 curly quotes count too, and an answer of digits and marks only fails: those checkers stop there with an
    error.
    """
    raw = text.raw.replace("“", '"').replace("”", '"') if is_old else text.raw
    raw = raw.replace("'\"'", "")
    packed = "".join(raw.split())
    if '""' in packed:
        return reject("two quotation marks follow each other")
    core = packed.strip(_AROUND_QUOTES)
    if not core and is_old:
        return reject("found only digits and marks")
    if core[-1:] == '"':
        return reject("the answer ends with a quotation")
    return accept("an explanation follows every quotation")


@published_check(
    "format:list",
    BOTH,
    'Answer with a list that uses "{sep}" for bullet points.',
    sep=one_of("...", "SEPARATOR", "!?!?", "-"),
)
def list_separator(text: Text, sep: str) -> Finding:
    """Count the separator, anywhere; two are enough."""
    return at_least(text.raw.count(sep), 2, f"times {sep!r}")


@published_check("format:thesis", BOTH, "Begin each section with a thesis in italics, in HTML.")
def thesis(text: Text) -> Finding:
    """Check for text after the first `<i>` or `<em>`, and for text after its closing tag.

    As published, the tags count as three and four characters long.
    """
    raw = text.raw
    start = raw.find("<i>")
    if start < 0:
        start = raw.find("<em>")
    if start < 0:
        return reject("found no <i> and no <em>")
    end = raw.find("</i>", start)
    if end < 0:
        end = raw.find("</em>", start)
    if end < 0:
        return reject("found no closing </i> or </em>", span=(start, len(raw)))
    if not raw[start + 3 : end].strip():
        return reject("the text in italics is empty", span=(start, end))
    if not raw[end + 4 :].strip():
        return reject("nothing follows the text in italics", span=(start, end))
    return accept("found a thesis in italics and a text after it", span=(start, end))


@published_check("format:sub-bullets", BOTH, "Use bullet points (*), each with at least one sub-bullet point (-).")
def sub_bullets(text: Text) -> Finding:
    """Check for a hyphen between each star and the next; an answer without stars passes."""
    first, *bullets = text.raw.split("*")
    at = len(first)
    for order, bullet in enumerate(bullets, 1):
        if "-" not in bullet:
            return reject(f"no - follows star {order}: {quote(bullet)}", span=(at, at + 1 + len(bullet)))
        at += 1 + len(bullet)
    return accept(f"a - follows each of {len(bullets)} stars", len(bullets))


@published_pair(
    "format:no_bullets_bullets",
    "Write at least two sentences that end in a full stop, then at least two bullet points (*).",
    iterate_spans,
    iterate,
)
def no_bullets_bullets(text: Text, split: Callable[[str], Iterable[object]]) -> Finding:
    """Check for sentences, line by line up to the first star, then only for lines that begin with a star."""
    lines = text.lines
    bullets = [at for at, line in enumerate(lines) if line.lstrip().startswith("*")]
    if not bullets:
        return reject("found no bullet points (*)", 0, 2)
    first = bullets[0]
    if len(bullets) != len(lines) - first:
        return reject("a line after the first bullet point is none")
    sentences = 0
    for at in range(first):
        count = len(list(islice(split(lines[at].strip()), 2)))  # past two it need not go on
        sentences += count
        if not count and at + 1 < first:
            return reject("a blank line stands between the sentences")
    if sentences < 2:
        return reject(f"found {amount(sentences, 'sentences')} before the bullet points, needed 2", sentences, 2)
    return at_least(len(bullets), 2, "bullet points after the sentences")


# A word with marks that the Treebank rules cut off, but for a full stop, which may stay on it.
_SIMPLE = re.compile(r"""["(\[{*]*([^\W_]+)[.,!?;:)\]}"*]*""")

# A small letter and what the Treebank rules may leave on it.
_PAIR = re.compile(r"""[a-z][^,;@#$%&?!*()\[\]{}<>"]""")


def _may_be_wrong(chunk: str, is_wrong: Callable[[str], bool]) -> bool:
    """Tell whether one of the chunk's tokens can be wrong.

    For this it needs a small letter, which something must follow if single letters are never wrong.
    """
    if chunk.isascii() and not is_wrong("a"):
        return _PAIR.search(chunk) is not None
    return any(map(str.islower, set(chunk)))


def _first_wrong(text: Text, is_wrong: Callable[[str], bool]) -> str | None:
    """Return a token of the text that is wrong, or None.

    Most texts are decided by their plain words, without tokenising.
    """
    doubtful = False
    for chunk in dict.fromkeys(text.chunks):
        simple = _SIMPLE.fullmatch(chunk)
        word = simple[1] if simple else chunk
        stays = "." not in chunk or is_wrong(word) == is_wrong(f"{word}.")
        if simple and stays and not is_contracted(word):
            if is_wrong(word):
                return word
        else:
            doubtful = doubtful or _may_be_wrong(chunk, is_wrong)
    if not doubtful:
        return None
    return next(filter(is_wrong, _different_tokens(text)), None)


def _different_tokens(text: Text) -> Iterator[str]:
    """Yield every different one of `Text.tokens`; some come more than once."""
    for sentence in text.sentences:
        for window in windows(sentence):
            yield from dict.fromkeys(window)


def _wrong_2026(token: str) -> bool:
    """Tell whether 2026 refuses a token: its first letter is small and the rest of one case. Mixed case passes."""
    first, rest = token[0], token[1:]
    return first.islower() and first.isalpha() and (not rest or rest.islower() or rest.isupper())


def _wrong_2025(token: str) -> bool:
    """Tell whether 2025 refuses a token: as in 2026, but a single letter passes."""
    rest = token[1:]
    return token[0].islower() and (rest.islower() or rest.isupper())


@published_pair("format:title_case", "Write the entire answer in title case.", _wrong_2026, _wrong_2025)
def title_case(text: Text, is_wrong: Callable[[str], bool]) -> Finding:
    """Check that no token is wrong."""
    wrong = _first_wrong(text, is_wrong)
    if wrong is not None:
        return reject(f"{quote(wrong)} does not begin with a capital", wrong[:40], "title case")
    return accept("no word begins in lower case")


_LABELS = ("My Answer:", "My Conclusion:", "Future Outlook:")


@published_check("format:output_template", BOTH, "Answer under these three labels: " + " ".join(_LABELS))
def output_template(text: Text) -> Finding:
    """Look for all three labels, in any order."""
    missing = [label for label in _LABELS if label not in text.raw]
    reason = f"found no {' and no '.join(map(repr, missing))}" if missing else "found all three labels"
    return verdict(not missing, reason, missing, list(_LABELS))


_BLANK = re.compile(r"\s")


@published_check("format:no_whitespace", BOTH, "Use no white space.")
def no_whitespace(text: Text) -> Finding:
    """Look for white space; zero-width spaces do not count."""
    blank = _BLANK.search(text.raw)
    if blank:
        return reject(f"found white space at character {blank.start() + 1}", span=blank.span())
    return accept("found no white space")
