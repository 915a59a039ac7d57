"""A device that this machine does not have.

Tensors on it compute on the CPU, say that they are elsewhere, and refuse to be mixed with the CPU's.

    with fake_device():
        model.to("meta:1")              # its values stay real
        model(torch.tensor([1, 2]))     # AssertionError: … meets a tensor of the CPU

What a GPU would refuse at the first step is then refused here: tensors made without `device=`, indices and masks left
on the host, values that are taken home by `numpy()`. Scalars (no dimension) may be mixed, as torch allows. Collectives
run on what is inside.

Weights that FSDP cuts stay on its mesh's device, which here is the CPU. With `shards_at(1)` such a model says that it
lies on the fake device, refuses inputs of the CPU and gives its outputs there, so that all that our code does is held
to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

from adhere.train import sharding

# What may have tensors of two devices: copies and collectives; and indices may lie at home.
FREE = ("aten._to_copy", "aten.copy_", "aten.set_", "aten.index.", "aten.index_put", "c10d.")
NAME = "meta"  # the one device type beside the CPU that a build without any other knows


class OnDevice(torch.Tensor):
    """A tensor that says it lies on `at`; its values are those of `inner`, on the CPU."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, at: torch.device) -> Self:
        made: Self = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=at,
            requires_grad=False,
        )
        made.inner = inner
        return made

    def __repr__(self, **_: Any) -> str:
        return f"OnDevice({self.inner!r}, {self.device})"

    def tolist(self) -> Any:
        return self.inner.tolist()

    def numpy(self, **_: Any) -> Any:
        raise AssertionError("numpy() of a tensor that is on a device")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with torch.no_grad():
            made = OnDevice(self.inner.clone(), self.device)
        made = torch.nn.Parameter(made, self.requires_grad) if isinstance(self, torch.nn.Parameter) else made
        memo[id(self)] = made
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatched(func, args, kwargs or {})


def dispatched(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """One operation: its tensors must lie on one device, unless it is one that copies."""
    name = str(func)
    given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    away = [one for one in given if isinstance(one, OnDevice)]
    home = [one for one in given if not isinstance(one, OnDevice) and one.ndim and one.numel()]
    devices = {one.device for one in away}
    assert all(one.device.type == "cpu" for one in home), f"{name}: a tensor without values"
    if not name.startswith(FREE):
        assert not (away and home), f"{name}: a tensor of {away[0].device} meets one of the CPU, {tuple(home[0].shape)}"
        assert len(devices) < 2, f"{name}: tensors of {devices}"
    wanted = kwargs.get("device")
    at = wanted if wanted is not None else next(iter(devices), torch.device("cpu"))
    inner_kwargs = tree_map_only(OnDevice, lambda one: one.inner, kwargs)
    if wanted is not None:
        inner_kwargs["device"] = torch.device("cpu")
    found = func(*tree_map_only(OnDevice, lambda one: one.inner, args), **inner_kwargs)
    if name.startswith("c10d."):
        return found
    if at.type == NAME:
        found = tree_map_only(torch.Tensor, lambda one: OnDevice(one, at), found)
    return return_and_correct_aliasing(func, args, kwargs, found) if away else found


class _Factories(TorchDispatchMode):
    """Operations without a tensor of the device among their arguments: those that make one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with (
            self
        ):  # inference mode gives whole what autograd gives in parts, such as `to` with its device among its arguments
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented:
            return parts
        if any(isinstance(one, OnDevice) for one in tree_leaves((args, kwargs))):
            return dispatched(func, args, kwargs)
        is_ours = torch.device(kwargs.get("device") or "cpu").type == NAME
        return dispatched(func, args, kwargs) if is_ours else func(*args, **kwargs)


class _Makers(TorchFunctionMode):
    """`torch.tensor(…, device=…)` and its like.

    They make a tensor at home and move it without an operation that can be seen.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in {torch.Tensor.__getitem__, torch.Tensor.__setitem__}:  # lists become tensors of the device unseen
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            listed = tuple(torch.tensor(one) if isinstance(one, list) else one for one in index)
            return func(args[0], listed, *args[2:])
        new = getattr(func, "__name__", "") == "new_tensor"
        if func not in {torch.tensor, torch.as_tensor} and not new:
            return func(*args, **kwargs)
        asked = kwargs.pop("device", args[0].device if new else None)
        if new:
            kwargs.setdefault("dtype", args[0].dtype)
            found = torch.tensor(*args[1:], **kwargs)
        else:
            found = func(*args, **kwargs)
        at = torch.device(asked) if asked is not None else torch.device("cpu")
        return found.to(at) if at.type == NAME else found


_real_autocast, _real_load, _real_save = torch.autocast, torch.load, torch.save


def _autocast(device: str, *given: Any, **named: Any) -> Any:
    return _real_autocast("cpu" if device == NAME else device, *given, **named)


def _load(*given: Any, map_location: Any, **named: Any) -> Any:
    """What a file holds, on the device that is asked for.

    Without one it would come onto the device that it was written on.
    """
    found = _real_load(*given, map_location="cpu", **named)
    at = torch.device(map_location)
    return tree_map_only(torch.Tensor, lambda one: one.to(at), found) if at.type == NAME else found


def _save(thing: Any, *given: Any, **named: Any) -> None:
    _real_save(tree_map_only(OnDevice, lambda one: one.inner, thing), *given, **named)


@contextlib.contextmanager
def shards_at(rank: int) -> Iterator[None]:
    """Have models that are cut over the processes be on the fake device `meta:RANK`, seen from outside."""
    at, cut = torch.device(NAME, rank), sharding.distribute

    def asked(_: Any, given: Any, named: Any) -> Any:
        tensors = [one for one in tree_leaves((given, named)) if isinstance(one, torch.Tensor) and one.ndim]
        assert tensors, "a sharded model is asked nothing"
        assert all(one.device == at for one in tensors), f"a sharded model on {at} is given a tensor of the CPU"
        return tree_map_only(torch.Tensor, lambda one: one.to("cpu"), (given, named))

    def given(_: Any, __: Any, ___: Any, found: Any) -> Any:
        found.logits = found.logits.to(at)
        return found

    def distribute(model: Any) -> None:
        cut(model)
        if "device" not in vars(type(model)):  # torch made this class for it
            type(model).device = property(lambda _: at)
        model.register_forward_pre_hook(asked, with_kwargs=True, prepend=True)
        model.register_forward_hook(given, with_kwargs=True)

    sharding.distribute, replaced = distribute, torch.load
    home: Any = lambda *files, map_location, **named: _real_load(*files, map_location="cpu", **named)  # noqa: E731
    torch.load = home  # to where the weights are
    try:
        yield
    finally:
        sharding.distribute, torch.load = cut, replaced  # type: ignore[assignment]


@contextlib.contextmanager
def fake_device() -> Iterator[None]:
    """Have `meta:N` be a device that computes."""
    swap = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    replaced = torch.autocast, torch.load, torch.save
    torch.autocast, torch.load, torch.save = _autocast, _load, _save  # type: ignore[assignment, misc]
    try:
        with _Factories(), _Makers():
            yield
    finally:
        torch.autocast, torch.load, torch.save = replaced  # type: ignore[misc]
        torch.__future__.set_swap_module_params_on_conversion(swap)
