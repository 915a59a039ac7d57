"""A server is started, answers, and is stopped with all that it started; trouble has its last lines."""

from __future__ import annotations

import sys
import time
import urllib.request
from pathlib import Path

import pytest

from adhere.errors import AdhereError, UsageError
from adhere.models.local.starter import free_port, last_lines, start_server

SERVER = """
import http.server, subprocess, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"data": []}')
print("starting up", flush=True)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
time.sleep(0.3)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def is_alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_it_answers_and_is_stopped_with_its_children(tmp_path: Path) -> None:
    port, said = free_port(), list[str]()
    url, log = f"http://127.0.0.1:{port}/v1", tmp_path / "logs" / "server.log"
    with start_server(
        [sys.executable, "-c", SERVER, str(port)], base_url=url, log=log, wait_s=60, say=said.append
    ) as server:
        assert urllib.request.urlopen(f"{url}/models").status == 200
        child = int(next(line for line in last_lines(log) if line.startswith("child")).split()[1])
        assert is_alive(child)
    assert not server.is_running
    for _ in range(50):
        if not is_alive(child):
            break
        time.sleep(0.1)
    assert not is_alive(child)
    assert "starting up" in log.read_text()
    assert said[0].startswith("Starting ")
    assert str(log) in said[0]
    server.stop()  # again does nothing


def test_a_server_that_ends_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('no \\x1b[31mGPU\\x1b[0m here'); sys.exit(3)"]
    with pytest.raises(AdhereError, match=r"exit code 3 before it answered.*\n.*no .*GPU") as caught:
        start_server(command, base_url="http://127.0.0.1:9/v1", log=tmp_path / "log", wait_s=30)
    assert "\x1b" not in str(caught.value)


def test_a_server_that_never_answers_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
    with pytest.raises(AdhereError, match=r"did not answer at .* within 1 s"):
        start_server(command, base_url="http://127.0.0.1:9/v1", log=tmp_path / "log", wait_s=1)
    assert not is_alive(int((tmp_path / "log").read_text().split()[0]))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-program cannot be started"):
        start_server(["no-such-program", "serve"], base_url="http://127.0.0.1:9/v1", log=tmp_path / "log")
    assert (tmp_path / "log").exists()
