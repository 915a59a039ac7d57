"""Worlds in a sweep: several models of an endpoint act, killed or not.

None is lost, none asked twice, and all shows on the pages.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from adhere import suites
from adhere.cli.sweep import command
from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.fake.scripted import open_scripted
from adhere.models.http.options import EndpointOptions
from adhere.pipeline.evaluate import evaluate_sync
from adhere.progress import Silent
from adhere.report.pages import stored_in
from adhere.schema import Message, ToolCall
from adhere.store.run import Run
from adhere.store.segments import Damage, read_segments
from adhere.suites.base import Suite
from adhere.sweep.episodes import StepRow
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.run import SweepRequest, run_sweep

NAMES = ("world:shop:x4", "world:files:x3+text")


def solver(loaded: Sequence[Suite]) -> Any:
    """What a FakeModel replies that solves these episodes; to anything else it says yes."""
    by_wants = {prompt.text: prompt for suite in loaded for prompt in suite.prompts}
    assert len(by_wants) == sum(len(suite.prompts) for suite in loaded), "an episode is known by what its user wants"
    script = open_scripted("scripted/solver").script

    def reply(body: Mapping[str, Any]) -> Message:
        asked = next(one["content"] for one in body["messages"] if one["role"] == "user")
        if asked not in by_wants:
            return Message("assistant", "Yes.")
        said = tuple(Message("assistant", "") for one in body["messages"] if one["role"] == "assistant")
        prompt = by_wants[asked]
        answer = script(Request(prompt.id, 0, 0, said, 0, tools=prompt.tools))
        assert isinstance(answer, Message)
        return answer

    return reply


def idle(body: Mapping[str, Any]) -> Message:
    """Looks and never does anything."""
    return Message(
        "assistant",
        "" if "tools" in body else "Hm?",
        (ToolCall("x", "find_customer", {"email": "?"}),) if "tools" in body else (),
    )


def asked(url: str, out: Path, **more: Any) -> SweepRequest:
    return SweepRequest(where=url, suites=NAMES, options=EndpointOptions(), out=out, **more)


def test_every_model_plays_every_episode_as_a_single_run_would(tmp_path: Path) -> None:
    loaded = [suites.load(name) for name in NAMES]
    good = FakeModel(reply=solver(loaded))
    flaky = FakeModel(reply=solver(loaded), faults=(None, None, "503", "429", None, None, None))
    with FakeEndpoint({"good": good, "flaky": flaky, "idle": FakeModel(reply=idle)}) as endpoint:
        found = run_sweep(asked(endpoint.url, tmp_path / "sweep", draws=2))
        before = sum(endpoint.served.values())
        again = run_sweep(asked(endpoint.url, tmp_path / "sweep", draws=2))
        assert sum(endpoint.served.values()) == before, "nothing is asked again"
    passed = {where: Run.load(path).summary().overall.prompt_strict.passed for where, path in again.runs.items()}
    assert len(leaderboard(again).rows) == 6
    for place, suite in enumerate(loaded):
        whole = evaluate_sync(open_scripted("scripted/solver"), suite, tmp_path / f"whole{place}", draws=2)
        for model in ("good", "flaky"):
            run = Run.load(found.runs[model, place])
            assert [_said(one.steps) for one in run.responses()] == [_said(one.steps) for one in whole.responses()]
            assert run.summary().coverage == 1.0
            assert passed[model, place] == 2 * len(suite.prompts)
        lazy = Run.load(found.runs["idle", place])
        assert {one.stop_reason for one in lazy.responses()} <= {"limit of 30 steps", "done"}
        assert passed["idle", place] == 0
    page = stored_in([found.directory]).html()
    assert "world:shop:x4" in page
    assert "goal reached" in stored_in([found.runs["idle", 0]]).html()


def _said(steps: Sequence[Message]) -> list[tuple[str, str, Any]]:
    return [(one.role, one.content, [(call.name, call.arguments) for call in one.calls]) for one in steps]


def test_limits_of_a_name_hold_in_a_sweep_and_a_user_is_refused(tmp_path: Path) -> None:
    name = "world:shop:x2+steps2"
    with FakeEndpoint({"idle": FakeModel(reply=idle)}) as endpoint:
        found = run_sweep(SweepRequest(endpoint.url, (name,), options=EndpointOptions(), out=tmp_path))
        refused = CliRunner().invoke(command, [endpoint.url, "--suite", name, "--user", "local/x"])
    run = Run.load(found.runs["idle", 0])
    assert (run.spec.suite, {one.stop_reason for one in run.responses()}) == (name, {"limit of 2 steps"})
    assert isinstance(refused.exception, UsageError)
    assert "adhere eval URL#MODEL URL#MODEL --suite … --user local/x" in str(refused.exception)


def test_what_episodes_may_cost_is_said_before_and_the_cap_is_kept(tmp_path: Path) -> None:
    loaded = [suites.load(name) for name in NAMES]
    listing = {"pricing": {"prompt": "0.000001", "completion": "0.000002"}}
    lines: list[str] = []

    with FakeEndpoint({"m": FakeModel(reply=solver(loaded), listing=listing)}) as endpoint:
        progress = Silent()
        progress.say = lines.append  # type: ignore[method-assign]
        found = run_sweep(asked(endpoint.url, tmp_path), progress=progress)
    (line,) = [line for line in lines if "answers of 1 models" in line]
    most = float(line.partition("at most $")[2].split()[0])
    spent = sum(one.usage.cost_usd or 0 for place in (0, 1) for one in Run.load(found.runs["m", place]).responses())
    assert 0.5 < most < 5, line  # 7 episodes of 30 answers of 512 tokens
    assert spent < most


DRIVER = """
import sys
from pathlib import Path
from adhere.models.http.options import EndpointOptions
from adhere.sweep.run import SweepRequest, run_sweep
run_sweep(SweepRequest(where=sys.argv[1], suites=(sys.argv[3],), options=EndpointOptions(), out=Path(sys.argv[2])))
"""


def test_a_killed_sweep_loses_no_episode_and_asks_no_stored_step_again(tmp_path: Path) -> None:
    name = "world:shop:x12"
    loaded = [suites.load(name)]
    by_wants = {prompt.text: prompt.id for prompt in loaded[0].prompts}
    models = {f"m{number}": FakeModel(reply=solver(loaded), latency_s=0.2, capacity=4) for number in range(3)}
    with FakeEndpoint(models) as endpoint:
        stored: Counter[tuple[str, str, int]] = Counter()
        for kill in (True, True, False):
            seen = len(endpoint.seen)
            process = subprocess.Popen([sys.executable, "-c", DRIVER, endpoint.url, str(tmp_path), name])
            if kill:
                while process.poll() is None and len(endpoint.seen) < seen + 30:
                    time.sleep(0.005)
                time.sleep(0.6)  # what is kept in memory is written twice a second
                os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == (-signal.SIGKILL if kill else 0)
            fresh = Counter(_step_of(body, by_wants) for body in endpoint.seen[seen:])
            assert not {key for key in fresh if key in stored}, "a stored step was asked again"
            (folder,) = tmp_path.iterdir()
            rows = read_segments(folder / "steps", StepRow, Damage())
            stored = Counter((row.model, row.step.answer.prompt_id, row.step.answer.turn) for row in rows)
        assert set(stored.values()) == {1}
    whole = evaluate_sync(open_scripted("scripted/solver"), loaded[0], tmp_path.parent / f"{tmp_path.name}-whole")
    for run in sorted((folder / "runs").iterdir()):
        assert [_said(one.steps) for one in Run.load(run).responses()] == [
            _said(one.steps) for one in whole.responses()
        ]
        assert Run.load(run).summary().overall.prompt_strict.passed == 12


def _step_of(body: Mapping[str, Any], by_wants: Mapping[str, str]) -> tuple[str, str, int]:
    asked = next(one["content"] for one in body["messages"] if one["role"] == "user")
    return body["model"], by_wants.get(asked, ""), sum(one["role"] == "assistant" for one in body["messages"])
