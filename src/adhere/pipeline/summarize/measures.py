"""Measure what a suite's way of asking shows beside pass rates.

Rates are by level, turn, variant, role and depth, each with its interval.

Everything follows from the tags of the stored prompts, so a Run is measured the same whatever suite it came from:

| tag | what is asked | measures |
|---|---|---|
| `level` (with `slice`) | the same, harder and harder | hard and soft satisfaction; with `group`: consistent levels |
| several turns | a conversation | turns, constraints of a turn (PIF) |
| `variant` (with `group`) | the same in several forms | mean, each variant's rate, spread, worst case, disagreement |
| `roles` | constraints that measure different things | the rate of each role |
| `dependent` | steps that need the step before | steps up to the first failure |
| `depth` | something hidden in a text | the grid of lengths and depths |
| `family` = `density`, or `profile` = `ifscale` | words to use | omissions and distortions |

All measures are of the strict view and leave out what is undecided. Groups of prompts are clusters, and intervals
account for that. A published suite's own score is in `pipeline.official`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean

from adhere.pipeline.outcomes import Answers, keeps_all
from adhere.pipeline.summarize.estimates import (
    all_decided,
    cluster_of,
    conversations,
    estimate_mean,
    estimate_share,
    length_of_run,
    list_decided,
)
from adhere.schema import Outcome, Prompt
from adhere.store.summary import Measure

_FEWEST_SAME = 4  # letters that a word and its distorted form have in common at least


def measures(answers: Answers) -> tuple[Measure, ...]:
    """Return every measure that the prompts' tags call for, in the order of this module's table.

    Prompts of several families give none.
    """
    families = {prompt.tags.get("family", prompt.source) for prompt in answers.prompts}
    if len(families) > 1:  # levels and variants of different families mean different things
        return ()
    parts = (_levels, _turns, _variants, _roles, _dependent, _depths, _words)
    return tuple(measure for part in parts for measure in part(answers))


def _levels(answers: Answers) -> Iterator[Measure]:
    names = {prompt.tags["level"]: prompt.tags.get("slice", "") for prompt in answers.prompts if "level" in prompt.tags}
    if len(names) < 2:
        return
    levels = sorted(names, key=lambda level: (len(level), level))
    passed = list(conversations(answers))
    for level in levels:
        trials = [(cluster_of(prompt), int(ok), 1) for prompt, _, ok in passed if prompt.tags.get("level") == level]
        yield estimate_share("hard satisfaction", names[level], trials, "prompts")
    for level in levels:
        members = [prompt for prompt in answers.prompts if prompt.tags.get("level") == level]
        yield estimate_share("soft satisfaction", names[level], _constraints(answers, members), "constraints")
    chains: dict[tuple[str, str, int], dict[str, bool]] = defaultdict(dict)
    for prompt, draw, ok in passed:
        if "group" in prompt.tags and prompt.tags.get("level") in names:
            chains[prompt.tags["group"], prompt.tags.get("variant", ""), draw][prompt.tags["level"]] = ok
    whole = [(key, chain) for key, chain in chains.items() if len(chain) == len(levels)]
    if whole:
        counts = [(key[0], float(length_of_run([chain[level] for level in levels]))) for key, chain in whole]
        yield estimate_mean("consistent levels", f"of {len(levels)}", counts, "groups", top=float(len(levels)))


def _constraints(answers: Answers, prompts: Iterable[Prompt]) -> Iterator[tuple[str, int, int]]:
    for prompt in prompts:
        for draw in range(answers.draws):
            for turn in range(len(prompt.turns)):
                passes = list_decided(answers, prompt, turn, draw)
                yield cluster_of(prompt), sum(passes), len(passes)


def _turns(answers: Answers) -> Iterator[Measure]:
    most = max((len(prompt.turns) for prompt in answers.prompts), default=0)
    if most < 2:
        return
    for name in ("turn", "PIF of turn"):
        for turn in range(most):
            trials = []
            for prompt in answers.prompts:
                for draw in range(answers.draws if turn < len(prompt.turns) else 0):
                    n_constraints = len(prompt.turns[turn].constraints)
                    passes = list_decided(answers, prompt, turn, draw)
                    if name != "turn":
                        trials.append((cluster_of(prompt), sum(passes), len(passes)))
                    elif passes and (not all(passes) or len(passes) == n_constraints):
                        trials.append((cluster_of(prompt), int(all(passes)), 1))
            yield estimate_share(name, str(turn + 1), trials, "answers" if name == "turn" else "constraints")
    yield estimate_share(
        "conversation", "", [(cluster_of(p), int(ok), 1) for p, _, ok in conversations(answers)], "conversations"
    )
    if answers.draws > 1:
        of_prompt: dict[str, list[bool]] = defaultdict(list)
        for prompt, _, ok in conversations(answers):
            of_prompt[prompt.id].append(ok)
        steady = [(name, int(all(oks)), 1) for name, oks in of_prompt.items() if len(oks) == answers.draws]
        yield estimate_share(f"PIF-{answers.draws}-{answers.draws}", "", steady, "conversations")


def _variants(answers: Answers) -> Iterator[Measure]:
    sets: dict[tuple[str, str, int], dict[str, bool]] = defaultdict(dict)
    for prompt, draw, ok in conversations(answers):
        # Different tasks are no variants of one thing.
        if "variant" in prompt.tags and "group" in prompt.tags and "task" not in prompt.tags:
            sets[prompt.tags["group"], prompt.tags.get("level", ""), draw][prompt.tags["variant"]] = ok
    names = list(dict.fromkeys(name for by_variant in sets.values() for name in by_variant))
    whole = {key: by_variant for key, by_variant in sets.items() if len(by_variant) == len(names)}
    if len(names) < 2 or not whole:
        return
    for name in names:
        yield estimate_share(
            "variant", name, [(key[0], int(by_variant[name]), 1) for key, by_variant in whole.items()], "prompts"
        )
    every = [(key[0], sum(by_variant.values()), len(by_variant)) for key, by_variant in whole.items()]
    yield estimate_share("mean over variants", "", every, "prompts")
    yield _spread(whole, names)
    sets_of = {
        "worst case": [(key[0], int(all(by_variant.values())), 1) for key, by_variant in whole.items()],
        "disagreement": [(key[0], int(len(set(by_variant.values())) > 1), 1) for key, by_variant in whole.items()],
    }
    for name, trials in sets_of.items():
        yield estimate_share(name, "", trials, "sets of variants")


def _spread(sets: Mapping[tuple[str, str, int], Mapping[str, bool]], names: Sequence[str]) -> Measure:
    """Return the standard deviation of the variants' rates, with an interval over groups for the true deviation."""
    from adhere.stats import spread_of_variants  # it brings scipy, and whoever counts answers comes through here

    of_group: dict[str, list[list[float]]] = defaultdict(list)
    for (group, _, _), by_variant in sets.items():
        of_group[group].append([float(by_variant[name]) for name in names])
    # Groups mostly have as many sets as each other; where one has fewer, it counts as much all the same.
    estimate = spread_of_variants([[mean(column) for column in zip(*rows, strict=True)] for rows in of_group.values()])
    low, high = (None, None) if estimate.interval is None else estimate.interval
    return Measure(
        "spread of variants", "", estimate.value, low, high, len(sets), "sets of variants", reason=estimate.reason
    )


def _roles(answers: Answers) -> Iterator[Measure]:
    trials: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for prompt in answers.prompts:
        if "roles" not in prompt.tags:
            continue
        for turn, roles in enumerate(prompt.tags["roles"].split(";")):
            for draw in range(answers.draws):
                of_role: dict[str, list[Outcome]] = defaultdict(list)
                for role, outcome in zip(roles.split(","), answers.outcomes(prompt, turn, draw), strict=False):
                    of_role[role].append(outcome)
                for role, outcomes in of_role.items():
                    ok = keeps_all(outcomes, len(outcomes))
                    if ok is not None:
                        trials[role].append((cluster_of(prompt), int(ok), 1))
    if len(trials) < 2:
        return
    for role, role_trials in trials.items():
        yield estimate_share("role", role, role_trials, "answers")
    joint = [(cluster_of(prompt), int(ok), 1) for prompt, _, ok in conversations(answers) if "roles" in prompt.tags]
    yield estimate_share("all roles", "", joint, "answers")


def _dependent(answers: Answers) -> Iterator[Measure]:
    shares = []
    for prompt in answers.prompts:
        for draw in range(answers.draws if prompt.tags.get("dependent") == "yes" else 0):
            passes = all_decided(answers, prompt, draw)
            if passes is not None:
                shares.append((cluster_of(prompt), length_of_run(passes) / len(passes)))
    if shares:
        yield estimate_mean("steps before the first failure", "", shares, "answers")


def _depths(answers: Answers) -> Iterator[Measure]:
    cells: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    tasks: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for prompt, _, ok in conversations(answers):
        if "depth" in prompt.tags:
            cells[prompt.tags.get("length", prompt.tags.get("slice", "")), prompt.tags["depth"]].append(
                (cluster_of(prompt), int(ok), 1)
            )
        if "task" in prompt.tags:
            tasks[prompt.tags["task"]].append((cluster_of(prompt), int(ok), 1))
    for task, trials in tasks.items():
        yield estimate_share("task", task, trials, "prompts")
    for (length, depth), trials in cells.items():
        yield estimate_share("depth", f"{length} at {depth} %", trials, "prompts")


def _words(answers: Answers) -> Iterator[Measure]:
    omissions: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    distortions: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for prompt in answers.prompts:
        words, distorted_of = _find_required(prompt)
        for draw in range(answers.draws if words else 0):
            outcomes = answers.outcomes(prompt, 0, draw)
            response = answers.responses.get((prompt.id, 0, draw))
            if response is None or not outcomes:
                continue
            missing = [word for word, outcome in zip(words, outcomes, strict=False) if outcome == "fail"]
            other_form = sum(distorted_of(missing, response.text.lower()))
            level = prompt.tags.get("slice", "")
            omissions[level].append((cluster_of(prompt), len(missing) - other_form, len(words)))
            distortions[level].append((cluster_of(prompt), other_form, len(words)))
    by_name: Mapping[str, Mapping[str, list[tuple[str, int, int]]]] = {"omitted": omissions, "distorted": distortions}
    for name, by_level in by_name.items():
        for level, trials in by_level.items():
            yield estimate_share(name, level, trials, "words")


_Distorted = Callable[[Sequence[str], str], Iterable[bool]]
"""Function that yields, for each missing word, whether a lower-case text holds it in another form."""


def _find_required(prompt: Prompt) -> tuple[list[str], _Distorted]:
    """Return the words to use, and the function that tells whether a missing one stands in another form.

    Each word is a constraint of its own, before all other constraints.
    """
    if prompt.tags.get("family") == "density":
        word_lists = [ref.params.get("words") for ref in prompt.constraints if ref.id == "keywords:include"]
        return [str(words[0]) for words in word_lists if isinstance(words, list)], _begins_alike
    if prompt.tags.get("profile") != "ifscale":
        return [], _begins_alike
    from adhere.constraints.published.ifscale.table import is_distorted  # published kinds load with it

    words = [str(ref.params["word"]).lower() for ref in prompt.constraints]
    return words, lambda missing, text: (is_distorted(word, text) for word in missing)


def _begins_alike(missing: Sequence[str], text: str) -> Iterator[bool]:
    """Yield for each missing word whether the text has a word that begins alike.

    The last two letters of the missing word need not agree.
    """
    answer_words = set(re.findall(r"\w+", text))
    for word in missing:
        stem = word[: max(_FEWEST_SAME, len(word) - 2)]
        yield any(other.startswith(stem) for other in answer_words)
