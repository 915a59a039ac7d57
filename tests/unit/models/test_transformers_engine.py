"""The transformers engine: what it loads, what it says about itself, and what it does when things go wrong."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adhere.errors import IntegrityError, MissingModel, UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere.models.base import Request  # noqa: E402
from adhere.models.chat import render  # noqa: E402
from adhere.models.local.decoder.decode import Decoder  # noqa: E402
from adhere.models.local.decoder.precision import choose  # noqa: E402
from adhere.models.local.quiet import quiet  # noqa: E402
from adhere.models.local.transformers import TransformersModel, load_weights, weights_sha256  # noqa: E402
from adhere.pipeline.compare import compare_runs  # noqa: E402
from adhere.pipeline.evaluate import evaluate_sync  # noqa: E402
from adhere.schema import ConstraintRef, Message, Prompt, Response, Sampling, Turn  # noqa: E402
from adhere.store.run import Run  # noqa: E402
from adhere.suites.base import Suite  # noqa: E402

SEA = (Message("user", "Write about the sea."),)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def ask(model: TransformersModel, requests: list[Request], sampling: Sampling) -> dict[str, Response]:
    async def collect() -> dict[str, Response]:
        return {response.prompt_id: response async for response in model.respond(requests, sampling)}

    return asyncio.run(collect())


def test_says_what_it_is(tiny_llama_dir: Path) -> None:
    model = TransformersModel.load(tiny_llama_dir, name="hf/tiny")
    digest = hashlib.sha256((tiny_llama_dir / "model.safetensors").read_bytes()).hexdigest()
    assert model.engine.weights_sha256 == digest == weights_sha256(tiny_llama_dir)
    assert (model.engine.name, model.engine.version, model.engine.precision) == (
        "transformers",
        transformers.__version__,
        "fp32",
    )
    assert model.engine.settings["threads"] == 1


def test_answers_as_generate_does(tiny_llama_dir: Path) -> None:
    raw, tokenizer = load_weights(tiny_llama_dir)
    ids = render(tokenizer, SEA)
    with quiet(), torch.no_grad():
        out = raw.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False)
    model = TransformersModel(raw, tokenizer, name="tiny")
    response = ask(model, [Request("a", 0, 0, SEA, 5)], Sampling(max_new_tokens=12))["a"]
    assert response.text == tokenizer.decode(out[0, len(ids) :], skip_special_tokens=True)
    assert response.usage.prompt_tokens == len(ids)
    assert response.usage.completion_tokens == out.shape[1] - len(ids)
    assert (response.status, response.stop_reason) == ("truncated", "length")
    assert (response.seed, response.served_model) == (5, "tiny")


def test_an_answer_without_words_is_empty(tiny_qwen_dir: Path) -> None:
    raw, tokenizer = load_weights(tiny_qwen_dir)
    with torch.no_grad():
        raw.lm_head.weight.zero_()
        # The last norm's output has a positive first feature for no prompt in general, so use both signs of it.
        raw.lm_head.weight[2, 0] = 1.0
        raw.model.norm.weight.zero_()
        raw.model.norm.weight[0] = 1.0
    model = TransformersModel(raw, tokenizer, name="tiny")
    requests = [Request(f"p{n}", 0, 0, (Message("user", "x" * n),), 0) for n in range(1, 30)]
    responses = ask(model, requests, Sampling(max_new_tokens=3)).values()
    empty = [response for response in responses if response.status == "empty"]
    assert empty, "for some prompt the feature is positive, and the end token comes at once"
    assert all(response.text == "" and response.stop_reason == "stop" for response in empty)
    assert 1 in {response.usage.completion_tokens for response in empty}


def test_damaged_weights_give_rows_with_the_reason(tiny_llama_dir: Path) -> None:
    raw, tokenizer = load_weights(tiny_llama_dir)
    model = TransformersModel(raw, tokenizer, name="tiny")
    with torch.no_grad():
        raw.model.norm.weight[0] = float("nan")
    model.refresh()
    responses = ask(model, [Request(f"p{n}", 0, 0, SEA, n) for n in range(3)], Sampling(max_new_tokens=4))
    assert {response.status for response in responses.values()} == {"error"}
    assert all("not finite" in str(response.error) for response in responses.values())


def test_a_strict_model_ends_the_run_instead(tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a study measures is not cut to what memory had room for; a prompt that does not fit is still a row."""

    def hungry(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("no memory is left")

    long = (Message("user", "x" * 2000),)
    requests = [Request("long", 0, 0, long, 0), Request("short", 0, 0, SEA, 0)]
    monkeypatch.setattr(Decoder, "decode", hungry)
    lenient = ask(TransformersModel.load(tiny_llama_dir, name="hf/x"), requests, Sampling(max_new_tokens=4))
    assert ("tokens" in str(lenient["long"].error), lenient["short"].error) == (True, "no memory is left")
    with pytest.raises(torch.OutOfMemoryError):
        ask(TransformersModel.load(tiny_llama_dir, name="hf/x", is_strict=True), requests, Sampling(max_new_tokens=4))


def test_leaving_early_ends_the_thread(tiny_llama_dir: Path) -> None:
    model = TransformersModel.load(tiny_llama_dir, name="hf/tiny")

    async def first() -> None:
        stream = model.respond([Request(f"p{n}", 0, 0, SEA, n) for n in range(300)], Sampling(max_new_tokens=200))
        async for _ in stream:
            break
        await stream.aclose()  # type: ignore[attr-defined]

    before = threading.active_count()
    asyncio.run(first())
    assert threading.active_count() <= before + 1  # the event loop's own pool thread may linger


def test_missing_weights_name_the_path(tmp_path: Path, tiny_llama_dir: Path) -> None:
    with pytest.raises(MissingModel, match=r"nowhere: no \*\.safetensors"):
        TransformersModel.load(tmp_path / "nowhere", name="hf/x")
    shutil.copy(tiny_llama_dir / "config.json", tmp_path)
    with pytest.raises(MissingModel, match="safetensors"):
        weights_sha256(tmp_path)


def test_a_base_model_has_no_chat(tiny_llama_dir: Path) -> None:
    raw, tokenizer = load_weights(tiny_llama_dir)
    tokenizer.chat_template = None
    response = ask(
        TransformersModel(raw, tokenizer, name="tiny"), [Request("a", 0, 0, SEA, 0)], Sampling(max_new_tokens=2)
    )["a"]
    assert response.status == "error"
    assert "no chat template" in str(response.error)


def test_a_template_that_refuses_roles_is_a_usage_error(tiny_llama_dir: Path) -> None:
    tokenizer = load_weights(tiny_llama_dir)[1]
    tokenizer.chat_template = "{{ raise_exception('no system messages') }}"
    with pytest.raises(UsageError, match=r"roles system, user: no system messages"):
        render(tokenizer, [Message("system", "a"), Message("user", "b")])


def test_render_is_the_template(tiny_llama_dir: Path) -> None:
    tokenizer = load_weights(tiny_llama_dir)[1]
    text = tokenizer.decode(render(tokenizer, SEA))
    assert text == (
        "<|im_start|>system\nYou are a tiny model<|im_end|>\n<|im_start|>user\nWrite about the sea.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert tokenizer.decode(render(tokenizer, SEA, generation_prompt=False)) == text.removesuffix(
        "<|im_start|>assistant\n"
    )


def test_loading_is_silent_and_leaves_transformers_as_it_was(
    tiny_llama_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logging = transformers.utils.logging
    state = (logging.get_verbosity(), logging.is_progress_bar_enabled())
    load_weights(tiny_llama_dir)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == state
    assert capfd.readouterr() == ("", "")


def test_precision_is_what_the_cpu_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from adhere.models.local.decoder import precision

    def choice(features: dict[str, bool]) -> tuple[str, str]:
        precision._automatic.cache_clear()
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features)
        return choose("auto")

    assert choice({"avx2": True}) == (
        "fp32",
        "the CPU has none of amx_bf16, avx512_bf16, sve_bf16, bf16",
    )
    assert choice({"avx512_bf16": True}) == ("bf16", "the CPU has avx512_bf16")
    precision._automatic.cache_clear()
    assert choose("bf16").precision == "bf16"
    with pytest.raises(UsageError, match="one of fp32, bf16, auto"):
        choose("int8")


class TestNothingIsScored:
    """What an engine cannot answer is a status with its reason, and no verdict and no rate knows of it."""

    LOWER = (ConstraintRef("case:lower"),)

    def measured(self, directory: Path, tmp_path: Path, *prompts: Prompt, template: str | None = None) -> Run:
        raw, tokenizer = load_weights(directory)
        if template is not None:
            tokenizer.chat_template = template
        model = TransformersModel(raw, tokenizer, name="tiny")
        plain = Prompt("plain", (Turn("Write about the sea.", self.LOWER),))
        suite = Suite("mine", "1", (plain, *prompts), sampling=Sampling(max_new_tokens=4))
        run = evaluate_sync(model, suite, tmp_path / "run")
        summary = run.summary()
        unanswered = sum(len(prompt.turns) for prompt in prompts)
        assert summary.accounting.error == unanswered
        assert summary.accounting.checked == 1
        assert {verdict.prompt_id for verdict in run.verdicts()} == {"plain"}
        assert summary.overall.prompt_strict.n == 1
        assert summary.coverage == 1 / (1 + len(prompts))
        return run

    def why(self, run: Run, prompt_id: str, turn: int = 0) -> str:
        (found,) = [one for one in run.responses() if one.key == (prompt_id, turn, 0)]
        assert (found.status, found.text) == ("error", "")
        return str(found.error)

    def test_a_context_longer_than_the_model_s(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        long = Prompt("long", (Turn("sea " * 3000, self.LOWER),))
        assert "takes at most" in self.why(self.measured(tiny_llama_dir, tmp_path, long), "long")

    def test_a_template_that_refuses_the_system_role(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        template = (
            "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
            "{{ m.content }}{% endfor %}"
        )
        ruled = Prompt("ruled", (Turn("Write.", self.LOWER),), system="Write in lower case.")
        run = self.measured(tiny_llama_dir, tmp_path, ruled, template=template)
        assert "no system role" in self.why(run, "ruled")

    def test_a_template_that_leaves_the_system_message_out(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        template = "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}"
        ruled = Prompt("ruled", (Turn("Write.", self.LOWER),), system="Write in lower case.")
        run = self.measured(tiny_llama_dir, tmp_path, ruled, template=template)
        assert "leaves the system message out" in self.why(run, "ruled")

    def test_a_turn_whose_predecessor_failed(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        talk = Prompt("talk", (Turn("sea " * 3000, self.LOWER), Turn("And now?", self.LOWER)))
        run = self.measured(tiny_llama_dir, tmp_path, talk)
        assert "turn 0 has no answer: The prompt has" in self.why(run, "talk", 1)


class TestADirectoryThatNobodyVouchesFor:
    def with_config(self, directory: Path, into: Path, name: str = "config.json", **more: object) -> Path:
        shutil.copytree(directory, into, dirs_exist_ok=True)
        known = json.loads((into / name).read_text(encoding="utf-8")) if (into / name).exists() else {}
        (into / name).write_text(json.dumps({**known, **more}), encoding="utf-8")
        return into

    @pytest.mark.parametrize("of", ["model", "tokenizer"])
    def test_its_python_is_never_run_and_nobody_is_asked(
        self, of: str, tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        maps: dict[str, object] = {"AutoConfig": "hostile.Config", "AutoModelForCausalLM": "hostile.Model"}
        if of == "tokenizer":
            changed = {
                "auto_map": {"AutoTokenizer": ["hostile.Tokenizer", None]},
                "tokenizer_class": "HostileTokenizer",
            }
            bad = self.with_config(tiny_llama_dir, tmp_path / "bad", "tokenizer_config.json", **changed)
        else:
            bad = self.with_config(tiny_llama_dir, tmp_path / "bad", auto_map=maps, model_type="hostile")
        (bad / "hostile.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
        monkeypatch.setattr("builtins.input", lambda _="": "yes")
        with pytest.raises(UsageError, match="which adhere never runs"):
            load_weights(bad)
        assert not (tmp_path / "ran").exists()

    def test_only_what_is_hashed_is_loaded(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        pickled = self.with_config(tiny_llama_dir, tmp_path / "pickled")
        (pickled / "model.safetensors").rename(pickled / "other.safetensors")
        torch.save(load_weights(tiny_llama_dir)[0].state_dict(), pickled / "pytorch_model.bin")
        with pytest.raises(MissingModel, match=r"model\.safetensors"):
            load_weights(pickled)

    @pytest.mark.parametrize(
        ("file", "content", "why"),
        [
            (
                "config.json",
                {"transformers_weights": "deep/model.safetensors"},
                "names weights in 'deep/model.safetensors'",
            ),
            ("model.safetensors.index.json", {"weight_map": {"a": "../x.safetensors"}}, r"'\.\./x\.safetensors'"),
            ("model.safetensors.index.json", {"weight_map": ["a"]}, "not a model's JSON"),
            ("adapter_config.json", {"base_model_name_or_path": "/elsewhere"}, "Merge it"),
        ],
    )
    def test_weights_that_lie_elsewhere_are_refused(
        self, file: str, content: dict[str, object], why: str, tiny_llama_dir: Path, tmp_path: Path
    ) -> None:
        bad = self.with_config(tiny_llama_dir, tmp_path / "bad", file, **content)
        with pytest.raises((UsageError, IntegrityError), match=why):
            load_weights(bad)


class TestAWiderWindow:
    """Whether scaling the context window changes answers to short prompts.

    What `adhere compare` shows of two such directories.
    """

    def run(self, directory: Path, out: Path, rope: dict[str, object] | None) -> Run:
        copy = out / "model"
        shutil.copytree(directory, copy)
        config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
        if rope is not None:
            config["rope_parameters"] = {**config.get("rope_parameters", {}), "rope_theta": 10000.0, **rope}
            config["max_position_embeddings"] *= 4
        (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
        said: list[str] = []
        model = TransformersModel.deferred(copy, name=f"hf/{out.name}", say=said.append)
        lower = (ConstraintRef("case:lower"),)
        prompts = tuple(Prompt(f"p{at}", (Turn(f"Write about the {at}th sea of sand.", lower),)) for at in range(12))
        suite = Suite("mine", "1", prompts, sampling=Sampling(max_new_tokens=12))
        evaluate_sync(model, suite, out / "run")
        evaluate_sync(TransformersModel.deferred(copy, name=model.name, say=said.append), suite, out / "run")
        assert said == [f"Loading the model {model.name}"]  # a finished run loads none
        return Run.load(out / "run")

    def test_what_changes_nothing_and_what_does(self, tiny_llama_dir: Path, tmp_path: Path) -> None:
        ropes: dict[str, dict[str, object] | None] = {
            "plain": None,
            "longer": {"rope_type": "default"},  # more positions and nothing else: short prompts cannot change
            "linear": {"rope_type": "linear", "factor": 4.0},  # every position moves
        }
        runs = {name: self.run(tiny_llama_dir, tmp_path / name, rope) for name, rope in ropes.items()}
        same = compare_runs(runs["longer"], runs["plain"])
        assert (same.answers, same.same_answers) == (12, 12)
        moved = compare_runs(runs["linear"], runs["plain"])
        assert moved.answers == 12
        assert moved.same_answers is not None
        assert moved.same_answers < 12
