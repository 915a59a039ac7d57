"""Makes text that somebody else wrote (prompts, answers, names) safe to look at.

Escaping alone is not enough: a bidi override or a control character survives HTML escaping and changes what a reader
sees, and an escape sequence acts on the terminal. In pages such characters are shown by name; in the terminal they go.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# Joiners hold emoji and several scripts together, so a page keeps them; line break and tab are layout.
_KEPT = frozenset("\n\t\u200c\u200d")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, clear screen
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the same with the one-character C1 introducer
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS…: clipboard, links, title
    r"|\x1b[ -/]*[0-~]"
)


def visible(text: str) -> str:
    """The text with every invisible or reordering character written out: `⟨U+202E⟩` for an override.

    Line breaks and tabs stay. The result always encodes as UTF-8: a lone surrogate is written out as well.
    """
    return "".join(_shown(char) if _is_hidden(char) else char for char in text.replace("\r\n", "\n"))


def marked(text: str) -> Markup:
    """`visible(text)` as escaped HTML, each written-out character in its own element so that it stands apart."""
    pieces = [
        Markup('<span class="hidden-char">{}</span>').format(_shown(char)) if _is_hidden(char) else escape(char)
        for char in text.replace("\r\n", "\n")
    ]
    return Markup("").join(pieces)


def for_terminal(text: str) -> str:
    """The text without escape sequences and without any character that a terminal hides or acts on.

    Line breaks stay; tabs become spaces. Joiners go too: terminals disagree about their width.
    """
    plain = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")).replace("\t", " ")
    return "".join(char for char in plain if char == "\n" or unicodedata.category(char) not in _HIDDEN_CATEGORIES)


def one_line(text: str) -> str:
    """`for_terminal(text)` with every run of white space made one space: fit for a table cell."""
    return " ".join(for_terminal(text).split())


def _is_hidden(char: str) -> bool:
    return char not in _KEPT and unicodedata.category(char) in _HIDDEN_CATEGORIES


def _shown(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"
