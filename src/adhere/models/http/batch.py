"""A model asked through a batch API: cheaper, within a day, and safe to kill at any time.

| whose | submitted by | has ended if | answers |
|---|---|---|---|
| OpenAI's, and servers like it | `POST /files`, `POST /batches` | its state is final | `GET /files/ID/content` |
| Anthropic's | `POST /messages/batches` | it is `ended` | `GET /messages/batches/ID/results` |
| files (`vllm run-batch`) | a person, who runs OpenAI's file | the file of answers is there | that file |

OpenAI's final states are `completed`, `failed`, `expired` and `cancelled`.

Each batch is a folder of the Run: `request.jsonl`, `batch.json` (which answers it asks for, and its id) and
`result.jsonl`. The same command again resumes with the batches submitted. A request that a batch could not answer is
an error, and goes into another batch then.

Source: platform.openai.com/docs/guides/batch; platform.claude.com/docs/en/build-with-claude/batch-processing;
docs.vllm.ai, "Offline Inference with the OpenAI Batch file format".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import aiohttp
import msgspec

from adhere.errors import AdhereError, Incomplete
from adhere.models.base import Request
from adhere.models.http.attempt import Attempt, failed_attempt
from adhere.models.http.client import EndpointModel, Unreachable
from adhere.models.http.cost import most_cost_usd, text_of
from adhere.models.http.values import json_of, mapping_of
from adhere.models.http.wire import Prices, Reply, fit_to_show, read
from adhere.schema import Record, Response, Sampling, content_hash, decode, encode, write_atomic

Form = Literal["api", "files"]
MOST_REQUESTS, MOST_BYTES = 50_000, 100 << 20
"""Of one batch. OpenAI takes 50,000 and 200 MB, Anthropic 100,000 and 256 MB."""
FIRST_POLL_S, MOST_POLL_S = 2.0, 60.0
_ENDED = frozenset({"completed", "failed", "expired", "cancelled", "ended"})
_STATUS = {"invalid_request_error": 400, "request_too_large": 413, "rate_limit_error": 429, "overloaded_error": 529}


class Batch(Record, frozen=True):
    """Describes one batch, stored as `batch.json`. `keys` belong to its requests, in the order of `request.jsonl`.

    `sha256` names the batch at OpenAI, so that one that was submitted just before a kill is found again.
    `is_collected`: all its answers are in the Run.
    """

    keys: tuple[tuple[str, int, int], ...]
    sha256: str
    id: str = ""
    is_collected: bool = False


class BatchModel(EndpointModel):
    """Asks a model of an endpoint in batches.

    Attributes:
        folder: Folder of the batches; to be set before anything is asked.
        form: `api`, or `files` for a person to run.
    """

    folder: Path = Path("batches")
    form: Form = "api"
    first_poll_s: float = FIRST_POLL_S

    async def _stream(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        requests_by_key = {request.key: request for request in requests}
        async with self._endpoint as endpoint:
            price = await self._price(endpoint) if self.form == "api" else endpoint.options.price
            share = endpoint.dialect.batch_share
            price = None if price is None else Prices(*(share * part for part in price))
            open_batches = [
                (folder, batch)
                for folder, batch in self._stored()
                if not batch.is_collected and not requests_by_key.keys().isdisjoint(batch.keys)
            ]
            open_keys = {key for _, batch in open_batches for key in batch.keys}
            new = [request for request in requests if request.key not in open_keys]
            self._insist_on_cap(new, sampling, price)
            open_batches += [self._write(part, bodies) for part, bodies in self._parts(new, sampling)]
            if self.form == "api":
                open_batches = [(folder, await self._submitted(folder, batch)) for folder, batch in open_batches]
            wait_s = self.first_poll_s
            while open_batches:
                pending = []
                for folder, batch in open_batches:
                    if not await self._is_ended(folder, batch):
                        pending.append((folder, batch))
                        continue
                    for key, attempt in self._answers(folder, batch, requests_by_key, price):
                        del requests_by_key[key]
                        self.spent_usd += attempt.response.usage.cost_usd or 0.0
                        yield attempt.response
                    self._keep(folder, msgspec.structs.replace(_read(folder), is_collected=True))
                if pending and self.form == "files":
                    raise Incomplete(self._command(pending))
                if pending:
                    await asyncio.sleep(wait_s)
                    wait_s = min(MOST_POLL_S, 1.5 * wait_s)
                open_batches = pending

    def _stored(self) -> Iterator[tuple[Path, Batch]]:
        for folder in sorted(self.folder.glob("[0-9]*")):
            if (folder / "batch.json").exists():  # without it nothing was submitted
                yield folder, _read(folder)

    def _insist_on_cap(self, requests: Sequence[Request], sampling: Sampling, price: Prices | None) -> None:
        """Refuse to submit requests that may cost more than the cap; a batch cannot be stopped half-way."""
        cap = self.policy.max_cost_usd
        if cap is None or not requests:
            return
        most = sum(most_cost_usd(price, text_of(request), sampling.max_new_tokens) for request in requests)
        if self.spent_usd + most > cap:
            raise Incomplete(
                f"{self.name}: {len(requests):,} requests may cost up to ${most:.2f} as a batch, "
                f"with ${self.spent_usd:.2f} spent before; the cap is ${cap:.2f} (--max-cost). Nothing was submitted"
            )

    def _parts(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[list[Request], list[bytes]]]:
        part: list[Request] = []
        bodies: list[bytes] = []
        size = 0
        for request in requests:
            body = self._line(len(part), request, sampling)
            if part and (len(part) == MOST_REQUESTS or size + len(body) > MOST_BYTES):
                yield part, bodies
                part, bodies, size = [], [], 0
                body = self._line(0, request, sampling)
            part.append(request)
            bodies.append(body)
            size += len(body)
        if part:
            yield part, bodies

    def _line(self, number: int, request: Request, sampling: Sampling) -> bytes:
        body = json.loads(self._endpoint.body(self.model, request, sampling, stream=False))
        body.pop("stream", None)  # batch APIs refuse it
        if self._is_anthropic:
            return json.dumps({"custom_id": f"r{number}", "params": body}).encode()
        line = {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(line).encode()

    @property
    def _is_anthropic(self) -> bool:
        return self.form == "api" and self._endpoint.dialect.batch == "anthropic"

    def _write(self, requests: Sequence[Request], lines: Sequence[bytes]) -> tuple[Path, Batch]:
        number = 1 + max((int(folder.name) for folder in self.folder.glob("[0-9]*")), default=0)
        folder = self.folder / f"{number:04d}"
        folder.mkdir(parents=True)
        write_atomic(folder / "request.jsonl", b"\n".join(lines) + b"\n")
        keys = tuple(request.key for request in requests)
        return folder, self._keep(folder, Batch(keys, content_hash([self.name, number, keys])))

    def _keep(self, folder: Path, batch: Batch) -> Batch:
        write_atomic(folder / "batch.json", encode(batch) + b"\n")
        return batch

    async def _submitted(self, folder: Path, batch: Batch) -> Batch:
        """Submit the batch unless it was submitted; return it with its id."""
        if batch.id:
            self.say(f"{self.name}: goes on with batch {batch.id} of {len(batch.keys):,} requests")
            return batch
        data = (folder / "request.jsonl").read_bytes()
        if self._is_anthropic:
            body = b'{"requests":[' + b",".join(data.splitlines()) + b"]}"
            reply = await self._ask("POST", "messages/batches", body)
        else:
            reply = await self._found_again(batch) or await self._post_file(batch, data)
        identity = reply.get("id")
        if not isinstance(identity, str) or not identity:
            raise AdhereError(f"{self.name}: the endpoint took a batch and gave it no id; look at its list of batches")
        self.say(f"{self.name}: submitted batch {identity} of {len(batch.keys):,} requests; safe to interrupt")
        return self._keep(folder, msgspec.structs.replace(batch, id=identity))

    async def _found_again(self, batch: Batch) -> Mapping[str, Any] | None:
        """Return the endpoint's row of this batch, if it was submitted before a kill; None otherwise."""
        rows = (await self._ask("GET", "batches?limit=100")).get("data")
        batches = [mapping_of(row) for row in rows] if isinstance(rows, list) else []
        return next(
            (row for row in batches if mapping_of(row.get("metadata")).get("adhere") == batch.sha256[:32]), None
        )

    async def _post_file(self, batch: Batch, data: bytes) -> Mapping[str, Any]:
        file = await self._ask("POST", "files", _form(data))
        body = {
            "input_file_id": file.get("id"),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"adhere": batch.sha256[:32]},
        }
        return await self._ask("POST", "batches", json.dumps(body).encode())

    async def _is_ended(self, folder: Path, batch: Batch) -> bool:
        """Fetch the answers if the batch has ended; tell whether they all are in `result.jsonl`."""
        target = folder / "result.jsonl"
        if self.form == "files" or target.exists():
            return target.exists()
        place = f"messages/batches/{batch.id}" if self._is_anthropic else f"batches/{batch.id}"
        reply = await self._ask("GET", place)
        state = str(reply.get("processing_status" if self._is_anthropic else "status"))
        if state not in _ENDED:
            return False
        files = [reply.get(name) for name in ("output_file_id", "error_file_id") if reply.get(name)]
        places = [f"{place}/results"] if self._is_anthropic else [f"files/{name}/content" for name in files]
        part = folder / "result.part"
        part.write_bytes(b"")
        for path in places:
            await self._patiently(partial(self._endpoint.download, path, part))
        part.replace(target)
        reason = "" if state in {"completed", "ended"} else f": {_why(reply)}"
        self.say(f"{self.name}: batch {batch.id} is {state}{reason}")
        return True

    def _answers(
        self, folder: Path, batch: Batch, requests_by_key: Mapping[tuple[str, int, int], Request], price: Prices | None
    ) -> list[tuple[tuple[str, int, int], Attempt]]:
        """Read the result of each request of a batch that is still needed; one without an answer counts as failed."""
        native = self._endpoint.dialect.native if self._is_anthropic else None
        attempts: dict[tuple[str, int, int], Attempt] = {}
        with (folder / "result.jsonl").open("rb") as lines:
            for line in lines:
                row = mapping_of(json_of(self._endpoint.without_key(line)))
                name = str(row.get("custom_id"))[1:]
                if not name.isdecimal() or int(name) >= len(batch.keys) or batch.keys[int(name)] not in requests_by_key:
                    continue
                key = batch.keys[int(name)]
                reply = _reply(row)
                attempts[key] = (
                    _not_answered(requests_by_key[key], _of_no_answer(row))
                    if reply is None
                    else read(reply, requests_by_key[key], prices=price, native=native)
                )
        for key in batch.keys:
            if key in requests_by_key and key not in attempts:
                attempts[key] = _not_answered(requests_by_key[key], "the batch ended without it")
        return [
            (key, attempt._replace(response=msgspec.structs.replace(attempt.response, latency_s=None)))
            for key, attempt in attempts.items()
        ]

    def _command(self, batches: Sequence[tuple[Path, Batch]]) -> str:
        lines = [
            f"vllm run-batch -i {folder / 'request.jsonl'} -o {folder / 'result.jsonl'} --model {self.model}"
            for folder, _ in batches
        ]
        return "Written. Run this, then the same command again:\n" + "\n".join(lines)

    async def _ask(
        self, method: str, path: str, body: bytes | aiohttp.MultipartWriter | None = None
    ) -> Mapping[str, Any]:
        work = partial(self._endpoint.exchange, method, path, body)
        # What was perhaps submitted is not submitted again: the same command looks for it first.
        return mapping_of(await (self._patiently(work) if method == "GET" else work()))

    async def _patiently(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result of `work`; passing errors (no connection, 429, 5xx) are waited out while patience lasts."""
        end = asyncio.get_running_loop().time() + self._endpoint.options.patience_s
        while True:
            try:
                return await work()
            except Unreachable as error:
                passes = error.status is None or error.status in {408, 429} or error.status >= 500
                if not passes or asyncio.get_running_loop().time() >= end:
                    raise
            await asyncio.sleep(self.first_poll_s)


def _form(data: bytes) -> aiohttp.MultipartWriter:
    form = aiohttp.MultipartWriter("form-data")
    form.append("batch").set_content_disposition("form-data", name="purpose")
    file = form.append(data, {"Content-Type": "application/jsonl"})
    file.set_content_disposition("form-data", name="file", filename="adhere.jsonl")
    return form


def _reply(row: Mapping[str, Any]) -> Reply | None:
    """Convert a line of an answers' file to a Reply; None: the request was not answered (expired, cancelled)."""
    result, response = mapping_of(row.get("result")), mapping_of(row.get("response"))
    if result.get("type") == "succeeded":
        return Reply(200, {}, json.dumps(result.get("message")).encode(), 0.0)
    if result.get("type") == "errored":
        error = mapping_of(result.get("error"))
        error = mapping_of(error.get("error")) or error
        status = _STATUS.get(str(error.get("type")), 500)
        return Reply(status, {}, json.dumps({"error": error}).encode(), 0.0)
    code = response.get("status_code")
    return Reply(code, {}, json.dumps(response.get("body")).encode(), 0.0) if isinstance(code, int) else None


def _of_no_answer(row: Mapping[str, Any]) -> str:
    reason = mapping_of(row.get("error")).get("message") or mapping_of(row.get("result")).get("type")
    return f"not answered: {reason}"


def _not_answered(request: Request, reason: str) -> Attempt:
    return failed_attempt("transient", request, f"batch: {reason}", latency_s=0.0, may_cost=False)


def _why(reply: Mapping[str, Any]) -> str:
    """Say why a batch failed, in the endpoint's words."""
    errors = mapping_of(reply.get("errors")).get("data")
    messages = [str(mapping_of(error).get("message")) for error in errors] if isinstance(errors, list) else []
    return fit_to_show("; ".join(messages)) or "no reason was given"


def _read(folder: Path) -> Batch:
    return decode((folder / "batch.json").read_bytes(), Batch)
