"""Tables in Markdown, written by their rows."""

from __future__ import annotations


def table(head: str, *rows: str, above: str = "") -> str:
    """A table below a text; cells are parted by `|`."""
    rule = "|".join(["---"] * (head.count("|") + 1))
    return f"{above}\n\n| {head} |\n|{rule}|\n" + "".join(f"| {row} |\n" for row in rows)
