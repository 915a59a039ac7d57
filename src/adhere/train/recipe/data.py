"""The rows of a recipe, and the start that it names.

Random models of two million parameters, to try a recipe on in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from adhere.errors import IntegrityError, SpecError, UsageError
from adhere.schema import Message, PairRow, RlRow, SftRow, content_hash, convert, decode
from adhere.train.stage.template import CHATML, TEMPLATED, with_template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["RecipeRows", "Start", "load_rows", "needed_rows", "open_start", "prepare_start", "row_of"]

T = TypeVar("T", SftRow, PairRow, RlRow)
FILES = {"sft": "sft.jsonl", "pairs": "pairs.jsonl", "rl": "rl.jsonl"}
RANDOM = {"2m": (192, 4, 4)}  # hidden size, layers, heads


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
        SpecError: A file that is needed is missing or empty, or two prompts of rl.jsonl have one name.
        IntegrityError: A line is no row; names file and line.
    """
    found = {
        "sft": _read(directory / FILES["sft"], SftRow, needed="sft" in needed),
        "pairs": _read(directory / FILES["pairs"], PairRow, needed="pairs" in needed),
        "rl": _read(directory / FILES["rl"], RlRow, needed="rl" in needed),
    }
    if "rl" in needed:
        _insist_on_own_ids(found["rl"], directory / FILES["rl"])  # type: ignore[arg-type]
    return RecipeRows(**found, sha256=content_hash(found))  # type: ignore[arg-type]


def _insist_on_own_ids(rows: Sequence[RlRow], path: Path) -> None:
    """A prompt's answers are drawn, gathered and scored by its name."""
    known: dict[str, tuple[object, ...]] = {}
    for row in rows:
        content = (row.asked, row.instruction_id_list, row.kwargs, row.profile, row.checklist)
        if known.setdefault(row.prompt_id, content) != content:
            raise SpecError(f"{path}: two different prompts have the prompt_id {row.prompt_id!r}. Give each its own")


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
                rows.append(row_of(decode(line, dict[str, Any]), row))
            except (IntegrityError, msgspec.ValidationError) as error:
                raise IntegrityError(f"{path}:{number}: {error}") from error
    if needed and not rows:
        raise SpecError(f"{path} holds no row, and a stage learns from it")
    return rows


def row_of(found: dict[str, Any], kind: type[T]) -> T:
    """A row as `adhere build` writes it, or in one of TRL's shapes; other columns are left aside.

    {"prompt", "completion"}, {"prompt", "chosen", "rejected"} and {"prompt"}, each of texts or of messages;
    {"messages"}, whose last one is learned; {"chosen", "rejected"} as whole conversations. A text is one user turn, put
    through the chat template as an evaluation does.

    Raises:
        IntegrityError: Nothing is to be learned from it, or a column has another shape.
        msgspec.ValidationError: Likewise; says where.
    """
    row = {name: found[name] for name in kind.__struct_fields__ if name in found}
    answers = [name for name in ("completion", "chosen", "rejected") if name in kind.__struct_fields__]
    unusable = sorted({"tools", "images"} & {name for name, value in found.items() if value})
    if unusable:
        raise IntegrityError(f"the column {unusable[0]!r} cannot be trained on yet; leave such rows out")
    if "turns" not in row:
        asked: list[Message] = _messages(found.get("prompt", []), "user", "prompt")
        replies: dict[str, list[Message]] = {
            name: _messages(found.get(name, []), "assistant", name) for name in answers
        }
        if "prompt" not in found and "messages" in found:
            whole = _messages(found["messages"], "user", "messages")
            cut = len(whole) if not answers else len(whole) - 1
            asked, replies = whole[:cut], dict.fromkeys(answers[:1], whole[cut:])
        elif "prompt" not in found and len(answers) > 1:
            first, second = replies.values()
            common = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
            asked, replies = first[:common], {name: one[common:] for name, one in replies.items()}
        if answers == ["completion"] and len(replies["completion"]) > 1:  # but its last message, all is prompt
            asked, replies = [*asked, *replies["completion"][:-1]], {"completion": replies["completion"][-1:]}
        if not asked or asked[-1].role == "assistant":
            raise IntegrityError("there is no prompt that ends with a user's turn, so there is nothing to answer")
        for name in answers:
            if [one.role for one in replies.get(name, [])] != ["assistant"]:
                raise IntegrityError(f"{name} must be a text or one message of the assistant")
            row[name] = replies[name][0].content
        is_one = len(asked) == 1 and asked[0].role == "user"
        row["prompt"] = "\n\n".join(one.content for one in asked)
        row["turns"] = [] if is_one else [msgspec.to_builtins(one) for one in asked]
    if isinstance(row.get("kwargs"), list):  # Arrow fills each row's parameters with those of all others, as null
        row["kwargs"] = [
            {name: value for name, value in (one or {}).items() if value is not None} for one in row["kwargs"]
        ]
    names = {"origin": "given", "draws": 0, "score_mean": 0.0, "score_variance": 0.0}
    defaults = {name: value for name, value in names.items() if name in kind.__struct_fields__}
    name = f"p-{content_hash([row['prompt'], row['turns']])[:12]}" if "prompt_id" not in row else row["prompt_id"]
    return convert(defaults | {"instruction_id_list": (), "kwargs": ()} | row | {"prompt_id": name}, kind)


def _messages(value: Any, role: str, name: str) -> list[Message]:
    """A text as one message of `role`, or messages; a message's content may be a list of texts in OpenAI's form."""
    if isinstance(value, str):
        return [convert({"role": role, "content": value}, Message)]
    if not isinstance(value, list):
        raise IntegrityError(f"{name} must be a text or a list of messages")
    plain = []
    for one in value:
        content = one.get("content") if isinstance(one, dict) else None
        if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
            content = "".join(str(part.get("text", "")) for part in content)
        if not isinstance(one, dict) or not isinstance(content, str) or one.get("tool_calls"):
            raise IntegrityError(
                f"{name} holds {str(one)[:80]!r}, which is no message with a role and a text as content"
            )
        plain.append(convert({"role": one.get("role"), "content": content}, Message))
    return plain


def prepare_start(
    name: str, *, rows: RecipeRows, scratch: Path, template: str = "", base: Path = Path(), weights: bool = True
) -> None:
    """Make what a recipe starts from where it is not there.

    A random model with a tokenizer trained on the rows, or a copy with a template.

    Args:
        name: As the recipe writes it.
        template: Likewise; empty: the model's own.
        rows: Of the recipe.
        base: What relative paths are relative to.
        scratch: Where to make it.
        weights: False: only what a plan of costs needs of a copy with a template.

    Raises:
        UsageError: A random model of an unknown size.
        SpecError: There is no such template, or it cannot be learned.
        MissingModel: As `open_start`.
    """
    if name.startswith("random/") and not (scratch / "start" / "model.safetensors").exists():
        _make_random(name.removeprefix("random/"), rows, scratch / "start")
    if template:
        with_template(_directory(name, base, scratch), template, scratch / TEMPLATED, base=base, weights=weights)


def open_start(name: str, *, base: Path, scratch: Path, template: str = "") -> Start:
    """The model that a recipe starts from, and its tokenizer; the arguments are those of `prepare_start`.

    Raises:
        MissingModel: No such directory, no safetensors in it, or an embedded model that is not fetched.
        UsageError: Its tokenizer has no chat template, and none is given.
    """
    from adhere.models.local.transformers import load_tokenizer, weights_sha256

    named = _directory(name, base, scratch)
    directory = scratch / TEMPLATED if template else named
    tokenizer = load_tokenizer(directory)
    if not getattr(tokenizer, "chat_template", None):
        raise UsageError(
            f"{directory}: the tokenizer has no chat template, so prompts cannot be put to the model as it will be "
            "asked. Give it one: template = 'chatml', or the path of a Jinja template"
        )
    has_weights = any(directory.glob("*.safetensors"))
    return Start(tokenizer, weights_sha256(directory if has_weights else named), directory)


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
        chat_template=CHATML,
    )
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=4 * hidden,
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
    """Which files stages with these `data` learn from."""
    return sorted({part for one in data for part in one.split("+")})
