"""Several servers of one model, as one endpoint: one dispatcher, one set of limits and one bill above all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import msgspec

from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.models.http.attempt import Attempt
from adhere.models.http.client import Endpoint, EndpointModel, Unreachable, split
from adhere.models.http.keys import key_for
from adhere.models.http.options import EndpointOptions
from adhere.schema import EngineInfo, Sampling

REST_S = 15.0
"""Seconds that an unreachable server gets no requests, while another one can be reached."""


class Replicas(Endpoint):
    """Sends each request to the server with the fewest requests under way.

    A server that cannot be reached rests, and its requests go to the others.

    Args:
        servers: Endpoints, at least one, all with the same model.
    """

    def __init__(self, servers: Sequence[Endpoint]) -> None:
        first = servers[0]
        super().__init__(first.where, key=first.key, options=first.options)
        self.servers = list(servers)
        self.under_way = [0] * len(servers)
        self.sent = [0] * len(servers)
        self._rests_until = [0.0] * len(servers)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for server in self.servers:
            server.prices = self.prices
            await self._stack.enter_async_context(server)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def wait_until_up(self, say: Callable[[str], None] = lambda _line: None) -> None:
        """Wait until each server listens or its time is up; servers that do not listen rest.

        Raises:
            Unreachable: No server listens.
        """
        problems = await asyncio.gather(*(server.wait_until_up(say) for server in self.servers), return_exceptions=True)
        for place, problem in enumerate(problems):
            if isinstance(problem, Unreachable):
                say(f"{problem}; the other {len(self.servers) - 1} go on without it")
                self._rest(place)
            elif problem is not None:
                raise problem
        if all(isinstance(problem, Unreachable) for problem in problems):
            raise problems[0]  # type: ignore[misc]

    async def models(self) -> list[dict[str, Any]]:
        """List the models of the first server; all have the same."""
        return await self.servers[0].models()

    async def call(self, model: str, request: Request, sampling: Sampling, *, total_s: float | None = None) -> Attempt:
        """Call like `Endpoint.call`; if a server cannot be reached, try the next, each once."""
        places_tried: set[int] = set()
        while True:
            place = self._idlest(places_tried)
            places_tried.add(place)
            self.under_way[place] += 1
            self.sent[place] += 1
            try:
                attempt = await self.servers[place].call(model, request, sampling, total_s=total_s)
            finally:
                self.under_way[place] -= 1
            if attempt.kind != "transient" or attempt.response.evidence != "connection":
                return attempt
            self._rest(place)
            if len(places_tried) == len(self.servers):
                return attempt

    def _idlest(self, places_tried: set[int]) -> int:
        """Choose a server not tried yet: awake ones first, then by requests under way, then by requests so far."""
        now = asyncio.get_running_loop().time()
        places = [place for place in range(len(self.servers)) if place not in places_tried]
        return min(places, key=lambda place: (self._rests_until[place] > now, self.under_way[place], self.sent[place]))

    def _rest(self, place: int) -> None:
        self._rests_until[place] = asyncio.get_running_loop().time() + REST_S

    def engine(self) -> EngineInfo:
        """Describe the engine of one server, without its address, since the servers may change while a Run is made."""
        engine = super().engine()
        return msgspec.structs.replace(engine, settings={**engine.settings, "base_url": "replicas"})


def replicas_of(names: Sequence[str], *, options: EndpointOptions, say: Callable[[str], None]) -> EndpointModel:
    """Make one model of several endpoints; the limit of requests at once is multiplied by their number.

    Raises:
        UsageError: The names are of different models.
    """
    wheres = [split(name) for name in names]
    models = {model for _, model in wheres}
    if len(models) > 1:
        raise UsageError(f"--model names {', '.join(sorted(models))}: several endpoints must be replicas of one model")
    servers = [Endpoint(where, key=key_for(where), options=options) for where, _ in wheres]
    server_policy = options.policy(servers[0].dialect)
    most = server_policy.lane_concurrency * len(servers)
    policy = replace(server_policy, lane_concurrency=most, concurrency=max(server_policy.concurrency, most))
    replicas = EndpointModel(names[0], options=options, policy=policy, say=say, endpoint=Replicas(servers))
    replicas.name = f"replicas/{models.pop()}"
    return replicas
