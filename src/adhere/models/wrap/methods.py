"""The inference-time methods.

Each is a function of a request that yields calls and returns the answer (see wrapper.py).

| name | what it does | after |
|---|---|---|
| `best-of-N` | N answers; the one that the verifiers like best | oracle |
| `repair`, `repair-N` | answers again, told why the verifiers refused, up to N times | DeCRIM with an oracle as critic (arXiv 2410.06458) |
| `majority-N` | N answers; the one given most often | self-consistency |
| `decompose-critique-refine` | lists the requirements, checks the answer against them, refines it | DeCRIM (arXiv 2410.06458) |
| `self-check` | previews the requirements, answers, checks itself | Light-IF (arXiv 2508.03178) |
| `prompt-search-N` | proposes N texts to stand before requests, keeps the best on other prompts (`searched.py`) | APE, arXiv 2211.01910 |
| `steer-N` | inside a local model: chosen heads look more at the request (`local/decoder/steering.py`) | PASTA, arXiv 2311.02262 |
| `prefix` | a fixed text about following instructions before the request | TAPP (arXiv 2302.14691) |
| `helper-functions` | plans the answer as small named steps first | *Auxiliary Function for Code Generation* |
| `step-by-step` | writes steps for the task first, then follows them | *Cross-Task Generalization with Step-by-Step Instructions* |
| `shuffled-steps` | the same with its steps in another order: the control | *Cross-Task Generalization with Step-by-Step Instructions* |
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Generator

from adhere.models.base import Request
from adhere.models.wrap.wrapper import Call, Checker, Method
from adhere.schema import Message, Response

Steps = Generator[list[Call], list[Response], Response]

PREFIX = (
    "Before you answer, find out what exactly is asked for: the task, every condition on form, length, "
    "wording and language, and what must not appear. Then write an answer that meets all of these at "
    "once, and nothing else."
)
_REQUIREMENTS = (
    "Do not answer the request above yet. List every single requirement that it puts on the answer, one a line, "
    "as short as possible."
)
_CRITIQUE = (
    "Requirements:\n{}\n\n"
    "Check your answer against each requirement. Name those that it breaks, and how. If there are none, say OK."
)
_REFINE = "Now write the answer again, so that it keeps every requirement. Write the answer only."
_PREVIEW = (
    "Requirements that I have found:\n{}\n\n"
    "Answer the request now, so that every one of them is kept. Write the answer only."
)
_CHECK = (
    "Read your answer once more. If it breaks any requirement, write it again correctly; if not, "
    "repeat it unchanged. Write the answer only."
)
_HELPERS = (
    "Do not answer yet. Name the small functions that would help to produce the answer (such as counting words or "
    "checking the last line), one a line, each with what it does."
)
_USE_HELPERS = "Helper functions:\n{}\n\nUse them in your mind, and answer the request now. Write the answer only."
_STEPS = "Do not answer yet. Write the steps that lead to a right answer, one a line, numbered."
_FOLLOW = "Steps:\n{}\n\nFollow these steps and answer the request. Write the answer only."
_REPAIR = "Your answer breaks what was asked:\n{}\n\nWrite the whole answer again, corrected. Write the answer only."


def _conversation(request: Request, *more: tuple[str, str]) -> tuple[Message, ...]:
    """Append pairs of an answer and the next question to the request's conversation.

    If the answer is empty, the question is added to the last message. If that is a tool's, the question is a message of
    its own.
    """
    messages = list(request.messages)
    for answer, ask in more:
        if answer:
            messages += [Message("assistant", answer), Message("user", ask)]
        elif messages[-1].role == "tool":
            messages.append(Message("user", ask))
        else:
            last = messages.pop()
            messages.append(Message(last.role, f"{last.content}\n\n{ask}"))
    return tuple(messages)


def before(text: str) -> Method:
    """Return the method that makes one call, with a fixed text before the last message of the user."""

    def method(request: Request, _: Checker | None) -> Steps:
        messages = list(request.messages)
        place = max(number for number, message in enumerate(messages) if message.role == "user")
        messages[place] = Message("user", f"{text}\n\n{messages[place].content}")
        (answer,) = yield [Call(tuple(messages))]
        return answer

    return method


prefix = before(PREFIX)


def _plan_first(plan: str, use: str, *, change: Callable[[str, Request], str] = lambda text, _: text) -> Method:
    """Return the method that asks for a plan first, then for the answer with the plan in the prompt."""

    def method(request: Request, _: Checker | None) -> Steps:
        (plan_answer,) = yield [Call(_conversation(request, ("", plan)))]
        (answer,) = yield [Call(_conversation(request, ("", use.format(change(plan_answer.text.strip(), request)))))]
        return answer

    return method


def _shuffle_lines(text: str, request: Request) -> str:
    """Shuffle the lines, always in the same order for the same request."""
    rows = [row for row in text.splitlines() if row.strip()]
    random.Random(request.seed).shuffle(rows)
    return "\n".join(rows)


helper_functions = _plan_first(_HELPERS, _USE_HELPERS)
step_by_step = _plan_first(_STEPS, _FOLLOW)
shuffled_steps = _plan_first(_STEPS, _FOLLOW, change=_shuffle_lines)


def self_check(request: Request, _: Checker | None) -> Steps:
    """Ask for the requirements, then for an answer, then for a check of that answer."""
    (preview,) = yield [Call(_conversation(request, ("", _REQUIREMENTS)))]
    (answer,) = yield [Call(_conversation(request, ("", _PREVIEW.format(preview.text.strip()))))]
    if not answer.text.strip():
        return answer
    (revision,) = yield [Call(_conversation(request, (answer.text, _CHECK)))]
    return revision if revision.text.strip() else answer


def decompose_critique_refine(request: Request, _: Checker | None) -> Steps:
    """Ask for the requirements and an answer, then for the requirements it breaks, and refine it if any are named."""
    requirements, answer = yield [Call(_conversation(request, ("", _REQUIREMENTS))), Call(request.messages)]
    if not answer.text.strip():
        return answer
    ask = _CRITIQUE.format(requirements.text.strip())
    (critique,) = yield [Call(_conversation(request, (answer.text, ask)))]
    critique_text = critique.text.strip()
    if not critique_text or critique_text.upper().startswith("OK"):
        return answer
    (revision,) = yield [Call(_conversation(request, (answer.text, ask), (critique_text, _REFINE)))]
    return revision if revision.text.strip() else answer


def majority(count: int) -> Method:
    """Return the method that draws `count` answers and takes the most frequent one.

    White space and case do not count. Of equally frequent answers it takes the first.
    """

    def method(request: Request, _: Checker | None) -> Steps:
        answers = yield [Call(request.messages, is_drawn=True)] * count
        votes = Counter(" ".join(answer.text.split()).casefold() for answer in answers if answer.text.strip())
        if not votes:
            return answers[0]
        most = max(votes.values())
        return next(answer for answer in answers if votes[" ".join(answer.text.split()).casefold()] == most)

    return method


def best_of(count: int) -> Method:
    """Return the method that draws `count` answers and takes the first with the fewest broken constraints.

    It is an oracle: the checker that scores the answers chooses among them.
    """

    def method(request: Request, checker: Checker | None) -> Steps:
        assert checker is not None  # noqa: S101 - Wrapped.respond refuses an oracle without one
        answers = yield [Call(request.messages, is_drawn=True)] * count
        return min(answers, key=lambda answer: len(checker(request, answer.text)))

    return method


def repair(rounds: int) -> Method:
    """Return the method that asks again, up to `rounds` times, with the verifiers' reasons against the answer before.

    The answer that breaks the fewest constraints is taken. It is an oracle: the checker that scores the answers gives
    the reasons.
    """

    def method(request: Request, checker: Checker | None) -> Steps:
        assert checker is not None  # noqa: S101 - Wrapped.respond refuses an oracle without one
        (answer,) = yield [Call(request.messages)]
        best = answer
        for _ in range(rounds):
            reasons = checker(request, answer.text)
            if not reasons or not answer.text.strip():
                break
            reason_lines = "\n".join(f"- {reason}" for reason in reasons[:10])
            (answer,) = yield [Call(_conversation(request, (answer.text, _REPAIR.format(reason_lines))))]
            if len(checker(request, answer.text)) < len(checker(request, best.text)):
                best = answer
        return best

    return method
