"""Our decoder: decodes many prompts at once over the weights of a model that may be in training.

It is faster than `model.generate` for four reasons. A finished row's slot is refilled from the queue, so no step
computes a row that is done. A prompt asked for several times is computed once. The common beginning of all prompts is
computed and read once. Activations have the memory order in which matrix products are fastest (see `forward`). The
answer of a row depends on its prompt, its seed and the weights, never on its neighbours.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adhere.errors import UsageError
from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.device import available_bytes
from adhere.models.local.decoder.forward import Forward
from adhere.models.local.decoder.pick import pick_tokens, uniforms
from adhere.models.local.decoder.precision import AskedPrecision, choose
from adhere.models.local.decoder.static import REACH, StaticForward
from adhere.models.local.decoder.steering import Spans, SteeredForward, Steering
from adhere.models.local.decoder.weights import read_weights

UNKNOWN_CACHE = 2 * 1024**3  # where nobody says how much memory is free

OnDone = Callable[[int, "DecodedAnswer"], None]


class DecodeRow(NamedTuple):
    """Describes one answer to decode: the token ids of its prompt, and its own seed (for temperatures above 0).

    `spans` are the places of the prompt that a steered decoder attends to more; rows with the same ids must have the
    same spans.
    """

    ids: tuple[int, ...]
    seed: int
    spans: Spans = ()


class DecodedAnswer(NamedTuple):
    """Holds one decoded answer.

    Attributes:
        ids: Its tokens, without the end token.
        stopped: Whether an end token was drawn (False: the limit was hit).
        end: The end token; None if it did not stop.
        log_probs: Log-probability of each drawn token, the end token included, under the distribution that it was
            drawn from (temperature included); empty unless asked for.
    """

    ids: tuple[int, ...]
    stopped: bool
    end: int | None = None
    log_probs: tuple[float, ...] = ()

    @classmethod
    def of(cls, tokens: tuple[int, ...], log_probs: tuple[float, ...], end_ids: Sequence[int]) -> DecodedAnswer:
        """Make an answer from the tokens that another engine drew, an end token included."""
        end = tokens[-1] if tokens and tokens[-1] in end_ids else None
        return cls(tokens if end is None else tokens[:-1], end is not None, end, log_probs)

    @property
    def drawn(self) -> tuple[int, ...]:
        """All drawn tokens: `ids`, and the end token if there is one."""
        return self.ids if self.end is None else (*self.ids, self.end)


def check_lengths(rows: Sequence[DecodeRow], longest: int, max_new_tokens: int) -> None:
    """Check that every prompt has a token, and room for its answer.

    Raises:
        UsageError: A prompt is empty or longer than `longest`.
    """
    for index, row in enumerate(rows):
        if not 1 <= len(row.ids) <= longest:
            raise UsageError(
                f"Row {index} has {len(row.ids)} prompt tokens; with {max_new_tokens} new tokens this model "
                f"takes 1 to {longest}"
            )


class Decoder:
    """Decodes rows over a transformers model of a supported architecture.

    Args:
        model: One of `weights.SUPPORTED`, in fp32, on one device.
        end_ids: Tokens that end an answer.
        rows: Rows decoded together: more is faster until the cache outgrows memory.
        precision: Number format of the matrix products; "auto" is bf16 on CPUs that have it in hardware, else fp32.
        layout: Layout of the matrix products; which one is faster depends on the processor (see
            `precision.resolve`).
        cache_bytes: Most memory for keys and values; if they need more, fewer rows are decoded at a time. None:
            half of the memory free on the model's device when the first rows come.
        static: Whether steps have one fixed shape, recorded as CUDA graphs on a CUDA GPU [only there, and never
            when steered].
        steering: More attention on the spans of the rows; None, or a strength of 0: the model as it is.

    Raises:
        UsageError: The model is not supported.
    """

    def __init__(
        self,
        model: Any,
        *,
        end_ids: Sequence[int],
        rows: int = 128,
        precision: AskedPrecision = "fp32",
        layout: Layout = "columns",
        cache_bytes: int | None = None,
        static: bool | None = None,
        steering: Steering | None = None,
    ) -> None:
        if rows < 1:
            raise UsageError(f"rows={rows}: at least 1 row is decoded at a time")
        self.model, self.rows, self.cache_bytes = model, rows, cache_bytes
        self.precision = choose(precision).precision
        self.layout = layout
        self.end_ids = frozenset(end_ids)
        self.steering = steering if steering is not None and steering.strength != 0 else None
        self.static = self.steering is None and (model.device.type == "cuda" if static is None else static)
        self._weights = read_weights(model, self.precision)
        if steering is not None:
            steering.of_layers(self._weights)  # so that a head that is not there is named now
        self._forward: Forward | None = None

    def refresh(self) -> None:
        """Take over the model's weights as they are now; call it after they changed. In fp32 nothing is copied."""
        self._weights = read_weights(self.model, self.precision, self._weights)
        if self._forward is not None:
            self._forward.take(self._weights)

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
        """Decode every row; return the answers in the order of `rows`.

        Args:
            rows: The rows to decode; each prompt has at least one token.
            max_new_tokens: Tokens after which an answer is cut.
            temperature: 0 is greedy.
            top_p: Share of the probability mass to draw from, in (0, 1].
            log_probs: Whether to return the log-probability of each drawn token, too.
            on_done: Called with a row's index and answer as soon as it is finished. An error from it ends the decoding.
            on_step: Called before each forward pass. An error from it ends the decoding.

        Raises:
            UsageError: A value is out of range, or a row does not fit the model's positions.
            Divergence: The model's logits are not finite.
        """
        if not rows:
            return []
        self._refuse(rows, max_new_tokens, temperature, top_p)
        if log_probs and (temperature == 0 or top_p < 1):
            raise UsageError(f"log_probs need a temperature above 0 and top_p=1; got {temperature} and {top_p}")
        settings = _DecodeSettings(max_new_tokens, temperature, top_p, log_probs, on_step)
        results: dict[int, DecodedAnswer] = {}
        with torch.inference_mode():
            try:
                for places in self._alike(rows, max_new_tokens):
                    for place, result in self._decode_alike([rows[i] for i in places], settings):
                        results[places[place]] = result
                        if on_done is not None:
                            on_done(places[place], result)
            except BaseException:
                self._forward = None  # its cache may hold numbers that are not finite
                raise
        return [results[index] for index in range(len(rows))]

    def _alike(self, rows: Sequence[DecodeRow], max_new_tokens: int) -> list[list[int]]:
        """Group the indices of rows to decode together, longest prompts first.

        In a group every row needs at least half of the cache that the longest one needs.
        """
        order = sorted(range(len(rows)), key=lambda index: -len(rows[index].ids))
        parts: list[list[int]] = []
        for index in order:
            longest = len(rows[parts[-1][0]].ids) + max_new_tokens if parts else math.inf
            if 2 * (len(rows[index].ids) + max_new_tokens) < longest:
                parts.append([])
            parts[-1].append(index)
        return parts

    def _decode_alike(
        self, rows: Sequence[DecodeRow], settings: _DecodeSettings
    ) -> Iterator[tuple[int, DecodedAnswer]]:
        longest = max(len(row.ids) for row in rows) + settings.max_new_tokens
        # The common prefix is seen by every token: not where a window slides off it.
        is_shared = not self.static and self.steering is None and longest <= self._weights.narrowest
        prefix = _common_prefix(rows) if is_shared else ()
        forward = self._cache(rows, len(prefix), settings.max_new_tokens)
        if isinstance(forward, SteeredForward):
            forward.mark({row.ids: row.spans for row in rows})
        forward.set_prefix(prefix)
        return _Batch(forward, rows, len(prefix), self.end_ids, settings).run()

    def _refuse(self, rows: Sequence[DecodeRow], max_new_tokens: int, temperature: float, top_p: float) -> None:
        if max_new_tokens < 1:
            raise UsageError(f"max_new_tokens={max_new_tokens}: at least 1")
        if not (temperature >= 0 and math.isfinite(temperature)):
            raise UsageError(f"temperature={temperature}: 0 (greedy) or above")
        if not 0 < top_p <= 1:
            raise UsageError(f"top_p={top_p}: in (0, 1]")
        check_lengths(rows, self.longest_prompt(max_new_tokens), max_new_tokens)
        for index, row in enumerate(rows):
            if min(row.ids) < 0 or max(row.ids) >= len(self._weights.embedding):
                raise UsageError(f"Row {index} has a token outside 0 … {len(self._weights.embedding) - 1}")

    def longest_prompt(self, max_new_tokens: int) -> int:
        """Return the most tokens that a prompt may have if `max_new_tokens` are to follow."""
        return self._weights.shape.positions - max_new_tokens

    def _cache(self, rows: Sequence[DecodeRow], prefix: int, max_new_tokens: int) -> Forward:
        """Return the cache of the last call if it fits this one, else a new one."""
        capacity = max(len(row.ids) for row in rows) - prefix + max_new_tokens
        shape = self._weights.shape
        if self.static:  # one shape for many calls
            capacity = -(-capacity // REACH) * REACH
        row_bytes = len(self._weights.layers) * 2 * shape.key_heads * shape.head_dim * capacity * 4
        if self.cache_bytes is None:
            free = available_bytes(self.model.device.type)
            self.cache_bytes = UNKNOWN_CACHE if free is None else free // 2
        slots = max(1, min(self.rows, len(rows), self.cache_bytes // row_bytes))
        forward = self._forward
        if forward is None or forward.rows < slots or not capacity <= forward.capacity <= 2 * capacity:
            make: Callable[..., Forward] = StaticForward if self.static else Forward
            if self.steering is not None:
                make = partial(SteeredForward, steering=self.steering)
            forward = self._forward = None  # both at once would take all that is free, not half
            forward = self._forward = make(self._weights, rows=slots, capacity=capacity, layout=self.layout)
        return forward


def _common_prefix(rows: Sequence[DecodeRow]) -> tuple[int, ...]:
    """Return the common beginning of all prompts, at least one token shorter than the shortest prompt."""
    first, last = min(row.ids for row in rows), max(row.ids for row in rows)
    limit = min(len(row.ids) for row in rows) - 1
    length = next((i for i in range(limit) if first[i] != last[i]), limit)
    return first[:length]


class _DecodeSettings(NamedTuple):
    """Holds the settings of one call of `decode`."""

    max_new_tokens: int
    temperature: float
    top_p: float
    log_probs: bool
    on_step: Callable[[], None] | None


class _Slot:
    """The state of one row being decoded."""

    def __init__(self, index: int, length: int, draws: list[float]) -> None:
        self.index, self.length, self.draws = index, length, draws
        self.tokens: list[int] = []
        self.log_probs: list[float] = []


class _Group:
    """Rows that wait for the same prompt.

    Once the prompt is computed, its keys, values and logits are kept for rows that still wait.
    """

    def __init__(self, suffix: tuple[int, ...]) -> None:
        self.suffix = suffix
        self.waiting: deque[int] = deque()
        self.computed: Tensor | None = None
        self.logits: Tensor | None = None


class _Batch:
    """The state of one call of `decode`: the queue, and the rows in slots 0 … M-1."""

    def __init__(
        self,
        forward: Forward,
        rows: Sequence[DecodeRow],
        prefix: int,
        end_ids: frozenset[int],
        settings: _DecodeSettings,
    ) -> None:
        self.forward, self.rows, self.end_ids, self.settings = forward, rows, end_ids, settings
        self.active: list[_Slot] = []
        groups: dict[tuple[int, ...], _Group] = {}
        for index, row in enumerate(rows):
            groups.setdefault(row.ids, _Group(row.ids[prefix:])).waiting.append(index)
        # Longest first: what does not fit in memory fails at once, and prompts of one length are computed side by side.
        self.queue = deque(sorted(groups.values(), key=lambda group: -len(group.suffix)))
        self.waiting = len(rows)
        self.width = min(forward.rows, len(rows))
        # Prompts are computed several at a time: one alone is too narrow a matrix product.
        self.refill = max(1, self.width // 8)

    def run(self) -> Iterator[tuple[int, DecodedAnswer]]:
        """Decode until no row is left; yield each row's index and answer as it ends."""
        is_sampled = self.settings.temperature > 0
        while self.waiting or self.active:
            if self.settings.on_step is not None:
                self.settings.on_step()
            free = self.width - len(self.active)
            if self.waiting and free and (free >= min(self.refill, self.waiting) or self.queue[0].computed is not None):
                old = len(self.active)
                logits = self._admit(free, is_sampled=is_sampled)
                newcomers = self.active[old:]
            else:
                tokens = torch.tensor([slot.tokens[-1] for slot in self.active])
                lengths = torch.tensor([slot.length for slot in self.active])
                logits = self.forward.step(tokens, lengths)
                newcomers = self.active
                for slot in newcomers:
                    slot.length += 1
            draws = [slot.draws[len(slot.tokens)] for slot in newcomers] if is_sampled else []
            chosen = pick_tokens(logits, draws, temperature=self.settings.temperature, top_p=self.settings.top_p)
            for slot, token in zip(newcomers, chosen.tokens.tolist(), strict=True):
                slot.tokens.append(token)
            if self.settings.log_probs and chosen.log_probs is not None:
                for slot, value in zip(newcomers, chosen.log_probs.tolist(), strict=True):
                    slot.log_probs.append(value)
            yield from self._retire()

    def _admit(self, free: int, *, is_sampled: bool) -> Tensor:
        """Fill free slots from the queue; return the logits after the new rows' prompts, (vocabulary, new rows)."""
        admissions: list[tuple[_Group, list[int]]] = []
        while free and self.waiting:
            group = self.queue[0]
            slots = []
            while free and group.waiting:
                index = group.waiting.popleft()
                slots.append(len(self.active))
                draws = uniforms(self.rows[index].seed, self.settings.max_new_tokens).tolist() if is_sampled else []
                self.active.append(_Slot(index, len(group.suffix), draws))
                free, self.waiting = free - 1, self.waiting - 1
            admissions.append((group, slots))
            if not group.waiting:
                self.queue.popleft()
        self._compute([(group, slots[0]) for group, slots in admissions if group.computed is None])
        columns = []
        for group, slots in admissions:
            assert group.computed is not None  # noqa: S101  (_compute has just filled it)
            assert group.logits is not None  # noqa: S101
            self.forward.copy(group.computed, slots)
            columns.append(group.logits[:, None].expand(-1, len(slots)))
        logits = torch.cat(columns, 1)
        for group, _ in admissions:
            if not group.waiting:
                group.computed = group.logits = None
        return logits

    def _compute(self, fresh: list[tuple[_Group, int]]) -> None:
        if not fresh:
            return
        logits = self.forward.prefill([group.suffix for group, _ in fresh], [slot for _, slot in fresh])
        for column, (group, slot) in enumerate(fresh):
            group.computed = self.forward.read(slot, len(group.suffix))
            group.logits = logits[:, column].clone()  # `logits` is scratch memory

    def _retire(self) -> Iterator[tuple[int, DecodedAnswer]]:
        """Take finished rows out of their slots, close the gaps with rows from the end, and yield their answers."""
        done = []
        for place in reversed(range(len(self.active))):
            slot = self.active[place]
            is_stopped = slot.tokens[-1] in self.end_ids
            if not is_stopped and len(slot.tokens) < self.settings.max_new_tokens:
                continue
            end = slot.tokens.pop() if is_stopped else None
            done.append((slot.index, DecodedAnswer(tuple(slot.tokens), is_stopped, end, tuple(slot.log_probs))))
            last = self.active.pop()
            if last is not slot:
                self.forward.move(len(self.active), place, last.length)
                self.active[place] = last
        yield from done
