"""Read prompt texts that a suite keeps in its own code, from the user's copy of that code.

The code is never run and never shipped. A text is a constant of the module, or the text that a function assigns to a
variable under stated conditions. A file without that text is another version, and an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import SpecError


class Template(NamedTuple):
    """Holds a text with gaps: pairs of (literal text, False) or (name of a gap, True), in order."""

    parts: tuple[tuple[str, bool], ...]

    def filled(self, gaps: Mapping[str, str]) -> str:
        """Return the text; `gaps` has a value for each name."""
        return "".join(gaps[part] if is_gap else part for part, is_gap in self.parts)


class Code(NamedTuple):
    """Holds a Python module as a syntax tree."""

    path: Path
    tree: ast.Module

    @classmethod
    def read(cls, path: Path) -> Code:
        """Read a file's code.

        Raises:
            SpecError: The file is not Python.
        """
        try:
            return cls(path, ast.parse(path.read_text(encoding="utf-8")))
        except (SyntaxError, ValueError) as error:
            raise SpecError(f"{path}: not Python: {error}. Is this the published file?") from error

    def constant(self, name: str, kind: type) -> Any:
        """Return the constant of type `kind` that the module calls `name`.

        Raises:
            SpecError: The module has no such constant.
        """
        literal: Any = None
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and _names(node) == [name]:
                try:
                    literal = ast.literal_eval(node.value)
                except ValueError:
                    literal = None
        if not isinstance(literal, kind) or (
            isinstance(literal, list) and not all(isinstance(entry, str) for entry in literal)
        ):
            raise SpecError(
                f"{self.path}: no constant {name} that is a {kind.__name__}. Is this another version of it?"
            )
        return literal

    def template(self, function: str, variable: str, *, gaps: Iterable[str], **values: str) -> Template:
        """Return the text with gaps that `function` assigns to `variable`.

        Args:
            function: The function's name.
            variable: The variable's name.
            gaps: The names that the text leaves open.
            values: Names and the texts that they are compared with in the function's branches; they choose the branch.

        Raises:
            SpecError: There is not exactly one such text, or its gaps are not `gaps`.
        """
        texts = [
            _parts(value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef) and node.name == function
            for value in _values(node.body, variable, values)
        ]
        readable = [parts for parts in texts if parts is not None]
        if len(readable) != 1 or {part for part, is_gap in readable[0] if is_gap} != set(gaps):
            where = " and ".join(f"{name}={value}" for name, value in values.items())
            raise SpecError(
                f"{self.path}: no one text {variable} in {function} with the gaps {', '.join(gaps)}, for {where}. "
                "Is this another version of it?"
            )
        return Template(tuple(readable[0]))


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _values(body: Iterable[ast.stmt], variable: str, values: Mapping[str, str]) -> Iterator[ast.expr]:
    """Yield what is assigned to the variable on the branches that `values` decide, or on both if they do not.

    Inner functions are not searched.
    """
    for node in body:
        if isinstance(node, ast.Assign) and _names(node) == [variable]:
            yield node.value
        elif isinstance(node, ast.If):
            way = _is_taken(node.test, values)
            yield from _values(node.body if way is not False else (), variable, values)
            yield from _values(node.orelse if way is not True else (), variable, values)
        elif isinstance(node, ast.For | ast.While | ast.With):
            yield from _values(node.body, variable, values)


def _is_taken(test: ast.expr, values: Mapping[str, str]) -> bool | None:
    """Tell whether a test `name == "value"` holds; None if the test is of another form."""
    if (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id in values
        and [type(operator) for operator in test.ops] == [ast.Eq]
        and isinstance(test.comparators[0], ast.Constant)
    ):
        return bool(values[test.left.id] == test.comparators[0].value)
    return None


def _parts(value: ast.expr) -> list[tuple[str, bool]] | None:
    """Return the parts of a constant text, an f-string of names, or a sum of these; None for anything else."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [(value.value, False)]
    if isinstance(value, ast.Name):
        return [(value.id, True)]
    if isinstance(value, ast.FormattedValue) and value.conversion == -1 and value.format_spec is None:
        return _parts(value.value) if isinstance(value.value, ast.Name) else None
    pieces: list[ast.expr] = []
    if isinstance(value, ast.JoinedStr):
        pieces = value.values
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        pieces = [value.left, value.right]
    piece_parts = [_parts(piece) for piece in pieces]
    if not piece_parts or None in piece_parts:
        return None
    return [part for parts in piece_parts if parts is not None for part in parts]
