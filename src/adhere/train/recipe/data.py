"""The rows of a recipe, and its start model.

Random models of two million parameters are for trying a recipe in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from adhere.errors import IntegrityError, SpecError, UsageError
from adhere.schema import PairRow, RlRow, SftRow, content_hash, convert
from adhere.shapes.files import read_rows
from adhere.shapes.labels import refs_of
from adhere.shapes.rows import constraint_columns, read_exchange
from adhere.train.stage.template import CHATML, TEMPLATED, with_template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

T = TypeVar("T", SftRow, PairRow, RlRow)
TABLES: Mapping[type[Any], str] = {SftRow: "sft", PairRow: "pairs", RlRow: "rl"}
FILES = {"sft": "sft.jsonl", "pairs": "pairs.jsonl", "rl": "rl.jsonl"}
RANDOM = {"2m": (192, 4, 4)}  # hidden size, layers, heads


class RecipeRows(NamedTuple):
    """Holds the rows that the stages of a recipe choose from; `sha256` is the hash of all of them."""

    sft: list[SftRow]
    pairs: list[PairRow]
    rl: list[RlRow]
    sha256: str


class Start(NamedTuple):
    """Holds the model that a recipe starts from, not loaded. `sha256` is the hash of its weights."""

    tokenizer: PreTrainedTokenizerBase
    sha256: str
    directory: Path


def load_rows(directory: Path, tables: Sequence[str]) -> RecipeRows:
    """Read the rows of a data directory.

    Args:
        directory: The directory of sft.jsonl, pairs.jsonl and rl.jsonl.
        tables: Those of `sft`, `pairs`, `rl` that some stage learns from; the others may be missing.

    Raises:
        SpecError: A file that is needed is missing or empty, or two different prompts of rl.jsonl share a prompt_id.
        IntegrityError: A line is no row; the message names file and line.
    """
    rows_by_table = {
        name: _read(directory / FILES[name], kind, is_needed=name in tables) for kind, name in TABLES.items()
    }
    if "rl" in tables:
        _insist_on_own_ids(rows_by_table["rl"], directory / FILES["rl"])
    return RecipeRows(**rows_by_table, sha256=content_hash(rows_by_table))


def _insist_on_own_ids(rows: Sequence[RlRow], path: Path) -> None:
    """Refuse two different prompts with one `prompt_id`, for answers are scored by it."""
    content_by_id: dict[str, tuple[object, ...]] = {}
    for row in rows:
        content = (row.asked, row.instruction_id_list, row.kwargs, row.profile, row.checklist)
        if content_by_id.setdefault(row.prompt_id, content) != content:
            raise SpecError(f"{path}: two different prompts have the prompt_id {row.prompt_id!r}. Give each its own")


def _read(path: Path, row: type[T], *, is_needed: bool) -> list[T]:
    if not path.is_file():
        if is_needed:
            raise SpecError(
                f"{path} is missing, and a stage learns from it. Make it with `adhere build`, or point `data` elsewhere"
            )
        return []
    try:
        rows = list(read_rows(path, lambda source: row_of(source, row)))
    except UsageError as error:
        raise IntegrityError(str(error)) from error
    if is_needed and not rows:
        raise SpecError(f"{path} holds no row, and a stage learns from it")
    return rows


def row_of(source: dict[str, Any], kind: type[T]) -> T:
    """Read a row as `adhere build` writes it, or in a shape of `shapes.rows`; other columns are ignored.

    A text is one user turn, put through the chat template as an evaluation does. Reasoning in a field of an answer is
    not learned.

    Raises:
        UsageError: The row has nothing to learn, or a column has another shape; the message says where.
    """
    table = TABLES[kind]
    exchange = read_exchange(source, table)
    columns = {**source, **constraint_columns(source, table)}
    row = {name: columns[name] for name in kind.__struct_fields__ if columns.get(name) is not None}
    row |= exchange.answers
    row["prompt"] = "\n\n".join(turn.content for turn in exchange.turns)
    row["turns"] = [] if exchange.is_one else [msgspec.to_builtins(turn) for turn in exchange.turns]
    refs = refs_of(row.get("instruction_id_list"), row.get("kwargs"))
    row["instruction_id_list"], row["kwargs"] = [ref.id for ref in refs], [ref.params for ref in refs]
    names = {"origin": "given", "draws": 0, "score_mean": 0.0, "score_variance": 0.0}
    defaults = {name: value for name, value in names.items() if name in kind.__struct_fields__}
    name = str(row.get("prompt_id") or f"p-{content_hash([row['prompt'], row['turns']])[:12]}")
    try:
        return convert(defaults | row | {"prompt_id": name}, kind)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from error


def prepare_start(
    name: str, *, rows: RecipeRows, scratch: Path, template: str = "", base: Path = Path(), weights: bool = True
) -> None:
    """Make the model that a recipe starts from in `scratch`, if it has to be made.

    It is made if the name is `random/SIZE` (a random model with a tokenizer trained on the rows), or if there is a
    `template` (a copy of the model with that chat template).

    Args:
        name: The start, as the recipe writes it.
        template: The chat template, as the recipe writes it; empty: the model's own.
        rows: The recipe's rows.
        base: The directory that paths are relative to.
        scratch: The directory to make it in.
        weights: False: a copy with a template gets only the files that a cost estimate needs.

    Raises:
        UsageError: A random model of an unknown size.
        SpecError: There is no such template, or the model cannot learn it.
        MissingModel: `open_start` would raise it.
    """
    if name.startswith("random/") and not (scratch / "start" / "model.safetensors").exists():
        _make_random(name.removeprefix("random/"), rows, scratch / "start")
    if template:
        with_template(_directory(name, base, scratch), template, scratch / TEMPLATED, base=base, weights=weights)


def open_start(name: str, *, base: Path, scratch: Path, template: str = "") -> Start:
    """Find the start model of a recipe and load its tokenizer; the arguments are those of `prepare_start`.

    Raises:
        MissingModel: No such directory, no safetensors in it, or an embedded model that is not fetched.
        UsageError: Its tokenizer has no chat template, and none is given.
    """
    from adhere.models.local.transformers import load_tokenizer, weights_sha256

    start_directory = _directory(name, base, scratch)
    directory = scratch / TEMPLATED if template else start_directory
    tokenizer = load_tokenizer(directory)
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            f"{directory}: the tokenizer has no chat template, so prompts cannot be put to the model as it will be "
            "asked. Give it one: template = 'chatml', or the path of a Jinja template"
        )
    has_weights = any(directory.glob("*.safetensors"))
    return Start(tokenizer, weights_sha256(directory if has_weights else start_directory), directory)


def _directory(name: str, base: Path, scratch: Path) -> Path:
    if name.startswith("random/"):
        return scratch / "start"
    if name.startswith("local/"):
        from adhere.models.local.fetch import model_dir

        return model_dir(name)
    return base / name.removeprefix("hf/")


def _make_random(size: str, rows: RecipeRows, directory: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    from adhere.models.local.quiet import quiet

    if size not in RANDOM:
        raise UsageError(f"random/{size}: there is no such size; there are {', '.join(RANDOM)}")
    hidden_size, layers, heads = RANDOM[size]
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
    tokenizer_class: Any = PreTrainedTokenizerFast  # untyped in transformers
    tokenizer = tokenizer_class(
        tokenizer_object=backend,
        bos_token=specials[0],
        eos_token=specials[2],
        pad_token=specials[0],
        chat_template=CHATML,
    )
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden_size,
        intermediate_size=4 * hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(0)
        model = Qwen2ForCausalLM(config)
        model.generation_config.eos_token_id = 2
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def needed_rows(data: Sequence[str]) -> list[str]:
    """List the tables (`sft`, `pairs`, `rl`) that stages with these `data` learn from."""
    return sorted({part for names in data for part in names.split("+")})
