"""Compute the numbers that a published suite's paper prints, as its paper or its code computes them: a file a suite.

Each module has `scores(answers)`, which yields Measures from stored prompts, answers and verdicts, so that `adhere
rescore` computes them anew. A module may name general measures that it replaces (`INSTEAD_OF`), so that one thing is
never shown under two definitions. A suite without a file here prints nothing but the rates that every Run has.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from adhere.pipeline.outcomes import Answers
from adhere.store.summary import Measure

MODULES = {
    "agentif": "agentif",
    "codeif": "codeif",
    "complexbench": "complexbench",
    "followbench": "followbench",
    "iheval": "iheval",
    "logicif": "logicif",
    "mathif": "mathif",
    "multi-if": "multi_if",
    "multichallenge": "multichallenge",
    "needlebench": "ruler",
    "ruler": "ruler",
    "structeval": "structeval",
    "sysbench": "sysbench",
    "wildifeval": "wildifeval",
    "world": "worlds",
}
"""Module of each source of prompts that has official scores."""


def official_scores(answers: Answers, general: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the suite's own numbers, then the general measures that they do not replace.

    Prompts of several sources have no official score together.
    """
    sources = {prompt.source for prompt in answers.prompts}
    name = MODULES.get(next(iter(sources))) if len(sources) == 1 else None
    if name is None:
        return tuple(general)
    module = importlib.import_module(f"adhere.pipeline.official.{name}")
    instead_of: frozenset[str] = getattr(module, "INSTEAD_OF", frozenset())
    return (*module.scores(answers), *(measure for measure in general if measure.name not in instead_of))
