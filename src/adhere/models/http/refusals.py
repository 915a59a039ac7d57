"""Reads a server's errors by their structure: HTTP's status and the error's code, type and metadata.

Words in a message decide nothing about one request: "your limit is tier 1" does not mean spent credit, and "connection
refused" is no refusal. Some servers say only in words that the key is wrong (xAI, HTTP 400), that they only stream, or
which field they do not know. Such an error `suspects` (`blame.py`) and is believed if the first replies of a model all
say so.

Source: OpenRouter's, OpenAI's and Azure's documentation of their errors, as the notes on endpoints have it. Ours
differs from their client libraries in reading errors inside a 200, and in telling a model's trouble from an account's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from adhere.models.http.attempt import Denied, Kind
from adhere.models.http.blame import MOST_SAID, blame_of
from adhere.models.http.values import mapping_of, text_of, whole_of

CONTENT_POLICY = frozenset({
    "content_policy", "content_policy_violation", "content_filter", "content_filtered", "moderation", "flagged",
    "refusal", "safety", "responsibleaipolicyviolation", "contentpolicyviolationerror", "prompt_blocked",
    "content_blocked", "guardrail_intervened", "hooks_failed", "2016", "2017",
})  # fmt: skip
"""Names of refusals of content.

They come from providers, LiteLLM, and gateways' guards (Portkey's hooks, Cloudflare's 2016 and 2017).
"""
NO_CREDIT = frozenset({
    "insufficient_quota", "insufficient_credits", "insufficient_funds", "billing_hard_limit_reached",
    "billing_not_active", "payment_required", "quota_exceeded", "arrearage",
})  # fmt: skip
KEY_SPENT = frozenset({
    "openrouter_key_limit", "openrouter_workspace_limit", "key_limit_exceeded", "invalid_api_key", "invalid_key",
    "authentication_error", "api_key_invalid", "api_key_expired", "incorrect_api_key", "missing_api_key", "no_api_key",
    "unauthenticated", "unauthorized", "access_token_expired", "invalid_token", "authenticationerror",
})  # fmt: skip
_WRAPPED = re.compile(r"litellm\.(\w+error)\b")
"""Matches the class that LiteLLM names at the head of its messages; the innermost one is the cause."""
NO_MODEL = frozenset({"model_not_found", "model_not_available", "invalid_model", "model_deprecated", "no_endpoints"})
_STATUS_OF = {
    **dict.fromkeys(CONTENT_POLICY | NO_CREDIT | NO_MODEL, 400), **dict.fromkeys(KEY_SPENT, 401),
    "invalid_request_error": 400, "badrequesterror": 400, "permission_error": 403, "permission_denied": 403,
    "not_found_error": 404, "notfounderror": 404, "rate_limit_error": 429, "rate_limit_exceeded": 429,
    "resource_exhausted": 429, "overloaded_error": 529,
}  # fmt: skip
"""The status that an error inside a 200 would have had, by the error's name; the first match counts."""
_SAID = ("message", "detail", "error_msg", "error_message", "status_msg", "msg")


class Meaning(NamedTuple):
    """Holds the meaning of an error: how the dispatcher must treat it.

    Attributes:
        kind: See Attempt.
        status: The HTTP status, or the one that an error inside a 200 names.
        scope: Whose limit was met.
        denied: What was refused.
        suspects: See Attempt.
        helps: What a user can do, in a few words; empty: the server's message says it.
        is_refusal: Whether the content was refused, which counts as an answer.
    """

    kind: Kind
    status: int
    scope: Literal["lane", "endpoint"] | None = None
    denied: Denied | None = None
    suspects: Denied | None = None
    helps: str = ""
    is_refusal: bool = False


def meaning_of(http_status: int, error: Mapping[str, Any], body: str = "") -> Meaning:  # noqa: PLR0911 - one return a rule
    """Return what an error means.

    Args:
        http_status: Status of the reply; 200 if the error came inside an answer.
        error: The error's fields (`error_fields`); empty if the body has none.
        body: The beginning of the reply, if it has no fields.
    """
    status = http_status
    metadata = mapping_of(error.get("metadata"))
    names = set(_names(error, metadata))
    if 200 <= status < 300:
        code = whole_of(error.get("code"))
        by_name = next((status_code for name, status_code in _STATUS_OF.items() if name in names), 500)
        status = code if code is not None and 400 <= code < 600 else by_name
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
    blame = blame_of(error, names, text_of(error.get("message")) or body)
    if status in {408, 409, 425} or not 400 <= status < 500:
        return Meaning("transient", status, suspects=blame.suspects if http_status == 200 else None)
    return Meaning("failed", status, suspects=blame.suspects, helps=blame.helps)


def error_fields(error: Any, body: Any) -> Mapping[str, Any]:
    """Return the fields of an error, whatever form a server gives it.

    `{"error": {…}}` is OpenAI's. The error may be a text beside a code (xAI), lie at the top (vLLM, Mistral), in
    `base_resp` (MiniMax) or `errors` (Cloudflare), or be a list of what is wrong with the request (`detail`, of
    FastAPI). In the result `message` is a text or None, `details` that list.
    """
    fields = dict(mapping_of(error) or mapping_of(body))
    errors = fields.get("errors")
    inner = errors[0] if isinstance(errors, list) and errors else fields.get("base_resp")
    fields |= {name: value for name, value in mapping_of(inner).items() if name not in fields}
    message = next((fields[name] for name in _SAID if fields.get(name)), None)
    if isinstance(error, str) and error:
        message = error
    message_fields = mapping_of(message)
    details = fields.get("details")
    if isinstance(message, list) or isinstance(message_fields.get("detail"), list):
        details = message if isinstance(message, list) else message_fields["detail"]
    elif text := text_of(message_fields.get("message")) or text_of(message_fields.get("error")):
        message = text
    if isinstance(details, list):
        words = "; ".join(_words_of(detail) for detail in details[:3] if isinstance(detail, dict))
        message = message if isinstance(message, str) else words
        fields["details"] = details
    fields["message"] = message if isinstance(message, str) else None
    return fields


def _words_of(detail: Mapping[str, Any]) -> str:
    loc = detail.get("loc")
    place = ".".join(map(str, loc)) if isinstance(loc, list) else ""
    return ": ".join(part for part in (place, text_of(detail.get("msg")) or "") if part)


def _names(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names that an error calls itself by, in lower case."""
    inner = mapping_of(error.get("innererror"))
    provider_error = mapping_of(mapping_of(error.get("provider_specific_fields")).get("innererror"))
    availability = mapping_of(error.get("availability"))
    details = error.get("details")
    reasons = (mapping_of(detail).get("reason") for detail in details) if isinstance(details, list) else ()
    yield from _WRAPPED.findall((text_of(error.get("message")) or "")[:MOST_SAID].lower())
    for value in (
        error.get("code"),
        error.get("type"),
        error.get("status"),
        provider_error.get("code"),
        *reasons,
        metadata.get("error_type"),
        metadata.get("limit_source"),
        availability.get("code"),
        inner.get("code"),
    ):
        if isinstance(value, int) and not isinstance(value, bool):
            yield str(value)
        if (name := text_of(value)) is not None:
            yield name.lower()
