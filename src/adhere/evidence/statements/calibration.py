"""How often verdicts of one kind were right on labelled statements: a frequency, or nothing."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

import msgspec

from adhere.evidence.statements.assessments import Assessment

LEAST = 30  # labelled statements of a kind; below, no frequency is printed


def kind_of(judged: Assessment) -> str:
    """The kind that verdicts are counted by: what was said, and by tables, passages or a reading of both."""
    return f"{judged.verdict}: {'table' if judged.kind.startswith('table') else 'passage'}"


@functools.cache
def frequencies() -> dict[str, tuple[int, int]]:
    """How many verdicts of a kind were right, of how many that were labelled."""
    data = tomllib.loads(resources.files(__package__).joinpath("calibration.toml").read_text(encoding="utf-8"))
    return {kind: (row["right"], row["of"]) for kind, row in data.items()}


def with_confidence(judged: Assessment) -> Assessment:
    """The verdict with the frequency of its kind; None where fewer than 30 of it were labelled."""
    right, of = frequencies().get(kind_of(judged), (0, 0))
    if judged.verdict == "cannot tell" or of < LEAST:
        return judged
    return msgspec.structs.replace(judged, confidence=round(right / of, 3))
