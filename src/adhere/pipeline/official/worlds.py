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
    """Yield shares of episodes (goal reached, rules kept), then mean steps, tokens and first broken action."""
    episodes = [
        (prompt, response, dict(zip((ref.params.get("rule") for ref in prompt.constraints), outcomes, strict=True)))
        for prompt in answers.prompts
        for draw in range(answers.draws)
        if (outcomes := answers.outcomes(prompt, 0, draw)) and (response := answers.responses[prompt.id, 0, draw])
    ]
    goal_trials = [(prompt, by_rule[None] == "pass") for prompt, _, by_rule in episodes if by_rule[None] != "undecided"]
    yield _share("goal reached", "", goal_trials)
    rule_trials: dict[str, list[tuple[Prompt, bool]]] = defaultdict(list)
    for prompt, _, by_rule in episodes:
        rules = {str(rule): outcome for rule, outcome in by_rule.items() if rule is not None and outcome != "undecided"}
        rule_trials[""].append((prompt, "fail" not in rules.values()))
        for rule, outcome in rules.items():
            rule_trials[rule].append((prompt, outcome == "pass"))
    if len(rule_trials) > 1:
        for rule, trials in rule_trials.items():
            yield _share("rules kept" if not rule else "rule kept", rule, trials)
    means: dict[str, list[tuple[str, float]]] = {"steps": [], "tokens": [], "first broken at action": []}
    for prompt, response, _ in episodes:
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


def _mean(name: str, values: list[tuple[str, float]]) -> Measure:
    """Return the mean of values; without an interval if all are equal, for nothing then says how others spread."""
    numbers = [value for _, value in values]
    if len(set(numbers)) == 1:
        return Measure(name, "", numbers[0], None, None, len(numbers), EPISODES, "every episode has the same")
    return estimate_mean(name, "", values, EPISODES, top=max(1.0, *numbers))


def _share(name: str, scope: str, trials: list[tuple[Prompt, bool]]) -> Measure:
    return estimate_share(name, scope, [(cluster_of(prompt), int(passed), 1) for prompt, passed in trials], EPISODES)


def _n_steps(response: Response) -> int:
    return sum(message.role == "assistant" for message in response.steps or ())
