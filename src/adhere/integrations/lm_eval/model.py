"""Makes any adhere model available to lm-eval's tasks: embedded ones, endpoints, inference-time methods.

    python -m adhere.integrations.lm_eval.model run --model adhere --model_args model=local/smollm2-135m --tasks gsm8k
        --apply_chat_template --log_samples --output_path lm-eval

Importing this module registers the model; the command above is lm-eval's own command line after that. Multiple choice
and perplexity ask for likelihoods, which need weights: local/… and hf/….

Source: EleutherAI/lm-evaluation-harness 0.4.13, `api/model.py` (LM), `models/huggingface.py` (how a context and a
continuation are tokenised, and which token stands before a text), `utils.py` (rolling windows).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adhere.errors import AdhereError, MissingExtra, UsageError
from adhere.extras import need
from adhere.integrations import need_harness
from adhere.models.base import Model, Request
from adhere.models.catalog import open_model, resolve_weights
from adhere.schema import Message, Response, Sampling
from adhere.terminal import show

if TYPE_CHECKING:
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model
else:
    try:
        LM = need_harness("lm_eval.api.model", "lm-eval").LM
        register_model = need_harness("lm_eval.api.registry", "lm-eval").register_model
    except MissingExtra as error:
        if __name__ != "__main__":
            raise
        show(f"Error: {error}", err=True)
        raise SystemExit(error.exit_code) from None

_CHAT = "adhere-chat:"


@register_model("adhere")
class AdhereLM(LM):
    """An adhere model for lm-eval.

    Args:
        model: The model's name, as in `adhere eval`.
        engine: `openvino` or `transformers`, for models on this machine.
    """

    def __init__(self, model: str, engine: str | None = None, **_: Any) -> None:
        super().__init__()
        self.name = model
        self._engine = engine
        self._answering: Model | None = None
        self._weights: tuple[Any, Any] | None = None

    @property
    def tokenizer_name(self) -> str:
        """The name under which lm-eval caches prompts."""
        return f"adhere-{self.name}"

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Return an empty text: the model's engine applies its own template."""
        return ""

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """Return the conversation as JSON, which `generate_until` decodes."""
        return _CHAT + json.dumps(chat_history, ensure_ascii=False)

    def get_model_info(self) -> dict[str, Any]:
        """Return what lm-eval stores about the model."""
        return {"model": self.name}

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the answers, cut before the first stop string.

        Raises:
            AdhereError: A call failed: lm-eval has no place for a missing answer.
        """
        if self._answering is None:
            self._answering = open_model(self.name, engine=self._engine)
        groups: dict[Sampling, list[int]] = {}
        for number, request in enumerate(requests):
            groups.setdefault(_sampling(request.args[1]), []).append(number)
        texts: dict[int, str] = {}
        for sampling, numbers in groups.items():
            batch = [Request(str(n), 0, 0, _messages(requests[n].args[0]), sampling.seed) for n in numbers]
            for response in asyncio.run(_all(self._answering, batch, sampling)):
                if response.status == "error":
                    raise AdhereError(f"{self.name} did not answer request {response.prompt_id}: {response.error}")
                texts[int(response.prompt_id)] = _until(response.text, requests[int(response.prompt_id)].args[1])
        return [texts[number] for number in range(len(requests))]

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return (log-likelihood of the continuation, whether greedy decoding gives it) for each request."""
        return [self._score(*self._pair(*request.args)) for request in requests]

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        """Return the log-likelihood of whole texts, in windows of the model's context."""
        windows = need_harness("lm_eval.utils", "lm-eval")
        model, tokenizer = self._open_weights()
        likelihoods = []
        for request in requests:
            ids = _ids(tokenizer, request.args[0])
            parts = windows.get_rolling_token_windows(
                token_list=ids, prefix_token=_prefix(tokenizer), max_seq_len=_longest(model), context_len=1
            )
            likelihoods.append(sum(self._score(*windows.make_disjoint_window(part))[0] for part in parts))
        return likelihoods

    def _open_weights(self) -> tuple[Any, Any]:
        if self._weights is None:
            from adhere.models.local.transformers import load_weights

            need("torch", extra="train")
            try:
                directory, _ = resolve_weights(self.name)
            except UsageError as error:
                raise UsageError(
                    f"{self.name} gives texts, and this task asks for likelihoods, which only local/… and hf/… have. "
                    "Choose a task that generates (output_type: generate_until)"
                ) from error
            self._weights = load_weights(directory)
        return self._weights

    def _pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Tokenize context and continuation.

        Spaces at the end of the context belong to the continuation, as in lm-eval's own models.
        """
        _, tokenizer = self._open_weights()
        if context.startswith(_CHAT):
            turns = json.loads(context.removeprefix(_CHAT))
            context = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        first = _prefix(tokenizer)
        if not context:
            ids = tokenizer(continuation, add_special_tokens=False)["input_ids"]
            return (ids[:1], ids[1:]) if ids[:1] == [first] else ([first], ids)
        bare_context = context.rstrip()
        before = _ids(tokenizer, bare_context)
        return before, _ids(tokenizer, context + continuation)[len(before) :]

    def _score(self, context: list[int], continuation: list[int]) -> tuple[float, bool]:
        if not continuation:
            raise UsageError(
                f"{self.name}: a continuation adds no token to its context, so it has no likelihood. "
                "Change the task's choices"
            )
        torch = need("torch", extra="train")
        model, _ = self._open_weights()
        ids = (context + continuation)[-(_longest(model) + 1) :]  # the context is cut on the left, as in lm-eval
        with torch.inference_mode():
            inputs = torch.tensor([ids[:-1]], device=model.device)
            scores = model(inputs).logits.float().log_softmax(-1)  # (1, T - 1, V)
        last = scores[0, -len(continuation) :]
        targets = torch.tensor(continuation)
        log_likelihood = last.gather(-1, targets[:, None]).sum()
        return float(log_likelihood), bool((last.argmax(-1) == targets).all())


async def _all(model: Model, requests: Sequence[Request], sampling: Sampling) -> list[Response]:
    return [response async for response in model.respond(requests, sampling)]


def _messages(context: str) -> tuple[Message, ...]:
    if not context.startswith(_CHAT):
        return (Message("user", context),)
    return tuple(Message(turn["role"], turn["content"]) for turn in json.loads(context.removeprefix(_CHAT)))


def _sampling(settings: dict[str, Any]) -> Sampling:
    """Convert lm-eval's generation settings; greedy unless they have `do_sample`."""
    is_sampled = bool(settings.get("do_sample", False))
    return Sampling(
        max_new_tokens=int(settings.get("max_gen_toks", settings.get("max_new_tokens", 256))),
        temperature=float(settings.get("temperature") or 1.0) if is_sampled else 0.0,
        top_p=float(settings.get("top_p") or 1.0),
    )


def _until(text: str, settings: dict[str, Any]) -> str:
    stops = settings.get("until") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = text.partition(stop)[0] if stop else text
    return text


def _ids(tokenizer: Any, text: str) -> list[int]:
    """Tokenize a text, with special tokens around it unless a template has added them."""
    has_start = tokenizer.bos_token is not None and text.startswith(tokenizer.bos_token)
    return list(tokenizer(text, add_special_tokens=not has_start)["input_ids"])


def _prefix(tokenizer: Any) -> int:
    """Return the token that is put before a text without context."""
    first = tokenizer.bos_token_id
    return int(tokenizer.eos_token_id if first is None else first)


def _longest(model: Any) -> int:
    return int(getattr(model.config, "max_position_embeddings", None) or 2048)


if __name__ == "__main__":  # the class above is registered by now
    need_harness("lm_eval.__main__", "lm-eval").cli_evaluate()
