"""Where the benchmarks' texts lie. Needs nothing but Python: the interpreters of published code import it, too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("ADHERE_DATA", ROOT.parent / "shared" / "data"))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def answer_words(data: Path) -> list[str]:
    """The words of all models' answers to IFEval, one file after the other."""
    files = sorted((data / "ifeval/responses").glob("*.jsonl"))
    return " ".join(row["response"] for path in files for row in rows(path)).split()
