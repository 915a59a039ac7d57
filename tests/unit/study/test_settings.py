"""The page prints the value that was used, and no reason that explains another one."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.study.test_compare import SPEC

pytest.importorskip("torch", reason="a study needs the train extra")

from adhere.study.outcome.collect import _settings


def test_a_default_s_reason_stands_beside_the_default_only() -> None:
    stages = {
        "plain": {"method": "online-dpo", "steps": 2},
        "same": {"method": "online-dpo", "steps": 2, "learning_rate": 2e-6},
        "other": {"method": "online-dpo", "steps": 2, "learning_rate": 1e-5, "equal_compute_to": "a"},
    }
    found = {(note.stage, note.setting): note for note in _settings(msgspec.structs.replace(SPEC, stages=stages))}
    for stage in ("plain", "same"):
        assert found[stage, "learning_rate"].why == "as for offline DPO here"
    changed = found["other", "learning_rate"]
    assert float(changed.used) == 1e-5
    assert changed.why == "set by this study; the default is 2e-6"
    assert found["other", "trained_tokens"].used == "as many as a"
    assert found["plain", "trained_tokens"].used == "one pair a prompt"
