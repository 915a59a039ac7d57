"""Rows of some tokens in the embedding and the head, trained while the rest of both is frozen.

They are the tokens of a chat template that was added; the config names them (`trained_tokens`, see `template`). A stage
that freezes embeddings and head, as all do by default and as an adapter does, still learns these rows. They are written
back before its weights are stored.

Source: PEFT's trainable tokens (`LoraConfig(trainable_token_indices=…)`), whose format `lora.save_adapter` writes them
in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import embedding, linear

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TrainedRows(torch.nn.Module):
    """An embedding, or a head, that is frozen except for the rows of some tokens: `rows` (tokens, width)."""

    ids: torch.Tensor
    slots: torch.Tensor

    def __init__(
        self, base: torch.nn.Embedding | torch.nn.Linear, ids: Sequence[int], rows: torch.nn.Parameter
    ) -> None:
        super().__init__()
        self.base, self.rows = base, rows
        slots = torch.zeros(len(base.weight), dtype=torch.long)  # 0: not trained, else its place in `rows`, from 1
        slots[list(ids)] = torch.arange(1, len(ids) + 1)
        self.register_buffer("ids", torch.tensor(ids).to(rows.device), persistent=False)
        self.register_buffer("slots", slots.to(rows.device), persistent=False)

    @property
    def weight(self) -> torch.Tensor:
        """The whole matrix (tokens, width).

        Reading it writes the trained rows into the frozen matrix.
        """
        self.base.weight.data[self.ids] = self.rows.data
        return self.base.weight

    @property
    def scalar_embed_scale(self) -> float:
        """The factor by which the embedding multiplies its rows (Gemma), or 1. The decoder reads it here."""
        return float(getattr(self.base, "scalar_embed_scale", 1.0))

    @property
    def bias(self) -> torch.Tensor | None:
        """The head's bias, which is frozen: (tokens,) or None."""
        return getattr(self.base, "bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map, for an embedding, ids (…) -> (…, width); for a head (…, width) -> (…, tokens)."""
        if isinstance(self.base, torch.nn.Linear):
            logits: torch.Tensor = self.base(x)
            bias = None if self.base.bias is None else self.base.bias[self.ids]
            return logits.index_copy(-1, self.ids, linear(x, self.rows.to(x.dtype), bias).to(logits.dtype))
        slots = self.slots[x]
        vectors: torch.Tensor = self.base(x)
        ours = embedding((slots - 1).clamp(min=0), self.rows) * self.scalar_embed_scale
        return torch.where((slots > 0)[..., None], ours, vectors)


def trained_tokens(model: PreTrainedModel) -> list[int]:
    """Return the tokens whose rows are trained; empty if no chat template was added to the model."""
    return list(getattr(model.config, "trained_tokens", None) or [])


def attach_tokens(model: Any) -> None:
    """Freeze embeddings and head except for the rows of the model's `trained_tokens`; without such tokens do nothing.

    Tied embeddings and head share the trained rows.
    """
    ids = trained_tokens(model)
    if not ids:
        return
    tables = _tables(model)
    rows = [torch.nn.Parameter(table.weight.detach()[ids].clone()) for table in tables]
    if tables[0].weight is tables[1].weight:
        rows[1] = rows[0]
    for table in tables:
        table.requires_grad_(False)  # noqa: FBT003 (torch's own signature)
    model.set_input_embeddings(TrainedRows(tables[0], ids, rows[0]))
    model.set_output_embeddings(TrainedRows(tables[1], ids, rows[1]))


def merge_tokens(model: Any) -> None:
    """Write the trained rows into embeddings and head, remove the wrappers, and unfreeze both."""
    for table, put in zip(_tables(model), (model.set_input_embeddings, model.set_output_embeddings), strict=True):
        if isinstance(table, TrainedRows):
            table.weight.requires_grad_(True)  # noqa: FBT003
            put(table.base)


def _tables(model: Any) -> tuple[Any, Any]:
    return model.get_input_embeddings(), model.get_output_embeddings()


def trained_rows(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Return the rows that are trained, by module name, the embedding first; empty if there are none.

    A tied head has no entry of its own.
    """
    rows_by_module: dict[str, torch.Tensor] = {}
    for name, module in model.named_modules():
        if isinstance(module, TrainedRows) and not any(module.rows is rows for rows in rows_by_module.values()):
            rows_by_module[name] = module.rows
    return rows_by_module
