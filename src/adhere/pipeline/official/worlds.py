"""Measure agents in an evaluation: success, rules kept, how long it took, and where the first rule was broken.

Success with every rule kept is the prompt rate that every Run has, and pass@k and pass^k with several draws are of it
(`summarize.over_draws`). Source of the split: tau-bench (arXiv 2406.12045), tau2-bench (arXiv 2506.07982).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers
from adhere.pipeline.summarize.estimates import cluster_of, estimate_mean, estimate_share
from adhere.schema import Prompt, Response
from adhere.store.summary import Measure

EPISODES = "episodes"


def scores(answers: Answers) -> Iterator[Measure]:
    """Shares of episodes, then means."""
    played = [
        (prompt, response, dict(zip((ref.params.get("rule") for ref in prompt.constraints), outcomes, strict=True)))
        for prompt in answers.prompts
        for draw in range(answers.draws)
        if (outcomes := answers.outcomes(prompt, 0, draw)) and (response := answers.responses[prompt.id, 0, draw])
    ]
    solved = [(prompt, by_rule[None] == "pass") for prompt, _, by_rule in played if by_rule[None] != "undecided"]
    yield _share("goal reached", "", solved)
    kept: dict[str, list[tuple[Prompt, bool]]] = defaultdict(list)
    for prompt, _, by_rule in played:
        rules = {str(rule): outcome for rule, outcome in by_rule.items() if rule is not None and outcome != "undecided"}
        kept[""].append((prompt, "fail" not in rules.values()))
        for rule, outcome in rules.items():
            kept[rule].append((prompt, outcome == "pass"))
    if len(kept) > 1:
        for rule, found in kept.items():
            yield _share("rules kept" if not rule else "rule kept", rule, found)
    means: dict[str, list[tuple[str, float]]] = {"steps": [], "tokens": [], "first broken at action": []}
    for prompt, response, _ in played:
        cluster = cluster_of(prompt)
        means["steps"].append((cluster, float(_n_steps(response))))
        if response.usage.completion_tokens is not None:
            means["tokens"].append((cluster, float(response.usage.completion_tokens)))
        first = answers.first_broken.get(response.key)
        if first is not None:
            means["first broken at action"].append((cluster, float(first)))
    for name, found_values in means.items():
        if found_values:
            yield _mean(name, found_values)


def _mean(name: str, found: list[tuple[str, float]]) -> Measure:
    """Return the mean; without an interval where all values are the same: nothing says how others would lie."""
    values = [value for _, value in found]
    if len(set(values)) == 1:
        return Measure(name, "", values[0], None, None, len(values), EPISODES, "every episode has the same")
    return estimate_mean(name, "", found, EPISODES, top=max(1.0, *values))


def _share(name: str, scope: str, found: list[tuple[Prompt, bool]]) -> Measure:
    return estimate_share(name, scope, [(cluster_of(prompt), int(passed), 1) for prompt, passed in found], EPISODES)


def _n_steps(response: Response) -> int:
    return sum(message.role == "assistant" for message in response.steps or ())
