"""What to compute in: as asked, or the faster by the clock on this model's shapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import MissingModel, UsageError  # noqa: E402
from adhere.models.local.decoder import precision, products  # noqa: E402
from adhere.models.local.decoder.precision import PrecisionChoice, Precisions, Sizes, fastest, probe, resolve  # noqa: E402
from adhere.models.local.decoder.products import product  # noqa: E402
from adhere.schema import decode, encode  # noqa: E402

QUICK = {
    "train fp32": 9.0,
    "train bf16": 3.0,
    "decode fp32 columns": 2.0,
    "decode bf16 columns": 0.6,
    "decode bf16 rows": 0.5,
}


def weights(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 64, "intermediate_size": 96}))
    return tmp_path


def able(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_automatic", lambda: PrecisionChoice("bf16", "the CPU has it"))


def test_the_faster_one_is_taken_in_the_faster_layout() -> None:
    found = fastest(QUICK, is_forced=False)
    assert (found.training, found.rollouts, found.layout) == ("bf16", "bf16", "rows")
    assert "3.0 times as fast for training, 4.0 for drawing" in found.reason
    assert found.measured == QUICK


def test_what_gains_little_stays_exact_and_is_decided_apart() -> None:
    slow = QUICK | {"decode bf16 columns": 1.9, "decode bf16 rows": 1.8}
    found = fastest(slow, is_forced=False)
    assert (found.training, found.rollouts, found.layout) == ("bf16", "fp32", "columns")
    found = fastest(QUICK | {"train bf16": 400.0}, is_forced=False)
    assert (found.training, found.rollouts) == ("fp32", "bf16")
    assert fastest(QUICK | {"train bf16": 400.0}, is_forced=True).training == "bf16"


def test_fp32_is_never_measured_and_never_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    able(monkeypatch)
    monkeypatch.setattr(precision, "probe", lambda sizes: pytest.fail("there is nothing to choose"))
    assert resolve("fp32", weights(tmp_path)) == Precisions()
    monkeypatch.setattr(precision, "_automatic", lambda: PrecisionChoice("fp32", "the CPU has none"))
    assert resolve("auto", weights(tmp_path)) == Precisions(reason="the CPU has none")


def test_auto_measures_this_model_and_what_it_found_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    able(monkeypatch)
    seen: list[Sizes] = []

    def timed(sizes: Sizes) -> dict[str, float]:
        seen.append(sizes)
        return QUICK

    monkeypatch.setattr(precision, "probe", timed)
    found = resolve("auto", weights(tmp_path))
    assert seen == [Sizes(64, 96)]
    assert decode(encode(found), Precisions) == found


def test_the_probe_times_every_variant() -> None:
    times = probe(Sizes(64, 96))
    assert set(times) == set(QUICK)
    assert all(0 < value < 1000 for value in times.values())


def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="one of fp32, bf16, auto"):
        resolve("fp16", tmp_path)
    with pytest.raises(MissingModel, match=r"no config\.json"):
        resolve("bf16", tmp_path)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_product_is_the_same_in_both_layouts(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(40, 24, generator=generator).to(dtype)
    columns = torch.randn(24, 7, generator=generator)
    exact = weight.float() @ columns.to(dtype).float()
    for layout in ("columns", "rows"):
        made = product(weight, columns, layout)
        assert made.dtype == dtype
        torch.testing.assert_close(made.float(), exact, atol=1e-4 if dtype == torch.float32 else 0.1, rtol=1e-2)


@pytest.mark.parametrize(("inside", "outside", "count"), [(64, 96, 1), (64, 96, 33), (96, 640, 128)])
def test_a_column_of_fp32_does_not_depend_on_the_columns_beside_it(inside: int, outside: int, count: int) -> None:
    """Answers are evaluated in whatever company the batch has: the last bits may differ, no more."""
    generator = torch.Generator().manual_seed(1)
    weight, columns = torch.randn(outside, inside, generator=generator), torch.randn(inside, count, generator=generator)
    together = product(weight, columns, "columns")
    alone = torch.cat([product(weight, columns[:, [place]], "columns") for place in range(count)], 1)
    assert together.is_contiguous()
    assert torch.allclose(together, weight.double().mm(columns.double()).float(), rtol=1e-5, atol=1e-4)
    assert torch.allclose(together, alone, rtol=1e-5, atol=1e-4)


def test_without_onednn_the_product_is_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other builds of torch lack the operator."""
    weight, columns = torch.randn(6, 4), torch.randn(4, 3)
    monkeypatch.setattr(products, "_has_onednn", lambda: False)
    assert torch.equal(product(weight, columns, "columns"), torch.mm(weight, columns))
