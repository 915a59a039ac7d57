"""The transformers engine: a safetensors model on the CPU or a GPU, decoded by our own loop."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adhere.errors import AdhereError, IntegrityError, MissingModel, UsageError
from adhere.extras import need
from adhere.models.answers import answer_of, failure_of, insist_on_room
from adhere.models.base import Request
from adhere.models.chat import conversation, definitions, end_ids, render
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.precision import AskedPrecision, PrecisionChoice, choose
from adhere.models.local.deferred import DeferredModel
from adhere.models.local.digest import identity_of, weight_files, weights_sha256
from adhere.models.local.outlook import count_parameters
from adhere.models.local.quiet import quiet
from adhere.models.local.threads import Sender, stream
from adhere.schema import EngineInfo, Json, Message, Response, Sampling, Tool

if TYPE_CHECKING:  # torch is imported when weights are
    from adhere.models.local.decoder.decode import DecodedAnswer, Decoder, DecodeRow
    from adhere.models.local.decoder.steering import Spans, Steering

ROWS = {"cuda": 512}
"""Number of answers decoded together, by kind of device; else `FEW_ROWS`.

On an H100, 512 rows of SmolLM2 give 2.4 times as many tokens a second as 128 (docs/LOG.md).
"""
FEW_ROWS = 128


class TransformersModel:
    """A Model that decodes transformers weights with our own decoder.

    Args:
        model: A supported causal language model in fp32 on one device (see `weights.SUPPORTED`).
        tokenizer: The model's tokenizer, with a chat template.
        name: The Model's name.
        weights_sha256: Identity of the weights, stored with every Run.
        precision: fp32 answers do not depend on the batch; evaluate in it. `auto` is for drawing training data.
        layout: Layout of matrix products, as `precision.resolve` chooses it.
        threads: CPU threads [as torch is set].
        rows: Answers decoded together [`ROWS` of the model's device].
        steering: More attention on the last message of the user, the request; None: the model as it is.
        is_strict: Whether an error of the engine, such as too little memory, is raised and ends the Run, which can
            be resumed. Otherwise it is stored as the failure of each missing answer.

    Raises:
        UsageError: The model is not supported, or lacks a head that is to be steered.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        weights_sha256: str | None = None,
        precision: AskedPrecision = "fp32",
        layout: Layout = "columns",
        threads: int | None = None,
        rows: int | None = None,
        steering: Steering | None = None,
        is_strict: bool = False,
    ) -> None:
        import torch

        from adhere.models.local.decoder.decode import Decoder

        self.name = name
        self.tokenizer = tokenizer
        self._threads, self._is_strict = threads, is_strict
        if threads is not None:
            torch.set_num_threads(threads)
        chosen = choose(precision, model.device.type)
        rows = rows or ROWS.get(model.device.type, FEW_ROWS)
        self._decoder: Decoder | None = Decoder(
            model,
            end_ids=end_ids(model, tokenizer),
            rows=rows,
            precision=chosen.precision,
            layout=layout,
            steering=steering,
        )
        self._steering = steering
        self.engine = engine_of(
            chosen, weights_sha256, rows=rows, layout=layout, device=model.device.type, steering=steering
        )

    @classmethod
    def load(
        cls,
        directory: Path,
        *,
        name: str,
        precision: AskedPrecision = "fp32",
        layout: Layout = "columns",
        device: str = "cpu",
        threads: int | None = None,
        steering: Steering | None = None,
        is_strict: bool = False,
        adapter: Path | None = None,
    ) -> TransformersModel:
        """Load a directory that `save_pretrained` wrote.

        `device` is a result of `resolve_device`. A LoRA `adapter` is merged into the weights.
        """
        need("torch", extra="train")
        need("transformers", extra="train")
        model, tokenizer = load_weights(directory, device, adapter=adapter)
        return cls(
            model,
            tokenizer,
            name=name,
            weights_sha256=identity_of(directory, adapter),
            precision=precision,
            layout=layout,
            threads=threads,
            steering=steering,
            is_strict=is_strict,
        )

    @classmethod
    def deferred(
        cls,
        directory: Path,
        *,
        name: str,
        precision: AskedPrecision = "fp32",
        threads: int | None = None,
        device: str = "cpu",
        steering: Steering | None = None,
        adapter: Path | None = None,
        say: Callable[[str], None] = lambda _line: None,
    ) -> DeferredModel:
        """Return a Model that hashes its weights now and loads them, as `load` does, at the first request.

        Args:
            directory: A directory that `save_pretrained` wrote.
            name: The Model's name.
            precision: See TransformersModel.
            threads: CPU threads.
            device: A result of `resolve_device`.
            steering: See TransformersModel.
            adapter: A directory with a LoRA adapter, merged into the weights when they are read.
            say: Called with a line before weights are read.
        """
        torch = need("torch", extra="train")
        need("transformers", extra="train")
        if threads is not None:
            torch.set_num_threads(threads)
        chosen = choose(precision, device)
        rows = ROWS.get(device, FEW_ROWS)
        identity = identity_of(directory, adapter)
        engine = engine_of(chosen, identity, rows=rows, layout="columns", device=device, steering=steering)
        load = partial(
            cls.load, directory, name=name, precision=precision, threads=threads, device=device, steering=steering,
            adapter=adapter,
        )  # fmt: skip
        return DeferredModel(name, engine, load, say, parameters=count_parameters(directory))

    def refresh(self) -> None:
        """Take over the model's weights as they are now, e.g. in training."""
        self._open().refresh()

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response for each request as it ends. Latencies count from this call: rows are decoded together."""
        decoder, start_s = self._open(), time.monotonic()
        rows: list[tuple[Request, DecodeRow]] = []
        for request in requests:
            try:
                rows.append((request, self._row(decoder, request, sampling)))
            except UsageError as error:
                yield failure_of(request, error, model=self.name)
        if not rows:
            return
        pending = dict(enumerate(rows))
        try:
            async with aclosing(stream(partial(self._decode, [row for _, row in rows], sampling))) as arrivals:
                async for index, answer in arrivals:
                    request, row = pending.pop(index)
                    yield self._answer(request, row, answer, time.monotonic() - start_s)
        except (AdhereError, MemoryError, RuntimeError) as error:  # e.g. Divergence; torch raises RuntimeError
            if self._is_strict:
                raise
            for request, _ in pending.values():
                yield failure_of(request, error, model=self.name)

    def close(self) -> None:
        self._decoder = None

    def _open(self) -> Decoder:
        if self._decoder is None:
            raise AdhereError(f"{self.name} is closed")
        return self._decoder

    def _row(self, decoder: Decoder, request: Request, sampling: Sampling) -> DecodeRow:
        from adhere.models.local.decoder.decode import DecodeRow

        ids = tuple(render(self.tokenizer, request.messages, tools=request.tools))
        limit = sampling.max_new_tokens
        insist_on_room(len(ids), decoder.longest_prompt(limit), limit, model=self.name)
        if self._steering is None:
            return DecodeRow(ids, request.seed)
        return DecodeRow(ids, request.seed, request_span(self.tokenizer, request.messages, ids, request.tools))

    def _decode(self, rows: list[DecodeRow], sampling: Sampling, sender: Sender[tuple[int, DecodedAnswer]]) -> None:
        """Decode in a thread of its own, and send answers as they end."""
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._threads)  # OpenMP counts threads for each calling thread
        self._open().decode(
            rows,
            max_new_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            on_done=lambda index, answer: sender.send((index, answer)),
            on_step=sender.check,
        )

    def _answer(self, request: Request, row: DecodeRow, answer: DecodedAnswer, latency_s: float) -> Response:
        return answer_of(
            request,
            str(self.tokenizer.decode(list(answer.ids), skip_special_tokens=True)),
            is_ended=answer.stopped,
            tokens=(len(row.ids), len(answer.ids) + answer.stopped),
            latency_s=latency_s,
            model=self.name,
        )


def request_span(tokenizer: Any, messages: Sequence[Message], ids: Sequence[int], tools: Sequence[Tool] = ()) -> Spans:
    """Find the last message of the user among the token ids of its conversation.

    Raises:
        UsageError: The chat template changes the message, or the tokenizer does not give its tokens' positions.
    """
    options = {"tools": definitions(tools)} if tools else {}
    text = str(
        tokenizer.apply_chat_template(conversation(messages), add_generation_prompt=True, tokenize=False, **options)
    )
    user_text = next(message.content.strip() for message in reversed(messages) if message.role == "user")
    start = text.rfind(user_text)
    if not tokenizer.is_fast or start < 0 or not user_text:
        raise UsageError(
            "steering: the last message cannot be found in what the chat template makes of the conversation"
        )
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    if [*encoding["input_ids"]] != [*ids]:
        raise UsageError("steering: the conversation as text has other tokens than the chat template gives")
    inside = [
        at
        for at, (first, end) in enumerate(encoding["offset_mapping"])
        if first < start + len(user_text) and end > start
    ]
    return ((inside[0], inside[-1] + 1),)


def engine_of(
    chosen: PrecisionChoice,
    weights_sha256: str | None,
    *,
    rows: int,
    layout: Layout,
    device: str,
    steering: Steering | None = None,
) -> EngineInfo:
    """Describe this engine, before any weight is read."""
    import torch
    import transformers

    steering_settings: dict[str, Json] = {}
    if steering is not None:
        heads = None if steering.heads is None else [list(pair) for pair in steering.heads]
        steering_settings = {"steering": {"strength": steering.strength, "heads": heads}}
    return EngineInfo(
        name="transformers",
        version=transformers.__version__,
        precision=chosen.precision,
        weights_sha256=weights_sha256,
        settings={
            "threads": torch.get_num_threads(),
            "rows": rows,
            "decoder": "adhere",
            "precision_reason": chosen.reason,
            "layout": layout,
            "batch_invariant": "yes" if chosen.precision == "fp32" else "no",
            "device": device,
            "torch": str(torch.__version__),  # a subclass of str that cannot be stored
            **steering_settings,
        },
    )


def load_weights(directory: Path, device: str = "cpu", *, adapter: Path | None = None) -> tuple[Any, Any]:
    """Load (model, tokenizer) of a directory, in fp32 on `device` (`cpu`, `cuda`, `mps`), without output.

    A LoRA `adapter` is merged into the weights.

    Raises:
        MissingModel: There is no such directory, or it holds no safetensors.
        UsageError: `load_model` would raise it.
    """
    from transformers import AutoModelForCausalLM

    model = load_model(AutoModelForCausalLM, directory)
    model = model if adapter is None else merge_adapter(model, adapter)
    model.train(mode=False)
    return (model if device == "cpu" else model.to(device)), load_tokenizer(directory)


def merge_adapter(model: Any, adapter: Path) -> Any:
    """Return the model with a LoRA adapter added to its weights.

    Raises:
        MissingModel: The directory holds no adapter in safetensors.
        UsageError: The adapter is not one of this model.
    """
    peft = need("peft", extra="train")
    if not (adapter / "adapter_config.json").exists() or not weight_files(adapter):
        raise MissingModel(f"{adapter}: no adapter is there (adapter_config.json and adapter_model.safetensors)")
    try:
        with quiet():
            return peft.PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
    except (ValueError, RuntimeError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"{adapter}: this adapter does not fit the base model: {reason}") from error


def unknown_architecture(directory: Path) -> str:
    """Say which architecture of a model our decoder does not know; empty if it knows it.

    Raises:
        MissingModel: The directory has no configuration that can be read.
    """
    from adhere.models.local.decoder.weights import SUPPORTED

    try:
        config = json.loads((directory / "config.json").read_bytes())
        names = config.get("architectures") or []
    except (OSError, ValueError, AttributeError) as error:
        raise MissingModel(f"{directory}: no config.json that can be read: {error}") from error
    is_known = not names or any(name in SUPPORTED for name in names)
    return "" if is_known else f"Our decoder does not know the architecture {', '.join(map(str, names))}"


def load_model(kind: Any, directory: Path) -> Any:
    """Load the model of a directory in fp32.

    Only the files that `weights_sha256` hashes are read, and no code of the directory is run.

    Args:
        kind: One of transformers' Auto classes.
        directory: A directory that `save_pretrained` wrote.

    Raises:
        MissingModel: There is no such directory, or it holds no safetensors.
        UsageError: The model needs its own Python code, is an adapter, or names weights elsewhere.
    """
    weight_files(directory)
    _refuse_weights_elsewhere(directory)
    return _load(kind, directory, dtype="float32", use_safetensors=True)


def load_tokenizer(directory: Path) -> Any:
    """Load the tokenizer of a directory, without running code of the directory.

    Raises:
        MissingModel: There is no tokenizer.
        UsageError: The tokenizer needs its own Python code.
    """
    from transformers import AutoTokenizer

    return _load(AutoTokenizer, directory)


def _load(kind: Any, directory: Path, **settings: Any) -> Any:
    # Where trust_remote_code is left unset, transformers asks on stdin: `yes | adhere eval …` would run the directory's
    # code.
    try:
        with quiet():
            return kind.from_pretrained(directory, local_files_only=True, trust_remote_code=False, **settings)
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        raise UsageError(
            f"{directory}: this model needs Python code of its own, which adhere never runs. "
            "Serve it where you trust that code (vllm serve --trust-remote-code) and measure the endpoint: "
            "http://127.0.0.1:8000/v1#NAME"
        ) from error
    except OSError as error:
        raise MissingModel(f"{directory}: transformers cannot load it: {error}") from error


def _refuse_weights_elsewhere(directory: Path) -> None:
    """Refuse a directory that makes `from_pretrained` read files that `weights_sha256` does not hash."""
    if (directory / "adapter_config.json").exists():
        raise UsageError(f"{directory}: an adapter, whose base lies elsewhere. Merge it and give the merged model")
    for file in (directory / "config.json", *directory.glob("*.safetensors.index.json")):
        if not file.exists():
            continue
        try:
            config = json.loads(file.read_bytes())
            names = {config.get("transformers_weights") or "model.safetensors", *config.get("weight_map", {}).values()}
        except (ValueError, AttributeError, TypeError) as error:
            raise IntegrityError(f"{file}: not a model's JSON: {error}") from error
        for name in names:
            if Path(name).name != name or not name.endswith((".safetensors", ".safetensors.index.json")):
                raise UsageError(
                    f"{file} names weights in {name!r}; only *.safetensors in {directory} itself are read, "
                    "which the recorded hash covers. Save the model again with `save_pretrained`"
                )


__all__ = [
    "TransformersModel", "engine_of", "load_model", "load_tokenizer", "load_weights", "request_span",
    "unknown_architecture", "weights_sha256",
]  # fmt: skip
