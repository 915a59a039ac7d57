"""The generators that draw answers in training: our decoder on any device, vLLM in this process, or a vLLM server.

A setting decides which one, never what happens to be installed: their answers differ, and so do runs that learn from
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from adhere.errors import UsageError
from adhere.models.chat import end_ids
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.decode import DecodedAnswer, Decoder, DecodeRow, OnDone
from adhere.models.local.decoder.precision import Precision

Kind = Literal["ours", "vllm", "server"]


class Generator(Protocol):
    """Draws answers from a model whose weights change between calls."""

    precision: Precision

    def refresh(self) -> None:
        """Take over the model's weights as they are now."""

    def longest_prompt(self, max_new_tokens: int) -> int:
        """Return the most tokens that a prompt may have if `max_new_tokens` are to follow."""

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
        """Return one answer for each row, in the order of `rows`; the arguments are those of `Decoder.decode`."""


def open_generator(
    model: Any,
    tokenizer: Any,
    *,
    kind: Kind = "ours",
    rows: int = 128,
    precision: Precision = "fp32",
    layout: Layout = "columns",
    state: Callable[[], Mapping[str, Any] | None] | None = None,
) -> Generator:
    """Open a Generator over `model`, which may be in training; answers end with the same tokens as in evaluation.

    Args:
        model: The policy, in fp32 on one device.
        tokenizer: The model's tokenizer.
        kind: `ours`: on the model's own device, CUDA graphs on a CUDA GPU. `vllm`: a vLLM engine in this process.
            `server`: a vLLM server that the environment names (see `decoder.server`).
        rows: Answers drawn at the same time.
        precision: Precision of matrix products.
        layout: Layout of matrix products, for `ours`.
        state: For vLLM, returns all weights by name [the model's parameters]; None in a process that must not send
            them.

    Raises:
        UsageError: There is no such kind, or the model is not supported.
        MissingExtra: vLLM is not installed.
    """
    ends = end_ids(model, tokenizer)
    own = state or (lambda: dict(model.named_parameters()))
    if kind == "ours":
        return Decoder(model, end_ids=ends, rows=rows, precision=precision, layout=layout)
    if kind == "vllm":
        from adhere.models.local.decoder.vllm import VllmGenerator

        return VllmGenerator(model, tokenizer, end_ids=ends, rows=rows, precision=precision, state=own)
    if kind == "server":
        from adhere.models.local.decoder.server import ServerGenerator

        return ServerGenerator(model, tokenizer, end_ids=ends, state=own, rows=rows)
    raise UsageError(f"generator={kind!r}: one of ours, vllm, server")
