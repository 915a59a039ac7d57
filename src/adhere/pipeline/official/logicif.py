"""LogicIFEval's published numbers: the share of cases, and of questions of which every case is right.

A question with a wrong case is wrong, whatever its other cases are; else it counts only where every case was measured.

Source: M. Zhang et al., arXiv 2508.09125; `evaluation.py` in mianzhang/LogicIF, written anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import conversations, estimate_share
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield case-level and question-level accuracy."""
    yield estimate_share("case", "", [(p.tags["group"], int(ok), 1) for p, _, ok in conversations(answers)], "cases")
    yield share_of_groups("question", "every case", answers)


def share_of_groups(name: str, scope: str, answers: Answers, groups: frozenset[str] | None = None) -> Measure:
    """Return the share of groups of prompts whose every member passed. `groups` names those to count; None: all."""
    members: dict[tuple[str, int], list[bool | None]] = defaultdict(list)
    for prompt in answers.prompts:
        if "group" in prompt.tags and (groups is None or prompt.tags["group"] in groups):
            for draw in range(answers.draws):
                members[prompt.tags["group"], draw].append(answers.passes(prompt, draw))
    trials = [
        (group, int(all(passes)), 1) for (group, _), passes in members.items() if False in passes or None not in passes
    ]
    return estimate_share(name, scope, trials, "questions")
