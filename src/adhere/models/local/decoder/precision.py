"""Choice of the number format to compute in, and of its layout, by timing both on the model's real shapes.

fp32 answers do not depend on the batch, so evaluation stays in fp32. Drawing training data, rollouts and training use
the faster one. The choice is made once for a study and stored with it, because different formats give different
results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from adhere.errors import MissingModel, UsageError
from adhere.extras import need
from adhere.models.local.decoder import Layout
from adhere.schema import Record

if TYPE_CHECKING:
    import torch

Precision = Literal["fp32", "bf16"]
AskedPrecision = Literal["fp32", "bf16", "auto"]

# Without one of these, bf16 products are emulated: measured 1.3 GFLOPS against 160 in fp32 on an AVX2 machine.
BF16_FEATURES = ("amx_bf16", "avx512_bf16", "sve_bf16", "bf16")

WORTH = 1.15  # bf16 has to be this much faster than fp32: what costs accuracy and buys nothing is not taken
TRAINED_COLUMNS, DECODED_COLUMNS = 512, 128  # tokens of a micro-batch; rows decoded together
ROUNDS = 7


class PrecisionChoice(NamedTuple):
    """Holds a precision and the reason for it."""

    precision: Precision
    reason: str


class Precisions(Record, frozen=True):
    """Holds the number formats that a study computes in, stored with it.

    Attributes:
        training: Format of the matrix products in training; weights and optimizer stay in fp32.
        rollouts: Format for drawing answers, for data and in online stages.
        layout: Layout of the decoder's products in `rollouts`.
        reason: The reason, in words.
        measured: Milliseconds of one layer's products by format and layout; empty if nothing was timed.
    """

    training: Precision = "fp32"
    rollouts: Precision = "fp32"
    layout: Layout = "columns"
    reason: str = "asked for"
    measured: dict[str, float] = {}


class Sizes(NamedTuple):
    """Holds the sizes of the matrices that take most of the time."""

    hidden: int
    inner: int


def choose(precision: str, device: str = "cpu") -> PrecisionChoice:
    """Choose the precision of one engine: `precision`, or for `auto` bf16 if the device has it in hardware.

    Raises:
        UsageError: There is no such precision.
    """
    if precision == "auto" and device != "cpu":
        able = device == "cuda" and need("torch", extra="train").cuda.is_bf16_supported()
        return PrecisionChoice("bf16" if able else "fp32", f"the {device} device has {'' if able else 'no '}bf16")
    if precision == "auto":
        return _automatic()
    if precision == "fp32":
        return PrecisionChoice("fp32", "asked for")
    if precision == "bf16":
        return PrecisionChoice("bf16", "asked for")
    raise UsageError(f"precision={precision!r}: one of fp32, bf16, auto")


def resolve(precision: str, weights: Path, *, device: str = "cpu", threads: int | None = None) -> Precisions:
    """Choose the number formats on this machine: `precision`, or for `auto` the faster one, timed.

    Args:
        precision: `fp32`, `bf16` or `auto`.
        weights: Directory of the model, whose shapes are timed; only its `config.json` is read.
        device: `cpu`, `cuda` or `mps`. Only on a CPU is there something to time.
        threads: CPU threads [as torch is set].

    Raises:
        UsageError: There is no such precision.
        MissingModel: The directory holds no `config.json`.
    """
    chosen = choose(precision, device)
    if device != "cpu":
        return Precisions(chosen.precision, chosen.precision, reason=chosen.reason)
    if precision == "fp32" or chosen.precision == "fp32":
        return Precisions(reason=chosen.reason)
    if threads is not None:
        need("torch", extra="train").set_num_threads(threads)
    times = probe(sizes_of(weights))
    return fastest(times, is_forced=precision == "bf16")


def fastest(times: dict[str, float], *, is_forced: bool) -> Precisions:
    """Choose the formats by `times` (see `probe`); with `is_forced` they are bf16, and only the layout is chosen."""
    layout: Layout = "columns" if times["decode bf16 columns"] <= times["decode bf16 rows"] else "rows"
    decode = times["decode fp32 columns"] / times[f"decode bf16 {layout}"]
    train = times["train fp32"] / times["train bf16"]
    rollouts: Precision = "bf16" if is_forced or decode >= WORTH else "fp32"
    training: Precision = "bf16" if is_forced or train >= WORTH else "fp32"
    return Precisions(
        training,
        rollouts,
        layout if rollouts == "bf16" else "columns",  # fp32 answers are evaluated: one layout, the same bits as ever
        f"bf16 against fp32 on this model's shapes: {train:.1f} times as fast for training, {decode:.1f} for drawing"
        + ("; bf16 was asked for" if is_forced else ""),
        {name: round(value, 4) for name, value in times.items()},
    )


def probe(sizes: Sizes) -> dict[str, float]:
    """Time one layer's feed-forward products: milliseconds, the least of several rounds.

    `train`: forward and both gradients of 512 tokens, with autocast's conversions; `decode`: 128 columns, with the
    decoder's conversions and transpositions.
    """
    import torch

    from adhere.models.local.decoder.products import product

    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(sizes.inner, sizes.hidden, generator=generator)
    tokens = torch.randn(TRAINED_COLUMNS, sizes.hidden, generator=generator)
    columns = torch.randn(sizes.hidden, DECODED_COLUMNS, generator=generator)
    coarse = weight.bfloat16()

    def train(dtype: torch.dtype) -> None:
        x, w = tokens.to(dtype), weight.to(dtype)
        y = torch.nn.functional.linear(x, w)
        y @ w  # the gradient of the input
        (y.t() @ x).float()  # the gradient of the weight

    works: dict[str, Callable[[], object]] = {
        "train fp32": lambda: train(torch.float32),
        "train bf16": lambda: train(torch.bfloat16),
        "decode fp32 columns": lambda: product(weight, columns, "columns"),
        "decode bf16 columns": lambda: product(coarse, columns, "columns"),
        "decode bf16 rows": lambda: product(coarse, columns, "rows"),
    }
    best = dict.fromkeys(works, float("inf"))
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for name, work in works.items():
                start_s = time.perf_counter()
                work()
                best[name] = min(best[name], 1000 * (time.perf_counter() - start_s))
    return best


def sizes_of(weights: Path) -> Sizes:
    """Read the sizes in a directory's `config.json`.

    Raises:
        MissingModel: There is no config.json, or it states no sizes.
    """
    try:
        config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
        return Sizes(int(config["hidden_size"]), int(config["intermediate_size"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingModel(f"{weights}: no config.json with hidden_size and intermediate_size ({error})") from error


@cache
def _automatic() -> PrecisionChoice:
    torch = need("torch", extra="train")
    report = getattr(torch.cpu, "get_capabilities", None)
    if report is None:
        return PrecisionChoice("fp32", f"torch {torch.__version__} does not report what the CPU can do")
    able = [name for name in BF16_FEATURES if report().get(name)]
    if able:
        return PrecisionChoice("bf16", f"the CPU has {', '.join(able)}")
    return PrecisionChoice("fp32", f"the CPU has none of {', '.join(BF16_FEATURES)}")
