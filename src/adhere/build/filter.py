"""Choose answers to train on: those that pass, and those that a small edit makes pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from adhere.build.reading import Fault, fault_of, is_keyed
from adhere.constraints import repair_all
from adhere.constraints.published.iftrain.twins import as_own
from adhere.pipeline.check import check
from adhere.pipeline.guard import guard
from adhere.pipeline.judge import judge_of, judge_text
from adhere.pipeline.responding.others import Others
from adhere.pipeline.reward import RewardKind, reward, without_empty_passes
from adhere.schema import Prompt, Response, Status, Verdict
from adhere.text.words import sentence_spans, words

# Words of an answer that are not the prompt's. With fewer it only says what it was told to say: "Good luck with it."
# keeps the rule to end with that phrase.
FEWEST_OWN_WORDS = 3


class Answer(NamedTuple):
    """Holds one draw and what the judge says about it.

    `passed`: the answer ended by itself and keeps every constraint. `score` is the reward; None if it is undecided.
    """

    draw: int
    text: str
    status: Status
    verdicts: tuple[Verdict, ...]
    passed: bool
    score: float | None


class Candidate(NamedTuple):
    """Holds a text that passes; `original` is the text before its repair, None if it was not repaired."""

    draw: int
    text: str
    original: str | None


def judge_draws(prompt: Prompt, responses: Sequence[Response], *, kind: RewardKind) -> list[Answer]:
    """Judge one prompt's draws; failed calls are left out, and a cut answer fails, as in our suites."""
    answers = []
    for response in responses:
        if response.status == "error":
            continue
        verdicts = check(prompt, response, cut_answers="fail", views=("strict",))
        answers.append(
            Answer(
                response.draw,
                response.text.strip(),
                response.status,
                tuple(verdicts),
                # stripped text is what gets trained on, so it is what must pass
                response.status == "ok" and keeps_all(prompt, response.text.strip()),
                reward(
                    without_empty_passes(verdicts, prompt.constraints, response.text, mode="reference"),
                    kind=kind,
                    undecidable=judge_of(prompt.constraints).undecidable,
                ),
            )
        )
    return answers


def keeps_all(prompt: Prompt, text: str) -> bool:
    """Tell whether the judge passes every constraint of `prompt` on `text`.

    False if a verdict is undecided or the prompt has no constraint.
    """
    return _outcomes(prompt, text) == {"pass"}


def breaks_one(prompt: Prompt, text: str) -> bool:
    """Tell whether `text` itself breaks a constraint; that an answer was cut does not count."""
    return "fail" in _outcomes(prompt, text)


def _outcomes(prompt: Prompt, text: str) -> set[str]:
    return {verdict.outcome for verdict in judge_text(text, prompt.constraints, ("strict",))}


def is_sound(prompt: Prompt, text: str) -> bool:
    """Tell whether a text says something of its own, neither echoing the prompt nor repeating itself.

    True if a constraint holds the right answer or runs the text as code: `Total: 12` has no word of its own.
    """
    if is_keyed(prompt):
        return True
    measures = guard(prompt, text)
    prompt_words = {word.lower() for word in words(prompt.text)}
    own = [word for word in words(text) if word.lower() not in prompt_words]
    return len(own) >= FEWEST_OWN_WORDS and not measures.is_repetitive and not measures.is_echo


def find_passing(
    prompt: Prompt, answers: Sequence[Answer], *, others: Others | None = None, faults: Counter[Fault] | None = None
) -> list[Candidate]:
    """Return the answers that pass as the model wrote them and read as answers, in the order of their draws.

    Args:
        prompt: The prompt.
        answers: All judged draws.
        others: The answers to other prompts; None: no comparison with them.
        faults: Counts the faults of passing answers that are left out.
    """
    by_text: dict[str, Candidate] = {}
    for answer in answers:
        if not answer.passed or answer.text in by_text or not is_sound(prompt, answer.text):
            continue
        if _reads(fault_of(prompt, answer.text, others=others), faults):
            by_text[answer.text] = Candidate(answer.draw, answer.text, None)
    return list(by_text.values())


def _reads(fault: Fault | None, faults: Counter[Fault] | None) -> bool:
    if fault is not None and faults is not None:
        faults[fault] += 1
    return fault is None


def repair_answers(
    prompt: Prompt,
    answers: Sequence[Answer],
    *,
    enough: int,
    others: Others | None = None,
    faults: Counter[Fault] | None = None,
) -> list[Candidate]:
    """Return at most `enough` failing answers after a small edit that the judge then passes.

    Complete answers come first, without repeats. A cut answer is first shortened to its last full sentence; if it has
    none, it is skipped. An edit that cuts a sentence is left out (`reading`).

    Args:
        prompt: The prompt.
        answers: All judged draws.
        enough: How many to return at most.
        others: The answers to other prompts; None: no comparison with them.
        faults: Counts the faults of repaired answers that are left out.
    """
    constraints = [as_own(ref) for ref in prompt.constraints]
    by_text: dict[str, Candidate] = {}
    for answer in sorted(answers, key=lambda answer: (answer.status != "ok", answer.draw)):
        original = answer.text if answer.status == "ok" else full_sentences(answer.text, answer.status)
        if len(by_text) == enough:
            break
        if not original or answer.passed or not breaks_one(prompt, original):
            continue
        text = repair_all(original, constraints)
        if text is None or text == original or text in by_text:
            continue
        if not keeps_all(prompt, text) or not is_sound(prompt, text):
            continue
        if _reads(fault_of(prompt, text, original=original, others=others), faults):
            by_text[text] = Candidate(answer.draw, text, original)
    return list(by_text.values())


def full_sentences(text: str, status: Status) -> str | None:
    """Return a cut answer without its unfinished last sentence; None if `status` is not `truncated` or none is full."""
    if status != "truncated":
        return None
    spans = sentence_spans(text)
    return text[: spans[-2][1]].rstrip() if len(spans) > 1 else None


def diverse(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return at most `count` candidates that are unlike each other.

    The first is the one of median length. Then comes each time the one least similar to those chosen; of equals, the
    longest. Taking the shortest would teach terse answers, because these keep length rules more easily.
    """
    remaining = sorted(candidates, key=lambda candidate: (len(words(candidate.text)), candidate.draw))
    bags = {candidate: frozenset(words(candidate.text.lower())) for candidate in remaining}
    chosen: list[Candidate] = []
    while remaining and len(chosen) < count:
        if chosen:
            best = min(
                range(len(remaining)),
                key=lambda place: (max(_likeness(bags[remaining[place]], bags[other]) for other in chosen), -place),
            )
        else:
            best = len(remaining) // 2
        chosen.append(remaining.pop(best))
    return chosen


def _likeness(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / max(1, len(left | right))
