"""Read a printed number: its value, its decimals, its unit, and what rounding allows."""

from __future__ import annotations

import functools
import html
import re
from typing import NamedTuple

_MINUS = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "‐": "-",
        "‑": "-",
        "\u00a0": " ",
        "\uff08": "(",
        "\uff09": ")",
        "\uff05": "%",
        "\u2009": " ",
        "\u202f": " ",
    }
)
SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_NUMBER = re.compile(
    r"(?P<lead>[~≈↑↓▲▼]?\s*)(?P<sign>[+-]?)\s?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:['\u2019 ]\d{3})+\.\d+|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s*(?:×|x|\\times)\s*10\^?\{?(?P<power>[+-]?\d+)\}?|[eE](?P<exponent>[+-]?\d+))?"
    r"(?:\s*(?P<unit>%|[kKMBT](?![A-Za-z])|points?\b|pts?\b|pp\b|(?:ms|fps|sec|hrs?|hours?|min|[GMT]i?B|tok(?:ens)?/s)"
    r"(?![A-Za-z])))?"
)
_SPREAD = re.compile(r"^[*†‡]?\s*[_^]?\{?\s*(?:±|˘|\\pm|\+/-|\+-)\s*(?P<spread>\d+(?:\.\d+)?|\.\d+)\s*%?\s*\}?")
_TRAILING = re.compile(
    r"^\s*(?:\([^()]{1,40}\)|\[[^\[\]]{1,40}\]|\[[\d.,%\s-]{1,20}$)?(?!\s*\d{3})[\s*†‡§¶•↑↓▲▼^a-d\d\[\]\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]{0,4}$"
)
# `70.6 (−0.1)`, `70.6↓0.1`, `70.6 +1.2`.
_BESIDE = re.compile(r"^\s*(?:\((?P<value>[+-]\d+(?:\.\d+)?)%?\)|(?P<sign>[↑↓▲▼+])\s?(?P<moved>\d+(?:\.\d+)?)%?)")
_LATEX_WRAPPER = re.compile(
    r"\\(?:mathbf|textbf|mathrm|text|boldsymbol|underline|mathit|textit|emph|bf|textcolor\s*\{[^{}]*\})\s*\{([^{}]*)\}"
)
_COLOUR = re.compile(r"\\color\s*\{[^{}]*\}")
_BLANK = re.compile(r"(?<=[\d.]) (?=\d)")  # formulas print none: `$0.98 00$`
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)")
# A raised number or sign is a footnote mark; raised words, and whatever stands below the line (AP50), belong to the
# text.
_RAISED = re.compile(r"<sup>\s*(?:[\d*†‡§¶,\s]*|[a-z])\s*</sup>", re.IGNORECASE)
_POWER = re.compile(r"(?<![\w.-])([A-Za-z])<sup>\s*(\d)\s*</sup>")  # C³ is no letter with a footnote
# Footnote marks that are letters of their own: `79.6ᵃ`, `Llama-3-8B¹,²`; in `R²` and `10⁻³` they are no marks.
_RAISED_LETTERS = re.compile(r"(?<=[\w.)%]{2})(?<!\b10)[¹²³⁴⁵⁶⁷⁸⁹⁰ᵃᵇᶜᵈᵉᶠᵍʰⁱ]+(?:,[¹²³⁴⁵⁶⁷⁸⁹⁰ᵃᵇᶜᵈᵉᶠᵍʰⁱ]+)*(?=\s|$)")
ABSENT = frozenset({"", "-", "--", "---", "–", "—", "−", "n/a", "na", "n.a.", "nan", "none", "/", "?", "tbd", "·", "x"})
GREY = "<grey>"  # before what is printed in grey: it does not compete
TICKS, CROSSES = frozenset("✓✔√☑✅"), frozenset(["", *"✗✘×❌☐–—-"])
MEASURES = frozenset("ms fps sec hr hrs hour hours min GB MB TB GiB MiB TiB tok/s tokens/s".split())
EPSILON = 1e-9
_HALVES = tuple(0.5 * 10.0**-decimals for decimals in range(12))


class Beside(NamedTuple):
    """Holds a difference printed after a number: `70.6 (−0.1)`, `70.6↓0.1`."""

    value: float
    decimals: int


class PrintedNumber(NamedTuple):
    """Holds one printed number.

    `unit` is `""`, `"%"`, `"points"` or `"/200"` (how many of 200 were right), the scale letter `K`, `M`, `B`, `T` (the
    value is then as printed, not multiplied out), or a measure of speed, time or memory (`ms`, `GB`). `spread` is a ±
    printed after the number, `beside` a difference printed after it.
    """

    value: float
    decimals: int
    unit: str
    text: str
    spread: float | None = None
    beside: Beside | None = None

    @property
    def half(self) -> float:
        """Half a unit of the last decimal shown: a rounded number's true value lies within value ± half."""
        return _HALVES[self.decimals] if self.decimals < len(_HALVES) else 0.5 * 10.0**-self.decimals

    @property
    def is_attribute(self) -> bool:
        """Whether the number cannot be a score: a time, a size in memory, or a learning rate (`3e-5`)."""
        return self.unit in MEASURES or ("e-" in self.text.lower() and 0 < self.value < 0.01)

    @property
    def magnitude(self) -> float:
        """The value with its scale letter multiplied out: `32K` is 32000."""
        return self.value * SCALES.get(self.unit, 1.0)


MAX_DIGITS = 30


def agree(first: PrintedNumber, second: PrintedNumber) -> bool:
    """Tell whether two printed numbers can be roundings of one value."""
    return abs(first.value - second.value) <= max(first.half, second.half) + EPSILON


@functools.lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """Return the text of a cell or label without markup: emphasis, LaTeX wrappers, HTML tags, footnote marks."""
    text = text.translate(_MINUS)
    if "$" in text or "\\" in text:
        text = _COLOUR.sub("", text)
        text = re.sub(r"\$([^$]*)\$", lambda match: _BLANK.sub("", match[1]), text)
        for _ in range(3):
            text, n_changed = _LATEX_WRAPPER.subn(r"\1", text)
            if not n_changed:
                break
        text = re.sub(r"\\[,;:! ]|\\(?:quad|qquad)\b", " ", text)
        text = re.sub(r"\\([%&_#$|{}*-])", r"\1", text)
    if "](" in text:
        text = _IMAGE.sub(" ", text)
        text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _POWER.sub(r"\1\2", text)
        text = _RAISED.sub("", text)
        text = re.sub(r"<br\s*/?>|</?(?:div|p|sup)\b[^<>]*>", " ", text)
        text = re.sub(r"</?[A-Za-z][^<>]*>", "", text)
    if "&" in text:
        text = html.unescape(text)
    text = re.sub(r"\[\^[^\]]*\]|(?<=\S)\^\{?\d+\}?(?=\s|$)|(?<=\S)\^[a-z\d]\^", "", text)
    text = _RAISED_LETTERS.sub("", text)
    text = re.sub(r"(?<!\w)(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text)
    text = text.replace("**", "").replace("`", "")
    return " ".join(text.split())


def is_absent(text: str) -> bool:
    """Tell whether a cell says that nothing was measured: empty, a dash, `N/A`."""
    return plain(text).strip("*_ ").lower() in ABSENT


@functools.lru_cache(maxsize=1 << 16)
def number_of(text: str) -> PrintedNumber | None:
    r"""Return the number that a whole cell states; None if it holds something else.

    `82.3`, `**82.3**`, `$\mathbf{82.3}$`, `82.3%`, `1,234`, `7e-6`, `82.3 ± 0.4`, `82.3†` and `82.3 (5-shot)` are
    numbers; `14/2`, `Yes`, `v1` and `2024-08-06` are not.
    """
    plain_text = plain(text).strip("*_ ")
    match = _NUMBER.match(plain_text)
    if match is None:
        return None
    rest = plain_text[match.end() :]
    spread = _SPREAD.match(rest)
    if spread:
        rest = rest[spread.end() :]
    beside = None
    if behind := _BESIDE.match(rest):
        digits = behind["value"] or ("-" if behind["sign"] in "↓▼" else "") + behind["moved"]
        beside = Beside(float(digits), len(digits.partition(".")[2]))
        rest = rest[behind.end() :] if behind["moved"] else rest
    if not _TRAILING.match(rest):
        return None
    number = _parse_number(match)
    if number is None:
        return None
    return number._replace(spread=float(spread["spread"]) if spread else None, beside=beside)


def _parse_number(match: re.Match[str]) -> PrintedNumber | None:
    """Return the number of a match; None for digits or powers that no measurement has (hashes, identifiers)."""
    digits = re.sub(r"[,'\u2019 ]", "", match["digits"])
    decimals = len(digits.partition(".")[2])
    power = int(match["power"] or match["exponent"] or 0)
    if len(digits) > MAX_DIGITS or abs(power) > MAX_DIGITS:
        return None
    value = float(digits) * 10.0**power * (-1.0 if match["sign"] == "-" else 1.0)
    unit = (match["unit"] or "").strip()
    if unit in {"k", "K"}:
        unit = "K"
    elif unit.startswith(("point", "pt", "pp")):
        unit = "points"
    return PrintedNumber(value, max(decimals - power, 0), unit, match.group().strip())
