"""How near a sweep comes to the time that the endpoint needs, and what two other harnesses do on the same server.

The server is `adhere.models.fake.endpoint` in a process of its own: every answer takes LATENCY, and beyond CAPACITY
requests at once it rejects with HTTP 429 at once. The ideal is ceil(requests / capacity) * latency. "Rejected" is the
server's own count.

    python -m benchmarks.runs.sweep sweep                              # (a) 256 models x 20 prompts, 0.5 s, capacity 50
    python -m benchmarks.runs.sweep flight                             # (b) 500 in flight at 1 s
    python -m benchmarks.runs.sweep adhere                             # (c) one model x 541 prompts, 0.5 s, capacity 50
    python -m benchmarks.runs.sweep lm-eval --reference VENV/bin/python [--concurrency 1]
    python -m benchmarks.runs.sweep inspect --reference VENV/bin/python [--concurrency 50]

VENV holds `pip install inspect-ai openai "lm-eval[api]"`. Each prints one JSON object. CPU is the client process's own,
from the first request to the last answer; the other harnesses' includes what their API path does around a request, but
neither their start nor any scoring. Our (a) is the whole command: listing, liveness, asking, judging, storing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROMPTS = 541
HERE = Path(__file__)


def prompt(number: int) -> str:
    return f"Question {number}: " + "write a short paragraph about the sea, in three sentences, without commas. " * 3


def serve(models: int, capacity: int | None, latency_s: float) -> None:
    """Until stdin ends; prints the address, and at the end what was served."""
    from adhere.models.fake.endpoint import FakeEndpoint

    endpoint = FakeEndpoint(
        [f"fake/model-{number:03d}" for number in range(models)], capacity=capacity, latency_s=latency_s
    )
    with endpoint:
        print(endpoint.url, flush=True)
        sys.stdin.read()
        served, rejected = sum(endpoint.served.values()), sum(endpoint.rejected.values())
        print(json.dumps({"served": served, "rejected": rejected, "most_at_once": endpoint.most_busy}), flush=True)


@contextmanager
def server(models: int, capacity: int | None, latency_s: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """(address, what it counted, filled in at the end)."""
    counted: dict[str, Any] = {}
    command = [sys.executable, str(HERE), "serve", "--models", str(models), "--latency", str(latency_s)]
    command += ["--capacity", str(capacity)] if capacity is not None else []
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), counted
        counted |= json.loads(process.communicate("")[0])
    finally:
        process.kill()


def whole_sweep() -> dict[str, Any]:
    from adhere import suites
    from adhere.models.http.client import Endpoint
    from adhere.models.http.keys import address
    from adhere.models.http.options import EndpointOptions
    from adhere.schema import Sampling
    from adhere.sweep.spec import Filter, sweep_spec
    from adhere.sweep.stages import NoWatcher, sweep

    class Clock(NoWatcher):
        def __init__(self) -> None:
            self.began: dict[str, float] = {}

        def stage(self, name: str, dispatcher: Any, total: int) -> None:
            self.began[name] = time.perf_counter()

        def tick(self) -> None:
            self.last = time.perf_counter()

    models, prompts, capacity, latency_s = 256, 20, 50, 0.5
    clock = Clock()

    async def run(url: str, folder: Path) -> tuple[float, float]:
        asked = [suites.load("core:in-family", limit=prompts)]
        assert len(asked[0].prompts) == prompts
        async with Endpoint(address(url), options=EndpointOptions(timeout_s=10)) as endpoint:
            spec = sweep_spec(endpoint, asked, model_filter=Filter(), samplings=[Sampling()])
            start, cpu = time.perf_counter(), time.process_time()
            found = await sweep(endpoint, asked, spec, folder / "sweep", watcher=clock)
            assert len(found.runs) == models
            return time.perf_counter() - start, time.process_time() - cpu

    with tempfile.TemporaryDirectory() as folder, server(models, capacity, latency_s) as (url, counted):
        wall, cpu = asyncio.run(run(url, Path(folder)))
    ideal = math.ceil(models * prompts / capacity) * latency_s
    alive = math.ceil(models / capacity) * latency_s
    asking = clock.last - clock.began["ask"]
    return {
        "ideal_s": ideal,
        "asking_s": asking,
        "over_ideal": asking / ideal,
        "liveness_s": clock.began["ask"] - clock.began["alive"],
        "liveness_ideal_s": alive,
        "whole_s": wall,
        "cpu_s": cpu,
        **_rejected(counted),
    }


def flight() -> dict[str, Any]:
    from adhere.models.base import Request
    from adhere.models.http.client import Endpoint
    from adhere.models.http.dispatch import Dispatcher, Policy
    from adhere.models.http.keys import address
    from adhere.schema import Message, Sampling

    total, at_once = 5_000, 500

    async def run(url: str) -> tuple[float, float]:
        async with Endpoint(address(url)) as endpoint:
            dispatcher = Dispatcher(
                lambda model, request: endpoint.call(model, request, Sampling()),
                policy=Policy(concurrency=at_once, lane_concurrency=at_once, start=at_once, lane_start=at_once),
            )
            requests = [Request(f"p{n}", 0, 0, (Message("user", prompt(n)),), n) for n in range(total)]
            start, cpu = time.perf_counter(), time.process_time()
            dispatcher.add("fake/model-000", requests)
            answers = [response async for _, _, response in dispatcher.answers()]
            assert sum(response.status == "ok" for response in answers) == total
            return time.perf_counter() - start, time.process_time() - cpu

    with server(1, None, 1.0) as (url, counted):
        wall, cpu = asyncio.run(run(url))
    return {
        "requests": total,
        "ideal_s": total / at_once,
        "wall_s": wall,
        "requests_per_s": total / wall,
        "cpu_ms_per_request": 1e3 * cpu / total,
        **_rejected(counted),
    }


def ours() -> dict[str, Any]:
    from adhere.models.base import Request
    from adhere.models.http.client import EndpointModel
    from adhere.schema import Message, Sampling

    async def run(url: str) -> tuple[float, float, int]:
        model = EndpointModel(f"{url}#fake/model-000")
        requests = [Request(f"p{n}", 0, 0, (Message("user", prompt(n)),), n) for n in range(PROMPTS)]
        start, cpu = time.perf_counter(), time.process_time()
        answers = [response async for response in model.respond(requests, Sampling())]
        good = sum(response.status == "ok" for response in answers)
        return time.perf_counter() - start, time.process_time() - cpu, good

    return _one_model(lambda url: asyncio.run(run(url)))


def others(name: str, reference: str, concurrency: int | None) -> dict[str, Any]:
    def run(url: str) -> tuple[float, float, int]:
        command = [reference, str(HERE), f"drive-{name}", "--url", url]
        command += ["--concurrency", str(concurrency)] if concurrency is not None else []
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "TQDM_DISABLE": "1"}
        )
        if done.returncode:
            # What was asked and lost matters more than how: lm-eval ends a whole run at the first request given up.
            return 0.0, 0.0, -1 if not done.stderr else _said(done.stderr)
        wall, cpu, good = json.loads(done.stdout.splitlines()[-1])
        return wall, cpu, good

    return {"harness": name, "concurrency": concurrency or "default", **_one_model(run)}


def _said(text: str) -> int:
    print(text[-1500:], file=sys.stderr)
    return -1


def _one_model(run: Any) -> dict[str, Any]:
    capacity, latency_s = 50, 0.5
    with server(1, capacity, latency_s) as (url, counted):
        wall, cpu, good = run(url)
    ideal = math.ceil(PROMPTS / capacity) * latency_s
    return {
        "ideal_s": ideal, "wall_s": wall, "over_ideal": wall / ideal, "answered": good,
        "cpu_ms_per_request": 1e3 * cpu / PROMPTS, **_rejected(counted),
    }  # fmt: skip


def _rejected(counted: dict[str, Any]) -> dict[str, Any]:
    return {**counted, "rejected_share": counted["rejected"] / (counted["served"] + counted["rejected"])}


def drive_lm_eval(url: str, concurrency: int | None) -> None:
    """Runs in the other environment: lm-eval's `local-chat-completions`."""
    os.environ["OPENAI_API_KEY"] = "none"
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalChatCompletion

    more = {} if concurrency is None else {"num_concurrent": concurrency}
    model = LocalChatCompletion(model="fake/model-000", base_url=f"{url}/chat/completions", **more)
    requests = [
        Instance(
            "generate_until",
            {},
            (model.apply_chat_template([{"role": "user", "content": prompt(n)}]), {"until": []}),
            n,
        )
        for n in range(PROMPTS)
    ]
    start, cpu = time.perf_counter(), time.process_time()
    answers = model.generate_until(requests)
    good = sum(prompt(n).strip() == (answer or "").strip() for n, answer in enumerate(answers))
    print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, good]))


def drive_inspect(url: str, concurrency: int | None) -> None:
    """Runs in the other environment: inspect-ai's `eval` of one `generate()`, without a scorer."""
    os.environ["OPENAI_API_KEY"] = "none"
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import get_model
    from inspect_ai.solver import generate

    task = Task(MemoryDataset([Sample(prompt(n), id=n + 1) for n in range(PROMPTS)]), solver=generate())
    model = get_model("openai/fake/model-000", base_url=url, responses_api=False)
    more = {} if concurrency is None else {"max_connections": concurrency}
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        (log,) = evaluate(task, model=model, log_dir=folder, display="none", **more)
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        if log.status != "success":
            raise SystemExit(f"inspect-ai ended with {log.status}: {log.error}")
        good = sum(prompt(sample.id - 1).strip() == sample.output.completion.strip() for sample in log.samples or ())
    print(json.dumps([wall, used, good]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--models", type=int, default=1)
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--url", default="")
    parser.add_argument("--reference", default="")
    parser.add_argument("--concurrency", type=int)
    options = parser.parse_args()
    match options.what:
        case "serve":
            serve(options.models, options.capacity, options.latency)
        case "drive-lm-eval":
            drive_lm_eval(options.url, options.concurrency)
        case "drive-inspect":
            drive_inspect(options.url, options.concurrency)
        case "sweep":
            print(json.dumps(whole_sweep()))
        case "flight":
            print(json.dumps(flight()))
        case "adhere":
            print(json.dumps(ours()))
        case "lm-eval" | "inspect":
            print(json.dumps(others(options.what, options.reference, options.concurrency)))
        case other:
            parser.error(f"{other!r} is none of sweep, flight, adhere, lm-eval, inspect")


if __name__ == "__main__":
    main()
