"""Read the numbers of a sentence with their units.

Digits, words, percent, fractions, dates, and bounds ("more than 80 %").
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from adhere.evidence.claims.printed import EPSILON, MAX_DIGITS
from adhere.evidence.statements.lexicon import data, pattern

ABOUT = 0.05  # "about 5 million" allows this share; without the word only rounding does
_DATA = data("numbers")
_WORDS = {word: float(n) for name in ("ones", *_DATA["more"]) for n, word in enumerate(_DATA.get(name, name).split())}
_WORDS |= {word: 10.0 * n for n, word in enumerate(_DATA["tens"].split())} | {"dozen": 12.0}
del _WORDS["_"]
_CHINESE = {char: float(number) for number, char in enumerate(_DATA["chinese"])} | {"两": 2.0}
_CHINESE_TENS = {"十": 10.0, "百": 100.0, "千": 1e3}
_SCALES, _SECONDS, _BYTES = _DATA["scales"], _DATA["seconds"], _DATA["bytes"]
_MONTH, _SCALE = _DATA["month"], _DATA["scale"]
_MONTHS = {name: n for n, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)}
_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True))
_ANY = pattern("numbers", "any", NUMBER=_NUMBER, SCALE=_SCALE, MONTH=_MONTH)
_UNIT, _NOUN = pattern("numbers", "unit"), pattern("numbers", "noun")
_BOUNDS = {name: pattern("numbers", name) for name in ("least", "most", "about")}
_GAP, _RATE = pattern("numbers", "gap"), pattern("numbers", "rate")
_OF = re.compile(r"(?:out\s+of\s+(?:the\s+)?$|\s+(?:out\s+)?of\s+(?:the\s+|all\s+)?\w+\s+\w+s\b)", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\d.])\d+(?:\.\d+)?[bm](?![a-z])", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:to|and|or|–|-|,|至|到)\s*")
_NOTHING = frozenset({"ones", "others", "was", "is", "has", "does", "this", "its", "less", "across"})
HALF_A_TENTH = 0.06  # "0.6" may be 61 %, "1" is not
MOST_SOURCES = 12  # numbers of a passage of which two are put together


class Quantity(NamedTuple):
    """Holds a number of a text: `value` with its scale multiplied out, right to ± `half`.

    `unit` is `%`, `times`, `date`, `s`, `bytes`, `share` (a fraction in words) or empty; `noun` is what is counted, as
    it is printed; `bound` is `least`, `most`, `about` or empty. `is_inner` marks a size inside a name (`Foo-7B`).
    """

    start: int
    end: int
    text: str
    value: float
    half: float
    unit: str = ""
    noun: str = ""
    bound: str = ""
    is_inner: bool = False


@functools.lru_cache(maxsize=1 << 14)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text, in order.

    Of a name only a size is taken: 7B of `Foo-7B`, nothing of `GPT-4`. In "3.2 to 4.3 times" the first number has the
    second's unit.
    """
    numbers = list(_quantities(text))
    for place, (number, after) in enumerate(itertools.pairwise(numbers)):
        # "3.2 to 4.3 times", "five and six layers": the first has the unit of the second.
        if not number.unit and not number.noun and _JOINED.fullmatch(text[number.end : after.start]):
            scale = re.search(rf"(?:{_SCALE})$", after.text, re.IGNORECASE)
            times = _SCALES[scale.group().lower()] if scale and number.value < 1000 else 1.0
            numbers[place] = number._replace(
                unit=after.unit, noun=after.noun, value=number.value * times, half=number.half * times
            )
    return tuple(numbers)


def _quantities(text: str) -> Iterator[Quantity]:
    for match in _ANY.finditer(text):
        kind = (
            match.lastgroup
            if match.lastgroup not in {"scale", "scale2", "scale3", "over", "part", "half", "few", "many"}
            else ""
        )
        if match["named"]:
            for size in _SIZE.finditer(match["named"]):
                at = match.start() + size.start()
                value = float(size.group()[:-1]) * _SCALES[size.group()[-1].lower()]
                yield Quantity(at, at + len(size.group()), size.group(), value, value * 1e-9, is_inner=True)
        elif kind in {"iso", "zh", "mdy", "dmy", "my"}:
            yield _date(match)
        elif (number := _value(match)) is not None:
            quantity = _with_unit(text, match, *number)
            if not match["word"] or _is_told(text, quantity):
                yield quantity


def _is_told(text: str, number: Quantity) -> bool:
    """Tell whether a number word states a number: it counts something, or is part of a number of things.

    It does not in "the shorter of the two".
    """
    is_of = _OF.search(text[max(0, number.start - 16) : number.start]) or _OF.match(text[number.end : number.end + 80])
    return bool(number.unit or is_counted(number) or is_of)


def _date(match: re.Match[str]) -> Quantity:
    """Return a date as year · 10,000 + month · 100 + day; a month without a day has day 0."""
    text = match.group().lower()
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if match["iso"] or match["zh"]:
        year, month, day = (*numbers, 0)[:3]
    else:
        year = next(number for number in reversed(numbers) if number > 31)
        day = next((number for number in numbers if number <= 31), 0)
        name = re.search(_MONTH, text)
        month = _MONTHS[name.group()[:3]] if name else 0
    return Quantity(match.start(), match.end(), match.group(), year * 1e4 + month * 100 + day, 0.0, "date")


def _fraction(match: re.Match[str]) -> tuple[float, float, str]:
    """Return value, tolerance and unit of a fraction in words: `two thirds`, `one in eighteen`."""
    if match["few"]:
        few, many = (sum(_WORDS[word] for word in re.split(r"[\s-]", match[part].lower())) for part in ("few", "many"))
        return few / max(many, 1.0), min(0.02, few / max(many, 1.0) ** 2 / 2), "share"
    over = {"a": 1.0, "an": 1.0, **_WORDS}.get((match["over"] or "a").lower(), 1.0)
    return over / _DATA["fractions"][(match["part"] or "half").lower()], 0.02, "share"


def _value(match: re.Match[str]) -> tuple[float, float, str] | None:
    """Return the value of a match, half a unit of its last place, and the unit that its own words state.

    None for numbers that no measurement has, and for "one".
    """
    if match["fraction"]:
        return _fraction(match)
    if match["times"]:
        return float(_DATA["times"][match["times"].lower()]), 0.0, "times"
    if match["chinese"]:
        return _chinese(match["chinese"]), 0.0, ""
    scale = 1.0
    for word in re.findall(r"[^\W\d_]+", match["scale"] or match["scale2"] or match["scale3"] or ""):
        scale *= _SCALES.get(word.lower(), _SCALES.get(word.lower().rstrip("s"), 1.0))
    if match["digits"]:
        digits = match["digits"].replace(",", "").lower()
        mantissa, _, power = digits.partition("e")
        if len(digits) > MAX_DIGITS or abs(int(power or 0)) > MAX_DIGITS:
            return None
        decimals = len(mantissa.partition(".")[2])
        return float(digits) * scale, 0.5 * 10.0 ** (int(power or 0) - decimals) * scale, ""
    words = re.split(r"[\s-]", (match["word"] or "").lower())
    value = (sum(_WORDS.get(word, 0.0) for word in words) or 1.0) + (0.5 if match["half"] else 0.0)
    return (value * scale, 0.5 * scale if scale > 1 else 0.0, "") if value > 1 or scale > 1 else None


def _chinese(text: str) -> float:
    scale = next((_SCALES[end] for end in ("万亿", "亿", "万") if text.endswith(end)), 1.0)
    total = last = 0.0
    for char in text.rstrip("万亿"):
        if char in _CHINESE:
            last = last * 10 + _CHINESE[char]
        else:
            total, last = total + (last or 1.0) * _CHINESE_TENS[char], 0.0
    return (total + last) * scale


def _with_unit(text: str, match: re.Match[str], value: float, half: float, unit: str) -> Quantity:
    start, end, noun = match.start(), match.end(), ""
    before = text[max(0, start - 24) : start]
    unit_match = _UNIT.match(text, end)
    word = unit_match["unit"].lower() if unit_match and unit_match["unit"] else ""
    singular = word.rstrip("s") if len(word) > 2 else word
    if unit_match and unit_match["percent"]:
        unit, end = "%", unit_match.end()
    elif unit_match and unit_match["times"]:
        unit, end = "times", unit_match.end()
    elif unit_match and (singular in _SECONDS or word in _BYTES):
        size = _SECONDS[singular] if singular in _SECONDS else _BYTES[word]
        unit, end, value, half = "s" if singular in _SECONDS else "bytes", unit_match.end(), value * size, half * size
    elif unit != "times":
        noun = _noun(text[end : end + 60])
    if re.search(r"[$€£]\s?$", before):
        unit = "money"
    bound = next((name for name, pattern in _BOUNDS.items() if pattern.search(before)), "")
    return Quantity(start, end, text[start:end], value, half, unit, noun, bound)


def _noun(behind: str) -> str:
    """Return what a number counts: the first plural behind it, else the next word."""
    match = _NOUN.match(behind)
    return (match["noun"] or match["next"] or "").lower() if match else ""


_SCORES = frozenset({"", "%", "share"})


def is_compatible(first: Quantity, second: Quantity) -> bool:
    """Tell whether two units can be of one thing: percent, shares and bare numbers can, seconds and bytes cannot."""
    units = {first.unit, second.unit}
    return len(units) == 1 or "" in units or units <= _SCORES


def agrees(number: Quantity, source: Quantity) -> bool:
    """Tell whether a number may be stated where the source prints another: rounding, percent, bounds."""
    if "date" in {number.unit, source.unit}:
        return _agrees_in_date(number, source)
    if not is_compatible(number, source):
        return False
    values = [source.value]
    if number.unit == "share" or (number.unit == "%" and source.unit != "%" and source.value <= 1):
        values.append(source.value / 100 if number.unit == "share" else source.value * 100)
    if number.unit == "" and source.unit in {"%", "share"} and number.value <= 1 and number.half < HALF_A_TENTH:
        values.append(source.value / 100)
    if source.unit == "share" and number.unit == "%":
        return abs(number.value - 100 * source.value) <= 100 * source.half
    return any(_fits(number, source, value) for value in values)


def _fits(number: Quantity, source: Quantity, value: float) -> bool:
    close = EPSILON * max(1.0, abs(value))
    if number.bound == source.bound and number.bound in {"least", "most"}:
        return abs(number.value - value) <= close
    if number.bound == "least" and source.bound != "most":
        return number.value - close <= value <= 1.35 * number.value
    if number.bound == "most" and source.bound != "least":
        return number.value * 0.65 <= value <= number.value + close
    half = number.half if value == source.value or number.unit == "share" else max(number.half, EPSILON)
    if abs(number.value - value) <= half + close:
        return True
    tolerance = max(ABOUT * abs(value), half)
    return "about" in {number.bound, source.bound} and abs(number.value - value) <= tolerance


def _agrees_in_date(number: Quantity, source: Quantity) -> bool:
    """Tell whether a date agrees: a day may be told as its month or year, never the other way round."""
    if number.unit != "date":
        return number.value == source.value // 10_000
    if source.unit != "date":
        return False
    return number.value == (source.value if number.value % 100 else source.value // 100 * 100)


def is_specific(number: Quantity) -> bool:
    """Tell whether a number hardly occurs by chance: a date, or three digits besides zeros at the ends."""
    return number.unit == "date" or len(re.sub(r"\D", "", number.text).strip("0")) >= 3


def is_counted(number: Quantity) -> bool:
    """Tell whether the word after a number is a plural, and so what the number counts."""
    return number.noun.endswith("s") and number.noun not in _NOTHING


def is_derived(number: Quantity, statement: str, sources: tuple[Quantity, ...], *, is_less: bool) -> bool:
    """Tell whether a number follows from two of a passage: a share (256 of 331), a ratio, a difference.

    `is_less` says that the passage speaks of less: "reduces it by 10 times" is then a tenth.
    """
    candidates = [q for q in sources if not q.is_inner and q.unit != "date"][:MOST_SOURCES]
    times = [q for q in candidates if q.unit == "times" and q.value > 1]
    if is_less and number.unit == "share" and any(_fits(number, q, 1 / q.value) for q in times):
        return True
    pairs = [
        (a, b) for a in candidates for b in candidates if a is not b and a.unit == b.unit and a.value > b.value > 0
    ]
    if number.unit == "share" or (number.unit == "%" and not _GAP.search(statement)):
        scale = 1.0 if number.unit == "share" else 100.0
        return any(
            _fits(number, b, scale * b.value / a.value)
            for a, b in pairs
            if is_counted(a) or is_counted(b) or len(pairs) == 1
        )
    if number.unit == "times" or (number.unit == "" and _RATE.search(statement)):
        return any(_fits(number, a, a.value / b.value) for a, b in pairs) and number.value > 1
    if _GAP.search(statement) and number.unit in {"", "%"}:
        return any(
            _fits(number, a, scale * (a.value - b.value))
            for a, b in pairs
            for scale in ((1.0, 100.0) if a.value <= 1 else (1.0,))
        )
    return False
