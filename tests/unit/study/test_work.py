"""Tasks: done once, by whoever is free, again only where something unfinished needs what they made."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.outcomes import evaluation
from tests.unit.study.test_plan import CODE, SPEC

from adhere.errors import ResourceError, UsageError
from adhere.lines.workers import WHOLE, Shard, parse_shard
from adhere.models.local.decoder.precision import Precisions
from adhere.progress import Silent
from adhere.schema import write_atomic
from adhere.store.run import alone
from adhere.study import jobs
from adhere.study.design.plan import Cell, Inputs, PoolPlan, cell_folder, make_plan, pool_folder
from adhere.study.design.tasks import Task, tasks_of
from adhere.study.run import work
from adhere.study.run.cells import CellRecord, save_cell
from adhere.study.run.work import State, Worker, stored_failures
from adhere.train.budget.ledger import StageLedger


class Said:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A prepared study whose tasks only write what a real one leaves on disk, and note their names."""
    spec = msgspec.structs.replace(SPEC, keep_weights=False)
    plan = make_plan(spec, {seed: Inputs(f"{seed}", f"{seed} again") for seed in spec.seeds}, Precisions(), CODE)
    tasks = tasks_of(spec, plan, start_sha256="w", suites={"": "s"})
    found = SimpleNamespace(spec=spec, directory=tmp_path, plan=plan, tasks=tasks, ran=[], fail=set(), device="cpu")

    def do(prepared: SimpleNamespace, task: Task, progress: object) -> None:
        if task.name in found.fail:
            raise ValueError("it broke")
        found.ran.append(task.name)
        match task.item:
            case PoolPlan():
                folder = pool_folder(tmp_path, task.item)
                folder.mkdir(parents=True, exist_ok=True)
                for name in (*work.FILES, work.MANIFEST):
                    (folder / name).write_text("{}")
            case Cell():
                if task.item.parent is not None:
                    assert any((cell_folder(tmp_path, plan.cell(task.item.parent)) / "model").glob("*.safetensors"))
                folder = cell_folder(tmp_path, task.item)
                (folder / "model").mkdir(parents=True, exist_ok=True)
                (folder / "model" / "m.safetensors").write_bytes(b"w")
                named = task.item.key, [*task.item.path], task.item.seed, "sft", {}, task.item.parent, [], "", 0
                save_cell(tmp_path, CellRecord(*named, StageLedger(), []), task.item)
            case _:
                record = msgspec.structs.replace(evaluation([True]), key=task.key, arm=task.item.arm)
                monkeypatch.setitem(records, task.name, record)
                write_atomic(tmp_path / "evaluations" / f"{task.name}.json", b"{}")

    records: dict[str, object] = {}
    (tmp_path / "evaluations").mkdir()
    monkeypatch.setattr(work, "_DO", dict.fromkeys(("pool", "cell", "evaluation"), do))
    monkeypatch.setattr(
        work,
        "load_measured",
        lambda directory, name, key: (directory / "evaluations" / f"{name}.json").exists() or None,
    )
    monkeypatch.setattr(work, "WAIT_S", 0.01)
    monkeypatch.setattr(work, "give_back_memory", lambda: None)  # a second for each task, late in a long run of tests
    return found


def run(study: SimpleNamespace, shard: Shard = Shard()) -> Worker:  # noqa: B008
    worker = Worker(study, shard=shard, progress=Said())  # type: ignore[arg-type]
    worker.run()
    return worker


def test_a_cluster_does_every_task_once_after_what_it_needs(
    study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_ray(work, more, *, jobs: int, gpus: float):
        while found := more(2):
            for name in reversed(found):
                work(name)
                yield name

    study.begin, study.result = lambda: None, lambda **_: "the result"
    monkeypatch.setattr(jobs, "on_ray", on_ray)
    monkeypatch.setattr(jobs, "_prepare_once", lambda spec, directory: study)
    how = {"jobs": 1, "progress": Silent(), "command": ""}
    assert jobs.run_ray(study, shard=WHOLE, **how) == "the result"
    assert sorted(study.ran) == sorted(task.name for task in study.tasks)
    with pytest.raises(UsageError, match="leave --shard and --jobs out"):
        jobs.run_ray(study, shard=Shard(1, 2), **how)


def weights(study: SimpleNamespace) -> list[Path]:
    return sorted(study.directory.glob("cells/*/model/*.safetensors"))


def test_every_task_is_done_once_seed_by_seed(study: SimpleNamespace) -> None:
    run(study)
    assert sorted(study.ran) == sorted(task.name for task in study.tasks)
    seeds = [task.seed for name in study.ran for task in study.tasks if task.name == name]
    assert seeds == [None] + [0] * seeds.count(0) + [1] * seeds.count(1), "whole seeds finish first"
    study.ran.clear()
    run(study)
    assert study.ran == []


def test_weights_that_nobody_needs_are_deleted(study: SimpleNamespace) -> None:
    run(study)
    assert weights(study) == []
    assert all(State(study.directory, study.tasks).is_done(task.name) for task in study.tasks)


def test_records_alone_are_enough(study: SimpleNamespace) -> None:
    """A study directory can travel: without weights and rows nothing finished is done again."""
    run(study)
    for file in study.directory.glob("data/*/*.jsonl"):
        file.unlink()
    study.ran.clear()
    run(study)
    assert study.ran == []


def test_what_an_unfinished_task_needs_is_made_again_and_nothing_else(study: SimpleNamespace) -> None:
    run(study)
    lost = next(
        task for task in study.tasks if task.kind == "evaluation" and task.item.arm == "sft+dpo" and task.seed == 1
    )  # type: ignore[union-attr]
    (study.directory / "evaluations" / f"{lost.name}.json").unlink()
    for file in study.directory.glob("data/*/*.jsonl"):
        file.unlink()
    study.ran.clear()
    run(study)
    assert [name.split("-s1")[0] for name in study.ran] == ["data", "sft", "resampled", "sft+dpo", "sft+dpo"]


def test_a_failed_cell_is_named_and_stops_only_what_depends_on_it(study: SimpleNamespace) -> None:
    broken = next(task for task in study.tasks if task.kind == "cell" and task.name.startswith("sft+dpo-s0"))
    study.fail.add(broken.name)
    worker = run(study)
    assert set(worker.failures) == {broken.name}
    assert [failure.task for failure in stored_failures(study.directory, study.tasks)] == [broken.name]
    assert "it broke" in worker.failures[broken.name].error
    undone = {task.name for task in study.tasks} - set(study.ran)
    assert {name.rpartition("-s0-")[0] for name in undone} == {"sft+dpo", "sft+dpo+grpo", "sft+more"}
    study.fail.clear()
    run(study)
    assert stored_failures(study.directory, study.tasks) == []
    assert set(study.ran) == {task.name for task in study.tasks}


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/model.safetensors")


def full_for_safetensors(*_: object) -> None:
    raise RuntimeError("I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("broken", [full, full_for_safetensors])
def test_a_full_disk_ends_the_study_in_one_sentence(
    study: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, broken: Callable[..., None]
) -> None:
    """Every other task would fail in the same way, so no task is called a failure."""
    monkeypatch.setattr(work, "_DO", dict.fromkeys(("pool", "cell", "evaluation"), broken))
    with pytest.raises(ResourceError, match=r"cannot be written: .*No space left.*Free space"):
        run(study)
    assert stored_failures(study.directory, study.tasks) == []


def test_what_fails_in_one_process_is_not_tried_again_by_the_others(study: SimpleNamespace) -> None:
    cell = next(task.name for task in study.tasks if task.kind == "cell" and task.seed == 0)
    other = Worker(study, shard=Shard(), progress=Said())  # type: ignore[arg-type]
    study.fail.add(cell)
    run(study)
    study.fail.clear()
    other.run()
    assert cell not in study.ran
    run(study)
    assert cell in study.ran, "the next start tries it again"


def test_shards_share_the_seeds(study: SimpleNamespace) -> None:
    run(study, Shard(2, 2))
    assert {task.seed for task in study.tasks if task.name in study.ran} == {1}
    run(study, Shard(1, 2))
    assert sorted(study.ran) == sorted(task.name for task in study.tasks)


def test_two_workers_in_one_directory_do_nothing_twice(study: SimpleNamespace) -> None:
    threads = [threading.Thread(target=run, args=(study,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(study.ran) == sorted(task.name for task in study.tasks)


def test_a_task_that_another_process_holds_is_waited_for(study: SimpleNamespace) -> None:
    first = study.tasks[1]
    done = threading.Event()
    with alone(study.directory / "locks" / first.name) as held:
        assert held
        thread = threading.Thread(target=lambda: (run(study, Shard(1, 2)), done.set()))
        thread.start()
        assert not done.wait(0.3)
        assert first.name not in study.ran
    thread.join(timeout=60)
    assert done.is_set()
    assert first.name in study.ran


def test_shards_are_written_i_of_n() -> None:
    assert parse_shard("2/3") == Shard(2, 3)
    assert parse_shard(None) == Shard(1, 1)
    for wrong in ("0/2", "3/2", "2", "a/b", "-1/2"):
        with pytest.raises(UsageError, match="--shard"):
            parse_shard(wrong)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc on this system")
def test_memory_of_a_finished_task_goes_back_to_the_system() -> None:
    """In a process of its own.

    Blocks that are freed below one that stays are kept by the C library until it is told.
    """
    code = """
import ctypes
from pathlib import Path
from adhere.study.run.work import give_back_memory

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

blocks = [bytearray(60_000) for _ in range(4_000)]
last, blocks[-1] = blocks[-1], None
full = held()
blocks = None
kept = held()
give_back_memory()
if hasattr(ctypes.CDLL(None), "malloc_trim"):
    assert kept - held() > 100_000_000, (full, kept, held())
"""
    subprocess.run([sys.executable, "-c", code], check=True)
