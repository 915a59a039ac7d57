"""Several processes on one study: --jobs on this machine, --shard on several that share a directory."""

from __future__ import annotations

import contextlib
import multiprocessing
import re
import sys
from pathlib import Path

import msgspec

from adhere.errors import AdhereError, UsageError
from adhere.lines.workers import end_with_parent
from adhere.progress import Lines, Progress
from adhere.study.design.probe import threads_each
from adhere.study.design.spec import StudySpec
from adhere.study.outcome.result import StudyResult
from adhere.study.prepared import Prepared, prepare
from adhere.study.run.work import Shard, Worker

_SHARD = re.compile(r"(\d{1,4})/(\d{1,4})")


def parse_shard(text: str | None) -> Shard:
    """`2/3` is the second of three parts; None is all of it.

    Raises:
        UsageError: Anything else.
    """
    if text is None:
        return Shard()
    found = _SHARD.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text}: write I/N with I from 1 to N, e.g. --shard 2/3")
    return Shard(int(found[1]), int(found[2]))


def run_jobs(prepared: Prepared, *, shard: Shard, jobs: int, progress: Progress, command: str) -> StudyResult:
    """Do the shard with so many processes, which take whatever task is free, and collect the result.

    However this process ends, its workers end with it.

    Raises:
        KeyboardInterrupt: Passed on; finished tasks stay.
    """
    if jobs == 1:
        return prepared.run(shard=shard, progress=progress, command=command)
    prepared.begin()
    spec = msgspec.structs.replace(prepared.spec, threads=threads_each(prepared.spec, jobs))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work, args=(spec, prepared.directory, shard)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
        raise
    lost = [worker.exitcode for worker in workers if worker.exitcode]
    if lost:
        progress.say(
            f"{len(lost)} of {jobs} processes ended early (exit code {lost[0]}); their work is taken up by the next start"
        )
    return prepared.result(progress=progress, command=command)


def _work(spec: StudySpec, directory: Path, shard: Shard) -> None:
    end_with_parent()
    progress = Lines()
    with contextlib.suppress(KeyboardInterrupt):  # the parent says that it was interrupted
        try:
            Worker(prepare(spec, directory), shard=shard, progress=progress).run()
        except AdhereError as error:
            progress.say(f"Error: {error}")
            sys.exit(error.exit_code)
