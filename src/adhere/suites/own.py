"""Make a suite of a person's own prompts: `my:prompts.jsonl` on the command line, rows from Python.

A row has `prompt`, and its constraints either as IFEval's rows have them (`instruction_id_list`, `kwargs`) or as
`constraints`, a list of `{"id", "params"}`. `media` lists files or data URLs of pictures and sounds. `key` may be left
out in Python. Kinds are ours, published ones and those of plug-ins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn, convert
from adhere.suites.base import Suite
from adhere.suites.published.rows import PromptRow, PublishedFile, checked_ref, constraints_of, keep_media, load

OWN = PublishedFile("my", profile="ifeval", citation="", max_new_tokens=1024)


def load_own(argument: str | None, _seed: int | None = None) -> Suite:
    """Load the suite of a file.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, line and key.
    """
    if not argument:
        raise UsageError(
            "Suite 'my' needs the file with your prompts: my:PATH, JSON lines with key, prompt, "
            "instruction_id_list and kwargs"
        )
    return load(OWN, argument)


def suite_of(rows: Any, name: str = "my") -> Suite:
    """Make a suite of Prompts, mappings or a DataFrame's rows.

    Raises:
        UsageError: There are no rows, or `rows` is something else.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names its number and key.
    """
    if hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise UsageError(f"A suite is a name, a Suite, or a list or DataFrame of prompts; got {type(rows).__name__}")
    prompts = tuple(
        row if isinstance(row, Prompt) else _prompt(row, number) for number, row in enumerate(rows, start=1)
    )
    if not prompts:
        raise UsageError("A suite has at least one prompt; got an empty list")
    return Suite(name, "1", prompts, sampling=Sampling(max_new_tokens=OWN.max_new_tokens))


def _prompt(row: Any, number: int) -> Prompt:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"Row {number}: a prompt is a mapping with `prompt` and its constraints; got {type(row).__name__}"
        )
    key = row.get("key", number)
    at = f"row {number}: key {key!r}"
    if "constraints" in row:
        row_refs = [rule if isinstance(rule, ConstraintRef) else _ref(rule, at) for rule in row["constraints"]]
        refs, text = tuple(checked_ref(ref, at, OWN.profile) for ref in row_refs), row.get("prompt")
        if not isinstance(text, str):
            raise SpecError(f"{at}: `prompt` must be a text, got {type(text).__name__}")
        return Prompt(str(key), (Turn(text, refs, keep_media(row.get("media", ()), at, Path())),), source="my")
    try:
        columns = {name: row[name] for name in ("prompt", "instruction_id_list", "kwargs")}
        prompt_row = convert({"key": key, **columns, "media": list(row.get("media", ()))}, PromptRow)
    except KeyError as error:
        raise SpecError(
            f"{at}: there is no {error.args[0]!r}. Columns of this row: {', '.join(map(str, row))}"
        ) from error
    except msgspec.ValidationError as error:
        raise SpecError(f"{at}: {error}") from error
    turn = Turn(
        prompt_row.prompt, constraints_of(prompt_row, at, OWN.profile, {}), keep_media(prompt_row.media, at, Path())
    )
    return Prompt(str(key), (turn,), source="my")


def _ref(rule: Any, at: str) -> ConstraintRef:
    if hasattr(rule, "ref"):  # what adhere.constraint(…) makes
        ref: ConstraintRef = rule.ref()
        return ref
    if not isinstance(rule, Mapping) or "id" not in rule:
        raise SpecError(
            f"{at}: a constraint is what adhere.constraint makes, or a mapping with id and params; got {rule!r:.80}"
        )
    return ConstraintRef(str(rule["id"]), dict(rule.get("params") or {}))
