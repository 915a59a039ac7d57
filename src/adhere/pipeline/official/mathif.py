"""MathIF's published numbers.

HAcc, the share of prompts that keep every constraint, and SAcc, the mean share of constraints kept. Each is given for
all prompts and by the number of constraints. Correctness is not measured here (see the suite).

Source: T. Fu et al., arXiv 2505.14810; `code/eval_if.py` in TingchenFu/MathIF at 0f92ee5, written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import decided_answers, estimate_mean, estimate_share
from adhere.store.summary import Measure

INSTEAD_OF = frozenset({"hard satisfaction", "soft satisfaction", "consistent levels"})


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield HAcc and SAcc, overall and by level."""
    all_rows = [(prompt.tags.get("slice", ""), prompt.id, passes) for prompt, passes in decided_answers(answers)]
    for level in ("", *dict.fromkeys(row_level for row_level, _, _ in all_rows)):
        rows = [(name, passes) for row_level, name, passes in all_rows if level in {"", row_level}]
        yield estimate_share("HAcc", level, [(name, int(all(passes)), 1) for name, passes in rows], "prompts")
        yield estimate_mean("SAcc", level, [(name, mean(passes)) for name, passes in rows], "prompts")
