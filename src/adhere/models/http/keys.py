"""Keys of endpoints: from the environment only, bound to one base URL, and never written anywhere."""

from __future__ import annotations

import base64
import html
import ipaddress
import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from adhere.errors import UsageError
from adhere.models.http.providers import PROVIDERS

OTHER_VARIABLE = "ADHERE_API_KEY"
"""Variable of the key for a base URL. `ADHERE_API_KEY_FOR=BASE_URL` binds it to the URL, unless that is loopback."""

_SECRETS = re.compile(
    r"sk-[A-Za-z0-9_-]{8,}|hf_[A-Za-z0-9]{8,}|(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=://)[^/\s@]{1,500}(?=@)"  # who and with which password, in the URL of a proxy
)

_PLACEHOLDERS = frozenset({
    "dummy", "empty", "fake", "key", "lm-studio", "local", "no-key", "none", "not-needed", "null", "ollama",
    "sk-no-key-required", "test", "token",
})  # fmt: skip
"""Values that people set if a local server wants any key at all. They are ordinary words, and no secrets."""
SHORTEST_SECRET = 4


class Key:
    """Holds a secret that only the endpoint it belongs to may see.

    A server can echo the key in anything it sends. So all bytes from the endpoint go through `redact_bytes` before
    anything reads them, and all texts made of them through `redact`.
    """

    __slots__ = ("_forms", "_value", "base_url", "variable")

    def __init__(self, value: str, *, base_url: str, variable: str) -> None:
        self._value, self.base_url, self.variable = value, base_url, variable
        is_secret = len(value) >= SHORTEST_SECRET and value.lower() not in _PLACEHOLDERS
        self._forms = re.compile("|".join(map(re.escape, _forms(value)))) if is_secret else None

    def __repr__(self) -> str:
        return f"Key(${self.variable} for {self.base_url}: ***)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("A key is not written anywhere")

    def headers(self, base_url: str, name: str = "Authorization") -> dict[str, str]:
        """Return the header `name` that authorises a request to `base_url`.

        Raises:
            UsageError: The key belongs to another base URL.
        """
        if base_url != self.base_url:
            raise UsageError(f"The key in ${self.variable} belongs to {self.base_url} and is not sent to {base_url}")
        return {name: f"Bearer {self._value}" if name == "Authorization" else self._value}

    def redact_bytes(self, data: bytes) -> bytes:
        """Replace this key, in any of its forms, with `***`."""
        if self._forms is None:
            return data
        text = data.decode("utf-8", "surrogateescape")
        return (
            data
            if self._forms.search(text) is None
            else self._forms.sub("***", text).encode("utf-8", "surrogateescape")
        )

    def redact(self, text: str) -> str:
        """Replace this key, in any of its forms, and everything that looks like a key with `***`."""
        return redact(text if self._forms is None else self._forms.sub("***", text))

    def redact_value(self, value: Any) -> Any:
        """Replace this key in all texts and names of a JSON value; other texts that look like a key stay."""
        if self._forms is None:
            return value
        if isinstance(value, str):
            return self._forms.sub("***", value)
        if isinstance(value, dict):
            return {self.redact_value(name): self.redact_value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        return value


def _forms(value: str) -> list[str]:
    """List the forms in which a server may write a key, longest first.

    They are the key as it is, escaped for JSON, HTML or a URL, in hexadecimal, reversed, and in Base64. In Base64 the
    letters depend on the bytes before the key: there are three alignments, without the letters at both ends that share
    bits with a neighbour.
    """
    raw = value.encode("utf-8", "surrogateescape")
    forms = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(char):04x}" for char in value),
        "".join(f"\\u{ord(char):04X}" for char in value),
        html.escape(value),
        quote(value, safe=""),
        quote(value, safe="").lower(),
        quote(value),
        "".join(f"%{byte:02X}" for byte in raw),
        "".join(f"%{byte:02x}" for byte in raw),
        raw.hex(),
        raw.hex().upper(),
        value[::-1],
    }
    if len(raw) >= 8:
        for before in range(3):
            base64_text = base64.b64encode(b"\0" * before + raw).decode()
            middle = base64_text[(0, 2, 3)[before] : (before + len(raw)) // 3 * 4]
            forms |= {middle, middle.replace("+", "-").replace("/", "_")}
    return sorted(forms, key=len, reverse=True)  # the longest first: an escaped form may hold a plain one


def redact(text: str) -> str:
    """Replace everything that looks like a key with `***`."""
    return _SECRETS.sub("***", text)


class Address(NamedTuple):
    """Holds the base URL of an endpoint, and the provider's name on the command line (empty: none)."""

    base_url: str
    provider: str


def address(name: str) -> Address:
    """Return the endpoint that a provider's name or a base URL stands for.

    Raises:
        UsageError: `name` is neither.
    """
    if name in PROVIDERS:
        return Address(PROVIDERS[name].base_url, name)
    try:
        parts = urlsplit(name)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")  # a label of more than 63 letters is no host
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in {"http", "https"}:
        raise UsageError(
            f"{name!r} is no endpoint. Give a base URL such as http://127.0.0.1:8000/v1, "
            f"or one of {', '.join(PROVIDERS)}"
        )
    if "api-version" in parts.query:
        raise UsageError(
            f"A base URL holds no query, got ?{parts.query}. Azure answers without api-version under its v1 API: "
            "https://NAME.openai.azure.com/openai/v1#DEPLOYMENT"
        )
    if parts.username or parts.password or parts.query:
        raise UsageError("A base URL holds no user, password or query: the key comes from the environment")
    return Address(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", "")


def is_loopback(base_url: str) -> bool:
    """Tell whether the URL's host is this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_for(where: Address, environment: Mapping[str, str] | None = None) -> Key | None:
    """Return the key of an endpoint from the environment; None if it has none, as for most local servers.

    Raises:
        UsageError: A provider's key is missing, the key belongs to another URL, or it would go over plain http.
    """
    environment = os.environ if environment is None else environment
    base_url, provider = where
    if provider:
        variable = PROVIDERS[provider].variable
        if not environment.get(variable):
            raise UsageError(f"{provider} needs a key: set ${variable}")
        return Key(_sendable(environment[variable], variable), base_url=base_url, variable=variable)
    value = _sendable(environment.get(OTHER_VARIABLE, ""), OTHER_VARIABLE)
    if not value:
        return None
    bound = environment.get(f"{OTHER_VARIABLE}_FOR", "").rstrip("/")
    if bound != base_url and not (is_loopback(base_url) and not bound):
        raise UsageError(
            f"${OTHER_VARIABLE} is set, but not for this endpoint: set {OTHER_VARIABLE}_FOR={base_url} if it is its key"
        )
    if base_url.startswith("http://") and not is_loopback(base_url):
        raise UsageError(f"A key is not sent over plain http to {base_url}: use https")
    return Key(value, base_url=base_url, variable=OTHER_VARIABLE)


def _sendable(value: str, variable: str) -> str:
    """Strip white space around the key.

    Raises:
        UsageError: The key holds a character that no header may have; the message does not show the key.
    """
    value = value.strip()
    if not value.isprintable():
        raise UsageError(f"${variable} holds a line break or another character that no key has: set it anew")
    return value
