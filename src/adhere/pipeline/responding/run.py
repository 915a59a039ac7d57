"""Find the conversations of a Run that pass by answers that respond."""

from __future__ import annotations

from collections.abc import Iterator

from adhere.errors import BadParameter, UnknownName
from adhere.pipeline.outcomes import Answers, Unit, keeps_all
from adhere.pipeline.responding.language import is_readable
from adhere.pipeline.responding.others import Others
from adhere.pipeline.responding.respond import Exchange, others_of, responds
from adhere.schema import Mode, Prompt

ACTS = ("calls:", "world:")
"""Beginnings of the ids of rules about what is done, by calls or moves; words say nothing of them."""


def responding(answers: Answers, mode: Mode = "reference") -> dict[Unit, bool | None]:
    """Tell of every decided conversation whether it passes (strict view) by answers that all respond.

    Each answer is compared with all others of the Run. The value is None where the request, or an answer that passes,
    cannot be read. Conversations of acts (calls, worlds), and those that a model did not answer, are not in it.

    Args:
        answers: The Run's answers with their verdicts.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
    """
    by_unit: dict[Unit, bool | None] = {}
    others = others_of(answer for prompt, draw in _conversations(answers) for answer in _turns(answers, prompt, draw))
    for prompt, draw in _conversations(answers):
        n_constraints = sum(len(turn.constraints) for turn in prompt.turns)
        passes = keeps_all([slot.strict for slot in answers.slots(prompt, draw)], n_constraints)
        if passes is None:
            continue
        if not all(is_readable(turn.text) for turn in prompt.turns):
            by_unit[prompt.id, draw] = None
        elif not passes:
            by_unit[prompt.id, draw] = False
        else:
            outcomes = [_outcome(answer, others, mode) for answer in _turns(answers, prompt, draw)]
            by_unit[prompt.id, draw] = _all_respond(outcomes, len(prompt.turns))
    return by_unit


def _conversations(answers: Answers) -> Iterator[tuple[Prompt, int]]:
    """Yield the prompts that ask for words, each with every draw."""
    for prompt in answers.prompts:
        if not any(ref.id.startswith(ACTS) for turn in prompt.turns for ref in turn.constraints):
            yield from ((prompt, draw) for draw in range(answers.draws))


def _turns(answers: Answers, prompt: Prompt, draw: int) -> Iterator[Exchange]:
    for number, turn in enumerate(prompt.turns):
        response = answers.responses.get((prompt.id, number, draw))
        if response is not None and response.status != "error":
            yield Exchange(turn.text, response.text, turn.constraints, prompt.tags.get("profile"))


def _outcome(answer: Exchange, others: Others, mode: Mode) -> str:
    try:
        return responds(answer, others=others, mode=mode).outcome
    except (BadParameter, UnknownName):  # a stored constraint that today's judge does not know
        return "undecided"


def _all_respond(outcomes: list[str], n_turns: int) -> bool | None:
    if "no" in outcomes or len(outcomes) < n_turns:
        return False
    return None if "undecided" in outcomes else True
