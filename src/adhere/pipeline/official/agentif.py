"""AgentIF's published numbers: CSR and ISR, and CSR by dimension.

Source: Y. Qi et al., arXiv 2505.16944; `code4eval/1.evaluation_api.py` in THU-KEG/AgentIF at e00af1b, written anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import conversations, estimate_share
from adhere.store.summary import Measure

INSTEAD_OF = frozenset({"role", "all roles"})
"""General measures that these replace: dimensions are no roles, for several constraints of an instruction share one."""


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield CSR (share of decided constraints that pass), ISR (instructions that pass whole), and CSR by dimension."""
    trials: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for prompt in answers.prompts:
        dimensions = prompt.tags["roles"].split(",")
        for draw in range(answers.draws):
            for dimension, outcome in zip(dimensions, answers.outcomes(prompt, 0, draw), strict=False):
                if outcome != "undecided":
                    trials[dimension].append((prompt.id, int(outcome == "pass"), 1))
    yield estimate_share(
        "CSR", "", [trial for of_dimension in trials.values() for trial in of_dimension], "constraints"
    )
    yield estimate_share("ISR", "", [(p.id, int(ok), 1) for p, _, ok in conversations(answers)], "instructions")
    for dimension, of_dimension in trials.items():
        yield estimate_share("CSR", dimension, of_dimension, "constraints")
