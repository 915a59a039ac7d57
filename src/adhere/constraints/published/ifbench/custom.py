"""IFBench `custom:` kinds: eleven rules that each belong to one prompt.

Source: allenai/IFBench at db69a6f and its checkers of July 2025, which agree but for how sentences are cut. Where the
published code stops with an exception (a csv error, an empty field), ours fails the answer and says so.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.features import EDGES, lower_then_bare_words
from adhere.constraints.published.ifbench.kind import (
    BOTH,
    accept,
    published_check,
    published_pair,
    quote,
    reject,
    verdict,
)
from adhere.constraints.published.ifbench.ratio import Sentences, punkt
from adhere.constraints.published.shared.features import Text

_DIGITS = re.compile(r"\d+")
_MULTIPLES = ["14", "21", "28", "35", "42", "49"]


@published_check("custom:multiples", BOTH, "Count from 10 to 50, but print only the multiples of 7.")
def multiples(text: Text) -> Finding:
    """Compare all runs of digits in the answer with the multiples of 7 from 14 to 49."""
    numbers: list[str] = []
    for run in _DIGITS.finditer(text.raw):
        numbers.append(run[0] if len(run[0]) < 40 else quote(run[0]))
        if len(numbers) > len(_MULTIPLES):
            break
    expected = ", ".join(_MULTIPLES)
    return verdict(
        numbers == _MULTIPLES, f"found {', '.join(numbers) or 'no numbers'}, needed {expected}", numbers, expected
    )


_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w+")


@published_check(
    "custom:mcq_count_length",
    BOTH,
    "Write 4 multiple-choice questions with 5 options each, each labelled Question and longer than the one before.",
)
def mcq_count_length(text: Text) -> Finding:
    """Check an answer that begins with "Question"; a question's length is that of its text before the first option."""
    if not text.raw.startswith("Question"):
        return reject('the answer does not begin with "Question"')
    questions = [question for piece in _QUESTION.split(text.raw) if (question := piece.strip())]
    if len(questions) != 4:
        return reject(f"found {amount(len(questions), 'questions')}, needed 4", len(questions), 4)
    lengths: list[int] = []
    for order, question in enumerate(questions, 1):
        options, length = _question(question)
        if options != 5:
            return reject(f"question {order} has {options} options, needed 5", options, 5)
        lengths.append(length)
    growing = all(left < right for left, right in itertools.pairwise(lengths))
    reason = f"the questions have {', '.join(map(str, lengths))} characters, needed each longer than the one before"
    return verdict(growing, reason, lengths, "growing")


def _question(question: str) -> tuple[int, int]:
    """Return the number of options of a question, and the number of characters of text before the first."""
    options = 0
    text_lines: list[str] = []
    for line in question.split("\n"):
        stripped = line.strip()
        if _OPTION.match(stripped):
            options += 1
        elif not options:
            text_lines.append(stripped)
    return options, len(" ".join(text_lines).strip())


class _Plain(dict[int, str]):
    """Maps a character, for `str.translate`, to the ASCII characters of its decomposition (NFKD)."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(code)).encode("ascii", "ignore").decode("ascii")
        self[code] = plain
        return plain


_PLAIN = _Plain()


def _plain(text: str) -> str:
    """Return the text without accents and without anything that is not ASCII.

    This goes character by character: decomposing a long run of accents as a whole sorts it, in quadratic time.
    """
    return text if text.isascii() else text.translate(_PLAIN)


@published_check(
    "custom:reverse_newline", BOTH, "List the countries of Africa in reverse alphabetical order, one a line."
)
def reverse_newline(text: Text) -> Finding:
    """Check that the lines from the one with Zimbabwe on are 52 or more, in reverse order; accents are ignored."""
    if "Zimbabwe" not in text.raw:
        return reject("found no Zimbabwe to begin with")
    lines = [core for line in text.lines if (core := line.strip(EDGES))]
    start = next(at for at, line in enumerate(lines) if "Zimbabwe" in line)
    countries = [_plain(line) for line in lines[start:]]
    if len(countries) < 52:
        return reject(
            f"found {amount(len(countries), 'lines')} from Zimbabwe on, needed at least 52", len(countries), 52
        )
    for before, after in itertools.pairwise(countries):
        if before < after:
            return reject(f"{quote(after)} stands after {quote(before)}")
    return accept(f"{len(countries)} lines are in reverse order", len(countries), 52)


@published_check(
    "custom:word_reverse", BOTH, "Which animal is the national symbol of the US? Answer in reverse word order."
)
def word_reverse(text: Text) -> Finding:
    """Check that the answer contains "bald eagle" once its words are reversed."""
    holds = "bald eagle" in " ".join(reversed(lower_then_bare_words(text)))
    return verdict(holds, f'read backwards, the answer {"holds" if holds else "lacks"} "bald eagle"')


@published_check(
    "custom:character_reverse", BOTH, "Which animal is the national symbol of the US? Answer spelled backwards."
)
def character_reverse(text: Text) -> Finding:
    """Judge whether the answer holds "elgae dlab", in any letter case."""
    holds = "elgae dlab" in text.lower
    return verdict(holds, f'the answer {"holds" if holds else "lacks"} "elgae dlab"')


@published_pair(
    "custom:sentence_alphabet",
    "Tell a story in 26 sentences that begin with the letters of the alphabet in order.",
    punkt,
    pieces,
)
def sentence_alphabet(text: Text, sentences: Sentences) -> Finding:
    """Check that each sentence begins with its letter; quotation marks count as letters."""
    return judge_alphabet(sentences(text), lambda sentence: sentence.lstrip()[:1].lower()[:1])


def judge_alphabet(sentences: Sequence[str], first_letter: Callable[[str], str]) -> Finding:
    """Judge whether there are 26 sentences that begin, by `first_letter`, with a to z in this order."""
    if len(sentences) != 26:
        return reject(f"found {amount(len(sentences), 'sentences')}, needed 26", len(sentences), 26)
    for order, sentence in enumerate(sentences):
        letter = chr(ord("a") + order)
        start = first_letter(sentence)
        if start != letter:
            return reject(f"sentence {order + 1} begins with {start!r}, needed {letter!r}", start, letter)
    return accept("26 sentences follow the alphabet", 26, 26)


_CAPITALS = (
    "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin "
    "Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau "
    "Bern Ljubljana Zagreb"
).split()


@published_check(
    "custom:european_capitals_sort",
    BOTH,
    "List the capitals of Europe north of 45 degrees, separated by commas, from north to south.",
)
def european_capitals_sort(text: Text) -> Finding:
    """Compare the answer with the 27 names in order; accents are ignored, and nothing else is allowed."""
    names = [name for piece in _plain(text.raw).split(",") if (name := piece.strip())]
    if len(names) != len(_CAPITALS):
        return reject(f"found {amount(len(names), 'names')}, needed {len(_CAPITALS)}", len(names), len(_CAPITALS))
    for order, (name, capital) in enumerate(zip(names, _CAPITALS, strict=True), 1):
        if name != capital:
            return reject(f"name {order} is {quote(name)}, needed {capital}", name[:40], capital)
    return accept("found the 27 capitals in order", 27, 27)


_LONGEST_FIELD = 131_072  # Python's default, past which the published code stops with an error
_TOO_LONG = "field larger than field limit"  # how the `csv` module's own error begins


def _rows(text: str, *, delimiter: str = ",", most: int) -> list[list[str]]:
    """Return the rows of a csv text, at most one more than `most`.

    Raises:
        csv.Error: The `csv` module raises it, or a field is longer than that module's default limit. The message
            differs between versions of Python.
    """
    rows: list[list[str]] = []
    for row in csv.reader(io.StringIO(text), delimiter=delimiter):
        if any(len(field) > _LONGEST_FIELD for field in row):
            raise csv.Error(_TOO_LONG)
        rows.append(row)
        if len(rows) > most:
            break
    return rows


def _table(name: str, rows: int, text: str, delimiter: str = ",") -> list[list[str]] | Finding:
    """Return the `rows` rows (header included), or a failure that says why the text has not that many."""
    try:
        table = _rows(text, delimiter=delimiter, most=rows)
    except csv.Error as error:
        is_long = str(error).startswith(_TOO_LONG)
        why = (
            f"a field has more than {_LONGEST_FIELD:,} characters" if is_long else "a carriage return stands in a field"
        )
        return reject(f"the answer is no {name}: {why}")
    if len(table) == rows:
        return table
    counted = f"more than {rows - 1}" if len(table) > rows else str(max(0, len(table) - 1))
    return reject(f"found {counted} rows under the header, needed {rows - 1}", counted, rows - 1)


def _narrow(rows: list[list[str]]) -> Iterator[Finding]:
    for order, row in enumerate(rows):
        if len(row) != 5:
            yield reject(f"row {order} has {len(row)} fields, needed 5", len(row), 5)


_CITY = ["ID", "Country", "City", "Year", "Count"]


@published_check(
    "custom:csv_city", BOTH, "Write comma-delimited data with the columns ID, Country, City, Year, Count and 7 rows."
)
def csv_city(text: Text) -> Finding:
    """Check the header and 7 rows; a blank line at the end counts as a row."""
    rows = _table("comma-delimited table", 8, text.raw)
    if isinstance(rows, Finding):
        return rows
    if rows[0] != _CITY:
        return reject(f"the header is {quote(', '.join(rows[0]))}, needed {', '.join(_CITY)}")
    return next(_narrow(rows), None) or accept("found the header and 7 rows of 5 fields", 7, 7)


def _header(names: str, gap: str) -> re.Pattern[str]:
    return re.compile(gap.join(f'(?:{name}|"{name}")' for name in names.split()))


_PRODUCT_HEADER = _header("ProductID Category Brand Price Stock", r",[ \t]*")
_STUDENT_HEADER = _header("StudentID Subject Grade Semester Score", r"\t *")
_SPECIAL = re.compile(r"[^\d\w\s]")


@published_check(
    "custom:csv_special_character",
    BOTH,
    "Write comma-delimited data with the columns ProductID, Category, Brand, Price, Stock and 14 rows, "
    "one field with a special character in double quotes.",
)
def csv_special_character(text: Text) -> Finding:
    """Check the header and 14 rows, the rows only up to the first with a quoted special character."""
    if not _PRODUCT_HEADER.fullmatch(text.raw.partition("\n")[0].strip()):
        return reject("the first line is not the header asked for")
    rows = _table("comma-delimited table", 15, text.raw.replace('"', '"""'))
    if isinstance(rows, Finding):
        return rows
    for order, row in enumerate(rows[1:], 1):
        if len(row) != 5:
            return reject(f"row {order} has {len(row)} fields, needed 5", len(row), 5)
        if any(map(_quoted_special, row)):
            return accept(f"row {order} holds a quoted special character")
    return reject("no field holds a special character in double quotes")


def _quoted_special(field: str) -> bool:
    """Tell whether a field begins with a quote and has a special character before a later quote of its first line."""
    if not field.startswith('"'):
        return False
    line = field.partition("\n")[0]
    return _SPECIAL.search(line, 1, line.rfind('"')) is not None


@published_check(
    "custom:csv_quotes",
    BOTH,
    "Write tab-delimited data with the columns StudentID, Subject, Grade, Semester, Score and 3 rows, each field in "
    "double quotes.",
)
def csv_quotes(text: Text) -> Finding:
    """Check that every field, those of the header too, is in double quotes."""
    if not _STUDENT_HEADER.fullmatch(text.raw.partition("\n")[0].strip()):
        return reject("the first line is not the header asked for")
    rows = _table("tab-delimited table", 4, text.raw.replace('"', '"""'), "\t")
    if isinstance(rows, Finding):
        return rows
    wrong = next(_narrow(rows), None)
    if wrong:
        return wrong
    for order, row in enumerate(rows):
        for field in row:
            core = field.strip()
            if core[:1] != '"' or core[-1:] != '"':
                return reject(f"a field of row {order} is not in double quotes: {quote(field)}")
    return accept("all fields of 4 rows are in double quotes", 3, 3)


_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_LAST_DAY = {1: 31, 2: 29, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}


@published_check(
    "custom:date_format_list", BOTH, "List the dates of Napoleon's battles as YYYY-MM-DD, separated by commas."
)
def date_format_list(text: Text) -> Finding:
    """Check dates from 1769 to 1821; any digits count, and month 0 and day 0 pass."""
    count = 0
    for piece in text.stripped.split(","):
        date = piece.strip()
        match = _DATE.fullmatch(date)
        if not match:
            return reject(f"{quote(date)} is no date of the form YYYY-MM-DD", quote(date))
        year, month, day = map(int, match.groups())
        if not 1769 <= year <= 1821 or month > 12 or day > _LAST_DAY.get(month, 99):
            return reject(f"{date} is no date from 1769 to 1821", date)
        count += 1
    return accept(f"found {amount(count, 'dates')}", count)
