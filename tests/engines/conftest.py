"""What the tests of the real engines share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

RAY = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_worker_niceness": "0",  # at Ray's own 15 workers starve beside anything else on the machine
    "RAY_health_check_failure_threshold": "3",
}


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Ray with a node of one core on this machine, the driver's own; add others, which can be killed."""
    ray = pytest.importorskip("ray")
    os.environ.update(RAY)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, connect=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()
