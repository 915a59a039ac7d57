"""Tell whether one text responds to its request (`adhere.responsive`), and ask a judge model if one is named.

This is apart from `respond`, because reports and studies import that module and open no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from adhere.errors import UsageError
from adhere.models.base import Model
from adhere.models.catalog import open_model
from adhere.pipeline.judge_model.critic import Critic
from adhere.pipeline.judge_model.responding import RESPONDS
from adhere.pipeline.responding.respond import Exchange, Responding, others_of, responds
from adhere.schema import Prompt


def responsive(
    prompt: Prompt | str,
    text: str,
    *,
    other_answers: Sequence[str] = (),
    other_prompts: Sequence[Prompt | str] = (),
    model: str | Model | None = None,
) -> Responding:
    """Tell whether a text responds to this request, whatever its form.

    Args:
        prompt: The request: a text, or a Prompt, whose constraints are looked at, too. Of several turns the last one
            counts.
        text: The answer, without reasoning.
        other_answers: Answers of the same run or batch to other requests.
        other_prompts: The prompts of `other_answers`, in the same order. Without them each answer is taken to have a
            request of its own.
        model: A judge, by name or opened, that is asked where the test by words says `yes` or is undecided; its verdict
            then counts. None: no model is asked. A `no` by words stands: of such answers 97 % do not respond
            (docs/reference/responsive.md), and none of them can talk a judge round.

    Returns:
        `yes`, `no` or `undecided`, with a reason. The reason of a `yes` says what was not looked at.

    Raises:
        UsageError: The numbers of other prompts and other answers differ, or no model has that name.
        UnknownName, BadParameter: The prompt holds a constraint that cannot be judged.
    """
    if other_prompts and len(other_prompts) != len(other_answers):
        raise UsageError(
            f"Got {len(other_prompts)} other prompts and {len(other_answers)} other answers; each answers the prompt "
            "at its place, or leave the prompts out"
        )
    for answer in (text, *other_answers):
        if not isinstance(answer, str):
            raise UsageError(f"An answer must be a text, got {type(answer).__name__}")
    exchange = _exchange(prompt, text)
    prompts = other_prompts or [f"\x00{place}" for place in range(len(other_answers))]
    rest = [_exchange(other_prompt, answer) for other_prompt, answer in zip(prompts, other_answers, strict=True)]
    by_words = responds(exchange, others=others_of([*rest, exchange]) if rest else None)
    return by_words if model is None or by_words.outcome == "no" else ask_judge(exchange, model)


def ask_judge(answer: Exchange, model: str | Model) -> Responding:
    """Ask a model whether an answer responds to its request; without a readable reply it is undecided.

    Args:
        answer: The answer.
        model: The model's name, to be opened and closed here, or an open model.
    """
    judge = open_model(model) if isinstance(model, str) else model
    try:
        ((share,),) = Critic(judge).holds([(answer.request, answer.text, [RESPONDS])])
    finally:
        if isinstance(model, str):
            judge.close()
    if share is None:
        return Responding("undecided", f"{judge.name} gave no readable verdict")
    return Responding(
        "yes" if share > 0.5 else "no", f"{judge.name} says that it {'responds' if share > 0.5 else 'does not'}"
    )


def _exchange(prompt: Prompt | str, text: str) -> Exchange:
    if isinstance(prompt, str):
        return Exchange(prompt, text)
    return Exchange(prompt.turns[-1].text, text, prompt.turns[-1].constraints, prompt.tags.get("profile"))
