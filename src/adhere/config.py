"""Reads TOML that users write, strictly: an unknown key or a wrong type is an error with file, line and key.

It also writes the front matter of cards.
"""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from adhere.errors import SpecError, nearest
from adhere.schema import Json, convert, encode

T = TypeVar("T")

_LOCATION = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_WRONG_WORD = re.compile(r"Invalid enum value '(?P<word>.*)'", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<key>[^`]+)`")


def front_matter(fields: Mapping[str, Json]) -> str:
    """Return YAML front matter for a README.md on the Hugging Face hub; each value is JSON, which is YAML."""
    return "\n".join(["---", *(f"{name}: {encode(value).decode()}" for name, value in fields.items()), "---", ""])


def load_toml(path: Path, kind: type[T], *, settle: Callable[[dict[str, Any]], None] | None = None) -> T:
    """Read a TOML file as `kind` (a msgspec Struct that forbids unknown fields).

    `settle` may change the document in place, to convert alternative notations to the form of `kind`.

    Raises:
        SpecError: The file is absent, is not TOML, has an unknown key (with the nearest valid one) or a bad value.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    return parse_toml(text, kind, name=str(path), settle=settle)


def parse_toml(text: str, kind: type[T], *, name: str, settle: Callable[[dict[str, Any]], None] | None = None) -> T:
    """Parse a string as `load_toml` does a file; `name` stands for the file in messages."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise SpecError(f"{name}: not valid TOML: its lists or tables lie too deep within each other") from error
    except ValueError as error:  # TOMLDecodeError is one, and a number of thousands of digits raises another
        raise SpecError(f"{name}: not valid TOML: {error}") from error
    if settle is not None:
        settle(document)
    try:
        return convert(document, kind)
    except msgspec.ValidationError as error:
        raise SpecError(_explain(str(error), text, kind, name)) from error


def _explain(message: str, text: str, kind: Any, name: str) -> str:
    location = _LOCATION.search(message)
    path = re.findall(r"\.([A-Za-z0-9_-]+)|\[(\d+|\.\.\.)\]", location["path"]) if location else []
    steps = [key or index for key, index in path]
    unknown = _UNKNOWN.search(message)
    if unknown:
        key = unknown["key"]
        keys = sorted(_fields_at(kind, steps))
        where = ".".join(step for step in steps if not step.isdigit()) or "the top level"
        line = locate(text, [*steps, key])
        return f"{name}:{line}: unknown key {key!r} in {where}.{nearest(key, keys)} Valid keys: {', '.join(keys)}"
    problem = _LOCATION.sub("", message)
    key = steps[-1] if steps else "the document"
    if wrong := _WRONG_WORD.fullmatch(problem):
        words = _words_at(kind, steps)
        problem = f"no such value {wrong['word']!r}.{nearest(wrong['word'], words)} Valid values: {', '.join(words)}"
    return f"{name}:{locate(text, steps)}: {key}: {problem}"


def _words_at(kind: Any, steps: list[str]) -> list[str]:
    """Return the values that are words, among those that the field at `steps` (see `_types_at`) may have."""
    return list(dict.fromkeys(word for field_type in _types_at(kind, steps) for word in _words(field_type) if word))


def _words(kind: Any) -> list[str]:
    if typing.get_origin(kind) is typing.Literal:
        return [str(word) for word in typing.get_args(kind)]
    return [word for argument in typing.get_args(kind) for word in _words(argument)]


def _fields_at(kind: Any, steps: list[str]) -> set[str]:
    """Return the names of the fields that the table at `steps` (see `_types_at`) may have."""
    kinds = [struct for field_type in _types_at(kind, steps) for struct in _structs(field_type)]
    return {field.encode_name for struct in kinds for field in msgspec.structs.fields(struct)}


def _types_at(kind: Any, steps: list[str]) -> list[Any]:
    """Return the types that a field may have; `steps` names the fields that lead to it from `kind`."""
    types = [kind]
    for step in steps:
        if not (step.isdigit() or step == "..."):
            kinds = [struct for field_type in types for struct in _structs(field_type)]
            types = [f.type for struct in kinds for f in msgspec.structs.fields(struct) if f.encode_name == step]
    return types


def _structs(kind: Any) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [struct for argument in typing.get_args(kind) for struct in _structs(argument)]


def locate(text: str, steps: list[str]) -> int:
    """Return the line of a key in a TOML text, from 1; 1 if the key is not found.

    `steps` names the tables around the key, then the key; a number is an index in an array of tables.
    """
    table = [step for step in steps[:-1] if step != "..."]
    leaf = steps[-1] if steps else ""
    counts: dict[str, int] = {}
    current: list[str] = []
    best = 1
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if header:
            names = [part.strip(" '\"") for part in header[2].split(".")]
            if header[1] == "[[":
                table_name = ".".join(names)
                counts[table_name] = counts.get(table_name, -1) + 1
            current = []
            for depth, part in enumerate(names, start=1):
                current.append(part)
                table_name = ".".join(names[:depth])
                if table_name in counts:
                    current.append(str(counts[table_name]))
            if current == [*table, leaf]:
                return number
            if current == table:
                best = number
        elif re.match(rf"\s*[\"']?{re.escape(leaf)}[\"']?\s*[=.]", line) and current == table:
            return number
    # Inline tables and dotted keys: the first line that has the key after a brace, comma or dot.
    for number, line in enumerate(text.splitlines(), start=1):
        if leaf and re.search(rf"[{{,.\s]{re.escape(leaf)}\s*=", f" {line}"):
            return number
    return best
