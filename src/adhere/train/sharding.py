"""Weights sharded over the processes of a recipe (FSDP2).

Each process holds a part of the weights, gradients and moments, and has them whole only layer by layer. It computes its
share of a batch's micro-batches, as without sharding, and gradients are summed. All processes gather a layer together,
so all must compute equally often: one that has no micro-batch left passes a single token, whose gradient is zero.

Source: torch.distributed.fsdp.fully_shard. Weights are sharded and gathered in fp32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from adhere.train.parallel import is_sharding, place

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def distribute(model: PreTrainedModel) -> None:
    """Shard the weights of `model` over all processes, layer by layer, on this process's device.

    Call it once it is decided which weights are trained; the model stays sharded.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    if isinstance(model, FSDPModule):
        return
    mesh = init_device_mesh("cuda" if torch.cuda.is_available() else "cpu", (place().size,))
    layers = next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
    is_trained = any(parameter.requires_grad for parameter in model.parameters())
    for module in (*layers, model):  # without a backward pass nothing else would cut the last gathered weights again
        fully_shard(module, mesh=mesh, reshard_after_forward=None if is_trained else True)
    for module in model.modules():
        if isinstance(module, FSDPModule):  # sums, not means: losses are already divided by the whole batch
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)


def let_go(model: torch.nn.Module) -> None:
    """Let each process hold only its own part of the weights again.

    After a pass without gradient the outermost weights are still whole. Without this, the next pass would compute with
    them and ignore what was written into the parts since.
    """
    from torch.distributed.fsdp import FSDPModule

    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def idle(model: PreTrainedModel) -> None:
    """Pass one token forward, and backward with zero gradient if gradients are taken.

    The other processes need this one to gather the same layers.
    """
    token = torch.zeros(1, 1, dtype=torch.long, device=model.device)
    logits: torch.Tensor = model(input_ids=token, use_cache=False).logits
    if torch.is_grad_enabled():
        (logits.sum() * 0.0).backward()  # type: ignore[no-untyped-call]


def _is_part(value: Any) -> bool:
    """Tell whether `value` is a DTensor.

    The test avoids importing the class, which takes longer than a small training step.
    """
    return isinstance(value, torch.Tensor) and hasattr(value, "to_local")


def scalar(value: torch.Tensor) -> float:
    """Return the number that `value` holds; a sharded value is added up over the processes."""
    return float(_whole(value))


def whole_state(model: torch.nn.Module) -> dict[str, torch.Tensor] | None:
    """Return all weights by name, unsharded and on the CPU, in the first process; None in the others.

    Every process must call it.
    """
    is_first = place().is_first
    if is_sharding():
        let_go(model)
    weights = {}
    for name, parameter in model.named_parameters():
        whole = _whole(parameter.detach())
        if is_first:
            weights[name] = whole.cpu()
    return weights if is_first else None


def local(value: Any) -> Any:
    """Return this process's part of a sharded tensor; anything else unchanged."""
    return value.to_local() if _is_part(value) else value


def _whole(value: torch.Tensor) -> torch.Tensor:
    """Return the whole of a tensor; every process must call it."""
    whole: torch.Tensor = value.full_tensor() if _is_part(value) else value  # type: ignore[attr-defined]
    return whole


def local_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return the optimizer's state with only this process's parts."""
    state = optimizer.state_dict()
    if not is_sharding():  # whole, whatever its form: online merging's holds the wrapped optimizer's
        return state
    parts = {
        index: {name: local(value) for name, value in entries.items()} for index, entries in state["state"].items()
    }
    return state | {"state": parts}


def with_shards(state: dict[str, Any], optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Convert a result of `local_state` back into the state of an optimizer of sharded parameters."""
    from torch.distributed.tensor import DTensor

    if not is_sharding():
        return state
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def joined(index: int, value: Any) -> Any:
        parameter = parameters[index]
        if not isinstance(parameter, DTensor) or not isinstance(value, torch.Tensor) or value.ndim == 0:
            return value
        return DTensor.from_local(
            value,
            parameter.device_mesh,
            parameter.placements,
            run_check=False,
            shape=parameter.shape,
            stride=parameter.stride(),
        )

    parts = {
        index: {name: joined(index, value) for name, value in entries.items()}
        for index, entries in state["state"].items()
    }
    return state | {"state": parts}
