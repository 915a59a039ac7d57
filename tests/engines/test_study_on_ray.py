"""A study on a real Ray of two nodes, one of which dies: every cell is there, and the result is that of one process."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write
from tests.unit.study.test_execute import TEXT

from adhere.config import parse_toml
from adhere.lines.workers import WHOLE
from adhere.progress import Silent
from adhere.study import jobs
from adhere.study.design.spec import StudySpec
from adhere.study.prepared import prepare

pytestmark = [  # Ray warns of itself
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Written(jobs._Task):
    """A task whose pools are drawn from a function, in whatever process does it.

    A random model's answers are no words.
    """

    def __call__(self, name: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            draw_from_somebody_who_can_write(patch)
            super().__call__(name)


def test_a_dead_nodes_cells_are_done_elsewhere(
    cluster: Any, tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse_toml(TEXT.replace("START", str(tiny_llama_dir)), StudySpec, name="tiny.toml")
    spec = msgspec.structs.replace(spec, seeds=[0], threads=1)
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        expected = prepare(spec, tmp_path / "one").run()
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    monkeypatch.setattr(jobs, "_Task", Written)
    out = tmp_path / "ray"
    done_before: list[int] = []

    def kill() -> None:
        while len(list(out.glob("cells/*/cell.json"))) < 1:
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)
        done_before.append(len(list(out.glob("cells/*/cell.json"))))

    watcher = threading.Thread(target=kill, daemon=True)
    watcher.start()
    prepared = prepare(spec, out)
    result = jobs.run_ray(prepared, shard=WHOLE, jobs=1, progress=Silent(), command="")
    watcher.join(timeout=5)
    cells = len(list(out.glob("cells/*/cell.json")))
    assert done_before
    assert done_before[0] < cells == len(list((tmp_path / "one").glob("cells/*/cell.json"))), (
        "the node died in the middle"
    )
    assert result.failures == [] == expected.failures
    assert result.seeds_finished == [0]
    assert result.verdict.headline == expected.verdict.headline
    assert result.scores == expected.scores
    assert [pool.sha256 for pool in result.data] == [pool.sha256 for pool in expected.data]
