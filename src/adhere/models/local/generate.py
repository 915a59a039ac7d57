"""Answers of architectures that our decoder does not know, by transformers' own `generate`.

On a CPU one answer is drawn at a time, so none depends on another. On a GPU several are padded to one length and drawn
together, so an answer may depend on its neighbours; the engine's `batch_invariant` tells which.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import AdhereError, UsageError
from adhere.models.answers import answer_of, failure_of, insist_on_room
from adhere.models.base import Request
from adhere.models.chat import end_ids, render
from adhere.models.local.decoder.precision import AskedPrecision, choose
from adhere.models.local.deferred import DeferredModel
from adhere.models.local.digest import identity_of
from adhere.models.local.outlook import count_parameters
from adhere.models.local.quiet import quiet
from adhere.models.local.threads import Sender, stream
from adhere.models.local.transformers import engine_of, load_weights
from adhere.schema import EngineInfo, Response, Sampling

TOGETHER = {"cuda": 16}
"""Number of answers drawn together, by kind of device; else one."""


def generate_engine(engine: EngineInfo) -> EngineInfo:
    """Return the EngineInfo of `generate`, made from that of our decoder."""
    rows = TOGETHER.get(str(engine.settings["device"]), 1)
    settings = {**engine.settings, "decoder": "generate", "rows": rows, "batch_invariant": "yes" if rows == 1 else "no"}
    settings.pop("layout", None)
    return msgspec.structs.replace(engine, settings=settings)


class GenerateModel:
    """A Model that uses any causal language model of transformers.

    Args:
        model: The model, on its device.
        tokenizer: The tokenizer, with a chat template.
        name: The Model's name.
        engine: The engine information; see `generate_engine`.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, engine: EngineInfo) -> None:
        self.name, self.engine, self.tokenizer = name, engine, tokenizer
        self._model: Any = model
        self._ends = end_ids(model, tokenizer)
        self._rows = TOGETHER.get(model.device.type, 1)

    @classmethod
    def load(
        cls, directory: Path, *, name: str, engine: EngineInfo, device: str, adapter: Path | None = None
    ) -> GenerateModel:
        """Load a directory that `save_pretrained` wrote, in the precision that `engine` states."""
        import torch

        model, tokenizer = load_weights(directory, device, adapter=adapter)
        if engine.precision == "bf16":
            model = model.to(torch.bfloat16)
        return cls(model, tokenizer, name=name, engine=engine)

    @classmethod
    def deferred(
        cls,
        directory: Path,
        *,
        name: str,
        precision: AskedPrecision,
        device: str,
        adapter: Path | None,
        why: str,
        say: Callable[[str], None],
    ) -> DeferredModel:
        """Return a Model whose weights are read at the first request, with a line that gives `why` as the reason."""
        identity = identity_of(directory, adapter)
        chosen = choose(precision, device)
        engine = generate_engine(engine_of(chosen, identity, rows=1, layout="columns", device=device))
        load = partial(cls.load, directory, name=name, engine=engine, device=device, adapter=adapter)
        note = f"{why}; transformers' own generate answers instead"
        return DeferredModel(name, engine, load, say, note=note, parameters=count_parameters(directory))

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        if self._model is None:
            raise AdhereError(f"{self.name} is closed")
        rows: list[tuple[Request, list[int]]] = []
        limit, positions = sampling.max_new_tokens, getattr(self._model.config, "max_position_embeddings", None)
        for request in requests:
            try:
                ids = list(render(self.tokenizer, request.messages, tools=request.tools))
                if positions is not None:
                    insist_on_room(len(ids), positions - limit, limit, model=self.name)
                rows.append((request, ids))
            except UsageError as error:
                yield failure_of(request, error, model=self.name)
        pending = dict(enumerate(rows))
        try:
            async with aclosing(stream(partial(self._decode, rows, sampling))) as arrivals:
                async for index, response in arrivals:
                    del pending[index]
                    yield response
        except (AdhereError, MemoryError, RuntimeError) as error:
            for request, _ in pending.values():
                yield failure_of(request, error, model=self.name)

    def close(self) -> None:
        self._model = None

    def _decode(
        self, rows: list[tuple[Request, list[int]]], sampling: Sampling, sender: Sender[tuple[int, Response]]
    ) -> None:
        """Decode in a thread of its own, and send answers as they end."""
        together = 1 if sampling.temperature > 0 else self._rows  # a sampled answer keeps to its own seed
        for start in range(0, len(rows), together):
            sender.check()
            part, start_s = rows[start : start + together], time.monotonic()
            for place, new in enumerate(self._generate([ids for _, ids in part], sampling, part[0][0].seed)):
                request, ids = part[place]
                end = next((at for at, token in enumerate(new) if token in self._ends), None)
                answer_ids = new if end is None else new[:end]
                text = str(self.tokenizer.decode(answer_ids, skip_special_tokens=True))
                tokens = (len(ids), len(answer_ids) + (end is not None))
                answer = answer_of(
                    request, text, is_ended=end is not None, tokens=tokens, latency_s=time.monotonic() - start_s,
                    model=self.name,
                )  # fmt: skip
                sender.send((start + place, answer))

    def _generate(self, prompts: list[list[int]], sampling: Sampling, seed: int) -> list[list[int]]:
        """Return the new tokens of each prompt, including any after an end token."""
        import torch

        width, pad = max(map(len, prompts)), self._ends[0]
        ids = torch.tensor([[pad] * (width - len(row)) + row for row in prompts], device=self._model.device)  # (P, T)
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in prompts], device=self._model.device)
        sampling_options: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if sampling.temperature > 0:
            torch.manual_seed(seed % 2**63)
            sampling_options = {
                "do_sample": True,
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "top_k": 0,
            }
        with torch.inference_mode(), quiet():
            sequences = self._model.generate(
                ids, attention_mask=mask, max_new_tokens=sampling.max_new_tokens, eos_token_id=list(self._ends),
                pad_token_id=pad, **sampling_options,
            )  # fmt: skip
        return [[int(token) for token in row[width:]] for row in sequences]
