"""The devices that tensors can be on: a CPU, a CUDA GPU, Apple's GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from adhere.errors import UsageError

AskedDevice = Literal["auto", "cpu", "cuda", "mps"]


def resolve_device(device: str) -> str:
    """Return `cpu`, `cuda` or `mps`: `device` itself, or for `auto` a CUDA GPU if there is one, else the CPU.

    `auto` never takes Apple's GPU, because nothing here has been run on one.

    Raises:
        UsageError: There is no such device, or this machine or torch has none.
    """
    import torch

    if device not in get_args(AskedDevice):
        raise UsageError(f"device={device!r}: one of {', '.join(get_args(AskedDevice))}")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available[device]:
        names = ", ".join(name for name, is_there in available.items() if is_there)
        raise UsageError(
            f"device={device!r}: torch {torch.__version__} finds none here, only {names}. Use --device auto"
        )
    return device


SHARED = 0.9  # of a GPU's memory goes to what its processes keep there; the rest is their contexts
_share = 1.0


def share_gpu(processes: int) -> None:
    """Limit this process to its part of the GPU's memory from now on, because `processes` of them use the GPU.

    Without the limit, the first takes half of the free memory for its answers, and the last finds nothing.
    """
    import torch

    global _share  # noqa: PLW0603 - a fact about the process, as the device itself
    _share = 1.0 if processes == 1 else SHARED / processes
    torch.cuda.set_per_process_memory_fraction(_share)


def available_bytes(device: str) -> int | None:
    """Return the memory that this process may still take on `device`; None if it is unknown."""
    if device == "cuda":
        import torch

        torch_bytes = torch.cuda.memory_reserved()
        free, total = torch.cuda.mem_get_info()
        idle_bytes = torch_bytes - torch.cuda.memory_allocated()  # torch holds it, and gives it out again
        return max(0, min(int(free), int(total * _share) - torch_bytes)) + idle_bytes
    meminfo = Path("/proc/meminfo")
    if device != "cpu" or not meminfo.exists():
        return None
    lines = meminfo.read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
