"""Rollouts over one or several endpoints.

Nothing that is stored is asked again, and one endpoint's end is not the end.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import RunMismatch, UsageError
from adhere.models.catalog import open_model
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.options import EndpointOptions
from adhere.models.http.replicas import replicas_of
from adhere.schema import Sampling
from adhere.steps.farm import draw

SAMPLING = Sampling(max_new_tokens=16, temperature=1.0)


def prompts_file(path: Path, count: int) -> str:
    path.write_text("".join(json.dumps({"id": f"p{n}", "prompt": f"Say the number {n}."}) + "\n" for n in range(count)))
    return str(path)


def rows(out: Path) -> list[dict]:
    return [json.loads(line) for file in sorted((out / "rows").iterdir()) for line in file.read_text().splitlines()]


def test_answers_lie_in_runs_and_as_rows(tmp_path: Path) -> None:
    prompts, out = prompts_file(tmp_path / "p.jsonl", 25), tmp_path / "out"
    model = open_model("scripted/echo")
    found = draw(model, [prompts], out, sampling=SAMPLING, draws=2, shard_answers=20)
    assert (found.shards, found.prompts, found.answers, found.failed) == (3, 25, 50, 0)
    made = rows(out)
    assert [(row["key"], row["draw"]) for row in made] == [(f"p{n}", d) for n in range(25) for d in range(2)]
    assert all(row["response"] == row["prompt"] and row["status"] == "ok" for row in made)
    assert draw(model, [prompts], out, sampling=SAMPLING, draws=2, shard_answers=20) == found
    with pytest.raises(RunMismatch, match="another draws"):
        draw(model, [prompts], out, sampling=SAMPLING, draws=3, shard_answers=20)
    (tmp_path / "none.jsonl").write_text("\n")
    with pytest.raises(UsageError, match="no prompts"):
        draw(model, [str(tmp_path / "none.jsonl")], tmp_path / "out2", sampling=SAMPLING)


def test_the_idle_endpoint_is_asked_and_a_dead_one_rests(tmp_path: Path) -> None:
    prompts = prompts_file(tmp_path / "p.jsonl", 120)
    with (
        FakeEndpoint({"m": FakeModel(latency_s=0.002)}) as fast,
        FakeEndpoint({"m": FakeModel(latency_s=0.5)}) as slow,
    ):
        dead = FakeEndpoint(["m"])
        with dead:
            urls = [f"{one.url}#m" for one in (dead, slow, fast)]
        model = replicas_of(urls, options=EndpointOptions(model_concurrency=4, wait_s=0), say=lambda _line: None)
        found = draw(model, [prompts], tmp_path / "out", sampling=SAMPLING)
        assert (found.answers, found.failed) == (120, 0)
        assert fast.served["m"] + slow.served["m"] == 120
        assert fast.served["m"] > 2 * slow.served["m"] > 0
        assert model.name == "replicas/m"
    with FakeEndpoint(["m"]) as other:  # other servers of the same model: the same Runs
        again = replicas_of([f"{other.url}#m"], options=EndpointOptions(), say=lambda _line: None)
        assert draw(again, [prompts], tmp_path / "out", sampling=SAMPLING) == found
        assert not other.served
    with pytest.raises(UsageError, match="replicas of one model"):
        replicas_of(["http://127.0.0.1:1/v1#a", "http://127.0.0.1:1/v1#b"], options=EndpointOptions(), say=print)


def test_a_bill_is_one_bill(tmp_path: Path) -> None:
    prompts = prompts_file(tmp_path / "p.jsonl", 40)
    listing = {"pricing": {"prompt": "0", "completion": "0.000001"}}
    with FakeEndpoint({"m": FakeModel(listing=listing)}) as one, FakeEndpoint({"m": FakeModel(listing=listing)}) as two:
        arguments = [
            "draw",
            prompts,
            "--out",
            str(tmp_path / "out"),
            "--model",
            f"{one.url}#m",
            "--model",
            f"{two.url}#m",
        ]
        arguments += ["--max-new-tokens", "16", "--max-cost", "0.0001"]
        first = CliRunner().invoke(adhere, arguments)
        assert "--max-cost" in str(first.exception), first.output
        asked = one.served["m"] + two.served["m"]
        assert 0 < asked < 40
        CliRunner().invoke(adhere, arguments)
        assert one.served["m"] + two.served["m"] <= asked + 1, "the second run goes on under the same cap"


@pytest.mark.slow
def test_killed_twice_in_ten_thousand_draws(tmp_path: Path) -> None:
    """Against `adhere serve` with a scripted model, behind a counter of what is asked."""
    prompts, out = prompts_file(tmp_path / "p.jsonl", 2_500), tmp_path / "out"
    server = subprocess.Popen(
        [sys.executable, "-m", "adhere", "serve", "scripted/echo", "--queue", "64"], stdout=subprocess.PIPE, text=True
    )
    started = [server]
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        command = [
            sys.executable,
            "-m",
            "adhere",
            "draw",
            prompts,
            "--model",
            f"{url}#scripted/echo",
            "--out",
            str(out),
            "--draws",
            "4",
        ]
        command += ["--shard-answers", "4000", "--max-new-tokens", "32", "--json"]
        before: Counter[tuple[str, int]] = Counter()
        for kills in (1, 2):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.append(process)
            while lines(out) < kills * 3_000 and process.poll() is None:
                time.sleep(0.05)
            assert process.poll() is None, "it was killed in the middle"
            process.send_signal(signal.SIGKILL)
            process.wait()
            before = stored(out)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["answers"] == 10_000
        after = stored(out)
        assert len(after) == 10_000
        assert all(times == 1 for times in after.values()), "no answer that was stored was asked for again"
        assert len(before) >= 6_000
        assert len({(row["key"], row["draw"]) for row in rows(out)}) == 10_000
    finally:
        for process in started:
            process.kill()
            process.communicate()


def lines(out: Path) -> int:
    """How many answers are stored, without reading them: that would take the processor from what is tested."""
    return sum(segment.read_bytes().count(b"\n") for segment in out.glob("shards/*/responses/*.jsonl"))


def stored(out: Path) -> Counter[tuple[str, int]]:
    """How often each answer is in a stored segment; the half line at the end of one that was killed is none."""
    found: Counter[tuple[str, int]] = Counter()
    for segment in out.glob("shards/*/responses/*.jsonl"):
        for line in segment.read_bytes().split(b"\n")[:-1]:
            row = re.search(rb'"prompt_id":"([^"]+)"', line), re.search(rb'"draw":(\d+)', line)
            found[row[0][1].decode() if row[0] else "", int(row[1][1]) if row[1] else 0] += 1
    return found
