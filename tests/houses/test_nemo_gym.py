"""NeMo Gym's own models take our rows and what `/verify` answers."""

from __future__ import annotations

from typing import Any

import pytest

from adhere.environments import env
from adhere.integrations.nemo_gym.server import FAILURE, rows_of, verify

pytestmark = pytest.mark.slow
gym = pytest.importorskip("nemo_gym.base_resources_server")


def response(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": "r", "created_at": 0, "model": "m", "object": "response", "output": [message], "status": "completed",
        "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def test_rows_and_rewards_fit_its_models() -> None:
    rows = rows_of(env("core", limit=4), parts="kind")
    assert len(rows) == 4
    for row in rows:
        gym.NeMoGymResponseCreateParamsNonStreaming.model_validate(row["responses_create_params"])
        found = verify(row | {"response": response("Some answer.")})
        assert gym.BaseVerifyResponse.model_validate(found).reward == found["reward"]


def test_it_still_keeps_failures_out_by_this_key() -> None:
    from nemo_gym.rollout_collection import NG_FAILURE_CLASS_KEY

    assert NG_FAILURE_CLASS_KEY == FAILURE
