"""Our task under inspect itself: its instruction-level number is that over all instructions, and `calls` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
inspect_ai = pytest.importorskip("inspect_ai")


@pytest.mark.parametrize("suite", ["core:x2", "calls"])
def test_the_task_runs_and_counts_instructions(suite: str, tmp_path: Path) -> None:
    from adhere.integrations.inspect_ai.task import follow

    (log,) = inspect_ai.eval(follow(suite, limit=6), model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    decided = passed = 0
    for sample in log.samples:
        for row in sample.scores["adhere"].metadata["verdicts"]:
            if row["strict"] != "undecided":
                decided, passed = decided + 1, passed + (row["strict"] == "pass")
    (metric,) = (one.metrics["over_instructions"] for one in log.results.scores if one.name == "inst_level_strict_acc")
    assert metric.value == pytest.approx(passed / decided)
