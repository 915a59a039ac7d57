"""A stage that is watched: looks in the log, the weights of the best look, also after a kill.

And the result sent to a hub.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from adhere.errors import AdhereError, UsageError  # noqa: E402
from adhere.models.local.transformers import weights_sha256  # noqa: E402
from adhere.schema import ConstraintRef  # noqa: E402
from adhere.train import checkpoint, watch  # noqa: E402
from adhere.train.budget.ledger import Tally  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.run import run_recipe  # noqa: E402
from adhere.train.stage.settings import WatchSpec  # noqa: E402

ROOT = Path(__file__).parents[3]
SFT = StageSpec("sft", {"epochs": 1, "batch_rows": 2, "learning_rate": 1e-3})


@pytest.fixture(autouse=True)
def start(tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows and a tiny model."""
    rows = (ROOT / "examples" / "smoke-data" / "sft.jsonl").read_text().splitlines()[:10]
    (tmp_path / "sft.jsonl").write_text("\n".join(rows))
    monkeypatch.setitem(GIVEN, "start", f"hf/{tiny_llama_dir}")
    monkeypatch.setitem(GIVEN, "data", str(tmp_path))


GIVEN: dict[str, Any] = {"precision": "fp32", "guards": "warn"}


def recipe(**more: Any) -> Recipe:
    return Recipe("r", (SFT,), **GIVEN | more)


class Killed(Exception):
    pass


def looking(monkeypatch: pytest.MonkeyPatch, scores: Iterator[float]) -> None:
    monkeypatch.setattr(watch.Watch, "look", lambda *_: (next(scores), 0.0))


def test_it_ends_with_the_weights_of_the_best_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = recipe(watch=WatchSpec("core", every=2, limit=2))
    plain = run_recipe(recipe(), tmp_path / "plain", base=ROOT)[0]
    steps = len(plain.log)
    assert steps > 4
    looks = [0, *range(2, steps, 2), steps]
    scores = [0.6 if step == 2 else 0.1 for step in looks]
    looking(monkeypatch, iter(scores))
    whole = run_recipe(asked, tmp_path / "whole", base=ROOT)[0]
    seen = {row["step"]: row[watch.SCORE] for row in whole.log if watch.SCORE in row}
    assert list(seen) == looks
    assert list(seen.values()) == scores
    assert [row["loss"] for row in whole.log[1:]] == [row["loss"] for row in plain.log], "looking changes nothing"
    assert whole.weights_sha256 != plain.weights_sha256

    for name in ("__init__", "keeping"):
        of = checkpoint.Keeper.__init__ if name == "__init__" else checkpoint.keeping.__wrapped__
        monkeypatch.setattr(of, "__kwdefaults__", {"every_s": 0.0})
    save = checkpoint.Keeper.save_if_due

    def once(self: Any, *given: Any, done: int, **more: Any) -> bool:
        written = save(self, *given, done=done, **more)
        if done == 3:
            raise Killed
        return written

    monkeypatch.setattr(checkpoint.Keeper, "save_if_due", once)
    looking(monkeypatch, iter(scores))
    with pytest.raises(Killed):
        run_recipe(asked, tmp_path / "killed", base=ROOT)
    monkeypatch.setattr(checkpoint.Keeper, "save_if_due", save)
    looking(monkeypatch, iter(scores[2:]))
    again = run_recipe(asked, tmp_path / "killed", base=ROOT)[0]
    assert again.weights_sha256 == whole.weights_sha256
    assert "watch" in (tmp_path / "whole" / "recipe.json").read_text()


def test_a_look_is_an_evaluation(tmp_path: Path) -> None:
    """The suite's own prompts through the decoder and the judge; a random model's answers are cut, so all fail."""
    done = run_recipe(
        recipe(watch=WatchSpec("core", every=100, limit=3, max_new_tokens=4)), tmp_path / "out", base=ROOT
    )[0]
    assert [row[watch.PASSED] for row in done.log if watch.SCORE in row] == [0.0, 0.0]
    assert done.ledger.answers_generated == 6
    with pytest.raises(UsageError, match="several turns"):
        run_recipe(recipe(watch=WatchSpec("multi-turn", limit=2)), tmp_path / "turns", base=ROOT)


def test_reasoning_is_set_aside_as_in_an_evaluation(tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny
    model.generation_config.eos_token_id = list(range(model.config.vocab_size))  # so that no answer is cut
    monkeypatch.setattr(tokenizer, "decode", lambda *_, **__: "<think>HM</think>low")
    asked = [watch.HeldOutPrompt((5, 6), (ConstraintRef("case:lower", {}),))]
    scores = watch.greedy_scores(model, tokenizer, asked, ["dense"], max_new_tokens=4, tally=Tally())
    assert scores == [[1.0]]


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as its client asks to create a repository and commit files."""

    took: dict[str, Any]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub: dict[str, Any] = self.server.hub  # type: ignore[attr-defined]
        hub["paths"].append(self.path)
        if "create" in self.path:
            hub["created"] = json.loads(body)
            said: dict[str, Any] = {"url": f"http://{self.headers['Host']}/o/n", "name": "o/n", "id": "1"}
        elif "preupload" in self.path:
            files = json.loads(body)["files"]
            said = {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]}
        elif "commit" in self.path:
            lines = [json.loads(line) for line in body.splitlines()]
            found = [line["value"] for line in lines if line["key"] == "file"]
            hub["files"] = {one["path"]: base64.b64decode(one["content"]) for one in found}
            said = {
                "commitUrl": f"http://{self.headers['Host']}/o/n/commit/1",
                "commitOid": "1",
                "pullRequestUrl": None,
            }
        else:
            said = {}
        self.answer(said)

    def do_GET(self) -> None:
        self.answer({"id": "o/n", "sha": "1", "siblings": []})

    def answer(self, said: dict[str, Any]) -> None:
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.hub = {"paths": [], "files": {}}  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = pytest.importorskip("huggingface_hub")
    url = f"http://127.0.0.1:{server.server_port}"
    made = client.HfApi
    monkeypatch.setattr(client, "HfApi", lambda: made(endpoint=url, token="hf_none"))
    monkeypatch.setattr(client.constants, "HF_HUB_OFFLINE", False)
    yield server.hub  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_a_result_is_pushed_where_it_is_asked_and_nowhere_else(
    tmp_path: Path, hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_recipe(recipe(), tmp_path / "kept", base=ROOT)
    assert not hub["paths"]
    run_recipe(recipe(push="o/n"), tmp_path / "out", base=ROOT)
    assert hub["created"]["visibility"] == "private"
    (tmp_path / "sent").mkdir()
    for name, content in hub["files"].items():
        (tmp_path / "sent" / name).write_bytes(content)
    assert weights_sha256(tmp_path / "sent") == weights_sha256(tmp_path / "out" / "model")
    assert "sft" in hub["files"]["README.md"].decode()

    def refusing(*_: Any, **__: Any) -> None:
        raise OSError("401 Unauthorized")

    client = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(client, "HfApi", refusing)
    with pytest.raises(AdhereError, match=r"the hub did not take .*model: 401"):
        run_recipe(recipe(push="o/n"), tmp_path / "out", base=ROOT)
