"""JSONSchemaBench's rule, profile `jsonschemabench`.

The answer is JSON that is valid by its schema (draft 2020-12), formats included. `jsonschemabench:valid` reads the
answer as lm-eval's task does: blanks, then back-ticks, then the letters of `json` are taken away at both ends. Our own
`data:json_schema` knows a subset of JSON Schema, which it can also draw and repair; this one is the whole of it, by the
package `jsonschema`. Its checks of formats need packages that `adhere[schemas]` brings; without them it would let every
format pass, so the verdict is undecided.

Known defects, kept in both modes: its checks of the formats ipv4, ipv6 and uuid return nothing, which counts as no, so
that a value of these formats never passes (found by running both on the tests of guidance-ai/jsonschemabench); an
answer that is a bare text of these letters loses them; a schema that is itself invalid fails every answer, and so does
one that refers to an address.

Different here: the formats that are checked are those of `jsonschema[format-nongpl]`; the published code checks what
happens to be installed.

Source: S. Geng et al., arXiv 2501.10868; `lm_eval/tasks/jsonschema_bench/metrics.py` in
EleutherAI/lm-evaluation-harness at 20b050a, written anew.
"""

from __future__ import annotations

import ipaddress
import json
import uuid
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from adhere.constraints.finding import Finding
from adhere.constraints.published.ifeval.format import is_deep
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Param, declare, register
from adhere.errors import BadParameter, MissingExtra
from adhere.extras import BRINGS, import_jsonschema, need
from adhere.schema import Json

PROFILES = ("jsonschemabench",)
_OF_FORMATS = ("idna", *(package for package in BRINGS["schemas"] if package != "yaml"))
"""The packages with which `jsonschema` checks formats; without one of them it silently passes the format."""


@lru_cache(maxsize=1)
def _formats() -> Any:
    for package in _OF_FORMATS:
        need(package, extra="schemas")
    checker = import_jsonschema().FormatChecker()
    for name, parse in (("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address), ("uuid", uuid.UUID)):
        checker.checks(name)(lambda value, parse=parse: parse(value) and None)  # None is no, as there
    return checker


def _valid(values: Mapping[str, Json]) -> Check:
    try:
        schema = json.loads(str(values["schema"]))
    except ValueError as error:
        raise BadParameter(
            f"jsonschemabench:valid: schema={str(values['schema'])[:80]!r} is no JSON: {error}"
        ) from error
    expected = "JSON that the schema allows"

    @cache
    def validator() -> Any:
        """Make the validator once for all answers; a broken schema raises for every answer."""
        draft = import_jsonschema().Draft202012Validator
        draft.check_schema(schema)
        return draft(schema, format_checker=_formats())

    def check(text: Text) -> Finding:
        try:
            _formats()
        except MissingExtra as error:
            return Finding("undecided", str(error))
        source = text.raw.strip().strip("`").strip("json")
        if is_deep(source):
            return Finding("fail", "no JSON that can be read: nested too deep", None, expected)
        try:
            value = json.loads(source)
        except ValueError as error:
            return Finding("fail", f"no JSON: {error}"[:200], None, expected)
        try:
            validator().validate(value)
        except Exception as error:  # noqa: BLE001 - as there: whatever the validator raises fails the answer
            message = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            return Finding("fail", message[:200], None, expected)
        return Finding("pass", "the schema allows it", None, expected)

    return check


register(
    declare(
        "jsonschemabench:valid",
        PROFILES,
        _valid,
        "Give JSON that is valid by this schema: {schema}",
        schema=Param("string", required=True),
    )
)
