"""`vllm/DIR` starts a server, asks it, and stops it; here with a program that stands for `vllm`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from adhere.errors import AdhereError, MissingExtra, MissingModel, UsageError
from adhere.models.base import Model, Request
from adhere.models.catalog import open_model
from adhere.schema import Message, Response, Sampling

PROGRAM = """#!{python}
import http.server, json, sys
assert sys.argv[1] == "serve", sys.argv
if "--refuse" in sys.argv:
    sys.exit("torch.OutOfMemoryError: no room for the weights")
options = dict(zip(sys.argv[3::2], sys.argv[4::2]))
class Handler(http.server.BaseHTTPRequestHandler):
    def send(self, value):
        data = json.dumps(value).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(data))); self.end_headers(); self.wfile.write(data)
    def do_GET(self):
        self.send({{"data": [{{"id": options["--served-model-name"], "owned_by": "vllm"}}]}})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = f"{{body['model']}} {{sys.argv[2]}} {{options['--dtype']}} {{body.get('top_k')}}"
        self.send({{"choices": [{{"message": {{"role": "assistant", "content": said}}, "finish_reason": "stop"}}]}})
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(options["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "venv" / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("ADHERE_VLLM", str(tmp_path / "venv"))
    monkeypatch.setenv("ADHERE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def answers(model: Model) -> list[Response]:
    asked = [Request(f"p{number}", 0, 0, (Message("user", "Hi"),), number) for number in range(3)]

    async def body() -> list[Response]:
        return [one async for one in model.respond(asked, Sampling(8))]

    return asyncio.run(body())


def test_a_server_is_started_asked_twice_and_stopped(vllm: Path, tiny_llama_dir: Path) -> None:
    said: list[str] = []
    model = open_model(f"vllm/{tiny_llama_dir}", precision="bf16", say=said.append)
    assert (model.engine.name, model.engine.precision, model.engine.settings) == (
        "vllm",
        "bfloat16",
        {"batch_invariant": "no"},
    )
    assert model.engine.weights_sha256 is not None
    assert said == [], "nothing is started before it is asked"
    for _ in range(2):
        assert {one.text for one in answers(model)} == {f"{tiny_llama_dir.name} {tiny_llama_dir} bfloat16 None"}
    assert sum(line.startswith("Starting ") for line in said) == 1
    server = model._server  # type: ignore[attr-defined]
    model.close()
    assert not server.is_running
    assert list((vllm / "cache" / "logs").glob("vllm-*.log"))
    with pytest.raises(AdhereError, match="is closed"):
        answers(model)


def test_what_vllm_said_last_is_the_message(vllm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_VLLM_ARGUMENTS", "--refuse yes")
    model = open_model("vllm/org/name")
    assert model.engine.settings["arguments"] == ["--refuse", "yes"]
    with pytest.raises(AdhereError, match="no room for the weights"):
        answers(model)


def test_without_vllm_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_VLLM", str(tmp_path))
    with pytest.raises(MissingExtra, match="ADHERE_VLLM"):
        open_model("vllm/org/name")


def test_a_path_without_a_model_and_options_of_other_engines_are_refused(vllm: Path) -> None:
    with pytest.raises(MissingModel, match="no model is there"):
        open_model(f"vllm/{vllm}/nothing")
    with pytest.raises(UsageError, match="ADHERE_VLLM_ARGUMENTS"):
        open_model("vllm/org/name", threads=2)
