"""The embedded engine: OpenVINO GenAI over a GGUF file, fast on any CPU and without torch.

Its answers differ from the transformers engine's. Reading a Q4_1 file, it rounds each block's minimum to a whole
multiple of its step, which changes SmolLM2's weights by 9 % on average: of 40 greedy answers none was that of fp32
transformers, and 23 were those of transformers with weights rounded in the same way. A sampled answer follows its seed
but also depends on the rest of the batch (0 of 4 drawn alone were those drawn among 8), and so do some greedy ones (9
of 60 when a 61st was asked). So prompts are asked in chunks that the suite fixes. Its EngineInfo says what ran; never
compare across engines.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from adhere.errors import AdhereError, UsageError
from adhere.extras import need
from adhere.models.answers import answer_of, failure_of, insist_on_room
from adhere.models.base import Request
from adhere.models.chat import Plain, conversation, definitions, insist_on_all
from adhere.models.local.gguf import context_length, read_header, weight_format
from adhere.models.local.threads import ConsumerLeft, Sender, stream
from adhere.schema import EngineInfo, Message, Response, Sampling, Tool

CHUNK = 16
"""Number of prompts asked together. Sixteen take no longer than sixty at once on two cores (docs/LOG.md)."""


class OpenVinoModel:
    """A Model that reads a GGUF file.

    Args:
        gguf: The weights, of an architecture that OpenVINO GenAI reads from GGUF (Llama, Qwen2, Qwen3).
        name: The Model's name.
        threads: CPU threads; None: OpenVINO's choice.
        say: Called with a line before the weights are read, which takes a while.
        prefix_caching: Whether to keep the computed beginning of a prompt for the next prompt that begins alike, as
            in the steps of an episode. It is four to five times as fast there; a greedy answer may depend on what was
            asked before (1 of 24 did).

    Attributes:
        chunk: Number of prompts asked together. The suite fixes which ones (`pipeline.chunks`), because an answer
            depends on its batch. None: no fixed chunks.

    Raises:
        MissingExtra: openvino-genai is not installed.
        AdhereError: OpenVINO cannot read the file. It is raised at the first request, because the weights are read
            then.
    """

    def __init__(
        self, gguf: Path, *, name: str, threads: int | None = None, say: Callable[[str], None] = lambda _line: None,
        prefix_caching: bool = False,
    ) -> None:  # fmt: skip
        genai = need("openvino_genai", extra="local")
        self.name, self._genai = name, genai
        header = read_header(gguf)
        self._positions = context_length(header)
        self._gguf, self._threads, self._say = gguf, threads, say
        self._scheduler = genai.SchedulerConfig()
        self._scheduler.enable_prefix_caching = prefix_caching
        self.chunk = None if prefix_caching else CHUNK
        self._pipeline: Any = None
        self._tokenizer: Any = None
        self._is_closed = False
        self._requests = 0
        with gguf.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.engine = EngineInfo(
            name="openvino",
            version=str(genai.__version__),
            precision=weight_format(header),
            weights_sha256=digest,
            settings={
                "threads": threads,
                "batch_independent": False,
                "batch_invariant": "no" if prefix_caching else f"in fixed chunks of {CHUNK}",
                **({"prefix_caching": True} if prefix_caching else {}),
            },
        )

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the prompt's token ids, as this engine makes them with the file's own chat template."""
        self._open()
        return [int(token) for token in self._encode(messages).data[0]]

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response for each request as it ends. Latencies count from this call: rows are decoded together."""
        self._open()
        pending = dict(enumerate(requests))
        try:
            async with aclosing(stream(partial(self._decode, requests, sampling))) as arrivals:
                async for index, response in arrivals:
                    del pending[index]
                    yield response
        except (AdhereError, MemoryError, RuntimeError) as error:  # RuntimeError is all that OpenVINO raises
            for request in pending.values():
                yield failure_of(request, error, model=self.name)

    def close(self) -> None:
        self._pipeline = self._tokenizer = None
        self._is_closed = True

    def _open(self) -> None:
        """Read the weights at the first request; if every answer is stored, they are never read."""
        if self._is_closed:
            raise AdhereError(f"{self.name} is closed")
        if self._pipeline is not None:
            return
        self._say(f"Loading the model {self.name}")
        properties = {} if self._threads is None else {"INFERENCE_NUM_THREADS": self._threads}
        try:
            self._pipeline = self._genai.ContinuousBatchingPipeline(str(self._gguf), self._scheduler, "CPU", properties)
        except RuntimeError as error:
            raise AdhereError(f"{self._gguf}: OpenVINO cannot open it: {error}") from error
        self._tokenizer = self._pipeline.get_tokenizer()

    def _applied(self, messages: Plain, tools: Plain) -> str:
        """Apply the file's chat template to a conversation."""
        return str(self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tools=tools or None))

    def _encode(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Any:
        if not self._tokenizer.chat_template:
            raise UsageError(
                f"{self.name} has no chat template: it is a base model. Use its instruction-tuned version."
            )
        text = self._applied(conversation(messages), definitions(tools))
        insist_on_all(self._applied, messages, tools, template=str(self._tokenizer.chat_template))
        return self._tokenizer.encode(text, add_special_tokens=False).input_ids

    def _decode(self, requests: Sequence[Request], sampling: Sampling, sender: Sender[tuple[int, Response]]) -> None:
        """Decode in a thread of its own: give all requests to the pipeline, step it, and send answers as they end."""
        start_s = time.monotonic()
        handles: dict[int, tuple[Any, int]] = {}
        try:
            for index, request in enumerate(requests):
                try:
                    ids = self._check_length(request, sampling)
                except (UsageError, RuntimeError) as error:  # the template engine raises RuntimeError
                    sender.send((index, failure_of(request, error, model=self.name)))
                    continue
                self._requests += 1
                handle = self._pipeline.add_request(self._requests, ids, self._config(request, sampling))
                handles[index] = (handle, int(ids.shape[1]))
            while handles:
                sender.check()
                self._pipeline.step()
                for index in [index for index, (handle, _) in handles.items() if self._ended(handle)]:
                    handle, prompt_tokens = handles.pop(index)
                    sender.send((index, self._answer(requests[index], handle, prompt_tokens, start_s)))
        except BaseException as error:
            self._drain([handle for handle, _ in handles.values()], is_broken=not isinstance(error, ConsumerLeft))
            raise

    def _check_length(self, request: Request, sampling: Sampling) -> Any:
        ids = self._encode(request.messages, request.tools)
        limit = sampling.max_new_tokens
        if self._positions is not None:
            insist_on_room(int(ids.shape[1]), self._positions - limit, limit, model=self.name)
        return ids

    def _config(self, request: Request, sampling: Sampling) -> Any:
        end = self._tokenizer.get_eos_token_id()
        config = self._genai.GenerationConfig(max_new_tokens=sampling.max_new_tokens, eos_token_id=end, do_sample=False)
        if sampling.temperature > 0:
            config.do_sample, config.temperature, config.top_p = True, sampling.temperature, sampling.top_p
            config.rng_seed = request.seed
        return config

    def _ended(self, handle: Any) -> bool:
        return bool(handle.get_status() != self._genai.GenerationStatus.RUNNING)

    def _answer(self, request: Request, handle: Any, prompt_tokens: int, start_s: float) -> Response:
        status = handle.get_status()
        if status != self._genai.GenerationStatus.FINISHED:
            return failure_of(request, AdhereError(f"OpenVINO ended the request as {status.name}"), model=self.name)
        (output,) = handle.read_all()
        return answer_of(
            request,
            str(self._tokenizer.decode(output.generated_ids, skip_special_tokens=True)),
            is_ended=output.finish_reason == self._genai.GenerationFinishReason.STOP,
            tokens=(prompt_tokens, len(output.generated_ids)),
            latency_s=time.monotonic() - start_s,
            model=self.name,
        )

    def _drain(self, handles: Sequence[Any], *, is_broken: bool) -> None:
        """Cancel requests that nobody waits for, so that the next call finds the pipeline empty."""
        for handle in handles:
            handle.cancel()
        while not is_broken and self._pipeline.has_non_finished_requests():
            self._pipeline.step()
