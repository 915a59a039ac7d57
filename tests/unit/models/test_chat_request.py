"""What a client sends to `adhere serve`, whatever it is, is read or refused with a sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhere.serve.chat_request import BadRequest, read

NAMES = (
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stream",
    "stream_options", "n", "stop", "tools", "response_format", "role", "content", "type", "text", "include_usage",
    "user",
)  # fmt: skip
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((10**400, -(10**400), 2**63, 0, 1, "user", "text", "m")),
    st.text(max_size=5),
    st.integers(),
    st.floats(),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
    max_leaves=8,
)
VALID = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize("name", ["temperature", "top_p", "max_tokens", "seed", "n", "presence_penalty"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 10**4000])
def test_a_number_beyond_every_float_is_refused(name: str, value: int):
    with pytest.raises(BadRequest, match=name):
        read(json.dumps({**VALID, name: value}).encode(), max_new_tokens=10, seed=0)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=5))
def test_no_request_raises_anything_else(body: dict[str, Any]):
    with suppress(BadRequest):
        read(json.dumps({**VALID, **body}).encode(), max_new_tokens=10, seed=0)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=40), st.just(b"[" * 100_000), st.just(b"9" * 5000)))
def test_no_bytes_raise_anything_else(data: bytes):
    with suppress(BadRequest):
        read(data, max_new_tokens=10, seed=0)
