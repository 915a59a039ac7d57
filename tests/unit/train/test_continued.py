"""Continued pre-training: what is learned, in which share, and that a changed text is another run."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.unit.train.conftest import load  # noqa: E402
from tests.unit.train.test_methods import pool  # noqa: E402

from adhere.errors import IntegrityError, UsageError  # noqa: E402
from adhere.models.local.decoder.precision import Precisions  # noqa: E402
from adhere.pipeline.compare.perplexity import read_texts  # noqa: E402
from adhere.train.methods import continued  # noqa: E402
from adhere.train.methods.continued import ContinueSettings, continue_training  # noqa: E402
from adhere.train.settings import settle  # noqa: E402

PLAIN = str(Path(__file__).parent / "plain.txt")


def run(directory: Path, **more: Any) -> Any:
    settings = ContinueSettings(
        **{"text": (PLAIN,), "tokens": 1200, "batch_tokens": 200, "held_out": 0.2, "learning_rate": 3e-3} | more
    )
    return continue_training(*load(directory), pool().sft if settings.needs_rows else [], settings, seed=0)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_instruction_tokens_is_what_was_asked(share: float, tiny_llama_dir: Path) -> None:
    log = run(tiny_llama_dir, share=share, text=() if share == 1 else (PLAIN,)).log
    rows, text = (sum(row[name] for row in log) for name in ("instruction_tokens", "text_tokens"))
    assert rows + text >= 1200
    assert rows / (rows + text) == pytest.approx(share, abs=0.05)
    assert ("text_loss" in log[0]) == (share < 1)
    assert ("instruction_loss" in log[0]) == (share > 0)


def test_the_loss_is_that_of_every_token_and_unseen_text_gets_easier(tiny_llama_dir: Path) -> None:
    """The first loss against one forward over each document by itself."""
    log = run(
        tiny_llama_dir, share=0.0, tokens=10_000, batch_tokens=2000, held_out=0.2, freeze_embeddings_and_head=False
    ).log
    assert log[-1]["held_out_loss"] < log[0]["held_out_loss_before"] - 0.3
    model, tokenizer = load(tiny_llama_dir)
    first = run(tiny_llama_dir, share=0.0, tokens=1, batch_tokens=1, held_out=0.0).log[0]
    losses = []
    for document in Path(PLAIN).read_text(encoding="utf-8").strip().split("\n\n"):
        ids = torch.tensor(
            [
                [
                    tokenizer.eos_token_id,
                    *tokenizer(document, add_special_tokens=False)["input_ids"],
                    tokenizer.eos_token_id,
                ]
            ]
        )
        with torch.no_grad():
            losses.append(float(model(ids, labels=ids).loss))
    assert min(abs(first["loss"] - loss) for loss in losses) < 1e-4
    assert math.isfinite(first["grad_norm"])


def test_a_long_document_is_cut_into_windows_and_nothing_of_it_is_lost(tiny_llama_dir: Path) -> None:
    whole = run(tiny_llama_dir, share=0.0, tokens=1, batch_tokens=1, held_out=0.0).log[0]["text_tokens"]
    cut = run(tiny_llama_dir, share=0.0, tokens=1, batch_tokens=1, held_out=0.0, window=7).log[0]["text_tokens"]
    assert cut == 7
    assert whole > 7


def test_a_changed_text_is_another_run(tiny_llama_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.jsonl"
    file.write_text('{"text": "The sea is wide."}\n', encoding="utf-8")
    frozen = settle(ContinueSettings(text=(str(file),), share=0.0), Precisions())
    assert len(frozen.text_sha256) == 64
    file.write_text('{"text": "The sea is deep."}\n', encoding="utf-8")
    with pytest.raises(IntegrityError, match="not those that this run began with"):
        continue_training(*load(tiny_llama_dir), [], frozen, seed=0)
    assert settle(ContinueSettings(text=(str(file),)), Precisions()).text_sha256 != frozen.text_sha256


def test_no_text_is_refused_with_what_to_do(tiny_llama_dir: Path) -> None:
    with pytest.raises(UsageError, match=r'text = \["text.jsonl"\]; or take share = 1'):
        run(tiny_llama_dir, text=())


def test_a_text_is_read_once_however_often_a_study_is_planned(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "text.jsonl"
    file.write_text('{"text": "The sea is wide."}\n{"text": "The sky is blue."}\n', encoding="utf-8")
    read: list[Path] = []
    monkeypatch.setattr(continued, "read_texts", lambda path: read.append(path) or read_texts(path))
    settings = ContinueSettings(text=(str(file),), share=0.0, tokens=5, batch_tokens=5)
    found = {settle(settings, Precisions()).text_sha256 for _ in range(3)}
    assert found == {hashlib.sha256(b"The sea is wide.\0The sky is blue.").hexdigest()}
    continue_training(*load(tiny_llama_dir), [], settings, seed=0)
    assert read == [file]


def test_a_missing_text_is_named(tiny_llama_dir: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.jsonl: cannot be read"):
        run(tiny_llama_dir, text=("gone.jsonl",))
