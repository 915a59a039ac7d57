"""What a call comes to, and what the caller may ask for."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import adhere
from adhere import sandbox
from adhere.errors import UsageError
from adhere.sandbox import Outcome, backend, run, workers
from adhere.sandbox.run import _outcome
from adhere.sandbox.workers import Answer

pytestmark = pytest.mark.skipif(backend().startswith("none"), reason=f"no isolation here: {backend()}")


def status_of(source: str, *args: object, **limits: object) -> Outcome:
    return run(source, "f", list(args), **limits)


def test_a_value_comes_back_as_json() -> None:
    outcome = run("def f(a, b):\n    return {'sum': a + b, 'pair': (a, b), 'none': None, 'yes': True}", "f", [1, 2.5])
    assert (outcome.status, outcome.value) == ("ok", {"sum": 3.5, "pair": [1, 2.5], "none": None, "yes": True})
    assert outcome.backend.startswith("linux: ")
    assert "seccomp" in outcome.backend


def test_a_bool_is_a_bool() -> None:
    assert run("def f(t):\n    return 'a' in t", "f", ["cat"]).value is True


def test_a_call_may_import_the_standard_library_that_was_not_loaded_before() -> None:
    if "landlock" not in workers.pool().fences:
        pytest.skip("without Landlock no file can be opened")
    assert run("import colorsys, zlib\ndef f():\n    return colorsys.__name__", "f", []).value == "colorsys"


@pytest.mark.parametrize(
    ("source", "status", "part"),
    [
        ("def f():\n    raise ValueError('no')", "error", "ValueError: no"),
        ("def g():\n    pass", "error", "no function 'f'"),
        ("def f(:", "error", "SyntaxError"),
        ("f = 3", "error", "no function 'f'"),
        ("import sys\ndef f():\n    sys.exit(0)", "error", "SystemExit"),
        ("def f():\n    return {1}", "error", "set, which is no JSON value"),
        ("def f():\n    return float('nan')", "error", "nan"),
        ("def f():\n    return {1: 2}", "error", "no str"),
        ("def f():\n    a = []\n    a.append(a)\n    return a", "error", "nested deeper"),
        ("def f():\n    return 10 ** 5000", "error", "digits"),
        ("def f():\n    return bytearray(10**9)", "memory", "memory"),
        ("def f():\n    while True: pass", "timeout", "0.2 s"),
        ("def f():\n    return list({'a', 'b', 'c', 'd', 'e'})", "nondeterministic", "one run"),
        ("import random\ndef f():\n    return random.random()", "nondeterministic", "one run"),
        ("import time\ndef f():\n    return time.time_ns()", "nondeterministic", "one run"),
    ],
)
def test_every_end_is_an_outcome_of_its_own(source: str, status: str, part: str) -> None:
    outcome = status_of(source, timeout_s=0.2 if status == "timeout" else 10.0)
    assert outcome.status == status, outcome
    assert part in outcome.reason
    assert outcome.value is None


def test_waiting_says_nothing_about_the_code() -> None:
    outcome = run("import time\ndef f():\n    time.sleep(60)", "f", [], timeout_s=0.2, twice=False)
    assert (outcome.status, outcome.waited) == ("timeout", True), outcome
    rule = adhere.constraint("code:passes", function="double", cases="[[[2], 4]]")
    assert rule.check("```python\nimport time\ndef double(n):\n    time.sleep(60)\n```").outcome == "undecided"
    busy = run("def f():\n    while True: pass", "f", [], timeout_s=0.2, twice=False)
    assert (busy.status, busy.waited) == ("timeout", "used more than" not in busy.reason), (
        busy
    )  # a busy machine may starve it


@pytest.mark.parametrize("payload", [b"1e999", b'{"a": [-1e999]}', b"[" * 970 + b"]" * 970, b"[" * 101 + b"]" * 101])
def test_an_answer_that_no_runner_let_pass_is_no_value(payload: bytes) -> None:
    """As code that found its runner's token could write it."""
    found = _outcome(Answer("ok", "", payload), "linux")
    assert (found.status, found.value) == ("error", None)
    assert _outcome(Answer("ok", "", b"[" * 100 + b"]" * 100), "linux").status == "ok"


def test_the_clock_counts_what_is_computed() -> None:
    """Half a second of computing passes under a limit of two, though another process shares the processor."""
    assert status_of("def f():\n    return sum(range(1_000_000))", timeout_s=5.0).status == "ok"


def test_one_call_leaves_nothing_to_the_next() -> None:
    source = "import re\ndef f(mark):\n    seen = getattr(re, 'seen', None)\n    re.seen = mark\n    return seen"
    assert [run(source, "f", [mark]).value for mark in ("a", "b")] == [None, None]


def test_one_run_asks_one_interpreter() -> None:
    assert run("import random\ndef f():\n    return random.random()", "f", [], twice=False).status == "ok"


def test_the_text_under_test_is_data() -> None:
    text = "'''\"\"\"\\x00\n__import__('os').system('true')\ud800"
    assert run("def f(t):\n    return [len(t), t]", "f", [text]).value == [len(text), text]


def test_a_megabyte_goes_in_and_a_part_of_it_comes_back() -> None:
    assert (
        run("def f(t):\n    return t[:500_000]", "f", ["é" * 1_000_000]).value is None
    )  # more than the answer may have
    assert run("def f(t):\n    return t[:100_000]", "f", ["é" * 1_000_000]).value == "é" * 100_000
    assert run("def f(t):\n    return len(t)", "f", ["é" * 1_000_000]).value == 1_000_000


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"source": 3}, "source"),
        ({"function": None}, "function"),
        ({"args": "abc"}, "args"),
        ({"args": [{1}]}, "JSON"),
        ({"args": [float("nan")]}, "JSON"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"memory_mb": 1}, "memory_mb"),
    ],
)
def test_what_cannot_be_asked_is_said(wrong: dict, part: str) -> None:
    call = {"source": "def f(): pass", "function": "f", "args": [], **wrong}
    with pytest.raises(UsageError, match=part):
        run(call.pop("source"), call.pop("function"), call.pop("args"), **call)


def test_threads_share_the_workers() -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        values = list(threads.map(lambda n: run("def f(n):\n    return n * n", "f", [n]).value, range(40)))
    assert values == [n * n for n in range(40)]


def _in_a_fork(queue: multiprocessing.SimpleQueue) -> None:
    queue.put(run("def f():\n    return 7", "f", []).value)


def test_a_forked_process_gets_workers_of_its_own() -> None:
    assert run("def f():\n    return 1", "f", []).value == 1
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_a_fork, args=(queue,))
    child.start()
    child.join(60)
    assert queue.get() == 7
    assert run("def f():\n    return 2", "f", []).value == 2


def test_a_worker_that_died_is_replaced() -> None:
    pool = workers.pool()
    for worker in pool.workers:
        worker.process.kill()
        worker.process.wait()
    assert run("def f():\n    return 3", "f", []).value == 3


def test_an_interrupted_call_leaves_no_answer_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(worker: workers.Worker, until: float) -> workers.Answer:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(workers.Worker, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run("def f():\n    return 'old'", "f", [])
    assert run("def f():\n    return 'new'", "f", []).value == "new"


def test_nothing_runs_where_nothing_isolates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_pool", "no seccomp")
    assert run("def f():\n    return 1", "f", []) == Outcome(
        "refused", None, "nothing here isolates code: no seccomp", "none"
    )
    assert sandbox.backend() == "none: no seccomp"


@pytest.mark.parametrize(
    "probe",
    ["def probe():\n    return ['open']", "def probe():\n    raise ValueError", "def probe():\n    return True"],
)
def test_a_worker_that_fails_its_probe_is_not_used(monkeypatch: pytest.MonkeyPatch, probe: str) -> None:
    monkeypatch.setattr(workers, "_PROBE", probe)
    with pytest.raises(workers.NoIsolation, match="must not"):
        workers.Worker(1, bwrap=False, landlock=True)


def test_without_seccomp_there_is_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text that a worker is sent, for a processor whose system calls nobody listed."""
    real = workers._text
    monkeypatch.setattr(
        workers,
        "_text",
        lambda name: real(name).replace('"x86_64": {', '"other": {').replace('"aarch64": {', '"another": {'),
    )
    with pytest.raises(workers.NoIsolation, match="no list of system calls"):
        workers.Pool()


def test_workers_end_with_the_process_that_made_them(tmp_path: Path) -> None:
    script = (
        "import os, signal\nfrom adhere.sandbox import run, workers\nrun('def f():\\n    return 1', 'f', [])\n"
        "print(*[w.process.pid for w in workers.pool().workers], flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == len(workers.HASH_SEEDS)
    until = time.monotonic() + 60
    while any(_is_running(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_is_running(pid) for pid in pids)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_links_that_lead_nowhere_do_not_take_the_fence_away(tmp_path: Path) -> None:
    """Debian's standard library links to /etc, which is not there inside of bubblewrap."""
    from adhere.sandbox.worker import readable_in

    (tmp_path / "site-packages").mkdir()
    (tmp_path / "json").mkdir()
    (tmp_path / "sitecustomize.py").symlink_to(tmp_path / "gone.py")
    assert readable_in(str(tmp_path)) == [str(tmp_path / "json")]


def test_secrets_of_this_process_do_not_reach_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-secret")
    monkeypatch.setattr(workers, "_pool", None)
    made = workers.pool()
    try:
        for worker in made.workers:
            environ = Path(f"/proc/{worker.process.pid}/environ").read_bytes()
            assert b"planted" not in environ
    finally:
        made.stop()
    assert os.environ["OPENAI_API_KEY"]
