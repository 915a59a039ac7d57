"""Every fault that the fake endpoint knows, each of one model, in one sweep.

It ends, the healthy ones are ranked, money and keys are safe.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from adhere.models.fake.endpoint import FAULTS, FakeEndpoint, FakeModel
from adhere.models.http.dispatch import DENIED_LANES
from adhere.models.http.options import EndpointOptions
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.run import SweepRequest, run_sweep

HARMLESS = {"padded", "reasoning", "reasoning_content", "think", "parts", "surrogate"}
ANSWERS = {"null content", "length", "length null", "refusal", "content filter", "403 moderation"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_every_fault_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    monkeypatch.setattr("adhere.sweep.stages.TICK_S", 0.1)
    faulty = {
        fault: FakeModel(fault_of=lambda text, fault=fault: None if "capital of France" in text else fault)  # type: ignore[misc]
        for fault in FAULTS
    }
    healthy = {f"healthy {number}": FakeModel() for number in range(4)}
    options = EndpointOptions(timeout_s=2.0, patience_s=1.0, stream=stream, most_bytes=1 << 20)
    with FakeEndpoint({**faulty, **healthy}, retry_after_s=3600) as endpoint:
        request = SweepRequest(where=endpoint.url, suites=("core:in-family",), limit=2, options=options, out=tmp_path)
        found = run_sweep(request)
        assert found.stopped == ""
        assert len(found.alive) == len(faulty) + len(healthy)
        sent = dict(endpoint.asked)
        run_sweep(request)
    accounts = {row.model: row.accounting for row in leaderboard(found).rows}
    assert all(account.n == 2 for account in accounts.values())
    whole = HARMLESS | set(healthy) | (set() if stream else {"cut stream"})
    for model, account in accounts.items():
        if model in whole:
            assert account.ok == 2, (model, account)
        elif model in ANSWERS:
            assert account.checked == 2, (model, account)
            assert account.ok == 0, (model, account)
        else:
            assert account.checked == 0, (model, account)
    again = {model: endpoint.asked[model] - sent[model] for model in sent}
    settled = [*whole, *ANSWERS, "400", "400 context", "huge"]
    probes = len({"401", "402", "403 key", "redirect"}) // DENIED_LANES  # is it theirs, or everybody's trouble?
    assert sum(again[model] for model in settled) <= probes + 1, again
    for model in ("500", "hang", "429 retry", "402"):
        assert again[model] > 0, f"{model} was given up for good"
