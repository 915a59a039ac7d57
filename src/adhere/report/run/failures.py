"""Real answers that failed, drawn by a seed and not by hand, each with what the judge said of all of its constraints (strict view)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from adhere.schema import Outcome, Prompt, Response, Verdict, derive_seed
from adhere.store.run import Key, Run

LONGEST_PROMPT = 1500


class Mark(NamedTuple):
    """What became of one constraint of an answer, and why."""

    outcome: Outcome
    kind: str
    reason: str


class Failure(NamedTuple):
    """One answer that failed a constraint; `prompt` is what was asked last, a long one cut in the middle."""

    prompt_id: str
    turn: int
    level: str
    system: str
    prompt: str
    answer: str
    status: str
    marks: tuple[Mark, ...]


class Drawn(NamedTuple):
    """Some failing answers of a group, and how many there are."""

    total: int
    answers: tuple[Failure, ...]


def draw_failures(run: Run, group_of: Callable[[Prompt, Verdict], str], *, most: int) -> dict[str, Drawn]:
    """At most `most` failing answers of each group of failed verdicts; the group with most of them first."""
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    responses = {response.key: response for response in run.responses()}
    by_answer: dict[Key, list[Verdict]] = {}
    groups: dict[str, dict[Key, None]] = {}
    for verdict in run.verdicts():
        if verdict.view == "strict":
            key = (verdict.prompt_id, verdict.turn, verdict.draw)
            by_answer.setdefault(key, []).append(verdict)
            if verdict.outcome == "fail":
                groups.setdefault(group_of(prompts[verdict.prompt_id], verdict), {})[key] = None
    found = {}
    for name, keys in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        rng = random.Random(derive_seed("shown failures", run.spec.sha256, name))
        chosen = rng.sample(sorted(keys), min(most, len(keys)))
        answers = tuple(_failure(prompts[key[0]], responses[key], by_answer[key]) for key in chosen)
        found[name] = Drawn(len(keys), answers)
    return found


def pick_examples(groups: Mapping[str, Drawn], most: int = 3) -> tuple[Failure, ...]:
    """A few answers to begin with: to different prompts, of the groups that fail most, with a text where there is one."""
    found: list[Failure] = []
    for drawn in groups.values():
        fresh = [one for one in drawn.answers if one.prompt_id not in {known.prompt_id for known in found}]
        fresh.sort(key=lambda one: (not one.answer.strip(), one.status != "ok"))
        found += fresh[:1]
        if len(found) == most:
            break
    return tuple(found)


def _failure(prompt: Prompt, response: Response, verdicts: Sequence[Verdict]) -> Failure:
    marks = tuple(
        Mark(one.outcome, one.constraint_id, one.reason) for one in sorted(verdicts, key=lambda one: one.index)
    )
    return Failure(
        prompt.id,
        response.turn,
        prompt.tags.get("level_name", ""),
        prompt.system or "",
        _cut(prompt.shown(response.turn)),
        response.text,
        response.status,
        marks,
    )


def _cut(text: str, most: int = LONGEST_PROMPT) -> str:
    """A long prompt by its two ends: the question stands in one of them."""
    return text if len(text) <= most else f"{text[: most // 2]} […] {text[-most // 2 :]}"
