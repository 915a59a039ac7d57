"""Keep a part of what a stage changed: merge its weights with those that it started from."""

from __future__ import annotations

from pathlib import Path

from adhere.models.local.quiet import quiet
from adhere.models.local.transformers import load_weights, weights_sha256


def keep_part(trained: Path, start: Path, share: float) -> str:
    """Replace the weights in `trained` by start + `share` of the change, in fp32; return the new hash."""
    from adhere.train.optim.offline import merge_linear

    model, _ = load_weights(trained, "cpu")
    base, _ = load_weights(start, "cpu")
    model.load_state_dict(merge_linear(base.state_dict(), [model.state_dict()], [share]))
    with quiet():
        model.save_pretrained(trained)
    return weights_sha256(trained)
