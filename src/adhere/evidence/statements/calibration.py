"""Tell how often verdicts were right on labelled statements that were not used to write the rules."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources

import msgspec

from adhere.evidence.statements.assessments import Assessment

LEAST = 30  # labelled statements that got a verdict; below, no frequency is printed


@functools.cache
def frequencies() -> dict[str, tuple[int, int]]:
    """Return, by verdict, how many labelled calls were right, and how many were labelled."""
    data = tomllib.loads(resources.files(__package__).joinpath("calibration.toml").read_text(encoding="utf-8"))
    return {kind: (row["right"], row["of"]) for kind, row in data.items()}


def with_confidence(assessment: Assessment) -> Assessment:
    """Return the assessment with its confidence: how often such a verdict was right.

    The confidence stays None if fewer than 30 such verdicts were labelled.
    """
    right, of = frequencies().get(assessment.verdict, (0, 0))
    if assessment.verdict == "cannot tell" or of < LEAST:
        return assessment
    return msgspec.structs.replace(assessment, confidence=round(right / of, 2))
