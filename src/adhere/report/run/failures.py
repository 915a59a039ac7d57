"""Draw real answers that failed, by a seed and not by hand.

Each answer has the verdicts of all of its constraints (strict view).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from adhere.schema import Outcome, Prompt, Response, Verdict, derive_seed
from adhere.store.run import Key, Run

LONGEST_PROMPT = 1500


class Mark(NamedTuple):
    """Holds the outcome of one constraint of an answer, and the reason."""

    outcome: Outcome
    kind: str
    reason: str


class JudgedAnswer(NamedTuple):
    """Holds one answer with its verdicts; `prompt` is the last question, a long one cut in the middle."""

    prompt_id: str
    turn: int
    level: str
    system: str
    prompt: str
    answer: str
    status: str
    marks: tuple[Mark, ...]


class DrawnFailures(NamedTuple):
    """Holds some failing answers of a group, and the number of all."""

    total: int
    answers: tuple[JudgedAnswer, ...]


def draw_failures(run: Run, group_of: Callable[[Prompt, Verdict], str], *, most: int) -> dict[str, DrawnFailures]:
    """Draw at most `most` failing answers of each group of failed verdicts; the largest group comes first.

    `group_of` names the group of a prompt's verdict. Only verdicts of the strict view count.
    """
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    responses = {response.key: response for response in run.responses()}
    marks = marks_by_answer(run)
    groups: dict[str, dict[Key, None]] = {}
    for verdict in run.verdicts():
        if verdict.view == "strict" and verdict.outcome == "fail":
            key = (verdict.prompt_id, verdict.turn, verdict.draw)
            groups.setdefault(group_of(prompts[verdict.prompt_id], verdict), {})[key] = None
    failures = {}
    for name, keys in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        rng = random.Random(derive_seed("shown failures", run.spec.sha256, name))
        chosen = rng.sample(sorted(keys), min(most, len(keys)))
        failures[name] = DrawnFailures(
            len(keys), tuple(_judge_view(prompts[key[0]], responses[key], marks[key]) for key in chosen)
        )
    return failures


def marks_by_answer(run: Run) -> dict[Key, tuple[Mark, ...]]:
    """Return the verdicts on every answer, constraint by constraint (strict view)."""
    verdicts_by_answer: dict[Key, list[Verdict]] = {}
    for verdict in run.verdicts():
        if verdict.view == "strict":
            verdicts_by_answer.setdefault((verdict.prompt_id, verdict.turn, verdict.draw), []).append(verdict)
    return {
        key: tuple(
            Mark(verdict.outcome, verdict.constraint_id, verdict.reason)
            for verdict in sorted(verdicts, key=lambda verdict: verdict.index)
        )
        for key, verdicts in verdicts_by_answer.items()
    }


def answer_of(
    prompt: Prompt, turn: int, responses: Mapping[Key, Response], marks: Mapping[Key, tuple[Mark, ...]]
) -> JudgedAnswer | None:
    """Return the answer of the first draw to one turn, failed or not; None if there is none."""
    key = (prompt.id, turn, 0)
    return _judge_view(prompt, responses[key], marks.get(key, ())) if key in responses else None


def pick_examples(groups: Mapping[str, DrawnFailures], most: int = 3) -> tuple[JudgedAnswer, ...]:
    """Pick a few answers to show first.

    They are to different prompts, from the groups that fail most, and have a text if possible.
    """
    examples: list[JudgedAnswer] = []
    for failures in groups.values():
        fresh = [row for row in failures.answers if row.prompt_id not in {example.prompt_id for example in examples}]
        fresh.sort(key=lambda row: (not row.answer.strip(), row.status != "ok"))
        examples += fresh[:1]
        if len(examples) == most:
            break
    return tuple(examples)


def _judge_view(prompt: Prompt, response: Response, marks: tuple[Mark, ...]) -> JudgedAnswer:
    return JudgedAnswer(
        prompt.id,
        response.turn,
        prompt.tags.get("level_name", ""),
        prompt.system or "",
        _cut(prompt.shown(response.turn)),
        response.said,
        response.status,
        marks,
    )


def _cut(text: str, most: int = LONGEST_PROMPT) -> str:
    """Shorten a long prompt in the middle: the question is at one of its ends."""
    return text if len(text) <= most else f"{text[: most // 2]} […] {text[-most // 2 :]}"
