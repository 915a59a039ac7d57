"""The forward pass of a Llama-like model for many rows at once, laid out for CPUs; it runs on the weights' device.

Activations are (features, columns): one column a token. `weight @ columns` reaches 145 to 165 GFLOPS on two AVX2 cores
where `columns @ weight.T` reaches 80 to 127; processors differ, so a product may also be asked for in the other layout
(see `products.product`). Attention shares keys and values between the query heads of a group without repeating them,
and reads the prefix that all prompts have in common once for all rows.

Notation: H query heads, K key heads, G = H / K, D head size, N columns, M rows being decoded, P prefix, T cached
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from adhere.models.local.decoder import Layout
from adhere.models.local.decoder.products import product
from adhere.models.local.decoder.weights import Projection, Weights

# Columns of one prefill: enough for the matrix products to be efficient, few enough for activations to stay in cache.
PREFILL_COLUMNS = 512


class Forward:
    """Computes columns of one model against a cache of keys and values.

    Args:
        weights: The model.
        rows: Slots of the cache.
        capacity: Tokens that a slot holds, the common prefix not counted.
        layout: How matrix products are computed.
    """

    def __init__(self, weights: Weights, *, rows: int, capacity: int, layout: Layout = "columns") -> None:
        shape = weights.shape
        self.layout = layout
        self.weights, self.capacity, self.rows = weights, capacity, rows
        self.device = weights.embedding.device
        # A GPU attends in the precision of the products; on a CPU fp32 is no slower.
        self.store = torch.float32 if self.device.type == "cpu" else weights.head.weight.dtype
        layers = len(weights.layers)
        # (layers, key or value, rows, K, capacity, D); zeros, because 0 * garbage may be NaN
        self.cache = self._empty(layers, 2, rows, shape.key_heads, capacity, shape.head_dim).zero_()
        self.prefix = self._empty(layers, 2, shape.key_heads, 0, shape.head_dim)
        self._scratch: dict[str, Tensor] = {}
        self._space = ""  # scratch memory of one name in two spaces is apart

    def take(self, weights: Weights) -> None:
        """Compute with `weights` from now on."""
        self.weights = weights

    def set_prefix(self, ids: Sequence[int]) -> None:
        """Compute the keys and values of the common beginning `ids` of all coming prompts."""
        shape = self.weights.shape
        self.prefix = self.prefix[:, :, :, :0]
        if not ids:
            return
        keys_values = self._empty(len(self.weights.layers), 2, shape.key_heads, len(ids), shape.head_dim)
        self._prefill_columns([ids], keys_values[:, :, None])
        self.prefix = keys_values

    def prefill(self, suffixes: Sequence[Sequence[int]], slots: Sequence[int]) -> Tensor:
        """Compute prompts (without the common prefix) into their slots; return the logits, (vocabulary, prompts).

        The logits are those after each prompt, in scratch memory that the next `prefill` or `step` overwrites.
        """
        last = []
        start = 0
        while start < len(suffixes):
            end, columns = start + 1, len(suffixes[start])
            while end < len(suffixes) and columns + len(suffixes[end]) <= PREFILL_COLUMNS:
                columns += len(suffixes[end])
                end += 1
            length = max(len(ids) for ids in suffixes[start:end])
            layers, heads, dim = len(self.cache), self.weights.shape.key_heads, self.weights.shape.head_dim
            keys_values = self._empty(layers, 2, end - start, heads, length, dim)
            last.append(self._prefill_columns(suffixes[start:end], keys_values))
            self.cache[:, :, list(slots[start:end]), :, :length] = keys_values
            start = end
        return self._logits(torch.cat(last, 1))

    def copy(self, source: Tensor, slots: Sequence[int]) -> None:
        """Copy the keys and values of one prompt, a result of `read`, into slots."""
        self.cache[:, :, list(slots), :, : source.shape[3]] = source[:, :, None]

    def read(self, slot: int, length: int) -> Tensor:
        """Return a copy of the first `length` keys and values of a slot: (layers, 2, K, length, D)."""
        return self.cache[:, :, slot, :, :length].clone()

    def move(self, source: int, target: int, length: int) -> None:
        """Move a row's keys and values to another slot."""
        self.cache[:, :, target, :, :length] = self.cache[:, :, source, :, :length]

    def step(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Add one token to each of the slots 0 … M-1; return the logits after it, (vocabulary, M), in scratch memory.

        Args:
            tokens: The new tokens, (M,).
            lengths: Tokens already in each slot (the prefix not counted), (M,).
        """
        reach = int(lengths.max()) + 1
        return self._step(tokens.to(self.device), lengths.to(self.device), reach)

    def _step(self, tokens: Tensor, lengths: Tensor, reach: int) -> Tensor:
        """Do `step` with everything on the device, reading the first `reach` places of the cache."""
        weights, rows = self.weights, torch.arange(len(tokens), device=self.device)
        rotary = self._rotary(lengths + self.prefix.shape[3])
        nothing = torch.zeros(len(tokens), reach, device=self.device)
        masks = {
            window: nothing.masked_fill(~sees, float("-inf"))[:, None, None]
            for window, sees in self._masks(lengths[:, None] - torch.arange(reach, device=self.device)).items()
        }
        x = self._embed(tokens)  # (hidden, M)
        for index, layer in enumerate(weights.layers):
            query, key, value = self._qkv(index, x, *rotary[layer.rotary])
            keys, values = self.cache[index, 0], self.cache[index, 1]
            keys[rows, :, lengths] = key.permute(2, 0, 1).to(self.store)
            values[rows, :, lengths] = value.permute(2, 0, 1).to(self.store)
            attention = self._attend_rows(index, query, reach, masks[layer.window])
            x += self._after(self._apply(layer.output, attention), layer.attention_after)
            self._mlp(index, x)
        return self._logits(x)

    def _masks(self, ages: Tensor) -> dict[int | None, Tensor]:
        """Return, for each window of a layer, which tokens it sees; `ages`: how far each one is before the query."""
        sees = ages >= 0
        windows = {layer.window for layer in self.weights.layers}
        return {window: sees if window is None else sees & (ages < window) for window in windows}

    def _attend_rows(self, index: int, query: Tensor, reach: int, mask: Tensor) -> Tensor:
        """Compute the attention of one token in each row: (K, G, D, M) to (H * D, M)."""
        count, group, dim, rows = query.shape
        keys, values = self.cache[index, 0, :rows, :, :reach], self.cache[index, 1, :rows, :, :reach]
        by_row = query.permute(3, 0, 1, 2).contiguous().to(self.store)  # (M, K, G, D)
        scores = torch.matmul(by_row, keys.transpose(-1, -2)).float().add_(mask)  # (M, K, G, T)
        shared = self.prefix.shape[3]
        if not shared:
            attention = torch.matmul(scores.softmax(-1).to(self.store), values).float()
            return attention.permute(1, 2, 3, 0).reshape(count * group * dim, rows)
        prefix_keys, prefix_values = self.prefix[index, 0].float(), self.prefix[index, 1].float()  # (K, P, D)
        values = values.float()
        by_head = query.permute(0, 2, 1, 3).reshape(count, dim, group * rows)
        shared_scores = torch.bmm(prefix_keys, by_head).view(count, shared, group, rows).permute(3, 0, 2, 1)
        chances = torch.cat((shared_scores, scores), -1).softmax(-1)  # (M, K, G, P + T)
        attention = torch.matmul(chances[..., shared:], values).permute(1, 2, 3, 0)  # (K, G, D, M)
        shared_chances = chances[..., :shared].permute(1, 3, 2, 0).reshape(count, shared, group * rows)
        from_prefix = torch.bmm(prefix_values.transpose(-1, -2), shared_chances)  # (K, D, G * M)
        total = attention + from_prefix.view(count, dim, group, rows).transpose(1, 2)
        return total.reshape(count * group * dim, rows)

    def _prefill_columns(self, suffixes: Sequence[Sequence[int]], keys_values: Tensor) -> Tensor:
        """Compute prompts together, without padding except inside attention; return their last hidden columns.

        Args:
            suffixes: Token ids after the common prefix, one or more each.
            keys_values: Where keys and values go: (layers, 2, prompts, K, longest, D).
        """
        weights, shape = self.weights, self.weights.shape
        shared, longest = self.prefix.shape[3], keys_values.shape[4]
        lengths = torch.tensor([len(ids) for ids in suffixes], device=self.device)
        prompts = len(suffixes)
        inside = torch.arange(longest, device=self.device) < lengths[:, None]  # (prompts, longest)
        column = (inside.flatten().cumsum(0) - 1).view(prompts, longest).clamp_(min=0)  # padding reads some column
        positions = (torch.arange(longest, device=self.device) + shared).expand(prompts, longest)[inside]
        rotary = self._rotary(positions)
        flat = torch.tensor([token for ids in suffixes for token in ids], device=self.device)
        places = torch.arange(shared + longest, device=self.device)
        masks = self._masks(places[shared:, None] - places)
        x = self._embed(flat)
        is_ragged = int(lengths.min()) < longest
        padded, real_places = column.flatten(), inside.flatten().nonzero()[:, 0]

        def by_prompt(columns: Tensor) -> Tensor:
            tokens = columns.reshape(-1, columns.shape[-1]).t().contiguous()  # whole tokens are quick to gather
            spread = (tokens[padded] if is_ragged else tokens).view(prompts, longest, -1, shape.head_dim)
            return spread.transpose(1, 2)  # (prompts, heads, longest, D)

        for index, layer in enumerate(weights.layers):
            query, key, value = self._qkv(index, x, *rotary[layer.rotary])
            keys, values = by_prompt(key), by_prompt(value)
            keys_values[index, 0], keys_values[index, 1] = keys, values
            if shared:
                keys, values = (
                    torch.cat((self.prefix[index, part].float().expand(prompts, -1, -1, -1), own), 2)
                    for part, own in ((0, keys), (1, values))
                )
            attention = self._attend_prompts(index, by_prompt(query), keys, values, masks[layer.window])
            tokens = attention.transpose(1, 2).reshape(prompts * longest, -1)
            output = self._apply(layer.output, (tokens[real_places] if is_ragged else tokens).t().contiguous())
            x += self._after(output, layer.attention_after)
            self._mlp(index, x)
        return x[:, lengths.cumsum(0) - 1]

    def _attend_prompts(self, index: int, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Attend over whole prompts in one layer: (prompts, H or K, tokens, D) each, queries already scaled."""
        shape = self.weights.shape
        return functional.scaled_dot_product_attention(
            query, keys, values, attn_mask=mask, scale=1.0, enable_gqa=shape.heads != shape.key_heads
        )

    def _qkv(self, index: int, x: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated and scaled queries (K, G, D, N), rotated keys (K, D, N), and values (K, D, N)."""
        layer, shape = self.weights.layers[index], self.weights.shape
        inputs = self._norm(x, layer.input_norm)
        turning = (shape.heads + shape.key_heads) * shape.head_dim
        out = self._buffer("qkv", turning + shape.key_heads * shape.head_dim, x.shape[1])
        self._apply_all(layer.qkv, inputs, out)
        query_key = out[:turning].view(-1, shape.head_dim, x.shape[1])
        if layer.query_norm is not None and layer.key_norm is not None:
            for part, norm in (
                (query_key[: shape.heads], layer.query_norm),
                (query_key[shape.heads :], layer.key_norm),
            ):
                part.copy_(self._norm(part, norm))
        query_key = _rotate(query_key, cosine, sine)
        query = query_key[: shape.heads].mul_(shape.query_scale)
        grouped_query = query.view(shape.key_heads, shape.heads // shape.key_heads, shape.head_dim, -1)
        return grouped_query, query_key[shape.heads :], out[turning:].view(shape.key_heads, shape.head_dim, -1)

    def _mlp(self, index: int, x: Tensor) -> None:
        """Add the gated feed-forward of a layer to `x`."""
        layer, inner = self.weights.layers[index], self.weights.shape.inner
        inputs = self._norm(x, layer.mlp_norm)
        out = self._buffer("mlp", 2 * inner, x.shape[1])
        self._apply_all(layer.gate_up, inputs, out)
        if self.weights.shape.activation == "silu":
            activations = functional.silu(out[:inner], inplace=True).mul_(out[inner:])
        else:
            activations = functional.gelu(out[:inner], approximate="tanh").mul_(out[inner:])
        x += self._after(
            self._apply(layer.down, activations, self._buffer("down", x.shape[0], x.shape[1])), layer.mlp_after
        )

    def _logits(self, x: Tensor) -> Tensor:
        """Compute the logits of columns, in scratch memory that the next call overwrites."""
        out = self._buffer("logits", self.weights.shape.vocabulary, x.shape[1])
        return self._apply(self.weights.head, self._norm(x, self.weights.final_norm), out)

    def _apply(self, projection: Projection, columns: Tensor, out: Tensor | None = None) -> Tensor:
        """Compute `weight @ columns + bias` in fp32 (the product in the weight's precision), into `out` if given."""
        raw = product(projection.weight, columns, self.layout)
        out = raw.float() if out is None else out.copy_(raw)
        return out if projection.bias is None else out.add_(projection.bias)

    def _apply_all(self, projections: Sequence[Projection], columns: Tensor, out: Tensor) -> None:
        """Write the products of several projections of the same columns into `out`, one below the other."""
        start = 0
        for projection in projections:
            end = start + projection.weight.shape[0]
            self._apply(projection, columns, out[start:end])
            start = end

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        """Apply the root-mean-square norm over features, the dimension before the last."""
        shape = self.weights.shape
        scale = x.square().mean(-2, keepdim=True).add_(shape.epsilon).rsqrt_()
        return (x * scale).mul_(weight + shape.norm_offset if shape.norm_offset else weight)

    def _after(self, output: Tensor, norm: Tensor | None) -> Tensor:
        """Return the output of a sublayer, normed if the model has a norm there."""
        return output if norm is None else self._norm(output, norm)

    def _embed(self, tokens: Tensor) -> Tensor:
        """Return the embeddings of tokens as columns: (hidden, N)."""
        x = self.weights.embedding[tokens].t().contiguous()
        return x if self.weights.shape.embedding_scale == 1 else x.mul_(self.weights.shape.embedding_scale)

    def _buffer(self, name: str, features: int, columns: int) -> Tensor:
        """Return reused scratch memory of that shape; fresh memory for every product would cost page faults."""
        name = self._space + name
        scratch = self._scratch.get(name)
        if scratch is None or scratch.numel() < features * columns:
            scratch = self._scratch[name] = torch.empty(features * columns, device=self.device)
        return scratch[: features * columns].view(features, columns)

    def _empty(self, *shape: int) -> Tensor:
        """Return uninitialised memory for keys and values."""
        return torch.empty(*shape, dtype=self.store, device=self.device)

    def _rotary(self, positions: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return the cosines and sines of the positions for each rotary table: (D / 2, N) each."""
        return [
            (cosine[positions].t().contiguous(), sine[positions].t().contiguous())
            for cosine, sine in self.weights.rotary
        ]


def _rotate(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Apply the rotary embedding to (heads, D, N): the halves of a head are the parts of D / 2 complex numbers."""
    half = heads.shape[1] // 2
    first, second = heads[:, :half], heads[:, half:]
    out = torch.empty_like(heads)
    torch.sub(first * cosine, second * sine, out=out[:, :half])
    torch.add(second * cosine, first * sine, out=out[:, half:])
    return out
