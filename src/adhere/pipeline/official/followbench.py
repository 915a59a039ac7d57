"""FollowBench's published numbers: HSR and SSR by level, and CSL.

Each is computed for a category first, then averaged over categories. HSR: the share of a level's instructions that keep
all constraints. SSR: the mean over instructions of the share of constraints kept; what a program decides as a whole
counts as 0 or 1. CSL: the mean over groups of the levels kept in a row from the first.

An instruction of which the judge left a constraint undecided is in no SSR, and its group in no CSL.

Source: Y. Jiang et al., arXiv 2310.20410; `rule_based_evaluation.py` and `gpt4_based_evaluation.py` in
YJiangcm/FollowBench at 6278f4c, written anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import mean

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import Value, all_decided, cluster_of, length_of_run, mean_of_means
from adhere.schema import Prompt
from adhere.store.summary import Measure

INSTEAD_OF = frozenset({"hard satisfaction", "soft satisfaction", "consistent levels"})
LEVELS = ("1", "2", "3", "4", "5")
ByCategory = dict[str, list[Value]]


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield HSR and SSR of each level, and CSL, over the categories that the Run has."""
    hard: dict[str, ByCategory] = defaultdict(lambda: defaultdict(list))
    soft: dict[str, ByCategory] = defaultdict(lambda: defaultdict(list))
    chains: dict[tuple[str, str, int], dict[str, bool]] = defaultdict(dict)
    for prompt in answers.prompts:
        level, category = prompt.tags["level"], _category(prompt)
        for draw in range(answers.draws):
            passed, passes = answers.passes(prompt, draw), all_decided(answers, prompt, draw)
            if passed is not None:
                hard[level][category].append((cluster_of(prompt), float(passed)))
                chains[category, cluster_of(prompt), draw][level] = passed
            if passes is not None:
                soft[level][category].append((cluster_of(prompt), mean(passes)))
    for name, by_level in (("HSR", hard), ("SSR", soft)):
        for level in LEVELS:
            yield mean_of_means(name, f"level {level}", by_level[level], "instructions")
    run_lengths: ByCategory = defaultdict(list)
    for (category, group, _), chain in chains.items():
        if len(chain) == len(LEVELS):
            run_lengths[category].append((group, float(length_of_run([chain[level] for level in LEVELS]))))
    yield mean_of_means("CSL", "of 5", run_lengths, "groups", top=float(len(LEVELS)))


def _category(prompt: Prompt) -> str:
    """Return the category of the constraints that are added: the file's name, with which a group's name begins."""
    return cluster_of(prompt).rpartition("-")[0]
