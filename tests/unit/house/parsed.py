"""The package's modules, each parsed once for all tests of the house: parsing them all takes seconds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import adhere

PACKAGE = Path(adhere.__file__).parent


class Module(NamedTuple):
    """Parts of a file that the house has rules about: imports, docstrings, names of what stands at its top, variables."""

    path: Path
    imports: list[ast.Import | ast.ImportFrom]
    docstrings: list[str]
    names: list[str]
    variables: list[tuple[int, str]]  # line and name of every parameter of a `def` and every annotated variable


def read(path: Path) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = Module(path, [], [], [], [])
    fields = set()
    for node in (tree, *statements(tree)):
        if isinstance(node, ast.ClassDef):
            fields.update(map(id, node.body))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parameters = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            module.variables.extend((one.lineno, one.arg) for one in parameters)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and id(node) not in fields:
            module.variables.append((node.lineno, node.target.id))
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.append(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            module.docstrings.extend(filter(None, [ast.get_docstring(node)]))
    definitions = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    module.names.extend(node.name for node in tree.body if isinstance(node, definitions))
    return module


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement below a node; no expression holds an import or a docstring, and most nodes are in one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from statements(inner)


@cache
def package() -> list[Module]:
    """Every module of the package, in the order of its path."""
    return [read(path) for path in sorted(PACKAGE.rglob("*.py"))]
