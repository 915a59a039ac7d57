"""A server with OpenAI's chat completions: one connection pool, one key, one dialect; and a Model behind it.

    async with Endpoint(address("http://127.0.0.1:8000/v1")) as endpoint:
        attempt = await endpoint.call("name", request, sampling)

Nothing is tried again here, and nothing sleeps: `dispatch.py` decides what to do with each Attempt. The key is removed
from every byte that the server sends before anything reads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

import adhere
from adhere.calls import without
from adhere.errors import AdhereError, Incomplete, OutOfCredit, UsageError
from adhere.models.base import Request
from adhere.models.http.attempt import Attempt, Kind, failed_attempt
from adhere.models.http.cost import most_cost_usd, most_tokens, text_of
from adhere.models.http.dialects import DIALECTS, GENERIC, guess
from adhere.models.http.dialects import dialect as dialect_of
from adhere.models.http.discover import parse_models
from adhere.models.http.dispatch import Dispatcher, Policy
from adhere.models.http.keys import Address, Key, address, is_loopback, key_for
from adhere.models.http.lane import waiting_line
from adhere.models.http.options import MEGABYTE, EndpointOptions
from adhere.models.http.streaming import Stream
from adhere.models.http.values import json_of, mapping_of, number_of, storable
from adhere.models.http.wire import Prices, Reply, body_of, fit_to_show, read
from adhere.schema import EngineInfo, Json, Response, Sampling

MOST_READING = 512 * MEGABYTE
"""Most bytes of all replies that are read at once. A reply that would exceed it is dropped and asked for again."""
LIST_S = 60.0
MOVE_S = 1_800.0
"""Most seconds for a list, and for a file that is sent or fetched."""
KNOCK_S = 0.5
END_S = 0.5
"""Seconds to wait for the end of a stream after its `[DONE]`."""
TELL_S = 15.0
"""Seconds without an answer after which the user is told which models are waited for."""
_AGAIN = "Nothing of it is stored as an answer: mend that and run the same command again"
MENDS = {
    "key": f". Set the variable of the key to a valid one (adhere list models names it). {_AGAIN}",
    "address": f". Give the base URL under which the server has /chat/completions. {_AGAIN}",
    "request": f". {_AGAIN}",
}
"""Advice to the user, by the reason that stopped all asking."""
MOST_OF_AN_ID = 1_000
"""Most characters of a model's id."""


class Unreachable(AdhereError):
    """The endpoint did not answer, or not as an endpoint does.

    Attributes:
        status: The HTTP status, if there was any.
        is_refused: Nothing listens at the address, yet.
        is_nowhere: There is no way to the address at all: no such host, no route.
    """

    def __init__(
        self, message: str, *, status: int | None = None, is_refused: bool = False, is_nowhere: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.is_refused, self.is_nowhere = status, is_refused, is_nowhere


class _TooLarge(Exception):
    """A reply has more bytes than are read."""


class _TooMuch(Exception):
    """All replies together have more bytes than are held in memory."""


class Endpoint:
    """Sends requests to one base URL. Use it as an async context manager.

    Args:
        where: The address; see `keys.address`.
        key: The key; see `keys.key_for`.
        options: See EndpointOptions.
    """

    def __init__(
        self,
        where: Address,
        *,
        key: Key | None = None,
        options: EndpointOptions | None = None,
    ) -> None:
        self.where, self.key, self.options = where, key, options or EndpointOptions()
        self.base_url = where.base_url
        self.prices: dict[str, Prices] = {}  # USD a token by model, for servers that do not report what an answer cost
        dialect_name = self.options.dialect
        self.unaskable: dict[str, str] = {}
        dialect_name = where.provider if dialect_name is None and where.provider in DIALECTS else dialect_name
        self.dialect = (
            guess(urlsplit(where.base_url).hostname or "") if dialect_name is None else dialect_of(dialect_name)
        )
        self._session: aiohttp.ClientSession | None = None
        self._is_guess = dialect_name is None and self.dialect.native is None
        self._proxy = proxy_for(where.base_url)
        self._reading = 0

    async def __aenter__(self) -> Self:
        headers = {"Content-Type": "application/json", "User-Agent": f"adhere/{adhere.__version__}"}
        native = self.dialect.native
        headers |= native.headers if native else {}
        if self.key is not None:
            headers |= self.key.headers(self.base_url, native.key_header if native else "Authorization")
        context = ssl.create_default_context() if self.base_url.startswith("https:") else True
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, ssl=context),
            timeout=aiohttp.ClientTimeout(
                total=None,
                sock_connect=self.options.connect_s,
                # An answer that is not streamed comes in one piece at its end: only the limit of the whole applies.
                sock_read=self.options.stall_s if self.options.stream else None,
            ),
            headers=headers,
            trust_env=False,  # it would also send a password of ~/.netrc; proxies are read in `proxy_for`
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def call(  # noqa: PLR0911 - one return an ending
        self, model: str, request: Request, sampling: Sampling, *, total_s: float | None = None
    ) -> Attempt:
        """Send one request once. Whatever the server does becomes an Attempt; only a bug of ours raises.

        Args:
            model: The model that is asked.
            request: The request.
            sampling: How the answer is drawn.
            total_s: Most seconds for the whole answer; None: as the options say.
        """
        options, native = self.options, self.dialect.native
        total_s = options.total_s(sampling.max_new_tokens) if total_s is None else total_s
        body = self.body(model, request, sampling, stream=options.stream)
        start = time.perf_counter()

        def ended(kind: Kind, reason: str, *, may_cost: bool, evidence: str) -> Attempt:
            reason = fit_to_show(self._redacted(reason)) or ""
            seconds = time.perf_counter() - start
            return failed_attempt(kind, request, reason, latency_s=seconds, may_cost=may_cost, evidence=evidence)

        try:
            async with asyncio.timeout(total_s) as limit:
                reply = await self._post(native.path(model) if native else "chat/completions", body, start)
        except TimeoutError as error:
            if isinstance(error, aiohttp.ConnectionTimeoutError):
                reason = f"no connection within {options.connect_s:g} s"
                return ended("transient", reason, may_cost=False, evidence="timeout")
            reason = f"no answer within {total_s:g} s" if limit.expired() else f"no byte for {options.stall_s:g} s"
            return ended("timeout", f"timeout: {reason}", may_cost=True, evidence="timeout")
        except _TooLarge:
            reason = f"the answer is larger than {options.most_bytes / MEGABYTE:g} MB"
            return ended("failed", reason, may_cost=True, evidence="too large")
        except _TooMuch:
            reason = f"the answers under way are larger than {MOST_READING / MEGABYTE:g} MB together"
            return ended("transient", reason, may_cost=True, evidence="too large")
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            return ended("transient", _error_words(error), may_cost=False, evidence="connection")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return ended("transient", _error_words(error), may_cost=True, evidence="connection")
        return self._without_key(read(reply, request, prices=self.prices.get(model, options.price), native=native))

    def insist_on(self, sampling: Sampling) -> None:
        """Refuse a sampling that the server does not support, before anything is asked.

        Raises:
            UsageError: The temperature is above what the server's own API takes.
        """
        most = self.dialect.native.most_temperature if self.dialect.native else math.inf
        if sampling.temperature > most:
            raise UsageError(
                f"{self.dialect.name} takes a temperature from 0 to {most:g}, "
                f"got {sampling.temperature:g} (--temperature)"
            )

    def body(self, model: str, request: Request, sampling: Sampling, *, stream: bool) -> bytes:
        """Return the JSON body of one request."""
        options, option_fields = self.options, self.options.sent(self.dialect)
        return body_of(
            model,
            request,
            sampling,
            self.dialect,
            stream=stream,
            option_fields=option_fields,
            send=options.send,
            omit=options.omit,
        )

    async def wait_until_up(self, say: Callable[[str], None] = lambda _line: None) -> None:
        """Wait until something listens at the address, for a server that is just starting.

        Args:
            say: Called once with a line if the server has to be waited for.

        Raises:
            Unreachable: Nothing listens there within the options' `wait_s`, or the address cannot be reached at all.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self.options.wait_s
        is_told = False
        while True:
            try:
                await self._get("models")
            except Unreachable as error:
                if error.is_nowhere or (error.is_refused and loop.time() + KNOCK_S > end):
                    raise
                if not error.is_refused:
                    return  # something answers; what it answers is for others to judge
            else:
                return
            if not is_told:
                say(f"Nothing listens at {self.base_url} yet; waiting up to {self.options.wait_s:g} s for it (--wait)")
                is_told = True
            await asyncio.sleep(KNOCK_S)

    async def models(self) -> list[dict[str, Any]]:
        """Return the rows of `/models` that name a model, without the key, in a form that can be stored.

        Raises:
            Unreachable: The endpoint has no such list, or cannot be reached; the message says what came back.
        """
        reply = await self._get(self.dialect.native.models if self.dialect.native else "models")
        rows = reply.get("data", reply.get("models")) if isinstance(reply, dict) else reply
        if isinstance(rows, list) and self.dialect.name == "gemini":
            rows = [
                {**row, "id": str(row.get("name", "")).removeprefix("models/")} for row in rows if isinstance(row, dict)
            ]
        if not isinstance(rows, list):
            raise Unreachable(
                f"{self.base_url}/models is no list of models: name them with --models instead", status=200
            )
        row_troubles: list[tuple[Any, str]] = [(row, _not_askable(row)) for row in map(storable, rows)]
        named_rows: list[dict[str, Any]] = [row for row, why in row_troubles if not why]
        self.unaskable = {
            f"row {number} of /models": why for number, (_, why) in enumerate(row_troubles, start=1) if why
        }
        if rows and not named_rows:
            raise Unreachable(f"{self.base_url}/models names no model: name them with --models instead", status=200)
        if self._is_guess:
            self.dialect = guess(urlsplit(self.base_url).hostname or "", named_rows)
        return named_rows

    async def credit_usd(self) -> float | None:
        """Return the USD left to spend if the endpoint reports it (OpenRouter), else None.

        Raises:
            Unreachable: OpenRouter does not report it.
        """
        if self.where.provider != "openrouter":
            return None
        reply = mapping_of(await self._get("key"))
        return number_of(mapping_of(reply.get("data")).get("limit_remaining"))

    def engine(self) -> EngineInfo:
        """Describe, for a Run, everything about the endpoint that can change an answer, and nothing else.

        It contains neither the client's version nor a time limit, so that after an upgrade or with another
        `--timeout` the same Run continues.

        Raises:
            UsageError: This kind of server does not have one of the options.
        """
        settings: dict[str, Json] = {"base_url": self.base_url, "dialect": self.dialect.name, "batch_invariant": "no"}
        option_fields = self.options.sent(self.dialect)
        if option_fields:
            settings["sent"] = option_fields
        if self.options.send:
            settings["send"] = dict(self.options.send)
        if self.options.omit:
            settings["omit"] = sorted(set(self.options.omit))
        return EngineInfo("endpoint", "chat completions", "unknown", None, settings)

    async def _post(self, path: str, body: bytes, start: float) -> Reply:
        assert self._session is not None, "use the endpoint in `async with`"  # noqa: S101
        url = f"{self.base_url}/{path}"
        async with self._session.post(url, data=body, allow_redirects=False, proxy=self._proxy) as response:
            headers = {name.lower(): self._redacted(value) for name, value in response.headers.items()}
            if response.status == 200 and "event-stream" in headers.get("content-type", ""):  # some stream unasked
                stream, first = Stream(), None
                async for chunk in self._chunks(response):
                    if stream.feed(chunk) and first is None:
                        first = time.perf_counter() - start
                    if stream.is_done:
                        break
                latency_s = time.perf_counter() - start
                await _read_end(response)
                return Reply(200, headers, self.without_key(stream.body()), latency_s, first)
            parts = [chunk async for chunk in self._chunks(response)]
            return Reply(response.status, headers, self.without_key(b"".join(parts)), time.perf_counter() - start)

    async def _chunks(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in response.content.iter_any():
                size += len(chunk)
                self._reading += len(chunk)
                if size > self.options.most_bytes:
                    raise _TooLarge
                if self._reading > MOST_READING:
                    raise _TooMuch
                yield chunk
        finally:
            self._reading -= size

    async def _get(self, path: str) -> Any:
        return await self.exchange("GET", path)

    async def download(self, path: str, target: Path) -> None:
        """Append the content at `path`, of any size, to a file. It may hold the key: read it through `without_key`.

        Raises:
            Unreachable: `exchange` would raise it.
        """
        with target.open("ab") as file:
            await self.exchange("GET", path, into=file)

    def without_key(self, data: bytes) -> bytes:
        """Replace the key, in any of its forms, with `***`."""
        return data if self.key is None else self.key.redact_bytes(data)

    async def exchange(
        self,
        method: str,
        path: str,
        data: bytes | aiohttp.MultipartWriter | None = None,
        *,
        into: BinaryIO | None = None,
    ) -> Any:
        """Send one request and return the JSON of the reply, without the key.

        Args:
            method: The HTTP method.
            path: The path below the base URL.
            data: The body: JSON, or a form.
            into: File to write the reply to (unless it is an error); None is then returned.

        Raises:
            Unreachable: There is no connection, the status is not 200 or 201, or the reply is no JSON.
        """
        assert self._session is not None, "use the endpoint in `async with`"  # noqa: S101
        url = f"{self.base_url}/{path}"
        headers = {"Content-Type": data.headers["Content-Type"]} if isinstance(data, aiohttp.MultipartWriter) else None
        limit = LIST_S if data is None and into is None else MOVE_S
        try:
            async with (
                asyncio.timeout(limit),
                self._session.request(
                    method, url, data=data, headers=headers, allow_redirects=False, proxy=self._proxy
                ) as response,
            ):
                status = response.status
                if into is not None and status == 200:
                    async for chunk in response.content.iter_any():
                        into.write(chunk)
                    return None
                body = b"".join([chunk async for chunk in self._chunks(response)])
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, _TooLarge, _TooMuch) as error:
            is_refused = isinstance(getattr(error, "os_error", None), ConnectionRefusedError)
            is_nowhere = isinstance(error, aiohttp.ClientConnectorError | aiohttp.InvalidURL) and not is_refused
            reason = fit_to_show(self._redacted(_error_words(error)))
            raise Unreachable(f"{url} cannot be read: {reason}", is_refused=is_refused, is_nowhere=is_nowhere) from None
        body = self.without_key(body)
        if status not in {200, 201}:
            words = fit_to_show(body[:2000].decode("utf-8", "replace"))
            raise Unreachable(f"{url} answered HTTP {status}: {words}", status=status)
        reply = json_of(body)
        if reply is None:
            raise Unreachable(f"{url} answered with something that is no JSON", status=status)
        return self._redacted_value(reply)

    def _redacted(self, text: str) -> str:
        return text if self.key is None else self.key.redact(text)

    def _redacted_value(self, value: Any) -> Any:
        """Replace the key in a list that was read: reading decodes escapes that hid the key in the bytes."""
        if self.key is None:
            return value
        try:
            return self.key.redact_value(value)
        except RecursionError:
            return self.key.redact_value(storable(value))

    def _without_key(self, attempt: Attempt) -> Attempt:
        """Replace the key in any text of the Response: reading joins pieces and decodes escapes that hid the key."""
        key = self.key
        if key is None:
            return attempt
        response = attempt.response
        names = ("text", "reasoning", "error", "evidence", "served_model", "provider", "stop_reason")
        texts = {name: getattr(response, name) for name in names}
        clean = {name: key.redact_value(text) for name, text in texts.items() if text is not None}
        changes: dict[str, Any] = {name: text for name, text in clean.items() if text != texts[name]}
        if response.calls:
            changes["calls"] = tuple(without(call, key.redact_value) for call in response.calls)
        if changes:
            response = msgspec.structs.replace(response, **changes)
        return attempt._replace(response=response, reason=key.redact(attempt.reason))


class EndpointModel:
    """Makes one model of an endpoint a Model.

    Args:
        name: The model's name as on the command line: `http://127.0.0.1:8000/v1#name`, `openrouter/author/slug`.
        options: See EndpointOptions.
        policy: The dispatcher's limits; None: those of the options.
        say: Called with a line when the user has to wait: for a server that is starting, a model that only fails.
        endpoint: The endpoint; None: the one in `name`.

    Raises:
        UsageError: The name is no endpoint's, its key is missing, or a cap on cost is set and no price is said.
    """

    def __init__(
        self,
        name: str,
        *,
        options: EndpointOptions | None = None,
        policy: Policy | None = None,
        say: Callable[[str], None] = lambda _line: None,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.name = name
        where, self.model = split(name)
        self._endpoint = endpoint or Endpoint(where, key=key_for(where), options=options)
        self.engine = self._endpoint.engine()
        self.policy = policy or self._endpoint.options.policy(self._endpoint.dialect)
        self.say = say
        self.spent_usd = 0.0

    async def _stream(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        async with self._endpoint as endpoint:
            await endpoint.wait_until_up(self.say)
            price = await self._price(endpoint)
            dispatcher = Dispatcher(
                lambda model, request: endpoint.call(model, request, sampling),
                policy=self.policy,
                rng=random.Random(sampling.seed),
                cost_of=lambda _model, request: most_cost_usd(price, text_of(request), sampling.max_new_tokens),
                tokens_of=lambda _model, request: most_tokens(request, sampling.max_new_tokens),
                spent_usd=self.spent_usd,
                notice=self.say,
            )
            dispatcher.add(self.model, requests)
            telling = asyncio.create_task(tell_waits(dispatcher, self.say))
            try:
                async for _, _, response in dispatcher.answers():
                    self.spent_usd = dispatcher.spent_usd + dispatcher.reserved_usd
                    yield response
            finally:  # what is dropped under way may be billed all the same
                telling.cancel()
                self.spent_usd = dispatcher.spent_usd + dispatcher.reserved_usd
            if dispatcher.stopped_for == "credit":
                raise OutOfCredit(f"{self.name}: {dispatcher.stopped}. What was answered is stored")
            if dispatcher.stopped_for == "cost":
                raise Incomplete(f"{self.name}: {dispatcher.stopped} (--max-cost). What was answered is stored")
            if dispatcher.stopped:
                helps = MENDS.get(dispatcher.stopped_for, "")
                raise AdhereError(f"{self.name}: {dispatcher.stopped}{helps}")

    def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Send the requests as fast as the server can take them, and again if that may help; yield Responses.

        Raises:
            Unreachable: Nothing listens at the address.
            OutOfCredit: The endpoint demands payment first. Responses yielded before remain valid.
            Incomplete: The cap on cost is reached.
            AdhereError: The key or the address was refused.
            UsageError: The server does not support this sampling.
        """
        self._endpoint.insist_on(sampling)
        return self._stream(requests, sampling)

    async def _price(self, endpoint: Endpoint) -> Prices | None:
        """Return the price of a token; None if none is known and no cap is to be kept.

        Raises:
            UsageError: There is a cap on cost, and neither the endpoint nor the options state a price.
        """
        price = endpoint.options.price
        if self.policy.max_cost_usd is None:
            return price
        try:
            rows = await endpoint.models()
        except Unreachable:
            rows = []
        endpoint_price = {model.id: model.prices for model in parse_models(rows)}.get(self.model)
        if endpoint_price is None and price is None:
            raise UsageError(
                f"{self.name}: the endpoint does not say what an answer costs, so --max-cost cannot be kept. "
                "State it with --price IN,OUT (USD a million tokens)"
            )
        price = endpoint_price if endpoint_price is not None else price
        assert price is not None  # noqa: S101 - one of the two is there
        endpoint.prices[self.model] = price
        return price

    def close(self) -> None:
        """Do nothing: nothing is held between calls."""


async def _read_end(response: aiohttp.ClientResponse) -> None:
    """Wait shortly for the rest of a finished reply, so that its connection can be used again."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(END_S):
            async for _ in response.content.iter_any():
                pass


async def tell_waits(dispatcher: Dispatcher, say: Callable[[str], None]) -> None:
    """Report every `TELL_S` seconds without answers which models are waited for, and how long at most."""
    answers = -1
    while True:
        await asyncio.sleep(TELL_S)
        before, answers = answers, dispatcher.counts.answered
        if answers == before and (line := waiting_line(dispatcher.troubled())):
            say(f"{line}. --patience says for how long, Ctrl-C ends it")


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for a URL (HTTPS_PROXY, NO_PROXY); None for this machine.

    Raises:
        UsageError: The environment names something else than an http proxy; the message hides it, because of its
            password.
    """
    parts = urlsplit(base_url)
    is_direct = is_loopback(base_url) or proxy_bypass(parts.hostname or "")
    address = None if is_direct else getproxies().get(parts.scheme)
    if not address:
        return None
    address = address if "://" in address else f"http://{address}"
    try:
        proxy = urlsplit(address)
        is_usable = proxy.scheme in {"http", "https"} and bool(proxy.hostname) and proxy.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(
            f"${parts.scheme.upper()}_PROXY names no http proxy: it must be a URL such as http://127.0.0.1:3128"
        )
    return address


def split(name: str) -> tuple[Address, str]:
    """Split a model's name into the endpoint and the model.

    Raises:
        UsageError: The name contains no model.
    """
    if name.startswith(("http://", "https://")):
        base_url, _, model = name.partition("#")
        where = address(base_url)
    else:
        provider, _, model = name.partition("/")
        where = address(provider)
    if not model:
        raise UsageError(f"{name!r} names no model. Write http://127.0.0.1:8000/v1#NAME, or openrouter/AUTHOR/SLUG")
    return where, model


def _not_askable(row: object) -> str:
    """Return why a listed row names no model that can be asked; empty if it names one."""
    value = row.get("id") if isinstance(row, dict) else None
    if not isinstance(value, str):
        return "it has no id"
    if not value.strip():
        return "its id is blank"
    return f"its id is longer than {MOST_OF_AN_ID:,} characters" if len(value) > MOST_OF_AN_ID else ""


def _error_words(error: BaseException) -> str:
    text = str(error)
    return (
        text if isinstance(error, _TooLarge | TimeoutError) and text else f"{type(error).__name__}: {text}".rstrip(": ")
    )


__all__ = ["GENERIC", "Endpoint", "EndpointModel", "EndpointOptions", "Unreachable", "proxy_for", "split"]
