"""What an error of a server means, from its structure: HTTP's status and the error's code, type and metadata.

Words in a message decide nothing: "your limit is tier 1" is no spent key, and "connection refused" is no refusal.

Source: OpenRouter's, OpenAI's and Azure's documentation of their errors, as the notes on endpoints have it. Ours
differs from their client libraries in reading errors inside a 200, and in telling a model's trouble from an account's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from adhere.models.http.attempt import Denied, Kind
from adhere.models.http.values import mapping_of, text_of, whole_of

CONTENT_POLICY = frozenset({
    "content_policy", "content_policy_violation", "content_filter", "content_filtered", "moderation", "flagged",
    "refusal", "safety", "responsibleaipolicyviolation",
})  # fmt: skip
NO_CREDIT = frozenset({
    "insufficient_quota", "insufficient_credits", "insufficient_funds", "billing_hard_limit_reached",
    "billing_not_active", "payment_required", "quota_exceeded",
})  # fmt: skip
KEY_SPENT = frozenset({
    "openrouter_key_limit", "openrouter_workspace_limit", "key_limit_exceeded", "invalid_api_key", "invalid_key",
    "authentication_error",
})  # fmt: skip
NO_MODEL = frozenset({"model_not_found", "model_not_available", "invalid_model", "model_deprecated", "no_endpoints"})


class Meaning(NamedTuple):
    """What an error asks of us.

    Attributes:
        kind: See Attempt.
        status: HTTP's, or the one that an error inside a 200 names.
        scope: Whose limit was met.
        denied: What was refused.
        is_refusal: The content was refused, which is an answer.
    """

    kind: Kind
    status: int
    scope: Literal["lane", "endpoint"] | None = None
    denied: Denied | None = None
    is_refusal: bool = False


def meaning_of(http_status: int, error: Mapping[str, Any]) -> Meaning:  # noqa: PLR0911 - one return a rule
    """What an error means.

    Args:
        http_status: Of the reply; 200 where the error came inside an answer.
        error: The error's fields; empty where the body has none.
    """
    status = http_status
    if 200 <= status < 300:
        code = whole_of(error.get("code"))
        status = code if code is not None and 400 <= code < 600 else 500
    metadata = mapping_of(error.get("metadata"))
    names = set(_names(error, metadata))
    if 400 <= status < 500 and (names & CONTENT_POLICY or (status == 403 and metadata.get("reasons"))):
        return Meaning("answered", status, is_refusal=True)
    if status == 402 or (400 <= status < 500 and names & NO_CREDIT):
        return Meaning("denied", status, denied="credit")
    if status == 429:
        is_upstream = metadata.get("provider_name") or metadata.get("provider_code")
        return Meaning("limited", status, scope="lane" if is_upstream else None)
    if status in {401, 407} or (400 <= status < 500 and names & KEY_SPENT):
        return Meaning("denied", status, denied="key")
    if 300 <= status < 400:
        return Meaning("denied", status, denied="address")
    if status in {404, 405, 410} or names & NO_MODEL:
        return Meaning("lane-stopped", status)
    if status == 403:  # of one text, says a moderating proxy in its words; of the model, says a gateway
        return Meaning("forbidden", status)
    if status in {408, 409, 425} or not 400 <= status < 500:
        return Meaning("transient", status)
    return Meaning("failed", status)


def _names(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[str]:
    """The names that an error calls itself by, in lower case."""
    inner = mapping_of(error.get("innererror"))
    availability = mapping_of(error.get("availability"))
    for value in (
        error.get("code"),
        error.get("type"),
        metadata.get("error_type"),
        metadata.get("limit_source"),
        availability.get("code"),
        inner.get("code"),
    ):
        if (name := text_of(value)) is not None:
            yield name.lower()


__all__ = ["Meaning", "meaning_of"]
