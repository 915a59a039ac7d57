"""Online merging: closed forms on a few numbers, exactness where nothing is merged, exact resume, two processes."""

from __future__ import annotations

import copy
import os
import socket

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import IntegrityError, UsageError  # noqa: E402
from adhere.train.optim import OnlineMerging  # noqa: E402


def net(seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def base_of(model: torch.nn.Module, seed: int = 9) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [p.detach() - 0.1 * torch.randn(p.shape, generator=generator) for p in model.parameters()]


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, *, steps: int, start: int = 0) -> None:
    for step in range(start, start + steps):
        generator = torch.Generator().manual_seed(step)
        data = torch.randn(16, 6, generator=generator)
        optimizer.zero_grad()
        (model(data) - data[:, :2]).square().mean().backward()
        optimizer.step()


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


MAKERS = {
    "adamw": lambda ps: torch.optim.AdamW(ps, lr=1e-2, weight_decay=0.1),
    "sgd": lambda ps: torch.optim.SGD(ps, lr=1e-2, momentum=0.9, weight_decay=0.01),
    "fused": lambda ps: torch.optim.AdamW(ps, lr=1e-2, weight_decay=0.1, fused=True),
}


@pytest.mark.parametrize("method", ["dare", "ties"])
@pytest.mark.parametrize("mode", ["paper", "released"])
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_it_is_the_wrapped_optimizer_bit_for_bit_where_nothing_is_merged(method, mode, maker) -> None:
    plain, wrapped = net(), net()
    train(plain, maker(plain.parameters()), steps=12)
    merging = OnlineMerging(maker(wrapped.parameters()), base_of(wrapped), method=method, p=1.0, alpha=0.0, mode=mode)
    train(wrapped, merging, steps=12)
    assert same(plain, wrapped)


def one_step(method: str, mode: str, *, p: float, alpha: float, change: list[float], tau: list[float]) -> torch.Tensor:
    """Where SGD with rate 1 and the gradient -change ends from zero, merged with tau."""
    parameter = torch.nn.Parameter(torch.zeros(len(change)))
    base = [-torch.tensor(tau)]  # the parameter starts at 0, so tau = 0 - base
    merging = OnlineMerging(torch.optim.SGD([parameter], lr=1.0), base, method=method, p=p, alpha=alpha, mode=mode)
    parameter.grad = -torch.tensor(change)
    merging.step()
    return parameter.detach()


def test_ondare_adds_weighted_changes() -> None:
    """p = 1 keeps all: 0.75 * d + 0.25 * tau."""
    found = one_step("dare", "paper", p=1.0, alpha=0.25, change=[4.0, -8.0], tau=[2.0, 2.0])
    assert found.tolist() == [3.5, -5.5]


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_ondare_keeps_a_share_and_only_the_released_code_rescales(mode) -> None:
    found = one_step("dare", mode, p=0.25, alpha=0.0, change=[1.0] * 4000, tau=[0.0] * 4000)
    kept = found[found != 0]
    assert set(kept.tolist()) == {1.0 if mode == "paper" else 4.0}
    assert abs(len(kept) / 4000 - 0.25) < 0.03


def test_onties_keeps_the_largest_and_elects_by_weighted_magnitude() -> None:
    """alpha 0.5.

    Halves: d (2, 0.5, -3, .), tau (1, -1, 1, .): same sign adds; else the larger stays. p = 0.75 drops each last.
    """
    found = one_step("ties", "paper", p=0.75, alpha=0.5, change=[4.0, 1.0, -6.0, 0.5], tau=[2.0, -2.0, 2.0, 0.1])
    assert found.tolist() == [3.0, -1.0, -3.0, 0.0]


def test_onties_as_released_lets_a_large_tau_win_every_election() -> None:
    """Signs are elected on d + tau without weights.

    With a tiny alpha, d is dropped wherever its sign differs from tau's.
    """
    paper = one_step("ties", "paper", p=1.0, alpha=1e-7, change=[1e-3, -1e-3], tau=[1.0, 1.0])
    released = one_step("ties", "released", p=1.0, alpha=1e-7, change=[1e-3, -1e-3], tau=[1.0, 1.0])
    assert paper[1] < -9e-4
    assert released[1].item() == pytest.approx(1e-7)
    assert released[0].item() == pytest.approx(1e-3, rel=1e-3)


def test_the_mask_of_tau_is_fresh_in_the_paper_and_fixed_in_the_code() -> None:
    def masks(mode: str) -> list[torch.Tensor]:
        parameter = torch.nn.Parameter(torch.zeros(500))
        merging = OnlineMerging(
            torch.optim.SGD([parameter], lr=1.0), [-torch.ones(500)], "dare", p=0.5, alpha=0.5, mode=mode
        )
        found = []
        for _ in range(2):
            parameter.data.zero_()
            parameter.grad = torch.zeros(500)
            merging.step()
            found.append(parameter.detach() != 0)
        return found

    first, second = masks("paper")
    assert not torch.equal(first, second)
    first, second = masks("released")
    assert torch.equal(first, second)


def test_weight_decay_is_kept_apart_from_the_change() -> None:
    """AdamW, gradient zero: only the decay 1 * (1 - 0.1 * 0.5) remains, whatever p drops."""
    parameter = torch.nn.Parameter(torch.ones(1000))
    merging = OnlineMerging(
        torch.optim.AdamW([parameter], lr=0.1, weight_decay=0.5), [torch.ones(1000)], "dare", p=0.01, alpha=0.0
    )
    parameter.grad = torch.zeros(1000)
    merging.step()
    assert torch.equal(parameter.detach(), torch.full((1000,), 1 - 0.1 * 0.5))


def test_step_k_merges_every_tensor_at_every_kth_step() -> None:
    model = net()
    base = base_of(model)
    plain = copy.deepcopy(model)
    merging = OnlineMerging(
        torch.optim.SGD(model.parameters(), lr=0.1), base, "dare", p=0.5, alpha=0.0, every=3, mode="paper"
    )
    start = [p.detach().clone() for p in model.parameters()]
    train(model, merging, steps=2)
    train(plain, torch.optim.SGD(plain.parameters(), lr=0.1), steps=2)
    assert same(model, plain), "between merges the wrapped optimizer steps alone"
    train(model, merging, steps=1, start=2)
    train(plain, torch.optim.SGD(plain.parameters(), lr=0.1), steps=1, start=2)
    dropped = total = 0
    for ours, theirs, first in zip(model.parameters(), plain.parameters(), start, strict=True):
        is_dropped = ours.detach() == first  # rolled back to where the three steps began
        assert torch.allclose(ours.detach()[~is_dropped], theirs.detach()[~is_dropped], atol=1e-6)
        dropped, total = dropped + int(is_dropped.sum()), total + is_dropped.numel()
    assert 0.3 < dropped / total < 0.7


def test_tau_is_cut_after_it_is_divided() -> None:
    """5e-3 / 5e-4 = 10, cut to 1, times alpha 0.5; the other order gave 5."""
    found = one_step("dare", "released", p=5e-4, alpha=0.5, change=[0.0] * 20_000, tau=[5e-3] * 20_000)
    assert set(found[found != 0].tolist()) == {0.5}


def test_the_share_of_the_wrapped_step_that_is_taken_is_measured() -> None:
    shares = {}
    for mode in ("paper", "released"):
        parameter = torch.nn.Parameter(torch.zeros(100_000))
        merging = OnlineMerging(
            torch.optim.SGD([parameter], lr=1.0), [torch.zeros(100_000)], p=0.05, alpha=0.0, mode=mode
        )
        assert merging.step_share is None
        parameter.grad = torch.ones(100_000)
        merging.step()
        shares[mode] = merging.step_share
    assert shares["paper"] == pytest.approx(0.05, rel=0.1)
    assert shares["released"] == pytest.approx(1.0, rel=0.1)


def test_a_mask_drawn_once_is_in_the_state_whatever_the_seed() -> None:
    """`released` draws the mask of tau at the start.

    Resumed with another seed it went on with another one, silently.
    """

    def made(model: torch.nn.Module, seed: int) -> OnlineMerging:
        return OnlineMerging(torch.optim.SGD(model.parameters(), lr=1e-2), base_of(net()), p=0.3, alpha=0.05, seed=seed)

    whole, resumed = net(), net()
    first = made(whole, 4)
    train(whole, first, steps=2)
    second = made(resumed, 5)
    resumed.load_state_dict(whole.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    train(whole, first, steps=2, start=2)
    train(resumed, second, steps=2, start=2)
    assert same(whole, resumed)


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("method", ["dare", "ties"])
def test_a_resumed_run_has_the_weights_of_the_uninterrupted_one(method, every) -> None:
    def made(model: torch.nn.Module) -> OnlineMerging:
        inner = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
        return OnlineMerging(inner, base_of(net()), method=method, p=0.3, alpha=0.05, every=every, seed=4)

    whole, stopped, resumed = net(), net(), net()
    train(whole, made(whole), steps=8)
    first = made(stopped)
    train(stopped, first, steps=4)
    saved = copy.deepcopy((stopped.state_dict(), first.state_dict()))
    second = made(resumed)  # before the checkpoint's weights come
    resumed.load_state_dict(saved[0])
    second.load_state_dict(saved[1])
    train(resumed, second, steps=4, start=4)
    assert same(whole, resumed)


def test_a_resume_from_the_wrong_weights_is_refused() -> None:
    model, other = net(), net(1)
    saved = OnlineMerging(torch.optim.SGD(model.parameters(), lr=0.1), base_of(model)).state_dict()
    with pytest.raises(IntegrityError, match="before the checkpoint's weights are loaded"):
        OnlineMerging(torch.optim.SGD(other.parameters(), lr=0.1), base_of(model)).load_state_dict(saved)


def test_weights_are_matched_by_name_where_the_optimizer_has_its_own_order() -> None:
    model, base = net(), net(3)
    ordered = [p for p in model.parameters() if p.ndim == 2] + [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.SGD(ordered, lr=0.0)
    merging = OnlineMerging(optimizer, base, "dare", p=1.0, alpha=1.0, model=model)
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    for p in ordered:
        p.grad = torch.zeros_like(p)
    merging.step()
    for name, parameter in model.named_parameters():
        expected = start[name] + (start[name] - dict(base.named_parameters())[name])
        assert torch.allclose(parameter, expected, atol=1e-6), name
    with pytest.raises(UsageError, match="Give `model`"):
        OnlineMerging(torch.optim.SGD(ordered, lr=0.1), base)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"p": 0.0}, r"p=0.0 must be in \(0, 1\]"),
        ({"alpha": 2}, r"alpha=2 must be in \[0, 1\]"),
        ({"method": "dear"}, "Did you mean 'dare'"),
        ({"mode": "publised"}, "It is one of paper, released"),
        ({"every": 0}, "at least 1"),
    ],
)
def test_wrong_settings_are_refused(settings, said) -> None:
    model = net()
    with pytest.raises(UsageError, match=said):
        OnlineMerging(torch.optim.SGD(model.parameters(), lr=0.1), base_of(model), **settings)


def test_schedulers_and_closures_work_through_it() -> None:
    model = net()
    merging = OnlineMerging(torch.optim.SGD(model.parameters(), lr=0.1), base_of(model), p=0.5, alpha=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(merging, step_size=1, gamma=0.5)

    def closure() -> torch.Tensor:
        merging.zero_grad()
        loss = model(torch.ones(1, 6)).square().sum()
        loss.backward()
        return loss

    assert merging.step(closure).item() > 0
    schedule.step()
    assert merging.optimizer.param_groups[0]["lr"] == 0.05


def _worker(rank: int, port: int, where: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = net()
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    inner = torch.optim.AdamW(parallel.parameters(), lr=1e-2)
    merging = OnlineMerging(inner, base_of(net()), "dare", p=0.3, alpha=0.05, seed=4)
    for step in range(4):
        data = torch.randn(16, 6, generator=torch.Generator().manual_seed(step))[rank * 8 : rank * 8 + 8]
        merging.zero_grad()
        (parallel(data) - data[:, :2]).square().mean().backward()
        merging.step()
    torch.save(model.state_dict(), f"{where}/{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_draw_the_same_masks_and_follow_one(tmp_path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(_worker, args=(port, str(tmp_path)), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    alone = net()
    merging = OnlineMerging(
        torch.optim.AdamW(alone.parameters(), lr=1e-2), base_of(net()), "dare", p=0.3, alpha=0.05, seed=4
    )
    train(alone, merging, steps=4)
    for name, parameter in alone.state_dict().items():
        assert torch.equal(first[name], second[name])
        assert torch.allclose(first[name], parameter, atol=1e-6)
