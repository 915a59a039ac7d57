"""Responses of local engines, with one meaning of `ok`, `truncated`, `empty` and `error` for all of them."""

from __future__ import annotations

import msgspec

from adhere.calls import written_calls
from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.schema import Response, ToolCall, Usage


def answer_of(
    request: Request, text: str, *, is_ended: bool, tokens: tuple[int, int], latency_s: float, model: str
) -> Response:
    """Return the Response for an answer that was decoded.

    If the request has tools, calls that the model wrote as its template has them become calls of the Response.

    Args:
        request: The request that is answered.
        text: The answer, without special tokens.
        is_ended: Whether the model ended the answer (False: the limit did).
        tokens: Number of tokens of the prompt, and of the answer with its end token.
        latency_s: Seconds since the request was handed over.
        model: The name of the model that served it.
    """
    calls: tuple[ToolCall, ...] = ()
    if request.tools:
        text, calls = written_calls(text, {tool.name for tool in request.tools})
    empty = is_ended and not text.strip() and not calls
    return Response(
        prompt_id=request.prompt_id,
        turn=request.turn,
        draw=request.draw,
        text=text,
        status="empty" if empty else "ok" if is_ended else "truncated",
        stop_reason="stop" if is_ended else "length",
        usage=Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1]),
        latency_s=latency_s,
        seed=request.seed,
        served_model=model,
        calls=calls or msgspec.UNSET,
    )


def insist_on_room(tokens: int, longest: int, max_new_tokens: int, *, model: str) -> None:
    """Refuse a prompt that leaves no room for its answer.

    Args:
        tokens: Number of tokens of the prompt.
        longest: The most that a prompt may have.
        max_new_tokens: Limit of the answer.
        model: Name of the model.

    Raises:
        UsageError: The prompt is longer.
    """
    if tokens > longest:
        raise UsageError(
            f"The prompt has {tokens} tokens; with {max_new_tokens} new tokens {model} takes at most {longest}"
        )


def failure_of(request: Request, error: BaseException, *, model: str) -> Response:
    """Return the Response for a request that could not be answered, so that no row is missing."""
    return Response(
        prompt_id=request.prompt_id,
        turn=request.turn,
        draw=request.draw,
        text="",
        status="error",
        seed=request.seed,
        served_model=model,
        error=str(error) or type(error).__name__,
    )
