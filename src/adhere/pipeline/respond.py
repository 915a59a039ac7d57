"""Ask a model: prompts in, Responses out, one for every key that was asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

import msgspec

from adhere.errors import AdhereError
from adhere.models.base import Model, Request
from adhere.pipeline.chunks import Chunks, chunks_of
from adhere.pipeline.episodes import Play, StepLog, is_episode, play
from adhere.schema import Prompt, Response, Sampling, derive_seed
from adhere.store.run import Key, all_keys
from adhere.text.reasoning import split_answer
from adhere.text.size import MOST_CHARACTERS, is_too_long

SCHEMA = "data:json_schema"
"""Kind of constraint whose schema a server can be told to enforce."""


async def respond(
    model: Model,
    prompts: Sequence[Prompt],
    *,
    sampling: Sampling,
    draws: int = 1,
    keys: Sequence[Key] | None = None,
    earlier_responses: Mapping[Key, Response] | None = None,
    log: StepLog | None = None,
    user: Model | None = None,
    whole: Sequence[Prompt] = (),
) -> AsyncGenerator[Response, None]:
    """Yield one Response for every key, each as soon as it is known; the order is the model's.

    The seed of an answer depends on (sampling.seed, prompt, turn, draw) alone, so neither the order nor the other
    requests of the call change an answer. Turns are asked in order, each with the conversation so far; where an earlier
    turn failed, the later ones are answered by a Response with status `error` that says so.

    Args:
        model: The model that is asked.
        prompts: The prompts; ids must be unique.
        sampling: How answers are drawn.
        draws: Answers per turn, when `keys` is None.
        keys: Ask only for these; None asks for all.
        earlier_responses: Responses that exist already, needed as the history of later turns.
        log: Keeps the steps of episodes in worlds; None: they are not kept.
        user: The model that plays the user in worlds whose prompts name it.
        whole: All prompts of the suite that `prompts` are taken from, for a model that is asked in chunks (`chunks`).

    Raises:
        AdhereError: The model answered something that it was not asked.
    """
    by_id = {prompt.id: prompt for prompt in prompts}
    turn_keys = list(dict.fromkeys(all_keys(prompts, draws) if keys is None else keys))
    history: dict[Key, Response] = dict(earlier_responses or {})
    episode_keys = [key for key in turn_keys if is_episode(by_id[key[0]])]
    if episode_keys:
        turn_keys = [key for key in turn_keys if not is_episode(by_id[key[0]])]
        stored_steps = {} if log is None else log.steps()
        plays = [
            Play(by_id[prompt_id], draw, stored_steps.get((prompt_id, draw), ())) for prompt_id, _, draw in episode_keys
        ]
        async with aclosing(play(plays, model, sampling, ask=ask, log=log, user=user)) as episodes:
            async for response in episodes:
                yield response
    keys_to_ask, keys_to_yield = turn_keys, set(turn_keys)
    chunks = chunks_of(model, prompts, whole=[prompt for prompt in whole if not is_episode(prompt)])
    if chunks is not None:
        mates, keys_to_ask = chunks.whole(turn_keys)
        by_id = mates | by_id
    for turn in sorted({key[1] for key in keys_to_ask}):
        requests: list[Request] = []
        for key in (key for key in keys_to_ask if key[1] == turn):
            prompt_id, _, draw = key
            request = request_of(by_id[prompt_id], key, _answers_in(history, prompt_id, draw), sampling)
            if isinstance(request, Request):
                requests.append(request)
            else:
                history[key] = _refuse_turn(key, request, history.get((prompt_id, request, draw)), sampling)
                if key in keys_to_yield:
                    yield history[key]
        for alike in _asked_together(requests, chunks):
            async with aclosing(ask(model, alike, sampling_of(alike[0], sampling))) as responses:
                async for response in responses:
                    history.setdefault(response.key, response)
                    if response.key in keys_to_yield:
                        history[response.key] = response
                        yield response


def _asked_together(requests: Sequence[Request], chunks: Chunks | None) -> list[list[Request]]:
    """Group the requests that go to the model at once: those of one limit, and of one draw of one chunk."""
    groups: dict[tuple[int | None, int, int], list[Request]] = {}
    for request in requests:
        chunk = (0, 0) if chunks is None else (chunks.number(request.prompt_id), request.draw)
        groups.setdefault((request.most_tokens, *chunk), []).append(request)
    return list(groups.values())


def request_of(
    prompt: Prompt, key: Key, answer_to: Callable[[int], Response | None], sampling: Sampling
) -> Request | int:
    """Return the request for one turn, with the conversation before it.

    If an earlier turn has no answer, its number is returned instead.

    Args:
        prompt: The prompt.
        key: (prompt id, turn, draw).
        answer_to: Returns the answer to an earlier turn of the same draw, given the turn's number.
        sampling: Its seed is the root of the request's seed.
    """
    prompt_id, turn, draw = key
    answers: list[str] = []
    for earlier in range(turn):
        answer = answer_to(earlier)
        if answer is None or answer.status == "error":
            return earlier
        answers.append(answer.text)
    seed = derive_seed(sampling.seed, prompt_id, turn, draw)
    return Request(
        prompt_id,
        turn,
        draw,
        prompt.messages(answers),
        seed,
        tools=prompt.tools,
        most_tokens=_most_tokens(prompt, sampling),
        schema=next((str(ref.params["schema"]) for ref in prompt.turns[turn].constraints if ref.id == SCHEMA), ""),
    )


def _most_tokens(prompt: Prompt, sampling: Sampling) -> int | None:
    """Return the prompt's own token limit, or None; the tag says `30 of 128`, 128 being the suite's limit.

    A run with a higher limit than the suite's lifts the prompt's limit too; a lower limit holds.
    """
    own, _, of_suite = prompt.tags.get("max_new_tokens", "").partition(" of ")
    return min(int(own), sampling.max_new_tokens) if own and sampling.max_new_tokens <= int(of_suite) else None


def sampling_of(request: Request, sampling: Sampling) -> Sampling:
    """Return the sampling of one request: the run's, with the request's own token limit if it has one."""
    if request.most_tokens is None:
        return sampling
    return msgspec.structs.replace(sampling, max_new_tokens=request.most_tokens)


def _answers_in(history: Mapping[Key, Response], prompt_id: str, draw: int) -> Callable[[int], Response | None]:
    return lambda turn: history.get((prompt_id, turn, draw))


def _refuse_turn(key: Key, earlier: int, answer: Response | None, sampling: Sampling) -> Response:
    """Return the `error` Response to a turn whose earlier turn `earlier` has no answer."""
    prompt_id, turn, draw = key
    why = f"turn {earlier} has no answer{f': {answer.error}' if answer and answer.error else ''}"
    seed = derive_seed(sampling.seed, prompt_id, turn, draw)
    return Response(prompt_id, turn, draw, text="", status="error", seed=seed, error=why)


async def ask(model: Model, requests: Sequence[Request], sampling: Sampling) -> AsyncGenerator[Response, None]:
    """Yield the model's answers, held to its contract: each request is answered exactly once.

    A request without an answer gets an `error` Response.

    Raises:
        AdhereError: The model answered something that was not asked, or twice.
    """
    if not requests:
        return
    open_keys = {request.key: request.seed for request in requests}
    stream = model.respond(requests, sampling)
    try:
        async for response in stream:
            if response.key not in open_keys:
                raise AdhereError(
                    f"Model {model.name} answered {response.key}, which was not asked or is answered already"
                )
            del open_keys[response.key]
            yield settle(response)
    finally:
        close = getattr(stream, "aclose", None)  # iterators that are not generators have nothing to close
        if close is not None:
            await close()
    for (prompt_id, turn, draw), seed in open_keys.items():
        why = f"the model {model.name} ended without answering"
        yield Response(prompt_id, turn, draw, text="", status="error", seed=seed, error=why)


def settle(response: Response) -> Response:
    """Return the Response with its reasoning moved to `reasoning` (`text.reasoning.split_answer`).

    An `ok` Response without visible text or call becomes `empty`. Reasoning that is never closed leaves no answer: the
    text is empty, the status `truncated`. An answer beyond the size that is judged is cut there, and is `truncated`
    too; `evidence` says which of the two it was.
    """
    text, reasoning, status = split_answer(response.text, response.status)
    if status == "truncated" and response.status == "ok":
        response = msgspec.structs.replace(response, status=status, evidence="the reasoning was never closed")
    if is_too_long(text):
        evidence = f"the answer has {len(text):,} characters; kept are the first {MOST_CHARACTERS:,}"
        response = msgspec.structs.replace(
            response, evidence=evidence, status="truncated" if response.status == "ok" else response.status
        )
        text = text[:MOST_CHARACTERS]
    whole_reasoning = "\n".join(part for part in (response.reasoning, reasoning) if part) or None
    is_empty = response.status == "ok" and not text.strip() and not response.calls
    status = "empty" if is_empty else response.status
    return msgspec.structs.replace(response, text=text, reasoning=whole_reasoning, status=status)
