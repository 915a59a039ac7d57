"""Run one study in several processes.

`--jobs` starts them on this machine, `--shard` on machines that share a directory, `--engine ray` on a cluster.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from functools import lru_cache
from pathlib import Path

import msgspec

from adhere.errors import AdhereError, UsageError
from adhere.lines.workers import WHOLE, Shard, cores, end_with_parent
from adhere.models.local.decoder.device import SHARED, available_bytes, share_gpu
from adhere.progress import Lines, Progress
from adhere.schema import decode, encode
from adhere.steps.engines import on_ray
from adhere.study.design.probe import threads_each
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.result import StudyResult
from adhere.study.prepared import PreparedStudy, prepare
from adhere.study.run.work import Worker

MOST_JOBS = 1000


def parse_jobs(text: str) -> int | None:
    """Return a number of processes; None for `auto`.

    Raises:
        UsageError: The text is anything else.
    """
    if text == "auto":
        return None
    if not text.isdecimal() or not 1 <= int(text) <= MOST_JOBS:
        raise UsageError(f"--jobs {text}: write a number of processes from 1 to {MOST_JOBS}, or auto")
    return int(text)


def choose_jobs(study: PreparedStudy, progress: Progress) -> int:
    """Return the number of processes that finishes soonest on this machine.

    The choice is between one with all cores, and as many as there are cores with a thread each. Both are measured
    (`design.probe`), and the minutes of their timetables compared: seeds run side by side, and the stages of one seed
    follow each other. A choice that needs more memory than there is, is left out. The choice changes no key of weights
    and no prompt.

    On a GPU the number is as many as its memory holds, at most a process for two cores. A small model leaves most of a
    GPU idle while Python launches its kernels: twelve processes made 4 to 16 times the SFT steps of one on an H100
    (docs/LOG.md).
    """
    if study.spec.serves:
        return 1  # a server answers many at once, and two would want the same memory
    all_cores = study.spec.threads or cores()
    device = study.device
    if device == "cuda":
        bytes_each = study.shared(1).estimate.memory_bytes
        jobs = max(1, min(all_cores // 2, int(SHARED * (available_bytes("cuda") or 0) // bytes_each)))
        progress.say(f"Processes on one GPU: {jobs}, each with {bytes_each / 1e9:.1f} GB of its memory by estimate")
        return jobs
    if all_cores == 1 or device != "cpu":
        return 1
    minutes, free = {}, available_bytes("cpu")
    for jobs in (1, all_cores):
        candidate = study.shared(jobs)
        if jobs == 1 or free is None or candidate.estimate.memory_bytes <= free:
            minutes[jobs] = candidate.probed(jobs=jobs, progress=progress).estimate.minutes
    best = min(minutes, key=lambda jobs: (minutes[jobs], jobs))
    timings = ", ".join(f"{jobs} × {all_cores // jobs}: {duration:.1f} min" for jobs, duration in minutes.items())
    progress.say(f"Processes × threads, measured: {timings}. Taken: {best} × {all_cores // best}")
    return best


def run_jobs(study: PreparedStudy, *, shard: Shard, jobs: int, progress: Progress, command: str) -> StudyResult:
    """Do the shard with `jobs` processes, each taking any task that is free, and collect the result.

    However this process ends, its workers end with it.

    Raises:
        UsageError: Several processes would each start a server.
        KeyboardInterrupt: The user stopped the run; finished tasks stay.
    """
    if jobs > 1 and study.spec.serves:
        raise UsageError(
            f"--jobs {jobs}: each process would start a vLLM server on the same device. One server answers many "
            "prompts at once: leave --jobs out, or give machines a --shard each"
        )
    if jobs == 1:
        return study.run(shard=shard, progress=progress, command=command)
    study.begin()
    spec = msgspec.structs.replace(study.spec, threads=threads_each(study.spec, jobs))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(spec, study.directory, shard, jobs)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
        raise
    exit_codes = [worker.exitcode for worker in workers if worker.exitcode]
    if exit_codes:
        progress.say(
            f"{len(exit_codes)} of {jobs} processes ended early (exit code {exit_codes[0]}); "
            "their work is taken up by the next start"
        )
    return study.result(progress=progress, command=command)


def run_ray(study: PreparedStudy, *, shard: Shard, jobs: int, progress: Progress, command: str) -> StudyResult:
    """Do every task of the study as a task of Ray, with a GPU each if the study uses one, and collect the result.

    Every node must see the study's directory and the start model under the same path. A dead node's task is done
    elsewhere.

    Raises:
        UsageError: See `PreparedStudy.begin`; or `shard` or `jobs` is given, which the cluster decides.
        ResourceError: Ray gave up, or a disk is full.
    """
    if shard != WHOLE or jobs != 1:
        raise UsageError("--engine ray shares all of the study's work itself; leave --shard and --jobs out")
    if study.spec.serves:
        raise UsageError("--engine ray starts no vLLM servers. Serve the models, and name them http://HOST/v1#NAME")
    study.begin()
    worker = Worker(study, shard=WHOLE, progress=progress)
    tasks_out: set[str] = set()

    def more(room: int) -> list[str]:
        names = [task.name for task in worker.left()[1] if task.name not in tasks_out][:room]
        tasks_out.update(names)
        return names

    gpus = 1 if study.device == "cuda" else 0
    work = _Task(msgspec.structs.replace(study.spec, threads=1 if gpus == 0 else study.spec.threads), study.directory)
    with progress.step("study", len(study.tasks), "tasks") as bar:
        for name in on_ray(work, more, jobs=cores(), gpus=gpus):
            bar.advance(note=name)
    return study.result(progress=progress, command=command)


class _Task:
    """Does one task, given its name, in any process."""

    def __init__(self, spec: StudySpec, directory: Path) -> None:
        self.spec, self.directory = spec, directory.resolve()

    def __call__(self, name: str) -> None:
        study = _prepare_once(encode(self.spec), self.directory)
        task = next(task for task in study.tasks if task.name == name)
        Worker(study, shard=WHOLE, progress=Lines()).do(task)


@lru_cache(maxsize=1)
def _prepare_once(spec: bytes, directory: Path) -> PreparedStudy:
    """Prepare the study once for each process, for a worker of Ray does many tasks of one study."""
    return prepare(decode(spec, StudySpec), directory)


def _work(spec: StudySpec, directory: Path, shard: Shard, jobs: int) -> None:
    end_with_parent()
    progress = Lines()
    with contextlib.suppress(KeyboardInterrupt):  # the parent says that it was interrupted
        try:
            study = prepare(spec, directory)
            if study.device == "cuda":
                share_gpu(jobs)
            Worker(study, shard=shard, progress=progress).run()
        except AdhereError as error:
            progress.say(f"Error: {error}")
            sys.exit(error.exit_code)
