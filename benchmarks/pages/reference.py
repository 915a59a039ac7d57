"""The lists of `docs/reference/api.md` and `commands.md`: every public name and every command, a line each.

python -m benchmarks.pages.reference    # writes both anew

On the site each page goes on with all of the docstrings and options, printed when it is built (`docs/conf.py`); on the
code host these lists are what a reader sees.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from benchmarks.sources import ROOT

from adhere.cli import GROUPS

API = ROOT / "docs" / "reference" / "api.md"
COMMANDS = ROOT / "docs" / "reference" / "commands.md"
_PRINTED = re.compile(r"<!-- from the program: (adhere[\w.]*) -->")


def names_of(module: str) -> str:
    """A table of a module's public names with the first sentence of each docstring."""
    home = importlib.import_module(module)
    rows = []
    for name in sorted(home.__all__, key=str.lower):
        thing = getattr(home, name)
        is_explained = isinstance(thing, type) or inspect.isroutine(thing)
        said = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()) if is_explained else "data"
        rows.append(f"| `{name}` | {_cell(said)} |")
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def api(text: str) -> str:
    """The page with its lists as they are now."""
    bare = re.sub(r"\n\| name \| what it is \|\n(?:\|.*\n)+", "", text)
    return _PRINTED.sub(lambda found: f"{found[0]}\n\n{names_of(found[1])}", bare)


def commands(text: str) -> str:
    """The page with its list as it is now."""
    rows = [
        f"| {group} | `adhere {name}` | {_cell(line)} |"
        for group, lines in GROUPS.items()
        for name, line in lines.items()
    ]
    table = "\n".join(["| | command | what it does |", "|---|---|---|", *rows])
    bare = re.sub(r"\n\| \| command \| what it does \|\n(?:\|.*\n)+", "", text)
    return bare.replace("\n<!-- from the program: commands -->", f"\n{table}\n\n<!-- from the program: commands -->")


def _cell(text: str) -> str:
    """The first sentence, without what Markdown would act on outside of code."""
    first = re.split(r"(?<=\.)\s", text)[0].replace("|", "\\|")
    parts = re.split(r"(`[^`]*`)", first)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*_\[\]])", r"\\\1", part) for part in parts)


def pages() -> dict[Path, str]:
    """Both pages, as they should be."""
    return {API: api(API.read_text(encoding="utf-8")), COMMANDS: commands(COMMANDS.read_text(encoding="utf-8"))}


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
        print(page.relative_to(ROOT))
