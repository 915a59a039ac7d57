"""Low-rank adapters.

A recipe trains a small factor of each matrix instead of the matrix, and merges it at the end of a stage. y = x W^T +
(alpha / rank) (x A^T) B^T, with W frozen, A (rank, in) drawn as in PEFT and B (out, rank) zero, so that training starts
from the model itself. No dropout: log-probs of the same weights must be equal in drawing, reference and training.

The layer is our own and not PEFT's, because the decoder and other readers of `module.weight` must see the matrix that
the layer computes with: here it is the merged matrix, in PEFT's layer the frozen one. The export is in PEFT's format,
and PEFT loads it (tests/parity).

Source: arXiv 2106.09685.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from adhere.errors import UsageError
from adhere.train.packed.tokens import TrainedRows, trained_rows, trained_tokens
from adhere.train.settings import MATRICES, Lora

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from adhere.train.settings import OptimizerSettings

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
PREFIX, ROWS = "base_model.model.", ".token_adapter.trainable_tokens_delta"  # of PEFT's names


class LoraLinear(torch.nn.Module):
    """A frozen linear map plus a trained low-rank one.

    `weight` is the merged matrix of both, `bias` that of the frozen map.
    """

    def __init__(self, base: torch.nn.Linear, lora: Lora, generator: torch.Generator) -> None:
        super().__init__()
        self.base, self.scale = base, lora.alpha / lora.rank
        bound = 1 / math.sqrt(base.in_features)  # kaiming_uniform_(a=sqrt(5)), as PEFT has it
        initial = torch.rand(lora.rank, base.in_features, generator=generator) * 2 * bound - bound
        self.lora_A = torch.nn.Parameter(initial.to(base.weight))
        self.lora_B = torch.nn.Parameter(base.weight.new_zeros(base.out_features, lora.rank))

    @property
    def weight(self) -> torch.Tensor:
        """The merged matrix (out, in), computed anew; it has no gradient."""
        with torch.no_grad():
            return self.base.weight + self.scale * (self.lora_B @ self.lora_A)

    @property
    def bias(self) -> torch.Tensor | None:
        """The frozen layer's bias: (out,) or None."""
        return self.base.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (…, in) -> (…, out)."""
        low = torch.nn.functional.linear(x, self.lora_A)
        return self.base(x) + self.scale * torch.nn.functional.linear(low, self.lora_B)  # type: ignore[no-any-return]


def attach(model: PreTrainedModel, lora: Lora, *, seed: int) -> int:
    """Freeze `model`, give each target an adapter drawn from `seed`, and return the number of trained weights.

    Raises:
        UsageError: No matrix of the model has the name of a target.
    """
    model.requires_grad_(False)  # noqa: FBT003 (torch's own signature)
    generator = torch.Generator().manual_seed(seed % 2**63)
    matrices = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if name in lora.targets and isinstance(child, torch.nn.Linear)
    ]
    missing = sorted(set(lora.targets) - {name for _, name, _ in matrices})
    if missing:
        raise UsageError(
            f"lora: {type(model).__name__} has no matrix called {', '.join(missing)}. Leave it out of `targets`"
        )
    for parent, name, child in matrices:
        setattr(parent, name, LoraLinear(child, lora, generator))
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def merge(model: PreTrainedModel) -> None:
    """Add what the adapters learned to the matrices, remove the adapters, and unfreeze all weights."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoraLinear):
                child.base.weight.data.copy_(child.weight)
                setattr(parent, name, child.base)
    model.requires_grad_(True)  # noqa: FBT003


def merged_state(model: PreTrainedModel, state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return all weights, merged, by the names that they have without adapters and trained rows.

    Args:
        model: The model in training.
        state: The model's parameters by name, unsharded.
    """
    weights = dict(state)
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            low = weights.pop(f"{name}.lora_B") @ weights.pop(f"{name}.lora_A")
            weights[f"{name}.weight"] = weights.pop(f"{name}.base.weight") + module.scale * low
            if module.bias is not None:
                weights[f"{name}.bias"] = weights.pop(f"{name}.base.bias")
        elif isinstance(module, TrainedRows) and f"{name}.base.weight" in weights:  # a tied head is not named again
            rows = weights.pop(f"{name}.rows")
            weights[f"{name}.weight"] = weights.pop(f"{name}.base.weight").index_copy(
                0, module.ids.to(rows.device), rows
            )
    return weights


def save_adapter(model: PreTrainedModel, lora: Lora, directory: Path, *, base: str) -> None:
    """Write the adapters of `model` in PEFT's format; `base` names the weights that they belong to."""
    tensors = {}
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            tensors[f"{PREFIX}{name}.lora_A.weight"] = module.lora_A.detach().contiguous()
            tensors[f"{PREFIX}{name}.lora_B.weight"] = module.lora_B.detach().contiguous()
    tensors |= {f"{PREFIX}{name}{ROWS}": rows.detach().contiguous() for name, rows in trained_rows(model).items()}
    _write(tensors, lora, directory, base=base, tokens=trained_tokens(model))


def stack_adapters(adapters: Sequence[Path], directory: Path, *, base: str) -> None:
    """Combine adapters that were trained and merged one after the other into one, and write it to `directory`.

    Their factors are concatenated. The rank is the sum of their ranks, and alpha equals it: each adapter's own scale is
    multiplied into B.
    """
    from safetensors.torch import load_file

    parts: dict[str, list[torch.Tensor]] = {}
    rank, targets, tokens = 0, set[str](), list[int]()
    for adapter in adapters:
        config: Mapping[str, int | float | Sequence[str]] = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
        r, alpha, names = config["r"], config["lora_alpha"], config["target_modules"]
        assert isinstance(r, int) and isinstance(alpha, int | float) and not isinstance(names, int | float)  # noqa: S101, PT018 - ours
        rank += r
        targets |= set(names)
        tokens = next(iter(config.get("trainable_token_indices", {}).values()), [])  # type: ignore[union-attr]
        for name, value in load_file(str(adapter / WEIGHTS)).items():
            parts.setdefault(name, []).append(value * (alpha / r) if ".lora_B." in name else value)
    factors = {
        name: values[-1] if name.endswith(ROWS) else torch.cat(values, dim=0 if ".lora_A." in name else 1)
        for name, values in parts.items()
    }
    matrix_names = tuple(name for name in MATRICES if name in targets)
    _write(factors, Lora(rank, float(rank), matrix_names), directory, base=base, tokens=tokens)


def _write(
    tensors: Mapping[str, torch.Tensor], lora: Lora, directory: Path, *, base: str, tokens: Sequence[int] = ()
) -> None:
    from safetensors.torch import save_file

    directory.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), str(directory / WEIGHTS), metadata={"format": "pt"})
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0, "target_modules": list(lora.targets), "bias": "none", "fan_in_fan_out": False,
        "inference_mode": True,
    }  # fmt: skip
    if tokens:
        names = (name.removesuffix(ROWS).rpartition(".")[2] for name in tensors if name.endswith(ROWS))
        config["trainable_token_indices"] = {name: list(tokens) for name in names}
    (directory / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def refuse_unsuited(stage: str, settings: OptimizerSettings) -> None:
    """Refuse settings that do not work with an adapter.

    Raises:
        UsageError: The stage merges online, which needs whole matrices.
    """
    if settings.merging is not None:
        raise UsageError(f"{stage}: online merging is about whole matrices. Take out `merging`, or `lora`")
