"""Chat completions over the wire: what is sent, and what every possible reply means.

HTTP 200 is no success: errors come inside it, bodies come padded or empty. So every reply is read here, and becomes
an Attempt. The structure of an error (HTTP's status, `error.code`, `error.type`, `error.metadata`; see
`refusals.py`) decides what it means, never the words of its message alone.

| reply | becomes |
|---|---|
| text, `finish_reason` stop / length / content_filter | `ok` / `truncated` / `refused` |
| calls of tools, with text or without | `ok`, with `calls` |
| null content and no call | `empty`; `truncated` where reasoning used up the tokens; `refused` with a refusal |
| an error that names a content policy | `refused` |
| 400 with too long a context, 413, 422, other 4xx | `error`, final |
| fewer tokens read than the prompt has words | `error`: the server cut the prompt |
| an error whose words blame the key, the address, a field or streaming | denied, if the first answers all do |
| 401, 402, 407, a spent quota or key, a redirect | denied: this model's trouble, until other models meet the same |
| 403, 404, 405, 410; an unknown model | the model stops |
| 402 with Retry-After; 429 | no room just now |
| 408, 409, 425, 5xx; an error inside 200; empty or broken bodies; no choices | tried again |
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any, NamedTuple

import msgspec

from adhere.calls import calls_of
from adhere.models.base import Request
from adhere.models.chat import conversation, definitions
from adhere.models.http.attempt import FAILURES, Attempt, Kind, response_to
from adhere.models.http.blame import is_page
from adhere.models.http.counting import least_tokens
from adhere.models.http.dialects import Dialect
from adhere.models.http.extra import with_fields
from adhere.models.http.keys import redact
from adhere.models.http.native import Native, response_format
from adhere.models.http.refusals import Meaning, error_fields, meaning_of
from adhere.models.http.values import (
    TOO_DEEP,
    content_of,
    json_or_deep,
    mapping_of,
    number_of,
    refusal_of,
    text_of,
    thought_of,
    whole_of,
)
from adhere.schema import Failure, Json, Sampling, Usage, status_of_stop
from adhere.terminal import one_line

MOST_EVIDENCE = 500
LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000
"""Most characters of an answer. A longer one is cut there and called `truncated`: judging more takes minutes."""
CUT_PROMPT = (
    "the server read less of the prompt than it was sent, and said nothing: its context is too small. Raise it "
    "(Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: --ctx-size), or leave such prompts out"
)
SHORTEST_CUT = 1_000
"""Least tokens of a prompt whose length is compared with the number of tokens that the server reports."""
_ACCOUNT = re.compile(r'"(user_id|org_id)"\s*:\s*"[^"]{0,200}"?')


class Reply(NamedTuple):
    """Holds a reply as it came back.

    Attributes:
        status: The HTTP status.
        headers: With lower-case names.
        body: The raw bytes; of a stream the assembled completion as JSON.
        latency_s: Seconds from sending to the last byte.
        first_token_s: Seconds from sending to the first token of a streamed answer.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_s: float
    first_token_s: float | None = None


class Prices(NamedTuple):
    """Holds prices in USD: of a prompt token, of an answer token, of a request."""

    prompt: float = 0.0
    completion: float = 0.0
    request: float = 0.0


def body_of(
    model: str,
    request: Request,
    sampling: Sampling,
    dialect: Dialect,
    *,
    stream: bool,
    option_fields: Mapping[str, Json],
    send: Mapping[str, Json] = {},
    omit: Iterable[str] = (),
) -> bytes:
    """Return the JSON body of a request.

    System messages are merged into the first message: some servers reject more, or a later one.

    Args:
        model: The model that is asked.
        request: The request.
        sampling: How the answer is drawn.
        dialect: The kind of server.
        stream: Whether the answer is streamed.
        option_fields: Fields from the options, in OpenAI's terms; a schema asked for is filled in from the request.
        send: Fields that the user adds, in the server's own terms.
        omit: Fields that the user leaves out.
    """
    form = mapping_of(option_fields.get("response_format")).get("type")
    if form is not None:
        option_fields = {name: value for name, value in option_fields.items() if name != "response_format"}
        own = response_format(form, request.schema)
        option_fields = option_fields if own is None else {**option_fields, "response_format": own}
    if dialect.native is not None:
        body = dialect.native.body(model, request, sampling, option_fields)
    else:
        body = {**_chat_body(model, request, sampling, dialect, stream=stream), **option_fields}
    return json.dumps(with_fields(body, send, omit)).encode()


def _chat_body(model: str, request: Request, sampling: Sampling, dialect: Dialect, *, stream: bool) -> dict[str, Any]:
    """Return the body in the form of OpenAI's chat completions, without the fields of options."""
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    messages += conversation([message for message in request.messages if message.role != "system"], is_sent=True)
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "temperature": sampling.temperature,
        dialect.max_tokens: sampling.max_new_tokens,
        "stream": stream,
    }
    if request.tools:
        body["tools"] = definitions(request.tools)
    if sampling.top_p != 1.0:
        body["top_p"] = sampling.top_p
    if dialect.sends_seed:
        body["seed"] = request.seed % 2**31
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body


def read(  # noqa: PLR0911 - one return a rule
    reply: Reply, request: Request, *, prices: Prices | None = None, native: Native | None = None
) -> Attempt:
    """Convert a reply to an Attempt.

    It never raises, whatever the bytes are. `native`: the API whose form the reply has; None: OpenAI's.
    """
    payload = json_or_deep(reply.body, reply.headers.get("content-type", ""))
    if payload is TOO_DEEP:
        return _attempt("failed", reply, request, f"HTTP {reply.status} with a body that is nested too deep to be read")
    if isinstance(payload, list) and len(payload) == 1:  # Gemini's errors
        payload = payload[0]
    if native is not None and isinstance(payload, dict) and not payload.get("error"):
        payload = native.completion(payload)
    error = payload.get("error") if isinstance(payload, dict) else None
    if not 200 <= reply.status < 300 or error:
        return _failure(reply, request, error, payload)
    if not isinstance(payload, dict):
        noun = "an empty body" if not reply.body.strip() else "a body that is no JSON object"
        is_for_people = is_page(_text(reply.body))
        meaning = Meaning("transient", reply.status, suspects="address") if is_for_people else None
        noun = "a page for people" if is_for_people else noun
        return _attempt("transient", reply, request, f"HTTP 200 with {noun}", meaning=meaning)
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        if text_of((fields := error_fields(None, payload)).get("message")):  # an error by names of the server's own
            return _failure(reply, request, fields, payload)
        return _attempt("transient", reply, request, "HTTP 200 without choices")
    if choice.get("error"):
        return _failure(reply, request, choice["error"], payload)
    message = choice.get("message")
    finish = choice.get("finish_reason")
    if not isinstance(message, dict) or status_of_stop(finish) == "error":
        finish_text = repr(finish)[:40] if isinstance(finish, str | None) else "of a wrong type"
        return _attempt("transient", reply, request, f"HTTP 200 with finish_reason {finish_text} and no answer")
    return _answer(reply, request, payload, choice, message, prices=prices)


def _answer(
    reply: Reply,
    request: Request,
    payload: dict[str, Any],
    choice: dict[str, Any],
    message: dict[str, Any],
    *,
    prices: Prices | None,
) -> Attempt:
    text, calls = content_of(message.get("content")), calls_of(message)
    reasoning = thought_of(message) or None
    finish = text_of(choice.get("finish_reason"))
    refusal = refusal_of(message)
    evidence = None
    stop_status = status_of_stop(finish)
    if stop_status == "truncated":
        status = "truncated"
        evidence = None if text or calls else "the tokens were used up before the answer began"
    elif stop_status == "refused" or refusal:
        status = "refused"
        evidence = refusal or f"finish_reason {finish}"
    else:
        status = "ok" if text.strip() or (calls and request.tools) else "empty"
        if status == "empty" and calls:
            evidence = "it only calls tools, and none was offered"
    if len(text) > LONGEST_TEXT:
        status = "truncated" if status == "ok" else status
        evidence = f"the answer has {len(text):,} characters; {LONGEST_TEXT:,} of them are kept"
        text = text[:LONGEST_TEXT]
    usage = _usage(payload.get("usage"), prices)
    cached_tokens = _cached_tokens(mapping_of(payload.get("usage")))
    if (cut_evidence := _cut_prompt(request, usage, cached_tokens)) is not None:
        return _attempt("failed", reply, request, CUT_PROMPT, usage=usage, evidence=cut_evidence, failure="passing")
    response = response_to(
        request,
        text=text,
        status=status,
        stop_reason=_name(choice.get("native_finish_reason")) or _name(finish),
        reasoning=reasoning if reasoning is None else reasoning[:LONGEST_TEXT],
        usage=usage,
        latency_s=reply.latency_s,
        first_token_s=reply.first_token_s,
        served_model=_name(payload.get("model")),
        provider=_name(payload.get("provider")),
        evidence=fit_to_show(evidence),
        calls=calls or msgspec.UNSET,
    )
    return Attempt("answered", response, tokens=(usage.prompt_tokens or 0) + (usage.completion_tokens or 0))


def _cut_prompt(request: Request, usage: Usage, cached_tokens: int) -> str | None:
    """Return how a server read less than it was sent, if the tokens that it reports leave no doubt; else None.

    Most servers count `cached_tokens` within the prompt's tokens. If there are more of them than prompt tokens, they
    are counted apart.
    """
    if not usage.prompt_tokens:
        return None
    least = sum(least_tokens(message.content) for message in request.messages)  # not all servers count tools
    prompt_tokens = usage.prompt_tokens + (cached_tokens if cached_tokens > usage.prompt_tokens else 0)
    if least < SHORTEST_CUT or prompt_tokens >= least:
        return None
    return f"it reports {usage.prompt_tokens:,} tokens for a prompt of at least {least:,}"


def _failure(reply: Reply, request: Request, error: Any, payload: Any) -> Attempt:
    """Convert an error, on its own or inside a 200, to an Attempt."""
    fields = error_fields(error, payload)
    meaning = meaning_of(reply.status, fields, _text(reply.body))
    words = text_of(fields.get("message")) or _text(reply.body)
    status = f"HTTP {reply.status}" + (f" (error {meaning.status})" if meaning.status != reply.status else "")
    reason = f"{status}: {words.strip()}" if words.strip() else status
    after = retry_after_s(reply.headers)
    if after is None:
        after = number_of(mapping_of(fields.get("availability")).get("retry_after"))
        after = None if after is None else max(0.0, after)
    if meaning.status == 402 and after is not None:
        meaning = Meaning("limited", meaning.status, scope="endpoint")
    if meaning.kind == "limited" and meaning.scope is None and "x-ratelimit-limit" in reply.headers:
        meaning = meaning._replace(scope="endpoint")
    if meaning.denied == "address" and "location" in reply.headers:
        reason += f" to {reply.headers['location']}: give that base URL"
    if meaning.denied == "credit":
        reason = f"out of credit: {reason}"
    reason = f"{meaning.helps}: {reason}" if meaning.helps else reason
    if meaning.is_refusal:
        response = response_to(
            request, text="", status="refused", latency_s=reply.latency_s, evidence=fit_to_show(reason)
        )
        return Attempt("answered", response, fit_to_show(reason) or "", may_cost=False)
    usage = _usage(mapping_of(payload).get("usage"), None)
    return _attempt(meaning.kind, reply, request, reason, after=after, meaning=meaning, usage=usage)


def _attempt(
    kind: Kind,
    reply: Reply,
    request: Request,
    reason: str,
    *,
    after: float | None = None,
    meaning: Meaning | None = None,
    usage: Usage | None = None,
    evidence: str | None = None,
    failure: Failure | None = None,
) -> Attempt:
    reason = fit_to_show(reason) or ""
    if meaning is not None and meaning.suspects in {"key", "address", "credit"}:
        failure = "passing"  # a user mends it, and then an answer is likely
    response = response_to(
        request,
        text="",
        status="error",
        latency_s=reply.latency_s,
        error=reason,
        evidence=fit_to_show(evidence or _text(reply.body)),
        failure=failure or FAILURES.get(kind, "passing"),
        usage=usage or Usage(),
    )
    if meaning is None:  # an error is not billed; a 200 without a usable answer may be
        return Attempt(kind, response, reason, after)
    return Attempt(
        kind, response, reason, after, meaning.scope,
        denied=meaning.denied, suspects=meaning.suspects, may_cost=False,
    )  # fmt: skip


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the pause that a server asks for, in seconds; None if it asks for none.

    It is read from `Retry-After` (seconds or a date), `retry-after-ms` or `X-RateLimit-Reset`.
    """
    now = time.time() if now is None else now
    if (milliseconds := number_of(headers.get("retry-after-ms"))) is not None:
        return max(0.0, milliseconds / 1000)
    after = headers.get("retry-after")
    if (seconds := number_of(after)) is not None:
        return max(0.0, seconds)
    if after:
        try:
            then = email.utils.parsedate_to_datetime(after)  # HTTP's dates are in UTC, also where they do not say so
            return max(0.0, (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now)
        except (ValueError, TypeError, OverflowError):
            return None
    if headers.get("x-ratelimit-remaining") == "0" and (
        (reset := number_of(headers.get("x-ratelimit-reset"))) is not None
    ):
        if reset > 1e11:  # milliseconds since 1970; smaller ones are seconds since 1970, or from now
            reset /= 1000
        return max(0.0, reset - now if reset > 1e8 else reset)
    return None


def _usage(usage: Any, prices: Prices | None) -> Usage:
    """Return tokens and cost as the server reports them; negative values and non-numbers become None."""
    fields = mapping_of(usage)
    prompt, completion = whole_of(fields.get("prompt_tokens")), whole_of(fields.get("completion_tokens"))
    cost = number_of(fields.get("cost"))
    cost = None if cost is None or cost < 0 else cost
    if cost is None and prices is not None and prompt is not None and completion is not None:
        cost = prices.request + prompt * prices.prompt + completion * prices.completion
    details = mapping_of(fields.get("completion_tokens_details"))
    return Usage(prompt, completion, whole_of(details.get("reasoning_tokens")), cost)


def _cached_tokens(usage: Mapping[str, Any]) -> int:
    """Return how many tokens of the prompt were read from or written to a cache, whatever the server calls them."""
    details = mapping_of(usage.get("prompt_tokens_details"))
    beside = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return max(
        whole_of(details.get("cached_tokens")) or 0,
        whole_of(usage.get("prompt_cache_hit_tokens")) or 0,
        sum(whole_of(usage.get(name)) or 0 for name in beside),
    )


def _name(value: Any) -> str | None:
    """Return a name that the server gave, on one line and cut to `LONGEST_NAME` characters; None if it is no text."""
    text = text_of(value)
    return one_line(text)[:LONGEST_NAME] or None if text is not None else None


def _text(body: bytes) -> str:
    return body[: 4 * MOST_EVIDENCE].decode("utf-8", "replace").strip()


def fit_to_show(text: str | None) -> str | None:
    """Clean a server's text so that it can be stored and shown.

    The result is one short line without keys, account names and control characters.
    """
    if text is None:
        return None
    text = _ACCOUNT.sub(r'"\1":"***"', one_line(text[: 8 * MOST_EVIDENCE]))
    return redact(text)[:MOST_EVIDENCE]
