"""Find the files that a small Python program writes, and what it puts into them, from its text; nothing is run."""

from __future__ import annotations

import ast
from typing import NamedTuple

_PUTS_IN = {"replace": 1, "sub": 1, "subn": 1, "write": 0, "write_text": 0, "insert": 1}
"""Methods that put a text in, and the position of that argument."""


class Written(NamedTuple):
    """Names a file that a program writes; `added` is None if the program's text does not show what it puts in."""

    path: str
    added: str | None


def written_by(source: str) -> list[Written] | None:
    """Return the files that a program writes; None if it may write others, or cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, node.value)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    paths = [path for call in calls if (path := _target(call)) is not None]
    path_texts = [_text(path, names) for path in paths]
    if any(path is None for path in path_texts) or any(_is_hidden(call) for call in calls):
        return None
    added_text = _texts_put_in(calls, names)
    return [Written(path, added_text) for path in dict.fromkeys(path_texts) if path is not None]


def _target(call: ast.Call) -> ast.expr | None:
    """Return the file that a call opens for writing, writes, touches or deletes; None if there is none."""
    name = call.func
    if isinstance(name, ast.Attribute) and name.attr in {"write_text", "write_bytes", "unlink", "touch"}:
        return name.value
    is_open = (isinstance(name, ast.Name) and name.id == "open") or (
        isinstance(name, ast.Attribute) and name.attr == "open"
    )
    mode = next((keyword.value for keyword in call.keywords if keyword.arg == "mode"), None)
    arguments = call.args
    if isinstance(name, ast.Attribute) and not (isinstance(name.value, ast.Name) and name.value.id in {"io", "codecs"}):
        arguments = [name.value, *call.args]  # `Path(…).open(mode)`
    mode = mode or (arguments[1] if len(arguments) > 1 else None)
    is_read = mode is None or (isinstance(mode, ast.Constant) and not set("wax+") & set(str(mode.value)))
    return arguments[0] if is_open and arguments and not is_read else None


def _is_hidden(call: ast.Call) -> bool:
    """Tell whether a call may write files that the program does not name."""
    name = call.func
    owner = name.value.id if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) else ""
    return owner in {"os", "shutil", "subprocess"} or (isinstance(name, ast.Name) and name.id in {"exec", "eval"})


def _text(expression: ast.expr, names: dict[str, ast.expr], deep: int = 0) -> str | None:
    """Return the text that an expression stands for; None if the text is computed.

    Known are constants, names, `Path(…)`, and texts joined by `+` or `/`.
    """
    if deep > 9:
        return None
    match expression:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in names:
            return _text(names[name], names, deep + 1)
        case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[path]):
            return _text(path, names, deep + 1)
        case ast.BinOp(op=ast.Add() | ast.Div(), left=left, right=right):
            parts = [_text(left, names, deep + 1), _text(right, names, deep + 1)]
            return None if None in parts else ("/" if isinstance(expression.op, ast.Div) else "").join(map(str, parts))
    return None


def _texts_put_in(calls: list[ast.Call], names: dict[str, ast.expr]) -> str | None:
    """Return every text that the calls put in, by line; None if there is none, or one is an f-string."""
    texts: list[str] = []
    for call in calls:
        place = _PUTS_IN.get(call.func.attr) if isinstance(call.func, ast.Attribute) else None
        if place is not None and len(call.args) > place:
            text = _text(call.args[place], names)
            if text is not None:
                texts.append(text)
            elif isinstance(call.args[place], ast.JoinedStr):
                return None
    return "\n".join(texts) if texts else None
