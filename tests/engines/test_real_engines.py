"""The real Ray and datatrove, as `make test-engines` runs them.

What they make is what one process makes, also when a node dies. ADHERE_ENGINE_ROWS: how many rows (1,000,000 in `make
test-engines`).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.engines.conftest import RAY

from adhere import suites
from adhere.build.decontaminate.rows import Settings, items_of
from adhere.steps import Decontaminate
from adhere.steps.run import Manifest, run_shards

pytestmark = [  # Ray warns of itself
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ROWS = int(os.environ.get("ADHERE_ENGINE_ROWS", "100000"))
SHARD_BYTES = max(200_000, ROWS * 20)  # a dozen shards, whatever the number of rows


@pytest.fixture(scope="module")
def step() -> Decontaminate:
    return Decontaminate(Settings(tuple(items_of([("core", suites.load("core"))])), ("text",), bad_rows="skip"))


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 5 to 60 words; one in 50 repeats a test item, one in 1,000 cannot be used."""
    rng, items = random.Random(0), [prompt.text for prompt in suites.load("core").prompts]
    vocabulary = sorted({word for item in items for word in item.split()})
    path = tmp_path_factory.mktemp("engines") / "train.jsonl"
    with path.open("w") as file:
        for n in range(ROWS):
            text = " ".join(rng.choices(vocabulary, k=rng.randrange(5, 60)))
            row = {"id": n, "text": f"{text} {items[n % len(items)]}" if n % 50 == 7 else text}
            file.write(json.dumps(row if n % 1000 != 500 else {"id": n}) + "\n")
    return path


@pytest.fixture(scope="module")
def expected(step: Decontaminate, train: Path) -> Manifest:
    manifest = run_shards(step, [str(train)], str(train.parent / "one"), shard_bytes=SHARD_BYTES)
    assert manifest.counts.read == ROWS == manifest.counts.kept + manifest.counts.dropped + manifest.counts.broken
    assert manifest.counts.broken == len([n for n in range(ROWS) if n % 1000 == 500])
    assert manifest.counts.dropped >= ROWS // 50 - manifest.counts.broken
    print(f"\none process: {ROWS:,} rows, {rate(manifest)}")
    return manifest


def rate(manifest: Manifest) -> str:
    per_core = manifest.counts.read / sum(shard.cpu_s for shard in manifest.shards)
    return f"{manifest.counts.read / manifest.seconds:,.0f} rows a second, {per_core:,.0f} a second of a core"


def sorted_rows(out: Path, folder: str) -> list[bytes]:
    return sorted(
        line for file in (out / folder).glob("[0-9]*") for line in file.read_bytes().splitlines(keepends=True)
    )


def assert_same(out: Path, expected: Manifest, train: Path, manifest: Manifest) -> None:
    assert manifest.sha256 == expected.sha256
    assert manifest.counts == expected.counts
    for folder in ("rows", "dropped", "broken"):
        assert sorted_rows(out, folder) == sorted_rows(train.parent / "one", folder)
        assert not list((out / folder).glob(".*")), "nothing of a dead worker stays"


def test_ray_with_a_node_killed_in_the_middle(
    cluster: Any, step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path
) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    killed: list[int] = []

    def kill() -> None:
        while len(list((tmp_path / "done").glob("*"))) < 3:
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)
        killed.append(len(list((tmp_path / "done").glob("*"))))

    watcher = threading.Thread(target=kill)
    watcher.start()
    manifest = run_shards(step, [str(train)], str(tmp_path), engine="ray", shard_bytes=SHARD_BYTES)
    watcher.join()
    assert 3 <= killed[0] < len(manifest.shards), "the node died in the middle"
    assert_same(tmp_path, expected, train, manifest)
    print(
        f"\nRay, two nodes of one core, one killed after {killed[0]} of {len(manifest.shards)} shards: {rate(manifest)}"
    )


class WhereItRan:
    """Writes down the node that did a piece."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def __call__(self, name: str) -> None:
        import ray

        (self.out / name).write_text(ray.get_runtime_context().get_node_id())


def test_a_piece_that_needs_a_gpu_goes_to_a_node_that_has_one(cluster: Any, tmp_path: Path) -> None:
    """What `adhere study --engine ray` asks for where it computes on GPUs; Ray counts a GPU that it is told of."""
    from adhere.steps.engines import on_ray

    node = cluster.add_node(num_cpus=1, num_gpus=1)
    cluster.wait_for_nodes()
    left = ["a", "b", "c"]

    def more(room: int) -> list[str]:
        given, left[:] = left[:room], left[room:]
        return given

    assert sorted(on_ray(WhereItRan(tmp_path), more, gpus=1)) == ["a", "b", "c"]
    assert {file.read_text() for file in tmp_path.iterdir()} == {node.node_id}


def test_ray_data_runs_the_step_itself(
    cluster: Any, step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path
) -> None:
    import ray

    cluster.add_node(num_cpus=1)  # the step's actor holds a core, and reading needs another
    cluster.wait_for_nodes()
    side = str(tmp_path / "side")
    rows = ray.data.read_json(str(train), lines=True).map_batches(
        Decontaminate, fn_constructor_args=(step.settings, side), batch_format="pyarrow", batch_size=4096, concurrency=1
    )
    kept = sorted(int(row["id"]) for row in rows.select_columns(["id"]).iter_rows())
    assert kept == sorted(json.loads(line)["id"] for line in sorted_rows(train.parent / "one", "rows"))
    lost = [json.loads(line) for file in (tmp_path / "side").iterdir() for line in file.read_bytes().splitlines()]
    assert len(lost) == expected.counts.dropped + expected.counts.broken


def test_datatrove_with_its_own_resume(step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    first = run_shards(step, [str(train)], str(tmp_path), engine="datatrove", jobs=2, shard_bytes=SHARD_BYTES)
    print(f"\ndatatrove, 2 workers: {rate(first)}")
    assert_same(tmp_path, expected, train, first)
    (tmp_path / "logs/completions/00002").unlink()
    (tmp_path / "done/00002.json").unlink()
    (tmp_path / "rows/00002.jsonl").write_text("half a li")
    logs = len(list((tmp_path / "logs/logs").iterdir()))
    assert_same(
        tmp_path,
        expected,
        train,
        run_shards(step, [str(train)], str(tmp_path), engine="datatrove", jobs=2, shard_bytes=SHARD_BYTES),
    )
    assert len(list((tmp_path / "logs/logs").iterdir())) == logs, "only the one rank ran again, into its own log"


def test_datatrove_documents(step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from adhere.steps.datatrove import Rows

    folder = tmp_path / "in"
    folder.mkdir()
    lines = train.read_text().splitlines(keepends=True)[:20_000]
    (folder / "a.jsonl").write_text("".join(line for line in lines if "text" in json.loads(line)))
    steps = [
        JsonlReader(str(folder)),
        Rows(step, JsonlWriter(str(tmp_path / "out"), compression=None)),
        JsonlWriter(str(tmp_path / "kept"), compression=None),
    ]
    LocalPipelineExecutor(steps, logging_dir=str(tmp_path / "logs")).run()
    kept = {json.loads(line).get("id", 0) for line in sorted_rows(tmp_path, "kept")}  # datatrove writes no zero
    one = {json.loads(line)["id"] for line in sorted_rows(train.parent / "one", "rows")}
    assert kept == {n for n in one if n < 20_000}
    reasons = [json.loads(line)["metadata"]["adhere"] for line in sorted_rows(tmp_path, "out")]
    assert reasons
    assert all(reason["against"] == "core" for reason in reasons)


def in_namespace(name: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", name, *command]


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs root on Linux: ip {' '.join(arguments)}: {done.stderr.strip()}")


@pytest.fixture
def two_hosts() -> Iterator[tuple[str, str]]:
    """Two network namespaces joined by a veth pair: as far as the network goes, two hosts."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root on Linux, and the command ip")
    names = ("adhere-a", "adhere-b")
    try:
        for name in names:
            ip("netns", "add", name)
        ip(
            "link",
            "add",
            "adhere-va",
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "name",
            "adhere-vb",
            "netns",
            names[1],
        )
        for name, link, address in zip(names, ("adhere-va", "adhere-vb"), ADDRESSES, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            inside = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in map(int, inside.stdout.split()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


ADDRESSES = ("10.77.0.1", "10.77.0.2")
DRIVER = """
import sys, ray
from adhere import suites
from adhere.build.decontaminate.rows import Settings, items_of
from adhere.steps import Decontaminate
from adhere.steps.run import run_shards

train, out, shard_bytes = sys.argv[1:]
step = Decontaminate(Settings(tuple(items_of([("core", suites.load("core"))])), ("text",), bad_rows="skip"))
ray.init(address="10.77.0.1:6399", log_to_driver=False)
print(len([node for node in ray.nodes() if node["Alive"]]), "hosts", flush=True)
made = run_shards(step, [train], out, engine="ray", shard_bytes=int(shard_bytes))
print(made.sha256, made.seconds, sum(shard.cpu_s for shard in made.shards))
"""


def test_ray_on_two_hosts_one_of_which_goes_away(
    two_hosts: tuple[str, str], train: Path, expected: Manifest, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    here = {**os.environ, **RAY, "PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as short:  # a socket's path has at most 107 bytes
        for name, address in zip(two_hosts, ADDRESSES, strict=True):
            role = ["--head", "--port=6399", "--include-dashboard=false"]
            if address != ADDRESSES[0]:
                role = [f"--address={ADDRESSES[0]}:6399"]
            command = [
                sys.executable,
                "-m",
                "ray.scripts.scripts",
                "start",
                "--num-cpus=1",
                f"--node-ip-address={address}",
            ]
            command += ["--disable-usage-stats", f"--temp-dir={short}/{name[-1]}"] if name == two_hosts[0] else []
            said = subprocess.run(
                in_namespace(name, *command, *role), env=here, capture_output=True, text=True, timeout=180, check=False
            )
            assert said.returncode == 0, said.stdout + said.stderr
        out = tmp_path / "out"
        driver = subprocess.Popen(
            in_namespace(two_hosts[0], sys.executable, "-c", DRIVER, str(train), str(out), str(SHARD_BYTES)),
            env=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        until = time.monotonic() + 300
        while len(list((out / "done").glob("*"))) < 3 and driver.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        ip("-n", two_hosts[1], "link", "set", "adhere-vb", "down")  # the cable is pulled
        done_before = len(list((out / "done").glob("*")))
        text, _ = driver.communicate(timeout=900)
        assert driver.returncode == 0, text
        assert "2 hosts" in text
        assert 3 <= done_before < len(expected.shards), "the host went away in the middle"
        assert expected.sha256 in text
        for folder in ("rows", "dropped", "broken"):
            assert sorted_rows(out, folder) == sorted_rows(train.parent / "one", folder)
        seconds, cpu_s = map(float, text.split()[-2:])
        print(
            f"\nRay, two hosts of one core, one cut off after {done_before} of {len(expected.shards)} shards: "
            f"{ROWS / seconds:,.0f} rows a second, {ROWS / cpu_s:,.0f} a second of a core"
        )


SBATCH = """#!{python}
# What sbatch does with an array, one task after the other, on this machine.
import os, re, subprocess, sys
script = open(sys.argv[-1]).read()
array = re.search(r"^#SBATCH --array=0-(\\d+)", script, re.MULTILINE)
exported = next((one for one in sys.argv if one.startswith("--export=")), "")
offset = dict(part.split("=") for part in exported[9:].split(",") if "=" in part)
for task in range(int(array[1]) + 1 if array else 1):
    there = {{**os.environ, **offset, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": "7", "SLURM_NODELIST": "localhost", "SLURM_NODEID": "0"}}
    subprocess.run(["bash", sys.argv[-1]], env=there, check=False, stdout=sys.stderr)
print("Submitted batch job 7")
"""
SRUN = """#!/bin/bash
while [ "$1" != launch_pickled_pipeline ]; do shift; done
exec "$@"
"""
SCONTROL = """#!/bin/bash
echo localhost
"""


def test_datatrove_on_slurm(
    step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """datatrove's Slurm executor with our step, as it is pickled, submitted and run.

    A stand-in for sbatch runs its array. A killed task is done by the next submission.
    """
    pytest.importorskip("datatrove")
    from datatrove.executor import SlurmPipelineExecutor

    from adhere.steps.datatrove import Pieces
    from adhere.steps.run import run_shards
    from adhere.steps.shards import Work, make_plan

    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {"sbatch": SBATCH.format(python=sys.executable), "srun": SRUN, "scontrol": SCONTROL}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    out = tmp_path / "out"
    plan = make_plan(step, (str(train),), str(out), shard_bytes=SHARD_BYTES)
    work = Work(step, plan.key, str(out))

    def submit() -> None:
        SlurmPipelineExecutor(
            [Pieces(work, plan.shards)],
            tasks=3,
            time="01:00:00",
            partition="cpu",
            logging_dir=str(tmp_path / "logs"),
            mail_user=None,
        ).run()

    submit()
    assert len(list((out / "done").iterdir())) == len(plan.shards)
    (tmp_path / "logs/completions/00001").unlink()
    (out / "done/00001.json").unlink()
    (out / "rows/00001.jsonl").write_text("half a li")
    submit()
    assert len(list((tmp_path / "logs/completions").iterdir())) == 3
    assert_same(out, expected, train, run_shards(step, [str(train)], str(out), shard_bytes=SHARD_BYTES))


def test_datatrove_on_ray(cluster: Any, step: Decontaminate, train: Path, expected: Manifest, tmp_path: Path) -> None:
    pytest.importorskip("datatrove")
    from datatrove.executor import RayPipelineExecutor

    from adhere.steps.datatrove import Pieces
    from adhere.steps.shards import Work, make_plan

    plan = make_plan(step, (str(train),), str(tmp_path / "out"), shard_bytes=SHARD_BYTES)
    work = Work(step, plan.key, str(tmp_path / "out"))
    RayPipelineExecutor(
        [Pieces(work, plan.shards)], tasks=2, mem_per_cpu_gb=0.2, logging_dir=str(tmp_path / "logs")
    ).run()
    done = run_shards(step, [str(train)], str(tmp_path / "out"), shard_bytes=SHARD_BYTES)
    assert_same(tmp_path / "out", expected, train, done)
