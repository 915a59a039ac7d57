"""StructEval's part that is not rendered: JSON, YAML, TOML, XML and CSV from a text or from each other.

`structeval:FILE` reads the rows of the published data (`task_id`, `query`, `output_type`, `raw_output_metric`,
`rendering`); rendered tasks, which are judged from a picture, are left out and counted. A prompt has a constraint for
the syntax and one for each path.

Official aggregation: 0.2 for the syntax and 0.8 for the share of paths, rounded to two digits, and their mean
(`pipeline.official.structeval`).

Source: J. Yang et al., arXiv 2505.20139; TIGER-AI-Lab/StructEval on GitHub and the Hugging Face hub.
"""

from __future__ import annotations

from typing import Any

from adhere.constraints.published.structeval.table import FORMATS
from adhere.errors import SpecError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

_COLUMNS = {"task_id": str, "query": str, "output_type": str, "raw_output_metric": list}


def load(argument: str | None) -> Suite:
    """Load the suite of a published file; errors as in `published.table`."""
    rows, sha256 = read_rows(need_path("structeval", argument))
    tasks = [(at, row) for at, row in rows if str(row.get("output_type", "")).lower() in FORMATS]
    prompts = tuple(_prompt(at, row) for at, row in tasks)
    left_out = f"; {len(rows) - len(tasks):,} rendered tasks are left out" if len(rows) > len(tasks) else ""
    return make_suite(
        "structeval",
        argument,
        prompts,
        sha256=sha256,
        note=note({"tasks": len(prompts)}, {}) + left_out,
        citation="J. Yang et al., StructEval, arXiv 2505.20139",
        sampling=Sampling(max_new_tokens=4096),
        nothing=f"no task whose output is {', '.join(FORMATS)}",
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    form, paths = row["output_type"].lower(), row["raw_output_metric"]
    if not paths or not all(isinstance(path, str) for path in paths):
        raise SpecError(f"{at}: raw_output_metric must be a list of paths, and not empty")
    refs = [ConstraintRef("structeval:syntax", {"format": form})]
    refs += [ConstraintRef("structeval:path", {"format": form, "path": path}) for path in paths]
    tags = {"slice": row.get("task_name") or f"to {row['output_type']}", "profile": "structeval"}
    return Prompt(
        row["task_id"],
        (Turn(row["query"], tuple(checked_ref(ref, at, "structeval") for ref in refs)),),
        source="structeval",
        tags=tags,
    )
