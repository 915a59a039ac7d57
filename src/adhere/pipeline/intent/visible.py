"""Reduce a text to what a reader sees of it.

What no program displays is left out, and look-alikes become the letters and signs that they look like.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator

# -- what is not drawn ----------------------------------------------------------------------------------------------

_COMMENT = re.compile(
    r"<!--(?:(?!-->)[\s\S])*+(?:-->)?|"
    # a link's definition with a title
    r"^\[[^\]\n]*\]:[ \t]*(?:(?:#|<>)[ \t]*|\S+[ \t]+)(?:\([^()]*\)|\"[^\"]*\"|'[^']*'|[(\"'][^\n]*)[ \t]*$",
    re.MULTILINE,
)
# Elements that HTML never draws, or draws only where something else cannot be; one never closed goes to the end.
_NEVER = (
    "script|style|template|noscript|datalist|title|head|audio|video|canvas|iframe|object|dialog|"
    "rp|optgroup|map|param|frameset|noframes|noembed|comment|details"
)
# Elements whose own attributes say that they are not to be seen. A style at all says it where nobody asked for markup.
_HIDES = (
    r"\bhidden\b|display\s*:\s*none|font-size\s*:\s*0|opacity\s*:\s*0|color\s*[:=]\s*[\"']?(?:white|transparent|#fff)"
)
_VOID = r"<(?:input|meta|img|link)\b[^<>]*\bhidden\b[^<>]*>"


def _undrawn(hides: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_VOID}|<({_NEVER})\b[^<>]*>(?:(?!</\1)[\s\S])*+(?:</\1\s*>)?|"
        rf"<(?!input|meta|img|link)(\w{{1,10}})\b[^<>]*?(?:{hides})[^<>]*>(?:(?!</\2)[\s\S])*+(?:</\2\s*>)?",
        re.IGNORECASE,
    )


_UNDRAWN, _STYLED = _undrawn(_HIDES), _undrawn(rf"{_HIDES}|\b(?:style|class|width|height|aria-\w+)\s*=")
_ATTRIBUTES = re.compile(
    r"<(/?[A-Za-z][\w:-]{0,20})\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*=(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>"
)
_DECLARED = re.compile(
    r"<[?!%](?!\[)[^<>]*>|"
    # comments of templates and TeX, and TeX that is set in no ink
    r"\{{1,2}[#!](?:(?![#!]?\}{1,2})[\s\S])*+(?:[#!]?\}{1,2})?|^[ \t]*%(?!\w)[^\n]*$|"
    r"\\iffalse\b(?:(?!\\fi\b)[\s\S])*+(?:\\fi\b)?|\\[hv]?phantom\{+[^{}]*\}+|"
    r"\\begin\{comment\}(?:(?!\\end\{c)[\s\S])*+(?:\\end\{comment\})?|\\(?:text)?color\{white\}\{*[^{}]*\}*|"
    r"\{%-?[ ]*comment\b(?:(?!endcomment)[\s\S])*+(?:endcomment[ ]*-?%\})?|\{%[^%]*%\}|"
    r"<!\[CDATA\[(?:(?!\]\]>)[\s\S])*+(?:\]\]>)?|^[ \t]*/\*(?:(?!\*/)[\s\S])*+(?:\*/)?|"
    r"(?:\A|(?<=\n\n))//[ \t][^\n]*(?=\n\n|\Z)|"
    # front matter; where a link goes that is named elsewhere
    r"\A\s*---[ \t]*\n(?:[\w-]+:[^\n]*\n)++---[ \t]*$|^\[[^\]\n^][^\]\n]*\]:[ \t]*\S+[ \t]*$",
    re.MULTILINE,
)
# A footnote, which is drawn where something refers to it.
_NOTE = re.compile(r"^(\[\^\w{1,20}\]):[^\n]*\n?", re.MULTILINE)
_REFERENCE = re.compile(r"\[\^\w{1,20}\]")
_UNSAID = re.compile(r"!?\[[ \t]*\]\([^()]*\)")  # links without a text
_TITLE = re.compile(r"(?<=\]\()([^()\s]*)[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*')(?=\))")  # what a link says when pointed at
_PICTURE = re.compile(r"!\[[^\[\]\n]*\](?=\()")  # what is said of a picture is read where it cannot be drawn
_EMPTY_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n`]*\n\s*\1[ \t]*$\n?", re.MULTILINE)
_MARKUP = re.compile(
    r"\b(?:x?html|css|xml|svg|markup|web ?pages?|web ?sites?|java ?script|php|jsx|react|bootstrap|latex)\b",
    re.IGNORECASE,
)

# Characters that are drawn as nothing: format characters, fillers, selectors of a variant. Emoji and some scripts need
# joiners and selectors, so one counts only behind a Latin letter, a sign, a blank or at the beginning.
_NOTHING = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
)
_UNSEEN = re.compile(rf"(?:(?<=[\x00-\u024f\u2000-\u2027])|\A)[{_NOTHING}]++(?!\u20e3)")
# Words that are glued together by characters that nobody sees are one word for a reader, several for a program, or the
# other way round.
_GLUED = re.compile(rf"(?<=[A-Za-z\u00c0-\u024f])[{_NOTHING}]+(?=[A-Za-z\u00c0-\u024f])")
_MOST_GLUED = 5


def seen_of(text: str, *, request: str = "") -> str:
    """Return what a reader sees of a text.

    Comments, markup that no browser draws, attributes, invisible characters and empty code fences are left out.

    Args:
        text: An answer.
        request: The prompt. If it asks for markup, attributes are part of the answer, and a style hides only what it
            says.
    """
    text = _outside_of_code(text, _without_undrawn if _MARKUP.search(request) else _without_markup)
    text = _EMPTY_FENCE.sub("", text)
    return text if text.isascii() else _UNSEEN.sub("", text)


_CODE = re.compile(r"^(?P<fence>`{3,}|~{3,})[^\n`]*\n[\s\S]*?^(?P=fence)[ \t]*$|`[^`\n]+`", re.MULTILINE)


def _outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Return the text with `change` applied outside of its code, of which a reader sees every character."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _without_undrawn(text: str) -> str:
    return _UNDRAWN.sub("", _COMMENT.sub("", text))


def _without_markup(text: str) -> str:
    # Each pattern is looked for only where a sign stands that all its matches have.
    if "](" in text:
        text = _TITLE.sub(r"\1", _PICTURE.sub("![]", text))
    text = _COMMENT.sub("", text)
    if any(sign in text for sign in _SIGNS_OF_DECLARED):
        text = _DECLARED.sub("", text)
    if "<" in text:
        text = _STYLED.sub("", text)
    if "](" in text:
        text = _UNSAID.sub("", text)
    if "[^" in text:
        mentions = Counter(_REFERENCE.findall(text))
        text = _NOTE.sub(lambda note: note[0] if mentions[note[1]] > 1 else "", text)
    return _ATTRIBUTES.sub(r"<\1>", text) if "<" in text else text


_SIGNS_OF_DECLARED = ("<?", "<!", "<%", "{", "\\", "/*", "//", "%", "---", "]:")


def is_glued(text: str) -> bool:
    """Tell whether several words are joined by invisible characters."""
    return not text.isascii() and len(_GLUED.findall(text)) >= _MOST_GLUED


# -- what looks like something else ---------------------------------------------------------------------------------

# Letters of other scripts that look like Latin ones (Cyrillic, Greek, Coptic, Lisu).
_TWINS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕһԁԛԝѵӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανυⲥⲟⲣꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ",
    "ABESIJKMHOPCTYXaeopcyxijshdqwvlABEZHIKMNOPTYXoavucopABCDEFGHIJKLMNOPRSTUVWXYZ",
)
_LATIN_NAME = re.compile(r"(?:LATIN|MODIFIER) .*?\b([A-Z])\b(?! WITH STROKE)|LATIN SMALL LETTER (A)LPHA")
_OTHER = "\u0250-\u02af\u0370-\u058f\u13a0-\u13ff\u1d00-\u1dbf\u2160-\u217f\ua4d0-\ua4ff\ua730-\ua7ff\uab30-\uabbf"
_FOLDS = "\uff21-\uff5a\u249c-\u24e9\U0001d400-\U0001d7cb"
_OTHER_WORD = re.compile(rf"(?<![^\W\d_])[^\W\d_]*[\u0131{_OTHER}{_FOLDS}](?:[^\W\d_]|[\u249c-\u24e9])*")
# A word of Latin letters and others: no language has them, units of one or two letters aside. Or of enclosed letters.
_MIXED = re.compile(rf"(?<![^\W\d_])(?=[^\W\d_]*[a-zA-Z])[^\W\d_]*[{_OTHER}{_FOLDS}][^\W\d_]*|[\u249c-\u24e9]{{4,}}")
_MOST_MIXED = 5
_FEWEST_SAME = 3  # words in which a letter of another script stands, for a letter in place of the one that is counted


class _Signs(dict[int, int | str]):
    """Maps each sign to the ASCII sign that it looks like, by its name; any other character to itself."""

    def __missing__(self, code: int) -> int | str:
        sign = chr(code)
        replacement: int | str = code
        if code >= 128 and unicodedata.category(sign)[0] in "PSL":
            normal_form, name = unicodedata.normalize("NFKC", sign), unicodedata.name(sign, "")
            plain = next((plain for part, plain in _NAMED if part in name and "INVERTED" not in name), None)
            is_sign = len(normal_form) == 1 and normal_form.isascii() and not normal_form.isalnum()
            replacement = normal_form if is_sign else (plain or code)
        self[code] = replacement
        return replacement


class _Letters(dict[int, int | str]):
    """Maps each letter to the Latin letter that it looks like, by its parts or its name; others to themselves."""

    def __missing__(self, code: int) -> int | str:
        character = chr(code)
        latin = unicodedata.normalize("NFKD", character).translate(_TWINS)
        latin = "".join(part for part in latin if part.isalnum()) or latin  # no mark, no enclosing sign
        if not latin.isascii():
            name = _LATIN_NAME.match(unicodedata.name(character, ""))
            letter = (name[1] or name[2]) if name else ""
            latin = (letter.lower() if "SMALL" in unicodedata.name(character, "") else letter) or latin
        self[code] = latin
        return latin


_NAMED = (
    ("SEMICOLON", ";"), ("COLON", ":"), ("COMMA", ","), ("LOW-9", ","), ("FULL STOP", "."), ("QUESTION MARK", "?"),
    ("EXCLAMATION MARK", "!"), ("RETROFLEX CLICK", "!"), ("HYPHEN", "-"), ("MINUS SIGN", "-"), ("DIVISION SLASH", "/"),
    ("FRACTION SLASH", "/"), ("ASTERISK", "*"), ("OPEN BOX", "_"),
)  # fmt: skip
_SIGNS, _LOOKS = _Signs(), _Letters()


def plain_of(text: str, literals: Iterable[str] = ()) -> str:
    """Return the text with look-alikes replaced by the Latin letters and signs that they look like.

    A text in another script stays as it is.

    Args:
        text: What a reader sees.
        literals: Lower-case words that the rules name. A word of two scripts is replaced by a rule's word if its Latin
            letters agree with that word. A foreign letter that occurs in several words is replaced by a single letter
            that the rules name.
    """
    rule_words = frozenset(literals)
    if rule_words and _MAY_BE_PARTED.search(text):
        text = _PARTED.sub(
            lambda match: joined if (joined := _NOT_LETTER.sub("", match[0])).lower() in rule_words else match[0], text
        )
    if rule_words and _MAY_BE_ODD.search(text):
        text = _ODD.sub(lambda match: folded if (folded := fold(match[0])).lower() in rule_words else match[0], text)
    if text.isascii() or not is_latin(text.translate(_LOOKS)):
        return text
    letters = sorted(word for word in rule_words if len(word) == 1 and word.isalpha())
    foreign = Counter(letter for word in _MIXED.findall(text) for letter in set(word) if not letter.isascii())

    def plain(match: re.Match[str]) -> str:
        folded = match[0].translate(_LOOKS)
        if folded.isascii():
            return folded
        same = next((word for word in rule_words if _could_be(folded.lower(), word)), None)
        if same is not None:
            return same
        return "".join(letters[0] if foreign[letter] >= _FEWEST_SAME and letters else letter for letter in folded)

    text = _OTHER_WORD.sub(plain, text)
    return text.translate(_SIGNS) if is_latin(text) else text


def _could_be(word: str, literal: str) -> bool:
    """Tell whether the Latin letters of a word, at least one, equal those of a literal at the same places."""
    return (
        len(word) == len(literal) > 1
        and any(letter.isascii() for letter in word)
        and all(letter == other or not letter.isascii() for letter, other in zip(word, literal, strict=True))
    )


# A word with signs or blanks between its letters; a word with digits, or marks that no Western language has, in it.
_PARTED = re.compile(r"(?<!\w)[^\W\d_](?:[ .*_·-][^\W\d_]){2,}(?!\w)|(?<![\w.])[^\W\d_]+(?:[.*_·][^\W\d_]+)+(?![\w.])")
_MAY_BE_PARTED = re.compile(r"[^\W\d_][.*_·][^\W\d_]|[ .*_·-][^\W\d_][ .*_·-]")
_MAY_BE_ODD = re.compile(r"\d[a-zA-Z]|[a-zA-Z]\d|[^\x00-\x7f]")
_NOT_LETTER = re.compile(r"[\W_]+")
_ODD = re.compile(
    rf"(?<![^\W_])(?=[^\W_]*?(?:\d|[\u0180-\u024f\u1e00-\u1eff{_OTHER}{_FOLDS}]))(?=[^\W_]*?[^\W\d_])[^\W_]{{2,}}"
)
_MARKED = re.compile(r"(?<![^\W_])[a-zA-Z]*[\u00c0-\u017f][a-zA-Z\u00c0-\u017f]*(?![^\W_])")
_DIGITS = str.maketrans("013457", "oieast")


def fold(word: str) -> str:
    """Return a word in the Latin letters that its letters and digits look like."""
    return word.translate(_LOOKS).translate(_DIGITS)


def is_latin(text: str) -> bool:
    """Tell whether most letters of a text are Latin."""
    plain, others = len(_ASCII_LETTER.findall(text)), _NOT_ASCII.findall(text)
    letters = plain + sum(map(str.isalpha, others))
    latin = plain + sum("\u00c0" <= character <= "\u024f" for character in others)
    return bool(latin * 2 > letters)


_ASCII_LETTER, _NOT_ASCII = re.compile(r"[A-Za-z]"), re.compile(r"[^\x00-\x7f]")


def is_mixed(text: str, known_words: Container[str], english: Container[str]) -> bool:
    """Tell whether words are spelt in letters of another script.

    This holds for five words or more in letters of several scripts, three known words in strange letters, or three
    English words with marks.
    """
    if not text.isascii() and len({word for word in _MIXED.findall(text) if len(word) >= 4}) >= _MOST_MIXED:
        return True
    patterns = [(_ODD, known_words)] if _MAY_BE_ODD.search(text) else []
    if not text.isascii():
        patterns.append((_MARKED, english))
    return any(
        len({word for word in pattern.findall(text) if len(word) >= 3 and fold(word).lower() in those}) >= _FEWEST_SAME
        for pattern, those in patterns
    )


# Signs at the end of a Latin word that no Latin text has there: letters without case, signs of another script, nothing
# to be seen.
_AT_END = re.compile(r"(?<=[A-Za-z0-9\u00c0-\u024f)])([\u00a0\u00ad\u00b7\u0250-\U0010ffff]+)(?=[\s\"'”’)]|\Z)")
_IS_STRANGE = frozenset(("Lo", "Lm", "Po", "Cf", "Sk"))
_USUAL = frozenset(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2020\u2021\u2022\u2026\u2030\u2032\u2033\u2034\u2039\u203a"
)

_MOST_STRANGE = 5


def with_stops(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text with the strange signs at the ends of words replaced by a stop that it has less often.

    Each text comes with whether the signs stand for its full stops or commas throughout. Without such signs, nothing is
    yielded.
    """
    if text.isascii() or not is_latin(text):
        return
    signs = Counter(
        sign
        for run in _AT_END.findall(text)
        for sign in run.lstrip()[:1]
        if unicodedata.category(sign) in _IS_STRANGE or _UNSEEN.match(sign)
    )
    scripts = Counter(map(_script_of, text))
    # A letter of a script of which there are words is a letter.
    strange = [
        sign
        for sign, n in signs.items()
        if sign not in _USUAL and (unicodedata.category(sign) != "Lo" or scripts[_script_of(sign)] <= n)
    ]
    n = sum(signs[sign] for sign in strange)
    for stop in ".,!?" if any(unicodedata.category(sign) != "Cf" for sign in strange) else ".,":
        plain = len(re.findall(rf"(?<=\w){re.escape(stop)}(?=\s|\Z)", text))
        if n > plain:
            strangers = f"(?:{'|'.join(map(re.escape, strange))})+"
            yield re.sub(strangers, stop, text), stop in ".," and plain == 0 and n >= _MOST_STRANGE


def _script_of(sign: str) -> str:
    """Return the first word of a letter's Unicode name, which names its script; any other character itself."""
    return unicodedata.name(sign, sign).partition(" ")[0] if unicodedata.category(sign) == "Lo" else sign
