"""Cells that were read by hand, held against what `adhere claims` reads.

Recall and precision per document, format and set.

    python -m benchmarks.claims.cells SET… [--verbose] [--doc NAME] [--corrections DIR]

A SET is a directory with `docs/`, `cells.json` and, in one of them, `score.py` (`judge`), as
`../shared/data/claims_fresh` has them. Every error that is reported is printed, so that it can be held against its
source by eye.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

from adhere.errors import UsageError
from adhere.evidence.examine import examine


def load_judge(sets: list[Path]) -> ModuleType:
    """The scorer of the first set that has one with `judge`."""
    for folder in sets:
        file = folder / "score.py"
        if file.is_file() and "def judge" in file.read_text(encoding="utf-8"):
            sys.path.insert(0, str(folder))
            sys.dont_write_bytecode = True
            spec = importlib.util.spec_from_file_location("claims_score", file)
            if spec and spec.loader:
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    raise SystemExit("none of the sets has a score.py with judge(claims, cells, pdf)")


def load_cells(folder: Path) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The cells of a set by document, labels as lists of right spellings; and its zones."""
    data = json.loads((folder / "cells.json").read_text(encoding="utf-8"))
    cells: dict[str, list[Any]] = defaultdict(list)
    for number, cell in enumerate(data["cells"]):
        for name in ("model", "bench"):
            cell[name] = cell[name] if isinstance(cell[name], list) else [cell[name]]
        cell.setdefault("id", f"{cell['doc']}#{number}")
        cells[cell["doc"]].append(cell)
    return cells, data["zones"]


def extra_claims(extra: list[Any], zones: Any, cells: list[Any]) -> list[Any]:
    """Claims of tables that no cell stands for: wrong, unless they stand in a part that was not labelled."""
    if zones is not None:
        return [c for c in extra if next((z for z, lo, hi in zones if lo <= c["line"] <= hi), "none") != "aux"]
    tables = {cell["table"] for cell in cells}
    return [c for c in extra if c["table"] in tables]


def main() -> None:
    """Read, judge, count, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--doc", default="")
    parser.add_argument(
        "--corrections", type=Path, help="a directory of corrections, DOCUMENT.toml for each that has one"
    )
    asked = parser.parse_args()
    judge = load_judge(asked.sets).judge
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for folder in asked.sets:
        cells, zones = load_cells(folder)
        for path in sorted((folder / "docs").iterdir()):
            name = path.name
            if asked.doc not in name:
                continue
            begun = time.process_time()
            try:
                said = asked.corrections / f"{name}.toml" if asked.corrections else None
                found = examine([path], corrections=said if said and said.is_file() else None).as_json()
            except UsageError as error:
                print(f"{name}: {error}")
                continue
            spent = time.process_time() - begun
            own = cells.get(name, [])
            verdict, extra = judge(found["claims"], own, name.endswith(".pdf"))
            wrong = Counter(v for v, _ in verdict.values() if v != "right")
            extra = extra_claims(extra, zones.get(name), own)
            right = len(own) - wrong.total()
            claimed = len(own) - wrong["missed"] + len(extra)
            errors = [c for c in found["conflicts"] if c["severity"] == "error"]
            warnings = [c for c in found["conflicts"] if c["severity"] == "warning"]
            print(
                f"{folder.name:13} {name:22} cells {len(own):4} R {right / max(len(own), 1):.3f} P "
                f"{right / max(claimed, 1):.3f} {dict(wrong)} extra {len(extra)} errors {len(errors)} warnings "
                f"{len(warnings)} {spent:.1f}s"
            )
            for key in (f"{folder.name} {path.suffix}", folder.name, f"all {path.suffix}"):
                totals[key].update(cells=len(own), right=right, claimed=claimed, errors=len(errors), documents=1)
            for conflict in errors:
                print(f"      error {conflict['type']} {conflict['lines'][:3]} {conflict['message'][:200]}")
            if asked.verbose:
                report(own, verdict, extra)
    for key, count in totals.items():
        recall, precision = count["right"] / max(count["cells"], 1), count["right"] / max(count["claimed"], 1)
        print(
            f"{key:24} {count['documents']:2} documents {count['cells']:5} cells recall {recall:.3f} precision "
            f"{precision:.3f} errors {count['errors']}"
        )


def report(cells: list[Any], verdict: dict[str, Any], extra: list[Any]) -> None:
    """Every cell that was not read rightly, and some of the claims that should not be there."""
    names = ("model", "tuning", "benchmark", "variant", "metric", "setting", "value", "table", "row", "column")
    for cell in cells:
        kind, claim = verdict[cell["id"]]
        if kind != "right":
            read = tuple(claim[name] for name in names) if claim else None
            print(
                f"      {kind} {cell['model'][0]} | {cell['bench'][0]} {cell['ext']} {cell['value']} "
                f"{cell['lines']} -> {read}"
            )
    for claim in extra[:: max(1, len(extra) // 8)]:
        print("      extra", tuple(claim[name] for name in names), claim["line"])


if __name__ == "__main__":
    main()
