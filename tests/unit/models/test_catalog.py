"""Names of models: what opens, and what a wrong name is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adhere.errors import MissingModel, SpecError, UnknownName, UsageError
from adhere.models.base import Request
from adhere.models.catalog import known_models, open_model, resolve_weights
from adhere.schema import Message, Response, Sampling


def answer(name: str, text: str = "hello there", key: str = "a", limit: int = 64) -> Response:
    async def one() -> Response:
        requests = [Request(key, 0, 0, (Message("user", text),), 3)]
        (response,) = [r async for r in open_model(name).respond(requests, Sampling(max_new_tokens=limit))]
        return response

    return asyncio.run(one())


def test_scripted_models() -> None:
    assert answer("scripted/echo").text == "hello there"
    assert answer("scripted/fixed:a: b").text == "a: b"
    assert answer("scripted/fixed:").status == "empty"
    cut = answer("scripted/fixed:one two three", limit=2)
    assert (cut.text, cut.status, cut.stop_reason) == ("one two", "truncated", "length")


def test_scripted_answers_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"key": "a", "response": "stored"}\n{"key": 7, "response": "seven"}\n', encoding="utf-8")
    assert answer(f"scripted/file:{file}").text == "stored"
    assert answer(f"scripted/file:{file}", key="7").text == "seven"
    missing = answer(f"scripted/file:{file}", key="b")
    assert (missing.status, missing.text) == ("error", "")
    file.write_text('{"key": "a", "response": "stored"}\n{"id": "b"}\n', encoding="utf-8")
    with pytest.raises(SpecError, match=r"answers\.jsonl:2: wanted an object with `key` and `response`"):
        open_model(f"scripted/file:{file}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lokal/smollm2-135m", "Did you mean 'local'"),
        ("mistral/small", "Providers: local/…, hf/…, openrouter/…, .*scripted/…"),
        ("local/smollm2-135", "Did you mean 'local/smollm2-135m'"),
        ("scripted/ecko", "Scripts: echo, fixed:TEXT, file:PATH"),
    ],
)
def test_unknown_names_say_what_there_is(name: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        open_model(name)


def test_engines_and_precisions_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'openvino'"):
        open_model("local/smollm2-135m", engine="openvin")
    with pytest.raises(UsageError, match="transformers engine only"):
        open_model("hf/x", engine="openvino")
    with pytest.raises(UsageError, match="add --engine transformers"):
        open_model("local/smollm2-135m", precision="bf16")


def test_missing_models_name_path_and_command(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="Run: adhere fetch local/smollm2-135m"):
        open_model("local/smollm2-135m", cache=tmp_path)
    with pytest.raises(MissingModel, match="adhere fetch local/smollm2-135m"):
        open_model("local/smollm2-135m", engine="transformers", cache=tmp_path)
    with pytest.raises(MissingModel, match=r"no model is there \(no config.json\)"):
        open_model(f"hf/{tmp_path}")


def test_only_weights_can_be_trained(tmp_path: Path, tiny_llama_dir: Path) -> None:
    with pytest.raises(UsageError, match="have weights that can be read or trained"):
        resolve_weights("scripted/echo")
    folder, digest = resolve_weights(f"hf/{tiny_llama_dir}")
    assert folder == tiny_llama_dir
    assert len(digest) == 64


def test_the_list_says_what_is_here(tmp_path: Path) -> None:
    rows = {row["name"]: row["state"] for row in known_models(tmp_path)}
    assert rows["local/smollm2-135m"] == "not fetched: adhere fetch local/smollm2-135m"
    (tmp_path / "smollm2-135m").mkdir()
    (tmp_path / "smollm2-135m" / "model.gguf").touch()
    rows = {row["name"]: row["state"] for row in known_models(tmp_path)}
    assert rows["local/smollm2-135m"].startswith("fetched, to measure; to train it: pip install"), "eval works by now"
    assert {"hf/ID_OR_PATH", "scripted/echo"} <= set(rows)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-4o", "Did you mean 'openai/gpt-4o'?"),
        ("smollm2", "Did you mean 'local/smollm2-135m'?"),
        ("smollm2-135m", "Did you mean 'local/smollm2-135m'?"),
        ("./weights", "hf/./weights"),
        ("Qwen/Qwen2.5-7B", "hf/Qwen/Qwen2.5-7B, one of OpenRouter openrouter/Qwen/Qwen2.5-7B"),
        ("opnai/x", "Did you mean 'openai'?"),
        ("localhost:8000/v1", "http://localhost:8000/v1#NAME"),
    ],
)
def test_what_was_probably_meant(name: str, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        open_model(name)
    assert hint in str(caught.value)
