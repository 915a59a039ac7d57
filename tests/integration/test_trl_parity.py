"""Through the door `trainer = "trl"`, one step of each method has our loss, our reward and our gradient.

The same weights and rows; online methods are given the same answers. Nothing of TRL is called by us: the program that a
study's cell runs is run here, and the optimizer notes what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("trl", reason="TRL is in the dev extra")
pytest.importorskip("datasets", reason="TRL reads rows by it")
transformers = pytest.importorskip("transformers", reason="a study needs the train extra")

from tests.unit.study.computed import data, tiny_model  # noqa: E402

from adhere.config import parse_toml  # noqa: E402
from adhere.errors import AdhereError  # noqa: E402
from adhere.integrations.trl import stage as by_trl  # noqa: E402
from adhere.models.local.decoder.decode import DecodedAnswer, DecodeRow  # noqa: E402
from adhere.schema import encode  # noqa: E402
from adhere.study.design.command import CommandSettings  # noqa: E402
from adhere.study.design.spec import StudySpec  # noqa: E402
from adhere.train.batch.rollout import Sampler  # noqa: E402
from adhere.train.stage.scoring import open_scorer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

END = 2
STUDY = """
name = "by-trl"
start = "hf/x"
arms = [{ name = "start" }, { name = "new", stages = ["new"] }]
stages = { new = STAGE }
verdict = { question = "?", treatment = "new", control = "start" }
"""
PLAIN = "learning_rate = 1e-3, warmup_share = 0.0, clip = 1e9, precision = 'fp32', freeze_embeddings_and_head = false"
TEXTS = ["the sea is wide", "THE FOX", "The Sea", "a fox jumps over it"]  # by draw; the last one is cut
Gradients = Mapping[str, Any]


def read(table: str) -> Any:
    return parse_toml(STUDY.replace("STAGE", table), StudySpec, name="by-trl.toml").stage("new")


@contextmanager
def noted(model: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """What AdamW is given at its only step, by the names of the parameters of `model()`."""
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:

        def step(self: Any, closure: Any = None) -> None:
            assert not found, "one step is compared"
            given = {id(one): one.grad for group in self.param_groups for one in group["params"]}
            found.update(
                {
                    name: given[id(one)].detach().clone()
                    for name, one in model().named_parameters()
                    if given.get(id(one)) is not None
                }
            )

        patch.setattr(torch.optim.AdamW, "step", step)
        yield found


def drawn_for(tokenizer: Any, draw: int) -> tuple[int, ...]:
    ids = tuple(tokenizer(TEXTS[draw], add_special_tokens=False)["input_ids"])
    return ids if draw == len(TEXTS) - 1 else (*ids, END)


class Draws:
    """The same answers for every asker: the n-th draw of a prompt is the n-th of TEXTS."""

    def __init__(self, tokenizer: Any, *, each: int, turned: bool) -> None:
        self.tokenizer, self.each, self.turned = tokenizer, each, turned
        self.seen: dict[tuple[int, ...], int] = {}

    def next(self, prompt: tuple[int, ...]) -> tuple[int, ...]:
        at = self.seen[prompt] = self.seen.get(prompt, -1) + 1
        assert at < self.each
        first = sum(prompt) % 2 if self.turned else 0  # so that not every prompt likes its first answer best
        return drawn_for(self.tokenizer, (at + first) % self.each)

    def decode(self, rows: Sequence[DecodeRow], **_: Any) -> list[DecodedAnswer]:
        return [DecodedAnswer.of(self.next(row.ids), (), [END]) for row in rows]

    def generate(self, input_ids: Any, attention_mask: Any, **_: Any) -> Any:
        """As `generate` of transformers: prompts padded on the left, answers on the right."""
        prompts = [tuple(ids[mask.bool()].tolist()) for ids, mask in zip(input_ids, attention_mask, strict=True)]
        answers = [self.next(prompt) for prompt in prompts]
        longest = max(map(len, answers))
        padded = torch.tensor([(*one, *[END] * (longest - len(one))) for one in answers])
        return torch.cat([input_ids, padded], dim=1)


def ours(named: Any, rows: Any, monkeypatch: pytest.MonkeyPatch, draws: Draws | None) -> tuple[Any, Gradients]:
    """The log row and the gradients of our own stage."""
    model, tokenizer = tiny_model()
    online: dict[str, Any] = {}
    if draws is not None:
        online["score"] = open_scorer("dense", rows, judge=None, device="cpu")
        monkeypatch.setattr(Sampler, "_require_one_model", lambda *_: None)
        build = Sampler.__init__

        def begin(self: Any, *given: Any, **more: Any) -> None:
            build(self, *given, **more)
            self.generator = type(
                "Fixed", (), {"refresh": lambda _: None, "decode": lambda _, *a, **k: draws.decode(*a, **k)}
            )()

        monkeypatch.setattr(Sampler, "__init__", begin)
    with noted(lambda: model) as found:
        result = named.stage.run(model, tokenizer, rows, named.settings, seed=0, **online)
    return result.log[-1], found


def trls(
    named: Any, rows: Any, place: Path, monkeypatch: pytest.MonkeyPatch, draws: Draws | None
) -> tuple[Any, Gradients]:
    """The log row and the gradients of the program that a study's cell runs."""
    model, tokenizer = tiny_model()
    for one in (model, tokenizer):
        one.save_pretrained(place / "start")
    (place / "rows.jsonl").write_bytes(b"".join(encode(row) + b"\n" for row in rows))
    built: list[Any] = []
    find = by_trl._of_trl

    def watched(path: str) -> Any:
        found = find(path)
        return found if path.endswith("Config") else lambda **given: built.append(found(**given)) or built[-1]

    monkeypatch.setattr(by_trl, "_of_trl", watched)
    if draws is not None:
        monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", lambda _, **given: draws.generate(**given))
    assert isinstance(named.settings, CommandSettings)
    plan = named.settings.command[3]
    with noted(lambda: built[-1].model) as found:
        by_trl.main([plan, str(place / "start"), str(place / "rows.jsonl"), "0", str(place / "out")])
    logged = [json.loads(line) for line in (place / "out" / "metrics.jsonl").read_text().splitlines()]
    return next(row for row in logged if "loss" in row), found


EPISODE = "steps = 1, prompts_per_step = 4, max_new_tokens = 32, order = 'variance'"
METHODS = {
    "sft": (f"batch_rows = 8, epochs = 1, {PLAIN}", 0),
    "dpo": (f"batch_pairs = 8, beta = 0.3, {PLAIN}", 0),
    "dpo-rpo": (f"batch_pairs = 8, beta = 0.3, sft_weight = 0.5, {PLAIN}", 0),
    "grpo": (f"{EPISODE}, answers_per_prompt = 4, {PLAIN}", 4),
    "rloo": (f"{EPISODE}, answers_per_prompt = 4, {PLAIN}", 4),
    "online-dpo": (f"{EPISODE}, answers_per_prompt = 2, {PLAIN}", 2),
}


@pytest.mark.parametrize("name", METHODS)
def test_loss_and_gradient_are_ours(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, each = METHODS[name]
    method = name.removesuffix("-rpo")
    pool = data()
    rows = {"sft": pool.sft, "dpo": pool.pairs}.get(method, pool.rl)
    tokenizer = tiny_model()[1]
    mine, theirs = (read(f'{{ method = "{method}", {trainer}{settings} }}') for trainer in ("", 'trainer = "trl", '))
    with monkeypatch.context() as patch:
        draws = Draws(tokenizer, each=each, turned=method == "online-dpo") if each else None
        log, found = ours(mine, rows, patch, draws)
    with monkeypatch.context() as patch:
        draws = Draws(tokenizer, each=each, turned=method == "online-dpo") if each else None
        row, wanted = trls(theirs, rows, tmp_path, patch, draws)
    assert found.keys() == wanted.keys()
    assert max(float(one.abs().max()) for one in found.values()) > 1e-4, "or zeros were compared"
    for key, value in found.items():
        torch.testing.assert_close(value, wanted[key], atol=2e-6, rtol=1e-3, msg=lambda said, key=key: f"{key}: {said}")
    if (
        method != "rloo"
    ):  # TRL's has one ratio an answer, ours one a token: another constant, and on policy no other slope
        assert log["loss"] == pytest.approx(row["loss"], rel=1e-3, abs=1e-4)
    if "reward" in row:
        assert log["reward_mean"] == pytest.approx(row["reward"], abs=1e-6)


def test_an_answer_that_was_not_measured_is_no_zero_in_trls_online_dpo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_trl, "judge_reward", lambda *_, **__: lambda **_: [0.5, None])
    plan = {"trainer": "OnlineDPOTrainer", "reward": "dense", "traps": False, "masks_unmeasured": False}
    with pytest.raises(AdhereError, match="OnlineDPOTrainer counts an answer that was not measured as 0"):
        by_trl._reward(plan, "x")()
    assert by_trl._reward(plan | {"masks_unmeasured": True}, "x")() == [0.5, None]
