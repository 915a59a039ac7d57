"""The rows of a recipe, and the start that it names; random models of two million parameters, to try a recipe on in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from adhere.errors import IntegrityError, SpecError, UsageError
from adhere.schema import PairRow, RlRow, SftRow, content_hash, decode

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["RecipeRows", "Start", "load_rows", "needed_rows", "open_start", "prepare_start"]

T = TypeVar("T", SftRow, PairRow, RlRow)
FILES = {"sft": "sft.jsonl", "pairs": "pairs.jsonl", "rl": "rl.jsonl"}
RANDOM = {"2m": (192, 4, 4)}  # hidden size, layers, heads
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


class RecipeRows(NamedTuple):
    """What the stages of a recipe choose from; `sha256` is of all of it."""

    sft: list[SftRow]
    pairs: list[PairRow]
    rl: list[RlRow]
    sha256: str


class Start(NamedTuple):
    """The model that a recipe starts from, not loaded. `sha256` is of its weights."""

    tokenizer: PreTrainedTokenizerBase
    sha256: str
    directory: Path


def load_rows(directory: Path, needed: Sequence[str]) -> RecipeRows:
    """The rows of a data directory.

    Args:
        directory: Where sft.jsonl, pairs.jsonl and rl.jsonl are.
        needed: Which of `sft`, `pairs`, `rl` some stage learns from.

    Raises:
        SpecError: A file that is needed is missing or empty.
        IntegrityError: A line is no row; names file and line.
    """
    found = {
        "sft": _read(directory / FILES["sft"], SftRow, needed="sft" in needed),
        "pairs": _read(directory / FILES["pairs"], PairRow, needed="pairs" in needed),
        "rl": _read(directory / FILES["rl"], RlRow, needed="rl" in needed),
    }
    return RecipeRows(**found, sha256=content_hash(found))  # type: ignore[arg-type]


def _read(path: Path, row: type[T], *, needed: bool) -> list[T]:
    if not path.is_file():
        if needed:
            raise SpecError(
                f"{path} is missing, and a stage learns from it. Make it with `adhere build`, or point `data` elsewhere"
            )
        return []
    rows = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            try:
                rows.append(decode(line, row))
            except IntegrityError as error:
                raise IntegrityError(f"{path}:{number}: {error}") from error
    if needed and not rows:
        raise SpecError(f"{path} holds no row, and a stage learns from it")
    return rows


def prepare_start(name: str, *, rows: RecipeRows, scratch: Path) -> None:
    """Make the random model that a recipe starts from, if it names one and it is not there; its tokenizer is trained on the rows.

    Raises:
        UsageError: A random model of an unknown size.
    """
    if name.startswith("random/") and not (scratch / "start" / "model.safetensors").exists():
        _make_random(name.removeprefix("random/"), rows, scratch / "start")


def open_start(name: str, *, base: Path, scratch: Path) -> Start:
    """The model that a recipe starts from, and its tokenizer.

    Args:
        name: As the recipe writes it.
        base: What a relative path is relative to.
        scratch: Where a random model was made.

    Raises:
        MissingModel: No such directory, no safetensors in it, or an embedded model that is not fetched.
        UsageError: Its tokenizer has no chat template.
    """
    from adhere.models.local.transformers import load_tokenizer, weights_sha256

    if name.startswith("random/"):
        directory = scratch / "start"
    elif name.startswith("local/"):
        from adhere.models.local.fetch import model_dir

        directory = model_dir(name)
    else:
        directory = base / name.removeprefix("hf/")
    sha256, tokenizer = weights_sha256(directory), load_tokenizer(directory)
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            f"{directory}: the tokenizer has no chat template, so prompts cannot be put to the model as it will be asked. Add one"
        )
    return Start(tokenizer, sha256, directory)


def _make_random(size: str, rows: RecipeRows, directory: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    from adhere.models.local.quiet import quiet

    if size not in RANDOM:
        raise UsageError(f"random/{size}: there is no such size; there are {', '.join(RANDOM)}")
    hidden, layers, heads = RANDOM[size]
    backend: Any = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer: Any = trainers.BpeTrainer(
        vocab_size=2048,
        special_tokens=specials,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    texts = [text for row in rows.sft for text in (row.prompt, row.completion)]
    texts += [text for pair in rows.pairs for text in (pair.prompt, pair.chosen)] + [row.prompt for row in rows.rl]
    backend.train_from_iterator(texts, trainer)
    made: Any = PreTrainedTokenizerFast  # untyped in transformers
    tokenizer = made(
        tokenizer_object=backend,
        bos_token=specials[0],
        eos_token=specials[2],
        pad_token=specials[0],
        chat_template=TEMPLATE,
    )
    config = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=hidden, intermediate_size=4 * hidden, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads // 2, max_position_embeddings=1024, tie_word_embeddings=True,
        bos_token_id=0, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(0)
        model = Qwen2ForCausalLM(config)
        model.generation_config.eos_token_id = 2
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def needed_rows(data: Sequence[str]) -> list[str]:
    """Which files stages with these `data` learn from."""
    return sorted({part for one in data for part in one.split("+")})
