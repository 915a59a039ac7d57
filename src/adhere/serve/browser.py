"""The local browser of stored runs, sweeps and studies: 127.0.0.1 only, a random token in every address, read-only.

It is here because it needs both the reports and a web server, which `report` never imports. `report/` builds the pages,
`serve/watch.py` gives the numbers; this file only decides who may see them. Addresses name items by the ids of the
shelf, never by paths, so no request can reach a file that is not on it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from aiohttp import web

from adhere.errors import AdhereError, UsageError
from adhere.models.fake.loopback import guard, listen
from adhere.report.answers.html import answers_html
from adhere.report.pages import stored_in
from adhere.report.view.html import index_html, item_html, trouble_html
from adhere.schema import encode
from adhere.serve.answers import Answers, RowQuery, names_of, result_of, ways_of
from adhere.serve.watch import State, Watch, watch
from adhere.store.sharded import load_run, manifest_of
from adhere.store.shelf import Item, item_of, last_change, runs_in, shelf

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Browser:
    """Serves the runs, sweeps and studies below one directory; an async context manager.

    Args:
        root: The directory.
        port: 0: any free one.
        token: The token that addresses must begin with; None: a new random one.

    Attributes:
        port: The port that it listens on.
    """

    def __init__(self, root: Path, *, port: int = 0, token: str | None = None) -> None:
        self.root, self.port = root, port
        self.token = token or secrets.token_urlsafe(24)
        self._watches: dict[str, Watch] = {}
        self._items: dict[str, Item] = {}
        self._reports: dict[str, tuple[float, str]] = {}
        self._reading = asyncio.Lock()
        self._tables: dict[tuple[str, ...], _Table] = {}  # the last two: each holds every answer
        self._tables_lock = asyncio.Lock()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address of the list, with its token."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    async def __aenter__(self) -> Self:
        application = web.Application(
            middlewares=[guard(lambda: self.port, lambda why: _plain(403, why)), self._check_request]
        )
        application.router.add_get("/{token}/", self._index)
        application.router.add_get("/{token}/state.json", self._states)
        application.router.add_get("/{token}/item/{id}", self._item)
        application.router.add_get("/{token}/item/{id}/state.json", self._item_state)
        application.router.add_get("/{token}/item/{id}/report", self._report)
        for place in ("item/{id}/answers", "compare/{id}/{other}"):
            application.router.add_get(f"/{{token}}/{place}", self._browse)
            application.router.add_get(
                f"/{{token}}/{place}/{{what:rows|answer|result|version}}.json", self._answer_script
            )
        self._runner, self.port = await listen(application, self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _check_request(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Refuse requests without the token, and requests that do more than read."""
        token = request.path.removeprefix("/").partition("/")[0].encode("utf-8", "replace")
        if not secrets.compare_digest(token, self.token.encode()):
            return _plain(403, "This address lacks the token: use the one that adhere view printed")
        if request.method not in {"GET", "HEAD"}:
            return _plain(405, "Read-only")
        try:
            answer: web.StreamResponse = await handler(request)
        except web.HTTPException as error:
            return _plain(error.status, error.reason)
        return answer

    async def _read(self, work: Callable[[], Any]) -> Any:
        """Read files in a thread, one reader at a time, since a Watch remembers where it stopped."""
        async with self._reading:
            return await asyncio.to_thread(work)

    def _shelf(self) -> list[State]:
        self._items = {item.id: item for item in shelf(self.root)}
        states = []
        for item in self._items.values():
            try:
                states.append(self._watch(item).state())
            except (AdhereError, OSError):  # it is being made or deleted just now, or is damaged: the next look tells
                self._watches.pop(item.id, None)
        return states

    def _parts(self) -> None:
        """Add the Runs inside studies and sweeps, which are not listed, under the ids that their pages use."""
        wholes = [item for item in self._items.values() if item.kind != "run"]
        parts = [item_of("run", f"{whole.name}/{run.name}", run) for whole in wholes for run in runs_in(whole)]
        self._items |= {part.id: part for part in parts}

    def _watch(self, item: Item) -> Watch:
        if item.id not in self._watches:
            self._watches[item.id] = watch(item)
        return self._watches[item.id]

    async def _find_item(self, request: web.Request, part: str = "id") -> Item:
        name = request.match_info[part]
        if name not in self._items:
            await self._read(self._shelf)
        if name not in self._items:
            await self._read(self._parts)
        if name not in self._items:
            raise web.HTTPNotFound(reason="Nothing of this name is stored here")
        return self._items[name]

    async def _index(self, _request: web.Request) -> web.Response:
        return _page(index_html(str(self.root.resolve())))

    async def _states(self, _request: web.Request) -> web.Response:
        return _json(await self._read(self._shelf))

    async def _item(self, request: web.Request) -> web.Response:
        item = await self._find_item(request)
        return _page(item_html(item.name, item.kind))

    async def _item_state(self, request: web.Request) -> web.Response:
        item = await self._find_item(request)
        try:
            return _json(await self._read(lambda: self._watch(item).state(with_models=True)))
        except (AdhereError, OSError) as error:
            return _plain(503, f"Cannot be read just now: {error}")

    async def _report(self, request: web.Request) -> web.Response:
        """Return the page of a finished item, built on request and kept until the item changes."""
        item = await self._find_item(request)
        try:
            state = await self._read(lambda: self._watch(item).state())
            stored_page = self._reports.get(item.id)
            if stored_page is None or stored_page[0] != state.changed:
                stored_page = (state.changed, await asyncio.to_thread(_build_html, item))
                self._reports = {item.id: stored_page}  # only the last: a page of a large sweep takes 16 MB
        except (AdhereError, OSError) as error:
            return _page(trouble_html(item.name, str(error)), status=503)
        return _page(stored_page[1])

    async def _runs(self, request: web.Request) -> list[Item]:
        """Return the one or two Runs that an address names."""
        items = [await self._find_item(request, part) for part in ("id", "other") if part in request.match_info]
        if any(item.kind != "run" for item in items):
            raise web.HTTPNotFound(reason="Only runs have answers that can be browsed")
        return items

    async def _answers(self, items: Sequence[Item]) -> tuple[str, Answers]:
        """Return the version and the table of some Runs, made again if they have changed.

        Making tables of Runs that still change takes at most a tenth of the time.
        """
        key = tuple(item.id for item in items)
        async with self._tables_lock:
            version = " ".join(map(_version, items))
            table = self._tables.get(key)
            if table is None or (table.version != version and time.monotonic() > table.next_s):
                start_s = time.monotonic()
                answers = await asyncio.to_thread(lambda: Answers([load_run(item.directory) for item in items]))
                table = _Table(version, answers, 11 * time.monotonic() - 10 * start_s)
                self._tables = {name: old for name, old in [*self._tables.items()][-1:] if name != key} | {key: table}
        return table.version, table.answers

    async def _browse(self, request: web.Request) -> web.Response:
        """Return the page of one Run's answers, or of two Runs side by side."""
        items = await self._runs(request)
        try:
            models = [manifest_of(item.directory).spec.model for item in items]
        except (AdhereError, OSError) as error:
            return _page(trouble_html(" and ".join(item.name for item in items), str(error)), status=503)
        names = names_of([(model, item.directory) for model, item in zip(models, items, strict=True)])
        return _page(answers_html(names, ways_of(len(items)), up="../../"))

    async def _answer_script(self, request: web.Request) -> web.Response:
        """Answer the requests of that page's script."""
        items, query = await self._runs(request), request.query
        try:
            if request.match_info["what"] == "version":
                states = await self._read(lambda: [self._watch(item).state() for item in items])
                is_live = any(state.state in {"running", "judging"} for state in states)
                return _json({"version": " ".join(map(_version, items)), "is_live": is_live})
            if request.match_info["what"] == "result":
                return _json(await asyncio.to_thread(lambda: result_of([load_run(item.directory) for item in items])))
            version, answers = await self._answers(items)
            unit = (query["id"], _number(query, "draw")) if "id" in query else None
            if request.match_info["what"] == "answer":
                answer_view = answers.shown(*unit) if unit else None
                return (
                    _json(answer_view) if answer_view is not None else _plain(404, "No prompt of this name was asked")
                )
            row_query = RowQuery(query.get("words", ""), query.get("way", "all"), query.get("kind", ""))
            start = _number(query, "start")
            page = await asyncio.to_thread(lambda: answers.page(row_query, start=start, place_of=unit, version=version))
            return _json(page)
        except UsageError as error:
            return _plain(400, str(error))
        except (AdhereError, OSError) as error:
            return _plain(503, f"Cannot be read just now: {error}")


class _Table(NamedTuple):
    version: str
    answers: Answers
    next_s: float


def _version(item: Item) -> str:
    """Return a text that changes whenever something is written to a Run of the item."""
    return f"{max(last_change(run / part) for run in runs_in(item) for part in ('', 'responses', 'verdicts')):.6f}"


def _number(query: Mapping[str, str], name: str) -> int:
    digits = query.get(name, "0")
    if not digits.isdecimal() or len(digits) > 9:
        raise UsageError(f"{name} must be a whole number, got {digits!r}")
    return int(digits)


def _build_html(item: Item) -> str:
    return stored_in([item.directory], as_stored=True).html()


def _page(html: str, *, status: int = 200) -> web.Response:
    body = html.encode("utf-8", "replace")
    return web.Response(body=body, status=status, content_type="text/html", charset="utf-8", headers=_HEADERS)


def _json(value: object) -> web.Response:
    return web.Response(body=encode(value), content_type="application/json", headers=_HEADERS)


def _plain(status: int, text: str) -> web.Response:
    return web.Response(text=text, status=status, headers=_HEADERS)
