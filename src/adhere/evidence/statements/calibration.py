"""How often a verdict was right on labelled statements that nobody had looked at: a frequency, or nothing."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

import msgspec

from adhere.evidence.statements.assessments import Assessment

LEAST = 30  # labelled statements that got a verdict; below, no frequency is printed


@functools.cache
def frequencies() -> dict[str, tuple[int, int]]:
    """How many calls of each verdict were right, of how many that were labelled."""
    data = tomllib.loads(resources.files(__package__).joinpath("calibration.toml").read_text(encoding="utf-8"))
    return {kind: (row["right"], row["of"]) for kind, row in data.items()}


def with_confidence(assessment: Assessment) -> Assessment:
    """The assessment with how often its verdict was right; None where fewer than 30 of that verdict were labelled."""
    right, of = frequencies().get(assessment.verdict, (0, 0))
    if assessment.verdict == "cannot tell" or of < LEAST:
        return assessment
    return msgspec.structs.replace(assessment, confidence=round(right / of, 2))
