"""Make untrusted text (prompts, answers, names) safe to show on a page.

For terminals see `adhere.terminal`. Escaping alone is not enough: a bidi override or a control character survives HTML
escaping and changes what a reader sees. Such characters are shown by name.
"""

from __future__ import annotations

import unicodedata

from markupsafe import Markup, escape

from adhere.terminal import HIDDEN_CATEGORIES

# Joiners hold emoji and several scripts together, so a page keeps them; line break and tab are layout.
_KEPT = frozenset("\n\t\u200c\u200d")


def visible(text: str) -> str:
    """Write out every invisible or reordering character of a text: `⟨U+202E⟩` for an override.

    Line breaks and tabs stay. The result always encodes as UTF-8: a lone surrogate is written out as well.
    """
    return "".join(_escape(char) if _is_hidden(char) else char for char in text.replace("\r\n", "\n"))


def mark_hidden(text: str) -> Markup:
    """Return `visible(text)` as escaped HTML, with each written-out character in its own element."""
    pieces = [
        Markup('<span class="hidden-char">{}</span>').format(_escape(char)) if _is_hidden(char) else escape(char)
        for char in text.replace("\r\n", "\n")
    ]
    return Markup("").join(pieces)


def _is_hidden(char: str) -> bool:
    return char not in _KEPT and unicodedata.category(char) in HIDDEN_CATEGORIES


def _escape(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"
