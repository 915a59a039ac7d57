"""Whatever bytes a server sends, a reply is read without raising. It can be stored and is never negative."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhere.models.base import Request
from adhere.models.http.attempt import Attempt
from adhere.models.http.discover import parse_models, select
from adhere.models.http.streaming import Stream
from adhere.models.http.values import json_of, storable
from adhere.models.http.wire import LONGEST_TEXT, Prices, Reply, read
from adhere.schema import Message, Response, decode, encode
from adhere.terminal import plain

ASK = Request("p", 0, 0, (Message("user", "hello"),), 3)
NAMES = (
    "choices", "message", "delta", "content", "text", "type", "finish_reason", "native_finish_reason", "index", "role",
    "refusal", "reasoning", "reasoning_content", "usage", "prompt_tokens", "completion_tokens",
    "completion_tokens_details", "reasoning_tokens", "cost", "model", "provider", "error", "code", "metadata",
    "error_type", "limit_source", "reasons", "provider_name", "availability", "retry_after", "innererror", "user_id",
)  # fmt: skip
WORDS = (
    "", "stop", "length", "content_filter", "error", "rate_limit_exceeded", "insufficient_quota",
    "content_policy_violation",
    "model_not_found", "1e999", "NaN", "-5", "9" * 400, "\ud83d", "\x1b[2J", "<think>", "é" * 5, "429",
)  # fmt: skip
RAW = "\x00raw\x00"
"""A text that becomes a number which `json.dumps` cannot write."""
NUMBERS = (0, -1, 1, 200, 400, 402, 403, 429, 500, 10**400, -(10**400), 2**63, 1e308, -1e308, 0.5, True, False)
scalars = st.one_of(
    st.none(),
    st.sampled_from(NUMBERS),
    st.sampled_from(WORDS),
    st.text(max_size=8),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(RAW),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)),
    max_leaves=12,
)


def replies() -> st.SearchStrategy[Any]:
    """Mostly shaped as a completion, with anything at every place; sometimes not shaped at all."""
    message = st.one_of(
        values, st.fixed_dictionaries({"content": values}, optional={"refusal": values, "reasoning": values})
    )
    choice = st.one_of(
        values, st.fixed_dictionaries({"message": message, "finish_reason": values}, optional={"error": values})
    )
    usage = st.one_of(
        values, st.fixed_dictionaries({"prompt_tokens": values, "completion_tokens": values, "cost": values})
    )
    error = st.one_of(
        values,
        st.fixed_dictionaries(
            {"code": values, "metadata": values, "message": values}, optional={"availability": values, "type": values}
        ),
    )
    whole = st.fixed_dictionaries(
        {},
        optional={
            "choices": st.one_of(values, st.lists(choice, max_size=2)),
            "usage": usage,
            "model": values,
            "provider": values,
            "error": error,
        },
    )
    return st.one_of(whole, whole, values)


def written(value: Any) -> bytes:
    return json.dumps(value).replace(json.dumps(RAW), "1e999").encode()


bodies = st.one_of(replies().map(written), replies().map(written), st.binary(max_size=60))
headers = st.dictionaries(
    st.sampled_from(
        ("retry-after", "retry-after-ms", "x-ratelimit-remaining", "x-ratelimit-reset", "location", "x-ratelimit-limit")
    ),
    st.one_of(
        st.sampled_from(
            ("0", "-1", "1e999", "nan", "Thu, 01 Jan 9999 00:00:00 GMT", "Fri, 31 Dec 99999 23:59:59", "9" * 400)
        ),
        st.text(max_size=10),
    ),
    max_size=2,
)
statuses = st.sampled_from(
    (200, 200, 200, 201, 301, 302, 400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529, 599, 999)
)
PRICES = Prices(1e-6, 2e-6, 0.0)


def is_sound(attempt: Attempt) -> None:
    response = attempt.response
    assert decode(encode(response), Response).key == ("p", 0, 0)
    usage = response.usage
    for number in (
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
        usage.cost_usd,
        attempt.retry_after_s,
    ):
        assert number is None or (number >= 0 and math.isfinite(number))
    assert attempt.tokens >= 0
    assert len(response.text) <= LONGEST_TEXT
    for text in (
        attempt.reason,
        response.error,
        response.evidence,
        response.served_model,
        response.provider,
        response.stop_reason,
    ):
        assert text is None or (plain(text) == text and "\n" not in text and len(text) <= 500), repr(text)
    if attempt.kind == "answered":
        assert response.status != "error"
    else:
        assert response.status == "error"
        assert response.error
        assert response.failure == {"failed": "final", "timeout": "timeout"}.get(attempt.kind, "passing")


def a_reply(status: int, header: dict[str, str], body: bytes) -> None:
    is_sound(read(Reply(status, header, body, 0.1), ASK, prices=PRICES))


def a_stream(chunks: list[Any], cuts: list[int]) -> None:
    data = b"".join(b"data: " + (chunk if isinstance(chunk, bytes) else written(chunk)) + b"\n\n" for chunk in chunks)
    stream, at = Stream(), 0
    for cut in sorted(cut % (len(data) + 1) for cut in cuts):
        stream.feed(data[at:cut])
        at = cut
    stream.feed(data[at:])
    is_sound(read(Reply(200, {}, stream.body(), 0.1), ASK, prices=PRICES))


def a_list(rows: Any) -> None:
    found = storable(json_of(written(rows)))
    named = (
        [row for row in found if isinstance(row, dict) and isinstance(row.get("id"), str)]
        if isinstance(found, list)
        else []
    )
    models = parse_models(named)
    encode(named)
    kept, left = select(models, max_price=1.0, min_context=10, modality="text")
    assert len(kept) + len(left) == len(models)
    for model in models:
        assert model.prices is None or all(0 <= price < math.inf for price in model.prices)


deltas = st.one_of(
    values, st.fixed_dictionaries({"content": values}, optional={"reasoning": values, "refusal": values})
)
chunk = st.one_of(
    values,
    st.binary(max_size=20),
    st.fixed_dictionaries(
        {"choices": st.one_of(values, st.lists(st.one_of(values,
            st.fixed_dictionaries({"delta": deltas}, optional={"index": values, "finish_reason": values,
                "error": values})), max_size=2))},
        optional={"usage": values, "error": values, "model": values},
    ),
)  # fmt: skip
streams = st.tuples(st.lists(chunk, max_size=4), st.lists(st.integers(0, 10**6), max_size=3))
lists = st.lists(
    st.one_of(
        values,
        st.fixed_dictionaries(
            {"id": st.one_of(st.text(min_size=1, max_size=5), values)},
            optional={
                "pricing": st.one_of(values, st.fixed_dictionaries({"prompt": values, "completion": values})),
                "context_length": values,
                "architecture": st.one_of(values, st.fixed_dictionaries({"output_modalities": values})),
                "canonical_slug": values,
            },
        ),
    ),
    max_size=4,
)
quick = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
long = settings(max_examples=25_000, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(statuses, headers, bodies)
def test_no_reply_makes_the_reader_raise(status: int, header: dict[str, str], body: bytes):
    a_reply(status, header, body)


@quick
@given(streams)
def test_no_stream_makes_the_reader_raise(stream: tuple[list[Any], list[int]]):
    a_stream(*stream)


@quick
@given(lists)
def test_no_list_of_models_makes_the_reader_raise(rows: Any):
    a_list(rows)


@pytest.mark.slow
@long
@given(statuses, headers, bodies)
def test_25_000_replies(status: int, header: dict[str, str], body: bytes):
    a_reply(status, header, body)


@pytest.mark.slow
@long
@given(streams)
def test_25_000_streams(stream: tuple[list[Any], list[int]]):
    a_stream(*stream)


@pytest.mark.slow
@long
@given(lists)
def test_25_000_lists(rows: Any):
    a_list(rows)


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10**400}},
        {"error": {"code": 503, "availability": {"retry_after": 10**400}}},
        {"choices": [None]},
        {"choices": [{"message": {"content": "x"}, "finish_reason": ["stop"]}]},
        {
            "choices": [{"message": {"content": "x"}}],
            "usage": {"prompt_tokens": -5, "completion_tokens": -7, "cost": -3000},
        },
    ],
)
def test_replies_that_hung_or_misbilled_a_sweep(body: Any):
    a_reply(200, {}, json.dumps(body).encode())
    usage = read(Reply(200, {}, json.dumps(body).encode(), 0.1), ASK).response.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd) == (None, None, None)


def test_deltas_of_other_choices_are_not_mixed_in():
    stream = Stream()
    for index, text in ((0, "Par"), (1, "Lon"), (0, "is"), (1, "don")):
        piece = {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": None}]}
        stream.feed(b"data: " + json.dumps(piece).encode() + b"\n\n")
    stream.feed(b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
    assert read(Reply(200, {}, stream.body(), 0.1), ASK).response.text == "Paris"


@pytest.mark.parametrize("chunk", [{"choices": [None]}, {"choices": [{"delta": "x"}]}, {"choices": [{"delta": ["x"]}]}])
def test_odd_chunks_of_a_stream_are_left_out(chunk: Any):
    stream = Stream()
    stream.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    stream.feed(b'data: {"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}')
    assert read(Reply(200, {}, stream.body(), 0.1), ASK).response.text == "yes"


def test_a_huge_answer_is_cut_and_says_so():
    body = {"choices": [{"message": {"content": "word " * 500_000}, "finish_reason": "stop"}]}
    response = read(Reply(200, {}, json.dumps(body).encode(), 0.1), ASK).response
    assert len(response.text) == LONGEST_TEXT
    assert response.status == "truncated"
    assert response.evidence == "the answer has 2,500,000 characters; 1,000,000 of them are kept"


def test_deep_lists_are_stored_without_their_depth():
    row = json_of(b'{"id":"m","x":' + b"[" * 900 + b"]" * 900 + b"}")
    assert row is not None
    encode(storable(row))
