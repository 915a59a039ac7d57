"""CodeIF's published numbers: CSR, SSR, RSR and CCSR.

CSR: the share of tasks that keep every instruction. SSR: the mean share of instructions kept. RSR: as SSR, but an
instruction counts only where all those that it depends on are kept too. CCSR: the longest run of instructions kept in a
row, as a share of all. A task with an instruction that the judge left undecided is in none of them.

Source: K. Yan et al., arXiv 2502.19166; `src/llm_gen/model_result.py` in lin-rany/codeIF at d48dd79, written anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import decided_answers, estimate_mean, estimate_share
from adhere.schema import Prompt
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield the four numbers, overall and for the easy and the hard half."""
    all_rows = list(decided_answers(answers))
    for half in ("", *dict.fromkeys(prompt.tags.get("slice", "") for prompt, _ in all_rows)):
        rows = [(prompt, passes) for prompt, passes in all_rows if half in {"", prompt.tags.get("slice")}]
        yield estimate_share("CSR", half, [(prompt.id, int(all(passes)), 1) for prompt, passes in rows], "tasks")
        yield estimate_mean("SSR", half, [(prompt.id, sum(passes) / len(passes)) for prompt, passes in rows], "tasks")
        # Runs that were stored before this measure was have no such tag.
        if all("dependence" in prompt.tags for prompt, _ in rows):
            yield estimate_mean(
                "RSR", half, [(prompt.id, _rigorous(prompt, passes)) for prompt, passes in rows], "tasks"
            )
        yield estimate_mean(
            "CCSR", half, [(prompt.id, _longest(passes) / len(passes)) for prompt, passes in rows], "tasks"
        )


def _rigorous(prompt: Prompt, passes: Sequence[bool]) -> float:
    """Return the share of instructions that are kept together with all those that they depend on directly."""
    needs: dict[str, list[int]] = json.loads(prompt.tags["dependence"])
    return sum(ok and all(passes[other] for other in needs.get(str(at), ())) for at, ok in enumerate(passes)) / len(
        passes
    )


def _longest(passes: Sequence[bool]) -> int:
    return max((len(list(run)) for ok, run in groupby(passes) if ok), default=0)
