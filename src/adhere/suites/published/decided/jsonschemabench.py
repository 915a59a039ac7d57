"""JSONSchemaBench: ten thousand schemas of real life; the answer must be JSON that the schema allows.

`jsonschemabench:FILE` reads rows with `json_schema` (a schema as text) and `unique_id`, as the hub's files have them;
`jsonschemabench:FOLDER` the repository's folders of one schema a file (`data/Github_easy`).

Official aggregation: the share of valid answers, by file of schemas (the paper's empirical coverage).

Source: S. Geng et al., arXiv 2501.10868; guidance-ai/jsonschemabench, epfl-dlab/JSONSchemaBench on the Hugging Face
hub; the question is that of lm-eval's task, without its two examples.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from adhere.errors import SpecError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"json_schema": str, "unique_id": str}
_QUESTION = "Generate a JSON object that matches the following JSON schema.\n\nJSON schema: {schema}\n\nJSON object: "


def load(argument: str | None) -> Suite:
    """Load the suite of published schemas.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError: A row cannot be used; the message names file and line.
    """
    path = need_path("jsonschemabench", argument)
    rows, sha256 = _folder(path) if path.is_dir() else read_rows(path)
    prompts = tuple(_prompt(at, row) for at, row in rows)
    return make_suite(
        "jsonschemabench",
        argument,
        prompts,
        sha256=sha256,
        note=note({"schemas": len(prompts)}, {}),
        citation="S. Geng et al., JSONSchemaBench, arXiv 2501.10868",
        sampling=Sampling(max_new_tokens=4096),
        nothing="no schemas",
    )


def _folder(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Return one row for each file below a folder, sorted by name, and the hash of all files."""
    rows, digest = [], hashlib.sha256()
    for file in sorted(path.rglob("*.json")):
        data = file.read_bytes()
        digest.update(data)
        name = file.relative_to(path).with_suffix("").as_posix()
        rows.append(
            (str(file), {"unique_id": name, "json_schema": data.decode("utf-8", "replace"), "slice": file.parent.name})
        )
    return rows, digest.hexdigest()


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    try:
        json.loads(row["json_schema"])
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{at}: json_schema is no JSON: {error}") from error
    ref = checked_ref(ConstraintRef("jsonschemabench:valid", {"schema": row["json_schema"]}), at, "jsonschemabench")
    tags = {"slice": row.get("slice") or row["unique_id"].rpartition("_")[0] or "all", "profile": "jsonschemabench"}
    text = _QUESTION.format(schema=row["json_schema"])
    return Prompt(row["unique_id"], (Turn(text, (ref,)),), source="jsonschemabench", tags=tags)
