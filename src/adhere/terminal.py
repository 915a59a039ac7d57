"""Makes text of a server, a model or a file harmless before it is printed on a terminal.

An escape sequence acts on the terminal (colours, title, clipboard), as a C1 byte does on old terminals, and a bidi mark
changes what a reader sees. All of them are removed; line breaks stay. `--json` keeps the text whole and writes such
characters as JSON escapes. Everything that a command prints goes through `show`, and so do progress and error messages.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Mapping

HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, clear screen
    r"|\x9b[0-?]*[ -/]*[@-~]"  # the same with the one-character C1 introducer
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC, DCS…: clipboard, links, title
    r"|\x1b[ -/]*[0-~]"
)


def plain(text: str) -> str:
    """Remove escape sequences and all characters that a terminal hides or acts on.

    Line breaks stay; tabs become spaces. Joiners are removed, too, because terminals disagree about their width.
    """
    if text.isascii() and text.replace("\n", " ").isprintable():
        return text
    plain_text = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n")).replace("\t", " ")
    return "".join(char for char in plain_text if char == "\n" or unicodedata.category(char) not in HIDDEN_CATEGORIES)


def one_line(text: str) -> str:
    """Return `plain(text)` with every run of white space made one space, fit for a table cell."""
    return " ".join(plain(text).split())


def notebook_table(heading: str, rows: Mapping[str, str]) -> str:
    """Return a heading and two columns as HTML for a notebook, without scripts, requests or hidden characters."""

    def cell(text: str) -> str:
        return html.escape(one_line(text))

    body = "".join(
        f'<tr><th style="text-align:left">{cell(name)}</th><td style="text-align:left">{cell(text)}</td></tr>'
        for name, text in rows.items()
    )
    return f"<p><strong>{cell(heading)}</strong></p><table><tbody>{body}</tbody></table>"


def show(output: str | bytes, *, err: bool = False) -> None:
    """Print a text, or a JSON document (bytes), that may hold what somebody else wrote; `err`: to stderr.

    In JSON whatever a terminal would hide or act on is written as an escape, so that no value changes.
    """
    safe = plain(output) if isinstance(output, str) else json_text(output)
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"  # a terminal without Unicode gets question marks, not a traceback
    print(safe.encode(encoding, "replace").decode(encoding), file=stream, flush=True)


def json_text(document: bytes) -> str:
    """Return a JSON document as text that a terminal cannot act on: hidden characters are JSON escapes."""
    return "".join(
        _escape(char) if char != "\n" and unicodedata.category(char) in HIDDEN_CATEGORIES else char
        for char in document.decode("utf-8", "replace")
    )


def columns(*, least: int = 40, otherwise: int = 110) -> int:
    """Return the columns that a text may have: the terminal's width, but at least `least`.

    `otherwise` is the width where there is no terminal.
    """
    return max(least, shutil.get_terminal_size((otherwise, 24)).columns)


def _escape(char: str) -> str:
    """Escape a character as JSON writes it.

    `u` and four hexadecimal digits after a backslash, two such for a character beyond the first 65,536.
    """
    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"
