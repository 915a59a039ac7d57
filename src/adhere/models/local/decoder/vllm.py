"""vLLM as the sampler of training: an engine in this process, given the trainer's weights after each step.

Weights are handed over with the worker's `reload_weights`: the model's own `load_weights` fails if vLLM has packed them
after loading, as on a CPU. It was run against vLLM 0.32 on a CPU (tests/integration/test_vllm_real.py), and in the unit
tests against a stand-in with its outputs; not on a GPU.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adhere.extras import need
from adhere.models.local.decoder.decode import DecodedAnswer, DecodeRow, OnDone, check_lengths
from adhere.models.local.decoder.precision import Precision
from adhere.models.local.decoder.server import State, write_policy

MEMORY_SHARE = 0.3  # of the GPU, for vLLM's weights and cache: the rest is the trainer's


class VllmGenerator:
    """A Generator that uses vLLM in this process.

    Args:
        model: The policy; its weights are written once to a scratch folder for vLLM to start from.
        tokenizer: The policy's tokenizer.
        end_ids: Tokens that end an answer.
        rows: Answers drawn at the same time.
        precision: vLLM's `dtype`.
        state: Returns all weights by name, as a model without adapters has them.

    Raises:
        MissingExtra: vLLM is not installed.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        end_ids: Sequence[int],
        rows: int = 128,
        precision: Precision = "bf16",
        state: State,
    ) -> None:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the worker must be here to be given weights
        vllm = need("vllm", extra="vllm")
        self.model, self.precision, self.end_ids, self.state = model, precision, tuple(end_ids), state
        self._params: Callable[..., Any] = vllm.SamplingParams
        with tempfile.TemporaryDirectory(prefix="adhere-vllm-") as folder:
            write_policy(Path(folder), state() or {}, model, tokenizer)
            self._engine = vllm.LLM(
                model=folder,
                dtype="bfloat16" if precision == "bf16" else "float32",
                gpu_memory_utilization=MEMORY_SHARE,
                max_num_seqs=rows,
                logprobs_mode="processed_logprobs",  # after the temperature: of the distribution drawn from
                seed=0,
            )

    def refresh(self) -> None:
        """Hand over the trainer's weights, and drop what was cached with the old ones."""
        worker = self._engine.llm_engine.model_executor.driver_worker
        worker.reload_weights(weights_iterator=((name, value.data) for name, value in (self.state() or {}).items()))
        self._engine.reset_prefix_cache()

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
        """Return one answer for each row, in the order of `rows`; `on_done` is called when all are finished.

        Raises:
            UsageError: A prompt is empty or too long.
        """
        check_lengths(rows, self.longest_prompt(max_new_tokens), max_new_tokens)
        if on_step is not None:
            on_step()
        params = [
            self._params(
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_new_tokens,
                seed=row.seed % 2**63,
                stop_token_ids=list(self.end_ids),
                logprobs=0 if log_probs else None,
                detokenize=False,
            )
            for row in rows
        ]
        outputs = self._engine.generate([{"prompt_token_ids": list(row.ids)} for row in rows], params, use_tqdm=False)
        answers = [_read_output(output.outputs[0], self.end_ids) for output in outputs]
        for index, answer in enumerate(answers):
            if on_done is not None:
                on_done(index, answer)
        return answers


def _read_output(output: Any, end_ids: Sequence[int]) -> DecodedAnswer:
    ids = tuple(output.token_ids)
    chances = tuple(
        float(step[token].logprob) for token, step in zip(ids, output.logprobs or (), strict=bool(output.logprobs))
    )
    return DecodedAnswer.of(ids, chances, end_ids)
