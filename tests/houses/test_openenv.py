"""What the server says at the end of an episode reaches an OpenEnv client: reward, metrics, and the reasons."""

from __future__ import annotations

import pytest

from adhere.environments import env

pytestmark = pytest.mark.slow
serialization = pytest.importorskip("openenv.core.env_server.serialization")


def test_reasons_go_over_the_wire() -> None:
    from adhere.integrations.openenv.server import AnswerAction, InstructionEnvironment

    session = InstructionEnvironment(env("core:x1", limit=1))
    session.reset()
    seen = session.step(AnswerAction(answer=""))
    said = serialization.serialize_observation(seen)
    assert said["done"] is True
    assert said["observation"]["reasons"]
