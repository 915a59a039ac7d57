"""Fixtures for every room: two tiny random chat models, saved once a session, so that no test needs the network.

The models know nothing; they exist so that engines and training can be compared on real architectures in milliseconds.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["skips"]


def pytest_configure() -> None:
    """Tables are as wide in every runner's window, and in the programs that tests start."""
    os.environ["COLUMNS"] = "110"


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: 550,000 objects that each full search would look at again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Libraries that count what they gave out at the end would call what is frozen a leak."""
    gc.unfreeze()


CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a tiny model<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # ids 0, 1, 2
CORPUS = [
    "system user assistant You are a tiny model",
    "Write two sentences about the sea, and use no commas in your answer.",
    "the quick brown fox jumps over the lazy dog; answer in all lowercase letters",
]


@pytest.fixture(scope="session")
def listing() -> dict[str, Any]:
    """Every suite's description by its name, without hashes: a second and a half, for all who ask."""
    from adhere.suites import describe

    return {row.name: row for row in describe(hashes=False)}


def _tokenizer() -> Any:
    """A byte-level tokenizer trained on a few sentences: any text goes in and comes back, in about 320 tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<|endoftext|>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def _shape(vocab_size: int) -> dict[str, Any]:
    return {
        "vocab_size": vocab_size,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        # Wide enough that logits differ by whole units: a test of equal tokens must not hang on near ties.
        "initializer_range": 0.2,
    }


def _save(model: Any, tokenizer: Any, directory: Path) -> Path:
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 2
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


@pytest.fixture(scope="session")
def tiny_llama_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 2-layer random Llama (grouped-query attention, tied embeddings) with a ChatML tokenizer.

    Load it; never write there.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = _tokenizer()
    config = transformers.LlamaConfig(**_shape(len(tokenizer)), tie_word_embeddings=True)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config)
    return _save(model, tokenizer, tmp_path_factory.mktemp("tiny-llama"))


@pytest.fixture(scope="session")
def tiny_qwen_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 2-layer random Qwen2 (attention biases, untied embeddings) with the same tokenizer.

    Load it; never write there.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = _tokenizer()
    config = transformers.Qwen2Config(**_shape(len(tokenizer)), tie_word_embeddings=False)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = transformers.Qwen2ForCausalLM(config)
        for layer in model.model.layers:
            for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj):
                torch.nn.init.normal_(projection.bias, std=0.2)  # they start at zero, where a lost bias would not show
    return _save(model, tokenizer, tmp_path_factory.mktemp("tiny-qwen"))
