"""No two modules need each other, not even inside a function or for a type.

Each can be read before what stands on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.unit.house.parsed import PACKAGE, Module, package, read

DOORS = {
    "adhere"
}  # the package itself: its names are imported when they are first used, and all may ask for its version


def imports(files: dict[str, Module]) -> dict[str, set[str]]:
    """By module, those that it names in an import anywhere in its text."""
    found: dict[str, set[str]] = {}
    for name, module in files.items():
        needed: set[str] = set()
        for node in module.imports:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names if node.module and node.level == 0 else ():
                    inner = f"{node.module}.{alias.name}"
                    needed.add(inner if inner in files else str(node.module))
            else:
                needed.update(alias.name for alias in node.names)
        found[name] = {one for one in needed if one in files and one != name and one not in DOORS}
    return found


def by_name(read_modules: Iterable[Module], root: Path) -> dict[str, Module]:
    """Every module of a source folder by its dotted name."""
    return {
        ".".join(one.path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): one
        for one in read_modules
    }


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one circle; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_circle() -> None:
    found = by_name(package(), PACKAGE.parent)
    assert len(found) > 500
    assert circle(imports(found)) == []


def test_a_circle_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def late():\n    from b import x\n    return x\n")
    (tmp_path / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\nx = 1\n")
    assert set(circle(imports(by_name(map(read, tmp_path.rglob("*.py")), tmp_path)))) == {"a", "b"}
