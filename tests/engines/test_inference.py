"""datatrove's inference step with answers that pass our client: its limits, retries and bills."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adhere.models.fake.endpoint import FakeEndpoint
from adhere.schema import Sampling
from adhere.steps import Draw
from adhere.steps.kinds import DrawSpec

pytestmark = pytest.mark.slow


def test_a_rollout_asks_through_the_draw_step(tmp_path: Path) -> None:
    """Of a server that runs already (`endpoint`), for vLLM and SGLang need a GPU under datatrove's own flags."""
    data = pytest.importorskip("datatrove.data")
    pytest.importorskip("aiofiles")  # what the step writes with
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.inference.run_inference import InferenceConfig, InferenceRunner
    from datatrove.pipeline.writers import JsonlWriter

    with FakeEndpoint(["m"]) as served:
        draw = DrawSpec(f"{served.url}#m", Sampling(max_new_tokens=8), draws=2)

        async def rollout(document: Any, generate: Any) -> Any:
            asked = [{"key": document.id, "prompt": document.text}]
            return await asyncio.to_thread(Draw(draw), asked)

        config = InferenceConfig("endpoint", "m", endpoint_url=served.url, server_ready_delay_sec=0.2)
        step = InferenceRunner(rollout, config, JsonlWriter(str(tmp_path / "out"), compression=None))
        documents = [data.Document(text=f"Say {n}.", id=f"p{n}") for n in range(20)]
        LocalPipelineExecutor([documents, step], logging_dir=str(tmp_path / "log")).run()
        assert served.served["m"] == 40
    found = [json.loads(line) for line in (tmp_path / "out" / "00000.jsonl").read_text().splitlines()]
    (answers,) = zip(*(one["metadata"]["rollout_results"] for one in found), strict=True)
    assert {(one["key"], one["draw"]) for pair in answers for one in pair} == {
        (f"p{n}", draw) for n in range(20) for draw in range(2)
    }
    assert all(one["status"] == "ok" for pair in answers for one in pair)
