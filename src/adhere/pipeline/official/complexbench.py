"""ComplexBench's published numbers: DRFR, and the coherent tests of selections.

DRFR is the share of scoring questions answered with yes, one that depends on a failed one counting as no. A group holds
one instruction with its condition turned each way; the coherent test is the share of groups of which every instruction
passes, the origin test the share of their instructions that do. *Single* are groups whose first instruction has one
question about a selection, *multiple* those with more.

Source: B. Wen et al., arXiv 2407.03978; `evaluation/aggregation.py` in thu-coai/ComplexBench at 749f457, written anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from adhere.pipeline.official.logicif import share_of_groups
from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import cluster_of, conversations, estimate_share, list_decided
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield DRFR, then the coherent test and the origin test for groups with one selection and with several."""
    questions = []
    for prompt in answers.prompts:
        for draw in range(answers.draws):
            passes = list_decided(answers, prompt, 0, draw)
            questions.append((cluster_of(prompt), sum(passes), len(passes)))
    yield estimate_share("DRFR", "", questions, "questions")
    depths: dict[str, int] = {}
    for prompt in answers.prompts:
        if "group" in prompt.tags:
            # Runs that were stored before the depth was have groups of selections only, and not how many.
            depths.setdefault(prompt.tags["group"], int(prompt.tags.get("selections", "1")))
    for name, groups in (
        ("single", frozenset(group for group, depth in depths.items() if depth == 1)),
        ("multiple", frozenset(group for group, depth in depths.items() if depth > 1)),
    ):
        if groups:
            origin = [
                (cluster_of(p), int(ok), 1) for p, _, ok in conversations(answers) if p.tags.get("group") in groups
            ]
            yield share_of_groups("coherent test", name, answers, groups)
            yield estimate_share("origin test", name, origin, "instructions")
