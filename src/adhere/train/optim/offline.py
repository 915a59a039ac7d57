"""Merges of finished weights: the controls for online merging. Tensors go in and out by name, in fp32.

Sources: DARE, arXiv 2311.03099 (random share kept, survivors divided by it); TIES, arXiv 2306.01708 (largest kept,
signs elected by the sum, the mean of those that agree).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from adhere.errors import UsageError
from adhere.train.optim.sparsify import keep_largest, keep_random

Named = Mapping[str, torch.Tensor]


def merge_linear(base: Named, models: Sequence[Named], weights: Sequence[float]) -> dict[str, torch.Tensor]:
    """Return base + sum of weight * (model - base); with weights that sum to 1, the models' weighted mean.

    Raises:
        UsageError: There is no model, the number of weights differs, or names or shapes differ.
    """
    changes = _changes(base, models, weights)
    return {
        name: tensor.float()
        + sum((w * change[name] for w, change in zip(weights, changes, strict=True)), torch.zeros(()))
        for name, tensor in base.items()
    }


def merge_dare(
    base: Named, models: Sequence[Named], weights: Sequence[float], *, p: float, seed: int
) -> dict[str, torch.Tensor]:
    """Merge as `merge_linear`, but keep only a random share `p` of each change, divided by p. `seed` draws the masks.

    Raises:
        UsageError: p is not in (0, 1], or `merge_linear` would raise.
    """
    _require_share(p)
    changes = _changes(base, models, weights)
    generator = torch.Generator().manual_seed(seed)
    merged_weights = {name: tensor.float().clone() for name, tensor in base.items()}
    for weight, change in zip(weights, changes, strict=True):
        for name, tensor in change.items():
            merged_weights[name] += weight * keep_random(tensor, p, generator, "inverse")
    return merged_weights


def merge_ties(
    base: Named, models: Sequence[Named], weights: Sequence[float], *, p: float, scale: float = 1.0
) -> dict[str, torch.Tensor]:
    """Return base + scale * the mean of those weighted changes that have the elected sign.

    Only the largest share `p` of each change is kept. The elected sign of a coordinate is that of the sum of the
    weighted changes. Changes that do not keep a coordinate are left out of its mean.

    Raises:
        UsageError: p is not in (0, 1], or `merge_linear` would raise.
    """
    _require_share(p)
    changes = _changes(base, models, weights)
    merged_weights = {}
    for name, tensor in base.items():
        # Trim, elect, merge; suffix _M: models.
        kept_M = torch.stack(
            [w * keep_largest(change[name], p, "none") for w, change in zip(weights, changes, strict=True)]
        )
        agrees_M = (kept_M.sign() == kept_M.sum(0).sign()) & (kept_M != 0)
        mean = (kept_M * agrees_M).sum(0) / agrees_M.sum(0).clamp(min=1)  # 0 where no change is kept
        merged_weights[name] = tensor.float() + scale * mean
    return merged_weights


def _changes(base: Named, models: Sequence[Named], weights: Sequence[float]) -> list[dict[str, torch.Tensor]]:
    if not models or len(models) != len(weights):
        raise UsageError(
            f"Merging needs one weight a model and at least one model; got {len(models)} and {len(weights)}"
        )
    for place, model in enumerate(models):
        wrong = [name for name in base if name not in model or model[name].shape != base[name].shape]
        if wrong or len(model) != len(base):
            raise UsageError(
                f"Model {place} does not fit the base: {wrong[0] if wrong else 'more tensors'} differs. "
                "Merge models of one shape"
            )
    return [{name: model[name].float() - base[name].float() for name in base} for model in models]


def _require_share(p: float) -> None:
    if not 0 < p <= 1:
        raise UsageError(f"p={p!r} must be in (0, 1]: the share of coordinates that is kept")
