"""`adhere example [NAME]`."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import textwrap
from pathlib import Path

import click

from adhere.cli.options import FOLDER
from adhere.errors import UnknownName, UsageError, nearest
from adhere.terminal import columns, show

EXAMPLES = Path(__file__).parents[1] / "examples"
"""The folder of examples: the repository's `examples/`, which the wheel includes."""
NEEDS = {"qwen2.5-smoke": "smoke-data", "read-a-study": "notebooks/read-a-study.json"}
"""Files that a spec or notebook reads from its own folder, by their place in `EXAMPLES`."""


@click.command("example")
@click.argument("name", required=False)
@click.option("--out", type=FOLDER, default=Path(), help="The folder to write into [this one].")
def command(name: str | None, out: Path) -> None:
    """Write the example spec or notebook NAME (and what it reads) into a folder; without NAME list them.

    A file that is there already is never overwritten.
    """
    examples = {
        file.stem: file for file in [*sorted(EXAMPLES.glob("*.toml")), *sorted(EXAMPLES.glob("notebooks/*.ipynb"))]
    }
    examples["rules"] = EXAMPLES / "rules"
    if name is None:
        for stem, file in examples.items():
            show(textwrap.fill(f"{stem:<19} {_about(file)}", columns(otherwise=80), subsequent_indent=" " * 20))
        return
    if name not in examples:
        raise UnknownName(f"There is no example {name!r}.{nearest(name, examples)} Examples: {', '.join(examples)}")
    sources = [examples[name], *([EXAMPLES / NEEDS[name]] if name in NEEDS else [])]
    for source in sources:
        if (out / source.name).exists():
            raise UsageError(f"{out / source.name} is there already; move it, or write elsewhere with --out")
    out.mkdir(parents=True, exist_ok=True)
    for source in sources:
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, out / source.name)
    show(str(out / examples[name].name))


def _about(file: Path) -> str:
    """Return the first sentence of a spec's comment, the heading of a notebook, or what a folder holds."""
    if file.is_dir():
        return "A rule file and two sessions of agents, for adhere rules."
    if file.suffix == ".ipynb":
        source = "".join(json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"])
        return source.splitlines()[0].removeprefix("#").strip()
    lines = itertools.takewhile(lambda line: line.startswith("#"), file.read_text(encoding="utf-8").splitlines())
    comment = " ".join(line.removeprefix("#").strip() for line in lines)
    return re.split(r"(?<=[.?!])\s|:\s+adhere ", comment, maxsplit=1)[0]  # a command begins no sentence
