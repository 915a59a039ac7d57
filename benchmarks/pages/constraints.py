"""Every own kind with its parameters, wording and examples, from the registry: makes `docs/reference/constraints.md`.

python -m benchmarks.pages.constraints            # writes docs/reference/constraints.md
python -m benchmarks.pages.constraints --print    # prints it
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from pathlib import Path

from benchmarks.sources import ROOT

from adhere.constraints import Constraint, make, registry
from adhere.report.tables.kinds import domain_text

PAGE = ROOT / "docs" / "reference" / "constraints.md"
HEAD = """# Own kinds of constraint

Made by `python -m benchmarks.pages.constraints` from the registry. Kinds of a **train** family may be trained on; those of a
**held-out** family never are. Published kinds (IFEval, IFBench, IFTrain) keep their own names and are not listed here.
Of each kind: its id, its parameters with the values that they may take, one of its wordings, and an answer that passes
and one that fails with the reason that is given for it.
"""


def code(text: str) -> str:
    """`text` as inline code on one line: line breaks are shown, and the fence is longer than any run of backticks."""
    shown = text.replace("\n", "⏎")
    ticks = "`"
    while ticks in shown:
        ticks += "`"
    gap = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{gap}{shown}{gap}{ticks}"


def entry(kind: type[Constraint]) -> list[str]:
    """The lines about one kind."""
    fields = dataclasses.fields(kind)
    passing, failing = (make(kind.id, **example[0]) for example in (kind.passing, kind.failing))
    params = [f"`{field.name}`: {domain_text(field.metadata['domain'])}" for field in fields]
    return [
        f"### `{kind.id}`",
        "",
        *([f"- Parameters: {'; '.join(params)}"] if params else ["- Parameters: none"]),
        f"- Says: {passing.describe()}",
        f"- Passes: {code(kind.passing[1])}",
        f"- Fails: {code(kind.failing[1])} – {failing.check(kind.failing[1]).reason}",
        "",
    ]


def page() -> str:
    """The page; kinds of plug-ins are left out."""
    families: dict[tuple[str, str], list[type[Constraint]]] = defaultdict(list)
    for name in registry:
        kind = registry.get(name)
        if kind.__module__.startswith("adhere.constraints."):
            families[kind.part, kind.family()].append(kind)
    order = sorted(families, key=lambda key: (key[0] != "train", key[1]))
    table = [f"| {family} | {part} | {len(families[part, family])} |" for part, family in order]
    total = sum(map(len, families.values()))
    lines = [HEAD, "| family | part | kinds |", "|---|---|---:|", *table, f"| all | | {total} |", ""]
    for part, family in order:
        lines += [f"## {family} ({part})", ""]
        for kind in families[part, family]:
            lines += entry(kind)
    return "\n".join(lines)


def main() -> None:
    """Write or print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", dest="prints", help="print the page, write nothing")
    if parser.parse_args().prints:
        print(page(), end="")
        return
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}")


if __name__ == "__main__":
    main()
