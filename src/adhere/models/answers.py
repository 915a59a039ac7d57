"""How local engines phrase their Responses: one meaning of `ok`, `truncated`, `empty` and `error` for all of them."""

from __future__ import annotations

import msgspec

from adhere.calls import written_calls
from adhere.models.base import Request
from adhere.schema import Response, ToolCall, Usage


def answer_of(
    request: Request, text: str, *, is_ended: bool, tokens: tuple[int, int], latency_s: float, model: str
) -> Response:
    """An answer that was decoded.

    Where the model was told of tools, calls that it wrote in its template's way are calls.

    Args:
        request: What was asked.
        text: The answer, without special tokens.
        is_ended: The model ended it (False: the limit did).
        tokens: Of the prompt, and of the answer with its end token.
        latency_s: Seconds since the request was handed over.
        model: What served it.
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


def failure_of(request: Request, error: BaseException, *, model: str) -> Response:
    """A request that could not be answered: a row with its reason, never a missing row."""
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
