"""Finds errors that blame something that a user can correct, by their words or by the field that they name.

Words alone decide nothing, since an error may repeat a prompt: the dispatcher believes them only if the first replies
of a model all say so (`Attempt.suspects`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from adhere.models.http.attempt import Denied
from adhere.models.http.values import text_of

MOST_SAID = 1_000
"""Characters of a message that are read."""


class Blame(NamedTuple):
    """Holds what is to blame for an error, and what the user can do.

    Attributes:
        suspects: See Attempt.
        helps: What a user can do, in a few words; empty: the server's message says it.
    """

    suspects: Denied | None = None
    helps: str = ""


NOTHING = Blame()
UNKNOWN_FIELD = frozenset({
    "unsupported_parameter", "unknown_parameter", "unsupported_value", "extra_forbidden", "unrecognized_argument",
})  # fmt: skip
_FIELDS = (
    "stream_options", "max_completion_tokens", "max_tokens", "temperature", "top_p", "seed", "reasoning_effort",
    "response_format",
)  # fmt: skip
"""Fields of a request, apart from its conversation, that a user can leave out or set otherwise."""


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


_KEY = _words(
    r"(api|access|auth\w*|secret|bearer|x-api)[ _-]?(key|token|header|credentials?)",
    r"credentials|authenticat|unauthori[sz]ed|^invalid token",
)
_WRONG = _words(
    r"incorrect|invalid|wrong|missing|required|expired|revoked|unknown|malformed|disabled|inactive|fail",
    r"(not|n't) (valid|found|provided?|recogni[sz]ed|authori[sz]ed)|no api|must provide",
    r"unauthenticated|unauthori[sz]ed",
)
_CREDIT = _words(
    r"insufficient (account )?(balance|credits?|funds?|quota)|balance is (too low|insufficient|not enough)",
    r"credits? balance|out of credits?|account [^.]{0,20}(good standing|arrears|overdue|suspended)|余额不足|欠费",
)
_NO_MODEL = _words(
    r"\bmodel\b[^.]{0,80}((does|do) not exist|doesn't exist|not found|not a valid model|is unknown|not exist)",
    r"(invalid|unknown|unrecogni[sz]ed|no such|non-?existent) model|not a valid model|模型不存在",
)
_NO_STREAM = _words(r"non-?stream|(without|not using|disabled?) stream")
_STREAMS_ONLY = _words(
    r"only (supports?|available|works?|allow\w*|accepts?)[^.]{0,40}stream|stream(ing)?[- ]only",
    r"stream\w*\W{0,3} ?(must|has to|should|needs? to) be (set to |enabled|true|on\b)",
    r"(requires?|set|use|enable) \W?stream(ing)?\b|stream\W{1,3}true|streaming is (required|mandatory)",
)
_STREAMS_NOT = _words(
    r"stream\w*[^.]{0,30}(not|n't|un) ?(be )?(supported|allowed|available|enabled|implemented)",
    r"unsupported[^.]{0,20}stream",
    r"(not|n't) (support|allow|implement)[^.]{0,20}stream|stream\w*\W{0,3} ?must be (set to )?false",
)
_FIELD_WRONG = _words(
    r"(unknown|unrecogni[sz]ed|unsupported|unexpected|invalid|extra|additional) (request )?"
    r"(parameter|argument|field|propert|key|name|input|value|keyword)",
    r"(not|n't) (be )?(support|permit|allow|recogni[sz]|accept|valid)|cannot find field|does not exist",
    r"may only be|only the default|cannot both be|deprecated",
)
_TLS = _words("plain HTTP request was sent to HTTPS", "HTTP request to an HTTPS server")
_PAGE = re.compile(r"\s*(<!doctype html|<html)", re.IGNORECASE)


def blame_of(error: Mapping[str, Any], names: Collection[str], message: str) -> Blame:
    """Return what an error blames, if a user can correct it.

    Args:
        error: The error's fields (`refusals.error_fields`).
        names: The names that the error gives itself (code, type), in lower case.
        message: The error's message.
    """
    words = message[:MOST_SAID]
    field = _field_of(error, frozenset(names), words)
    streaming = _streaming_of(words)
    if field in {"authorization", "x-api-key", "api-key"} or (_KEY.search(words) and _WRONG.search(words)):
        return Blame("key")
    if _CREDIT.search(words):
        return Blame("credit")
    if is_page(words) or _TLS.search(words):
        return Blame("address", "the base URL must begin with https://" if _TLS.search(words) else "")
    if field != "stream_options" and streaming:
        return Blame("request", streaming)
    if field is None:
        return Blame("request", "the server has no model of this name") if _NO_MODEL.search(words) else NOTHING
    instead = ", or say --dialect openai" if field == "max_tokens" else ""
    return Blame("request", f"leave the field out with --omit {field}{instead}")


def _streaming_of(words: str) -> str:
    """Return what to do if a server only streams, or never streams; empty if its error says neither."""
    if _NO_STREAM.search(words) or (_STREAMS_ONLY.search(words) and not _STREAMS_NOT.search(words)):
        return "the server only streams: add --stream"
    return "the server does not stream: leave --stream out" if _STREAMS_NOT.search(words) else ""


def _field_of(error: Mapping[str, Any], names: frozenset[str], words: str) -> str | None:
    """Return the field of the request that an error blames, from its structure or else from its words.

    A value that is too large for one conversation (`max_tokens`) is no wrong field.
    """
    details = error.get("details")
    for place in details if isinstance(details, list) else ():  # FastAPI's, pydantic's
        loc = place.get("loc") if isinstance(place, dict) else None
        if isinstance(loc, list) and len(loc) > 1 and loc[0] in {"body", "header"} and loc[1] != "messages":
            return str(loc[1]).lower()
    if not (names & UNKNOWN_FIELD or _FIELD_WRONG.search(words)):
        return None
    param = (text_of(error.get("param")) or "").lower()
    return param if param in _FIELDS else next((name for name in _FIELDS if re.search(rf"\b{name}\b", words)), None)


def is_page(text: str) -> bool:
    """Tell whether a reply is a web page, so that something other than an API listens there."""
    return _PAGE.match(text) is not None
