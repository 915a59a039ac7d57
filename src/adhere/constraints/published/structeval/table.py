r"""StructEval's rules for output that is not rendered, profile `structeval`.

It parses, and the named paths stand in it. `structeval:syntax` passes where the code is JSON, YAML, TOML, XML or CSV
and holds something, `structeval:path` where a path (`a.b[0].c`, `list.*.key`, `csv::header`, `@attribute`, back-ticks
around a name with dots) leads somewhere. The code is what stands in `<code>` tags, else in the first fence of that
format, else in the first fence; without any of them both fail.

Known defects, kept: escapes are undone in the whole answer first, so a `\n` inside a JSON text breaks it, and letters
beyond ASCII become others; a path that was written with a list's name (`features.list[0]`) is never there.

Different here: TOML is read by Python's own reader, where the published code uses the package `toml`, which differs in
rare cases; XML by Python's expat, as `xmltodict` does; where a path cannot be read the published code ends with an
exception, here the constraint is refused. YAML needs `adhere[schemas]`; without it the verdict is undecided.

Source: J. Yang et al., arXiv 2505.20139; `eval_engine/eval_utils.py` and `render_engine/render_utils.py` in
TIGER-AI-Lab/StructEval at 13a34f4, written anew.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from xml.parsers import expat

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, register
from adhere.errors import BadParameter, MissingExtra
from adhere.extras import need
from adhere.schema import Json

FORMATS = ("json", "yaml", "toml", "xml", "csv")
PROFILES = ("structeval",)
_MOST_YAML = 100_000
"""The most characters of YAML: PyYAML reads about 100 kB a second, and published outputs have at most a few kB."""
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
_FENCE = re.compile(r"```\s*(.*?)```", re.DOTALL)


class _Unread(Exception):
    """Raised if the code is not of its format."""


class _NoReader(Exception):
    """Raised if nothing installed can read the format."""


def code_of(text: str, form: str) -> str | None:
    """Return the code in an answer, after undoing escapes; None if no tag or fence marks any."""
    with suppress(UnicodeError, ValueError), warnings.catch_warnings():  # else the answer as it is, as there
        warnings.simplefilter("ignore")  # of escapes that mean nothing, which stay as they are
        text = codecs.decode(text, "unicode_escape")  # a str is taken as its UTF-8
    if (match := _CODE.search(text)) is not None:
        return match[1]
    match = re.search(rf"```{form}\s*(.*?)```", text, re.DOTALL) or _FENCE.search(text)
    return None if match is None else match[1].strip()


@lru_cache(maxsize=64)  # an answer is asked for each of its paths
def _read(text: str, form: str) -> Any:
    code = code_of(text, form)
    if code is None:
        raise _Unread("no <code> tag and no fence")
    try:
        return _READERS[form](code)
    except _NoReader:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a reader of five formats raises, the code is not of its format
        raise _Unread(f"{type(error).__name__}: {error}"[:200]) from None


def _yaml(code: str) -> Any:
    try:
        yaml = need("yaml", extra="schemas")
    except MissingExtra as error:
        raise _NoReader(str(error)) from None
    if len(code) > _MOST_YAML:
        raise _NoReader(f"YAML of more than {_MOST_YAML:,} characters takes too long to read")
    return yaml.safe_load(code)


def _csv(code: str) -> Any:
    reader = csv.DictReader(io.StringIO(code, newline=None))
    return {"csv_headers": reader.fieldnames, "csv_rows": list(reader)}


def _xml(code: str) -> Any:
    """Read XML: elements by name, `@` before attributes, a list for repeated names, texts as leaves."""
    root: dict[str, Any] = {}
    stack: list[dict[str, Any]] = [root]
    texts: list[list[str]] = [[]]

    def start(_name: str, attributes: dict[str, str]) -> None:
        stack.append({f"@{key}": value for key, value in attributes.items()})
        texts.append([])

    def end(name: str) -> None:
        element: Any = stack.pop()
        text = "".join(texts.pop()).strip() or None
        if not element:
            element = text
        elif text:
            element["#text"] = text
        parent = stack[-1]
        if name in parent:
            earlier = parent[name]
            parent[name] = [*earlier, element] if isinstance(earlier, list) else [earlier, element]
        else:
            parent[name] = element

    def said(data: str) -> None:
        texts[-1].append(data)

    def entity(*_arguments: Any) -> None:
        raise ValueError("entities are not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = said
    parser.EntityDeclHandler = entity
    parser.Parse(code.encode("utf-8", "surrogatepass"), True)  # noqa: FBT003 - expat's own
    return root


_READERS: Mapping[str, Callable[[str], Any]] = {
    "json": json.loads, "yaml": _yaml, "toml": tomllib.loads, "xml": _xml, "csv": _csv,
}  # fmt: skip


def steps_of(path: str) -> list[str]:
    """Split a path into steps: names, `[0]`, `*`; a CSV header is one step.

    Raises:
        ValueError: A bracket is not closed.
    """
    if path.startswith("csv::"):
        return [path]
    steps, name, is_quoted, at = [], "", False, 0
    while at < len(path):
        letter = path[at]
        if letter == "`":
            is_quoted = not is_quoted
        elif letter in ".[" and not is_quoted:
            steps += [name] if name else []
            name = ""
            if letter == "[":
                end = path.find("]", at)
                if end < 0:
                    raise ValueError(f"[ is never closed in {path!r}")
                steps.append(path[at : end + 1])
                at = end
        else:
            name += letter
        at += 1
    return [*steps, name] if name else steps


def stands(node: Any, steps: list[str]) -> bool:  # noqa: PLR0911 - one return a kind of step
    """Tell whether a path leads somewhere in the value that was read."""
    if not steps:
        return True
    step, rest = steps[0], steps[1:]
    if isinstance(node, dict) and "csv_headers" in node and step.startswith("csv::"):
        return step[5:] in (node["csv_headers"] or ()) and not rest
    if step == "*":
        return isinstance(node, list) and any(stands(item, rest) for item in node)
    if step.startswith("[") and step.endswith("]"):
        try:
            number = int(step[1:-1])
        except ValueError:
            return False
        return isinstance(node, list) and 0 <= number < len(node) and stands(node[number], rest)
    if isinstance(node, dict):
        for name in (step, step.removeprefix("@")):
            if name in node:
                return stands(node[name], rest)
    return False


def _judge(text: Text, form: str, steps: list[str] | None, expected: str) -> Finding:
    try:
        document = _read(text.raw, form)
    except _NoReader as error:
        return Finding("undecided", str(error))
    except _Unread as error:
        return Finding("fail", f"no {form.upper()}: {error}", None, expected)
    # A reader of CSV is never empty there, even of nothing.
    if not document and form != "csv":
        return Finding("fail", f"the {form.upper()} holds nothing", None, expected)
    if steps is None:
        return Finding("pass", f"it is {form.upper()}", None, expected)
    is_there = stands(document, steps)
    return verdict(is_there, f"{expected} is {'' if is_there else 'not '}there", None, expected)


def _syntax(values: Mapping[str, Json]) -> Check:
    form = str(values["format"])
    return lambda text: _judge(text, form, None, form.upper())


def _path(values: Mapping[str, Json]) -> Check:
    form, path = str(values["format"]), str(values["path"])
    try:
        steps = steps_of(path)
    except ValueError as error:
        raise BadParameter(f"structeval:path: {error}") from error
    return lambda text: _judge(text, form, steps, path)


_FORMAT = Param("string", required=True, choices=FORMATS)
register(
    Kind(
        "structeval:syntax",
        PROFILES,
        {"format": _FORMAT},
        _syntax,
        lambda values: f"Give {str(values['format']).upper()} between <code> and </code>.",
    ),
    Kind(
        "structeval:path",
        PROFILES,
        {"format": _FORMAT, "path": Param("string", required=True)},
        _path,
        lambda values: f"The {str(values['format']).upper()} must have {values['path']}.",
    ),
)
