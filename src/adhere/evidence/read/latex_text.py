r"""The text of a piece of LaTeX: what `\textbf{\fontsize{8}{8}\selectfont 82.3}$_{\pm 0.4}$` shows on the page.

Bold becomes `**…**` and underlining `<u>…</u>`. An unknown command shows its arguments, or its own name if
it has none (`\ours-7B` is `ours-7B`), so that nothing is lost. pylatexenc is not used: it took 4.7 s a megabyte, and
without the lists below it reads `\fontsize{8}{8}\selectfont 82.3` as 8882.3.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from adhere.evidence.claims.printed import GREY

MAX_DEPTH = 30
_TOKEN = re.compile(r"\\(?P<name>[A-Za-z@]+)\*?\s*|\\(?P<sign>.)|(?P<mark>[{}$~^_])|[^\\{}$~^_]+", re.DOTALL)
_OPTION = re.compile(r"\s*\[[^\[\]]*\]")
_SIZE = re.compile(r"-?\d*\.?\d+\s*(?:pt|em|ex|cm|mm|in|\\\w+)")
_RAISED_MARK = re.compile(r"[\d*†‡§¶,\s]{0,4}|[a-z]")
_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z]$")
_POWER = re.compile(r"\{?([23])\}?")
_BOLD = frozenset({"textbf", "mathbf", "boldsymbol", "bm", "pmb"})
_BOLD_ON = frozenset({"bf", "bfseries"})
_UNDERLINED = frozenset({"underline", "uline", "ul"})
# How many leading arguments say how, and not what.
_DROPPED = {
    "fontsize": 2, "cellcolor": 1, "rowcolor": 1, "columncolor": 1, "color": 1, "textcolor": 1, "colorbox": 1,
    "label": 1, "vspace": 1, "hspace": 1, "rule": 2, "raisebox": 1, "rotatebox": 1, "scalebox": 1, "resizebox": 2,
    "adjustbox": 1, "footnote": 1, "footnotetext": 1, "footnotemark": 0, "includegraphics": 1, "phantom": 1,
    "hphantom": 1, "vphantom": 1, "setlength": 2, "parbox": 1, "href": 1, "cmidrule": 1, "cline": 1, "noalign": 1,
    "arrayrulecolor": 1, "tnote": 1, "fcolorbox": 2, "multicolumn": 2, "ref": 1, "cref": 1, "fontfamily": 1,
    "fontseries": 1, "multirow": 2, "multirowcell": 1,
}  # fmt: skip
# What their last argument shows.
_ABOUT_LAST = frozenset(
    """textcolor colorbox href raisebox rotatebox scalebox resizebox parbox adjustbox multicolumn multirow
    multirowcell fcolorbox""".split()
)
_LAYOUT = frozenset(
    """small tiny scriptsize footnotesize normalsize large Large huge selectfont centering raggedright
    raggedleft it em rm sc tt sf itshape mdseries upshape scshape slshape ttfamily rmfamily sffamily
    newline linebreak xspace hfill noindent par strut arraybackslash displaystyle textstyle left right
    big Big limits nolimits protect null ensuremath bigstrut Bstrut Tstrut toprule midrule bottomrule
    hline""".split()
)
_SIGNS = {
    "uparrow": "↑", "nearrow": "↑", "Uparrow": "↑", "downarrow": "↓", "searrow": "↓", "Downarrow": "↓", "pm": "±",
    "textuparrow": "↑", "shortuparrow": "↑", "textdownarrow": "↓", "shortdownarrow": "↓",
    "blacktriangle": "▲", "triangle": "△", "bigtriangleup": "△",
    "blacktriangledown": "▼", "triangledown": "▽", "bigtriangledown": "▽",
    "times": "×", "Delta": "Δ", "checkmark": "✓", "dagger": "†", "dag": "†", "ddagger": "‡", "ddag": "‡", "ast": "*",
    "star": "*", "S": "§", "P": "¶", "approx": "≈", "sim": "~", "quad": " ", "qquad": " ", "enspace": " ", "ldots": "…",
    "dots": "…", "leq": "≤", "geq": "≥", "le": "≤", "ge": "≥", "rightarrow": "→", "to": "→", "cdot": "·",
    "Rightarrow": "⇒", "leftrightarrow": "↔", "percent": "%",
    "alpha": "\u03b1", "beta": "β", "gamma": "\u03b3", "lambda": "λ", "tau": "τ", "textasciitilde": "~",
    "textbackslash": "\\", "textpm": "±", "textdagger": "†", "infty": "∞", "mid": "|", "textemdash": "—",
    "textendash": "–", "hookrightarrow": "↪", "bullet": "•", "epsilon": "ε", "varepsilon": "ε",
}  # fmt: skip
_GREY = re.compile(r"\s*gr[ae]y\b")
_DIFFERENCE = re.compile(r"[+\u2212-]\s?\d[\d.]*\s?%?")  # beside a number: `83.1_{+0.4}`
_INSIDE = re.compile(r"\{?\d\}?\$?[A-Za-z]")  # `P$^3$IV`
_CITED = re.compile(r"[\s{]*\\[A-Za-z]*cite[A-Za-z]*\*?(?:\[[^\[\]]*\])*\{(?P<key>[^{},]+)\}[\s}]*")
_NEGATIVE = re.compile(r"[\u2212-]\s?\d+")  # `10^{-3}`


class Macro(NamedTuple):
    """Describes a command that the source defines: its number of arguments, and its text (`#1` is the first one)."""

    arguments: int
    body: str


def latex_text(source: str, macros: Mapping[str, Macro] | None = None) -> str:
    """Return what a piece of LaTeX shows, on one line."""
    if not any(char in source for char in "\\{}$~^_"):
        return " ".join(source.split())
    text, _ = _visible_text(source, 0, macros or {}, 0)
    text = " ".join(text.replace("****", "").replace("``", "“").replace("''", "”").split())
    citation = None if text else _CITED.fullmatch(source)  # a cell that is a citation is called by its key
    return citation["key"] if citation else text


def _ends_in_hyphen(text: str) -> bool:
    return text.rstrip("*}").endswith("-") and text.rstrip("*}-")[-1:].isalnum()


def read_braces(text: str, start: int) -> tuple[str | None, int]:
    """Return the content of the braces at or after `start`, and where they end; (None, start) if none open there."""
    while start < len(text) and text[start].isspace():
        start += 1
    if start >= len(text) or text[start] != "{":
        return None, start
    depth = 0
    for token in _brace().finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return text[start + 1 : token.start()], token.end()
    return None, start


@functools.cache
def _brace() -> re.Pattern[str]:
    return re.compile(r"\\.|[{}]", re.DOTALL)


def _visible_text(source: str, at: int, macros: Mapping[str, Macro], depth: int) -> tuple[str, int]:
    """Return the text from `at` to the closing brace of the group around it, and the position behind that brace."""
    pieces: list[str] = []
    is_bold = False
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token is None:
            break
        at = token.end()
        if token["name"]:
            if token["name"] in _BOLD_ON:
                is_bold = True
                pieces.append("**")
                continue
            text, at = _command(token["name"], source, at, macros, depth)
            pieces.append(text)
        elif token["sign"]:
            pieces.append(token["sign"] if token["sign"] in "%&_#${}-" else "" if token["sign"] == "/" else " ")
            if token["sign"] == "\\" and _ends_in_hyphen("".join(pieces[-3:-1])):
                pieces.pop()  # a name that is broken behind its hyphen goes on
        elif token["mark"] == "}":
            if depth:
                break
        elif token["mark"] == "{":
            text, at = _visible_text(source, at, macros, depth + 1) if depth < MAX_DEPTH else ("", at)
            pieces.append(text)
        elif token["mark"] in {"^", "_"}:
            is_power = token["mark"] == "^" and _LETTER.search(pieces[-1] if pieces else "")
            is_inside = token["mark"] == "^" and "".join(pieces[-2:])[-1:].isalpha() and _INSIDE.match(source, at)
            power = _POWER.match(source, at) if is_power or is_inside else None  # R² is no letter with a footnote
            text, at = (power[1], power.end()) if power else _script(token["mark"], source, at, macros, depth)
            pieces.append(text)
        else:
            pieces.append({"$": "", "~": " "}.get(token.group(), token.group()))
    text = "".join(pieces)
    if is_bold:
        before, _, rest = text.partition("**")
        text = f"{before}**{rest.strip()}**"
    return text, at


def _argument(source: str, at: int, macros: Mapping[str, Macro], depth: int) -> tuple[str | None, int]:
    inner, end = read_braces(source, at)
    if inner is None or depth >= MAX_DEPTH:
        return None, at
    return _visible_text(inner, 0, macros, depth + 1)[0], end


def _script(mark: str, source: str, at: int, macros: Mapping[str, Macro], depth: int) -> tuple[str, int]:
    """Return a superscript or subscript as text, and where it ends.

    A raised sign or number is a footnote's mark and gives no text; anything else belongs to the name.
    """
    text, end = _argument(source, at, macros, depth)
    if text is None:
        token = _TOKEN.match(source, at)
        if token is None:
            return "", at
        if token["name"]:
            text, end = _command(token["name"], source, token.end(), macros, depth)
            if mark == "^" and text.strip() == token["name"]:
                return "", end  # a sign that is not known (`\natural`) is a footnote's mark
        else:
            text, end = source[at], at + 1
    if mark == "^" and _RAISED_MARK.fullmatch(text.strip()):
        return "", end
    if _DIFFERENCE.fullmatch(text.strip()) and not (mark == "^" and _NEGATIVE.fullmatch(text.strip())):
        return f" ({text.strip()})", end
    return (f" {text}" if mark == "^" or "±" in text or text[:1].isalpha() or "*" in text else text), end


def _command(name: str, source: str, at: int, macros: Mapping[str, Macro], depth: int) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 -- one branch a kind of command
    if name in _SIGNS:
        return _SIGNS[name], at
    if name in {"begin", "end"}:
        kind, at = read_braces(source, at)
        if (
            name == "begin" and kind and ("tabular" in kind or kind in {"array", "minipage"})
        ):  # how its columns are set is no text
            option = _OPTION.match(source, at)
            at = read_braces(source, option.end() if option else at)[1]
        return " ", at
    if name in macros and depth < MAX_DEPTH:
        body = macros[name].body
        for number in range(1, macros[name].arguments + 1):
            inner, at = read_braces(source, at)
            body = body.replace(f"#{number}", inner or "")
        return _visible_text(body, 0, macros, depth + 5)[0], at
    if "cite" in name.lower():  # `\citep[see][]{key}`, `\shortcite`, `\newcite`
        while option := _OPTION.match(source, at):
            at = option.end()
        return "", read_braces(source, at)[1]
    while option := _OPTION.match(source, at):
        if name not in _DROPPED and read_braces(source, option.end())[0] is None:
            break
        at = option.end()
    argument: str | None = ""
    for _ in range(_DROPPED.get(name, 0)):
        argument, at = read_braces(source, at)
    colour = GREY if name in {"color", "textcolor"} and _GREY.match(argument or "") else ""
    if name in _ABOUT_LAST:
        text, at = _argument(source, at, macros, depth)
        return colour + (text or ""), at
    if name in _DROPPED or name in _LAYOUT:
        return colour, at
    texts: list[str] = []
    has_arguments = False
    while depth < MAX_DEPTH:
        text, end = _argument(source, at, macros, depth)
        if text is None:
            break
        has_arguments |= bool(source[at:end].strip("{} "))
        at = end
        if text.strip() and not _SIZE.fullmatch(text.strip()):
            texts.append(text.strip())
        if name in _BOLD or name in _UNDERLINED or name in {"textsuperscript", "textsubscript"}:
            break
    joined = " ".join(texts)
    if name == "textsuperscript":
        return "" if _RAISED_MARK.fullmatch(joined) else f" {joined}", at
    if name in _BOLD:
        return f"**{joined}**" if joined else "", at
    if name in _UNDERLINED:
        return f"<u>{joined}</u>" if joined else "", at
    return joined or ("" if has_arguments else f"{name}{' ' if source[at - 1 : at].isspace() else ''}"), at
