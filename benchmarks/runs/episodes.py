"""Episodes in worlds, killed: none is lost, no stored step is asked again, and done again the worlds say the same.

    python -m benchmarks.runs.episodes --out /tmp/episodes --every 200 world:{shop,calendar,files,database}:x250+text+steps3
    python -m benchmarks.runs.episodes --out /tmp/quests --model scripted/solver --every 250 world:textworld:x100+seed{1..10}

A process acts and is killed (SIGKILL) when the model has given so many answers, ten times; then one that is left alone
ends the work. What the model is asked, what it answers and the kills are written down beside the store, so the same
command goes on where it was stopped. `local/…` runs on one thread and keeps what it has read of prompts that begin alike
(`prefix_caching`), which makes episodes four to five times as quick.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from adhere.models.base import Model, Request
from adhere.models.catalog import open_model
from adhere.models.local.fetch import gguf_path
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import Response, Sampling
from adhere.store.run import Run
from adhere.suites import load
from adhere.worlds import replay

TOGETHER = 16


class Found(NamedTuple):
    """What came of it: answers that the model gave, how many of them twice, kills, and seconds of processor."""

    answers: int
    twice: int
    kills: int
    seconds: float


class Noted:
    """A Model that writes down what it is asked and what it answered, a line each."""

    def __init__(self, model: Model, log: Path) -> None:
        self.model, self.name, self.engine = model, model.name, model.engine
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Ask the model, a few at a time: what is under way at a kill is lost."""
        for start in range(0, len(requests), TOGETHER):
            few = requests[start : start + TOGETHER]
            self._note("asked", [request.key for request in few])
            async with aclosing(self.model.respond(few, sampling)) as answers:  # type: ignore[type-var]
                async for answer in answers:
                    self._note("answered", [answer.key])
                    yield answer

    def close(self) -> None:
        """Close the model."""
        self.model.close()

    def _note(self, what: str, keys: Sequence[tuple[str, int, int]]) -> None:
        os.write(self.log, "".join("{} {} {} {}\n".format(what, *key) for key in keys).encode())


def act(names: Sequence[str], folder: Path, model_name: str, tokens: int | None) -> None:
    """Play what is left of the episodes, a run for each suite."""
    if model_name.startswith("local/"):
        from adhere.models.local.embedded import OpenVinoModel

        model: Model = OpenVinoModel(gguf_path(model_name), name=model_name, threads=1, prefix_caching=True)
    else:
        model = open_model(model_name)
    noted = Noted(model, folder / "log.txt")
    for number, name in enumerate(names):
        run = folder / f"run{number}"
        if not (run / "manifest.json").exists() or not Run.load(run).is_sealed:
            suite = load(name)
            evaluate_sync(noted, suite, run, sampling=suite.sampled(max_new_tokens=tokens))
    noted.close()


def kill_and_resume(
    names: Sequence[str],
    folder: Path,
    kills: int,
    every: int,
    *,
    model: str = "scripted/solver",
    tokens: int | None = None,
) -> Found:
    """Play the episodes in processes that are killed, and hold what is stored to what was asked.

    Args:
        names: Of the suites; ids of their prompts must differ.
        folder: Where the runs and the log lie.
        kills: How many processes are killed.
        every: Answers that a process gives before it is killed.
        model: Who acts.
        tokens: Of one answer, at most; None: as the suite says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.txt"
    log.touch()
    command = [sys.executable, __file__, "--act", "--model", model, "--out", str(folder), *names]
    command += [] if tokens is None else ["--max-new-tokens", str(tokens)]
    is_over = False
    while not is_over:
        stored, seen = _stored(names, folder), len(_notes(log, "asked"))
        answers, may_end = len(_notes(log, "answered")), len(_notes(log, "killed")) >= kills
        process = subprocess.Popen(command)
        while process.poll() is None and (may_end or len(_notes(log, "answered")) < answers + every):
            time.sleep(0.002 if model.startswith("scripted") else 0.2)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        is_over = process.wait() == 0
        assert is_over or process.returncode == -signal.SIGKILL
        if not is_over:
            with log.open("a") as opened:
                opened.write("killed -\n")
        assert stored.isdisjoint(_notes(log, "asked")[seen:]), "a stored step was asked again"
        done = len(_notes(log, "killed"))
        print(f"{time.strftime('%H:%M:%S')} {done} kills, {len(_stored(names, folder)):,} steps stored", flush=True)
    given = Counter(_notes(log, "answered"))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert given.keys() == _stored(names, folder), "a step was lost, or never asked for"
    return Found(given.total(), given.total() - len(given), len(_notes(log, "killed")), used.ru_utime + used.ru_stime)


def check(run: Run, episodes: int) -> Counter[str]:
    """Do every episode of a run again, and count what they came to."""
    prompts, responses = run.prompts(), list(run.responses())
    assert run.is_sealed
    assert len(prompts) == len(responses) == episodes
    found: Counter[str] = Counter()
    for prompt, response in zip(prompts, responses, strict=True):
        tags = prompt.tags
        found["steps"] += sum(step.role == "assistant" for step in response.steps)
        judged = replay(tags["world"], int(tags["world_seed"]), tags["form"], response.steps)[1]
        found[f"goal {judged.outcome}"] += 1
        found["broke a rule"] += bool(judged.broken)
        found[str(response.stop_reason)] += 1
    return found


def _stored(names: Sequence[str], folder: Path) -> set[str]:
    runs = [folder / f"run{number}" for number in range(len(names))]
    kept = [Run.load(run).steps() for run in runs if (run / "manifest.json").exists()]
    return {"{} {} {}".format(*step.answer.key) for steps in kept for own in steps.values() for step in own}


def _notes(log: Path, what: str) -> list[str]:
    return [line.partition(" ")[2] for line in log.read_text().splitlines() if line.startswith(what)]


def main() -> None:
    """Play, and print a line for each suite."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="local/smollm2-135m")
    parser.add_argument("--max-new-tokens", type=int)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--every", type=int, default=100, help="answers before a kill")
    parser.add_argument("--act", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.act:
        act(given.suites, given.out, given.model, given.max_new_tokens)
        return
    found = kill_and_resume(
        given.suites, given.out, given.kills, given.every, model=given.model, tokens=given.max_new_tokens
    )
    print(f"{found.answers:,} answers, {found.twice} twice, {found.kills} kills, {found.seconds:,.0f} s of processor")
    for number, name in enumerate(given.suites):
        run = Run.load(given.out / f"run{number}")
        counts = check(run, len(load(name).prompts))
        print(f"{name}: {len(run.prompts()):,} episodes, " + ", ".join(f"{what} {n:,}" for what, n in counts.items()))


if __name__ == "__main__":
    main()
