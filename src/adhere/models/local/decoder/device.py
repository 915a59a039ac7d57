"""Where tensors live: a CPU, a CUDA GPU, Apple's."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from adhere.errors import UsageError

AskedDevice = Literal["auto", "cpu", "cuda", "mps"]


def resolve_device(asked: str) -> str:
    """`cpu`, `cuda` or `mps`: what was asked for, or for `auto` the CUDA GPU where there is one, else the CPU.

    Apple's GPU is taken only when it is asked for: nothing here has been run on one.

    Raises:
        UsageError: No such device, or this machine or torch has none.
    """
    import torch

    if asked not in get_args(AskedDevice):
        raise UsageError(f"device={asked!r}: one of {', '.join(get_args(AskedDevice))}")
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[asked]:
        found = ", ".join(name for name, is_there in there.items() if is_there)
        raise UsageError(
            f"device={asked!r}: torch {torch.__version__} finds none here, only {found}. Use --device auto"
        )
    return asked


def available_bytes(device: str) -> int | None:
    """Memory that this process may still take on `device`; None where nobody says."""
    if device == "cuda":
        import torch

        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()  # torch holds it, and gives it out again
        return int(torch.cuda.mem_get_info()[0]) + kept
    meminfo = Path("/proc/meminfo")
    if device != "cpu" or not meminfo.exists():
        return None
    lines = meminfo.read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
