"""A vLLM server as the sampler of training.

It draws answers over HTTP, and reads the trainer's weights from a directory that both see.

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --logprobs-mode processed_logprobs --dtype bfloat16
    ADHERE_VLLM_SERVER=http://127.0.0.1:8000 ADHERE_VLLM_WEIGHTS=/shared/weights adhere train RECIPE.toml

The environment names the server, not the recipe, because it differs between machines. Answers come from
`/v1/completions` by token ids, with the ids and log-probs of what was drawn; weights by `/collective_rpc`
(`reload_weights` from a path) and `/reset_prefix_cache`, which a server has in its development mode only, because
they let a caller load any file.

Written against vLLM 0.22 and tested against a stand-in on 127.0.0.1 that reads those weights and draws from them; not
run against vLLM.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from adhere.errors import AdhereError, UsageError
from adhere.models.local.decoder.decode import DecodedAnswer, DecodeRow, OnDone, check_lengths
from adhere.models.local.decoder.precision import Precision

URL, WEIGHTS = "ADHERE_VLLM_SERVER", "ADHERE_VLLM_WEIGHTS"
TRIES, PAUSE_S = 4, 1.0  # of a call that does not reach the server, or that it is too busy for
TIMEOUT_S = 1800.0  # of one call: an answer waits for its turn in the server
BUSY = frozenset({429, 500, 502, 503, 504})

State = Callable[[], Mapping[str, Any] | None]


def write_policy(folder: Path, state: Mapping[str, Any], model: Any, tokenizer: Any) -> None:
    """Write a directory that vLLM can load: weights by name, the config of `model`, and the tokenizer."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


class ServerGenerator:
    """A Generator that uses a vLLM server.

    Args:
        model: The policy, for its config.
        tokenizer: The policy's tokenizer, written next to the weights.
        end_ids: Tokens that end an answer.
        rows: Requests in flight.
        state: Returns all weights by name, unsharded; None in a process that must not send them.

    Raises:
        UsageError: The environment does not name the server.
    """

    precision: Precision = "bf16"

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        end_ids: Sequence[int],
        state: State,
        rows: int = 128,
    ) -> None:
        url, place = os.environ.get(URL), os.environ.get(WEIGHTS)
        if not url or not place:
            raise UsageError(
                f"generator = 'server' needs {URL} (http://HOST:PORT of a vLLM server) "
                f"and {WEIGHTS} (a directory that it can read)"
            )
        self.model, self.tokenizer, self.end_ids, self.rows, self.state = model, tokenizer, tuple(end_ids), rows, state
        self.url, self.folder = url.rstrip("/").removesuffix("/v1"), Path(place)
        self._name: str | None = None
        self._version = 0

    def refresh(self) -> None:
        """Write the current weights and let the server read them; its caches of the old weights are dropped.

        Raises:
            AdhereError: The server cannot be reached, or refuses.
        """
        state = self.state()
        if state is None:
            return
        self._version += 1
        into = self.folder / f"weights-{os.getpid()}-{self._version}"
        shutil.rmtree(into, ignore_errors=True)
        write_policy(into, state, self.model, self.tokenizer)
        asyncio.run(self._reload(str(into.resolve())))
        shutil.rmtree(into.with_name(f"weights-{os.getpid()}-{self._version - 1}"), ignore_errors=True)

    def longest_prompt(self, max_new_tokens: int) -> int:
        return int(self.model.config.max_position_embeddings) - max_new_tokens

    def decode(
        self,
        rows: Sequence[DecodeRow],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_p: float = 1.0,
        log_probs: bool = False,
        on_done: OnDone | None = None,
        on_step: Callable[[], None] | None = None,
    ) -> list[DecodedAnswer]:
        """Return one answer for each row, in the order of `rows`; `on_done` is called as they come.

        Raises:
            UsageError: A prompt is empty or too long.
            AdhereError: The server cannot be reached, refuses, or does not report which tokens it drew.
        """
        check_lengths(rows, self.longest_prompt(max_new_tokens), max_new_tokens)
        # Without the first three a server takes what generation_config.json says.
        common = {
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "stop_token_ids": list(self.end_ids),
            "return_token_ids": True,
            "skip_special_tokens": False,
            "add_special_tokens": False,
        }
        if log_probs:
            common["logprobs"] = 1

        async def draw() -> list[DecodedAnswer]:
            async with self._session() as session:
                name = await self._served(session)
                room = asyncio.Semaphore(self.rows)

                async def ask(index: int, row: DecodeRow) -> DecodedAnswer:
                    async with room:
                        if on_step is not None:
                            on_step()
                        body = common | {"model": name, "prompt": list(row.ids), "seed": row.seed % 2**63}
                        answer = self._decoded(await self._call(session, "/v1/completions", body), log_probs=log_probs)
                    if on_done is not None:
                        on_done(index, answer)
                    return answer

                return await asyncio.gather(*(ask(index, row) for index, row in enumerate(rows)))

        return asyncio.run(draw())

    def _decoded(self, reply: Any, *, log_probs: bool) -> DecodedAnswer:
        try:
            (choice,) = reply["choices"]
            ids = tuple(int(token) for token in choice["token_ids"])
            token_log_probs = choice["logprobs"]["token_logprobs"] if log_probs else []
            chances = tuple(float(value) for value in token_log_probs)
        except (KeyError, TypeError, ValueError) as error:
            raise AdhereError(
                f"{self.url}: an answer without the ids{' and log-probs' * log_probs} of its tokens ({error!r}). "
                "It takes a vLLM server that knows return_token_ids (0.10.2 and later)"
            ) from error
        if log_probs and len(chances) != len(ids):
            raise AdhereError(f"{self.url}: {len(chances)} log-probs for {len(ids)} tokens")
        return DecodedAnswer.of(ids, chances, self.end_ids)

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S), trust_env=False)

    async def _reload(self, folder: str) -> None:
        async with self._session() as session:
            body = {"method": "reload_weights", "kwargs": {"weights_path": folder}}
            await self._call(session, "/collective_rpc", body)
            await self._call(session, "/reset_prefix_cache", {})

    async def _served(self, session: aiohttp.ClientSession) -> str:
        """Return the name under which the server has its one model."""
        if self._name is None:
            models = await self._call(session, "/v1/models", None)
            self._name = str(models["data"][0]["id"])
        return self._name

    async def _call(self, session: aiohttp.ClientSession, path: str, body: Mapping[str, Any] | None) -> Any:
        """Return the server's reply as JSON, None if empty; try again while the server is busy or unreachable."""
        problem = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(PAUSE_S * 2 ** (attempt - 1))
            try:
                method = "GET" if body is None else "POST"
                async with session.request(method, self.url + path, json=body) as reply:
                    content = await reply.read()
                    if reply.status == 200:
                        return await reply.json(content_type=None) if content.strip() else None
                    problem = f"HTTP {reply.status}: {content[:300].decode(errors='replace')}"
                    if reply.status == 404 and path in {"/collective_rpc", "/reset_prefix_cache"}:
                        problem += ". Start the server with VLLM_SERVER_DEV_MODE=1"
                    if reply.status not in BUSY:
                        break
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                problem = f"{type(error).__name__}: {error}"
        raise AdhereError(f"{self.url}{path}: {problem}")
