"""Files in stores, over HTTP on this machine.

S3:// by moto's server, hf:// by a hub of our own that serves what a reader asks for.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from adhere import suites

pytestmark = pytest.mark.slow
COUNT = 3_000


@pytest.fixture(scope="module")
def rows() -> list[bytes]:
    """One in ten repeats a test item."""
    items = [prompt.text for prompt in suites.load("core").prompts]
    texts = (
        items[n % len(items)] if n % 10 == 3 else f"Row {n} says something about rivers, boats." for n in range(COUNT)
    )
    return [json.dumps({"id": n, "text": text}).encode() + b"\n" for n, text in enumerate(texts)]


def run(environment: dict[str, str], *command: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "adhere", *command, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def written(folder: Path, rows: list[bytes]) -> Path:
    """Plain, gzip, zstandard and Parquet, a quarter of the rows each."""
    import pyarrow as pa
    import pyarrow.parquet
    import zstandard

    folder.mkdir()
    quarter = COUNT // 4
    (folder / "a.jsonl").write_bytes(b"".join(rows[:quarter]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(rows[quarter : 2 * quarter])))
    (folder / "c.jsonl.zst").write_bytes(zstandard.compress(b"".join(rows[2 * quarter : 3 * quarter])))
    table = pa.Table.from_pylist([json.loads(row) for row in rows[3 * quarter :]])
    pyarrow.parquet.write_table(table, folder / "d.parquet", row_group_size=200)
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]) -> tuple[Path, dict[str, Any]]:
    """The same files on this disk, and what comes of them."""
    folder = written(tmp_path_factory.mktemp("stores") / "raw", rows)
    out = folder.parent / "clean"
    found = run(
        dict(os.environ), "decontaminate", f"{folder}/*", "--against", "core", "--engine", "local", "--out", str(out)
    )
    assert (found["rows"], found["dropped"]) == (COUNT, COUNT // 10)
    return folder, found


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An S3 of moto's, in a process of its own."""
    pytest.importorskip("moto.server")
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("s3fs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    for name, value in {
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }.items():
        monkeypatch.setenv(name, value)
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{url}/moto-api/").close()
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        store.mkdir("bucket")
        yield store
    finally:
        server.terminate()
        server.wait()


def test_s3_is_read_and_written(s3: Any, here: tuple[Path, dict[str, Any]], rows: list[bytes]) -> None:
    folder, expected = here
    for file in folder.iterdir():
        s3.put_file(str(file), f"bucket/raw/{file.name}")
    command = ("decontaminate", "s3://bucket/raw/*", "--against", "core", "--engine", "local", "--jobs", "2", "--out",
        "s3://bucket/clean")  # fmt: skip
    found = run(dict(os.environ), *command)
    same = ("rows", "kept", "dropped", "contaminated", "against")
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}
    for name in sorted(path.name for path in (folder.parent / "clean/rows").iterdir()):
        assert s3.cat_file(f"bucket/clean/rows/{name}") == (folder.parent / "clean/rows" / name).read_bytes(), name
    s3.rm_file("bucket/clean/done/00001.json")
    s3.rm_file("bucket/clean/rows/00001.jsonl.gz")
    assert run(dict(os.environ), *command)["kept"] == found["kept"], "only what is missing is done again"
    assert s3.exists("bucket/clean/rows/00001.jsonl.gz")


class Hub(BaseHTTPRequestHandler):
    """What `hf://datasets/me/rows/…` asks of a hub: the repository, its files, and their bytes, in ranges."""

    folder: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        self.asked.append(path)
        if path.startswith("/datasets/me/rows/resolve/main/"):
            return self._bytes((self.folder / path.rpartition("/")[2]).read_bytes())
        if path == "/api/datasets/me/rows/tree/main":
            files = sorted(self.folder.iterdir())
            return self._json(
                [{"type": "file", "path": one.name, "size": one.stat().st_size, "oid": one.name} for one in files]
            )
        if path in {"/api/datasets/me/rows", "/api/datasets/me/rows/revision/main"}:
            return self._json(
                {"id": "me/rows", "sha": "0" * 40, "siblings": [], "tags": [], "downloads": 0, "private": False}
            )
        return self._answer(404, b"{}")

    def _json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _bytes(self, data: bytes) -> None:
        begin, end = 0, len(data)
        if ranged := self.headers.get("Range"):
            first, _, last = ranged.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last or end) + 1, end)
        head = {"ETag": '"1"', "X-Repo-Commit": "0" * 40, "Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}
        self._answer(206 if ranged else 200, data[begin:end], head)

    def _answer(self, status: int, data: bytes, head: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (head or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_hf_is_read(here: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    folder, expected = here
    hub = type("OurHub", (Hub,), {"folder": folder, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HOME": str(tmp_path / "home")}  # fmt: skip
        there.pop("HF_HUB_OFFLINE", None)
        found = run(
            there,
            "decontaminate",
            "hf://datasets/me/rows/*",
            "--against",
            "core",
            "--engine",
            "local",
            "--out",
            str(tmp_path / "clean"),
        )
        server.shutdown()
    assert any("/resolve/" in path for path in hub.asked), hub.asked
    assert (found["rows"], found["kept"]) == (expected["rows"], expected["kept"])
    for file in sorted((folder.parent / "clean/rows").iterdir()):
        assert (tmp_path / "clean/rows" / file.name).read_bytes() == file.read_bytes(), file.name
