"""Prepares a base model for training on conversations.

It gets a chat template, and a token for each mark that the template writes.

with_template(DIRECTORY, "chatml", INTO)     INTO: the weights, the tokenizer with template and end token, template.json
                                             (written last)

Everything of the form `<|…|>` that the template writes, and the end of an answer, become single tokens. Those that the
tokenizer lacked get the mean of all embeddings as their first row. A base model has hardly seen any of them, so the
config names them (`trained_tokens`), and `tokens` trains their rows even if embeddings and head are frozen.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from adhere.errors import IntegrityError, SpecError
from adhere.schema import Record, content_hash, decode, encode, write_atomic

TEMPLATED = "templated"  # folder beside what is trained
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n"
    "' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
NAMED = {"chatml": CHATML}
MARK, END = re.compile(r"<\|[^|<>\s]+\|>"), re.compile(r"\s*(<[^<>\s]+>)")
ANSWER = "Red, green, blue."
FILE = "template.json"


class _Origin(Record, frozen=True):
    """Holds the hashes of the model and the template that a folder was made from."""

    base_sha256: str
    template_sha256: str


def with_template(directory: Path, template: str, into: Path, *, base: Path = Path(), weights: bool = True) -> Path:
    """Write a model with a chat template to `into`, and return `into`.

    Args:
        directory: The base model.
        template: `chatml`, or the path of a Jinja template.
        into: The folder; if it was made from the same model and template, nothing is written.
        base: The directory that a relative path of a template is relative to.
        weights: Write weights, too; False: only the config and tokenizer, as far as a cost estimate needs them.

    Raises:
        SpecError: There is no such template, or it does not say where an answer ends.
        MissingModel: There is no such model.
    """
    from adhere.models.local.quiet import quiet
    from adhere.models.local.transformers import load_tokenizer, weights_sha256

    tokenizer = load_tokenizer(directory)
    text = _beginning(tokenizer) + NAMED[template] if template in NAMED else _read(template, base)
    origin = _Origin(weights_sha256(directory) if weights else "", content_hash(text))
    if (into / FILE).exists() and decode((into / FILE).read_bytes(), _Origin) == origin:
        return into
    tokenizer.chat_template = text
    end, marks = _marks(tokenizer, template)
    vocabulary = tokenizer.get_vocab()
    tokenizer.add_tokens([mark for mark in marks if mark not in vocabulary], special_tokens=True)
    tokenizer.eos_token = end
    ids = [int(tokenizer.convert_tokens_to_ids(mark)) for mark in marks]
    scratch = into.with_name(f".{into.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    with quiet():
        if weights:
            _model(directory, tokenizer, ids, [mark not in vocabulary for mark in marks]).save_pretrained(scratch)
        else:
            scratch.mkdir(parents=True)
            shutil.copy(directory / "config.json", scratch)
        tokenizer.save_pretrained(scratch)
    write_atomic(scratch / FILE, encode(origin))
    shutil.rmtree(into, ignore_errors=True)
    scratch.rename(into)
    return into


def _beginning(tokenizer: Any) -> str:
    """Return what our templates write first: the token that begins every text of this model, or nothing.

    Prompts are tokenized as their template writes them, with nothing added. The tokenizers of Gemma and Llama begin
    every text with such a token, so their models have read hardly any text without it.
    """
    first = tokenizer.bos_token
    begins = first is not None and tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    return "{{ bos_token }}" if begins else ""


def _read(template: str, base: Path) -> str:
    try:
        return (base / template).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"template = {template!r}: {error}. It is one of {', '.join(NAMED)}, or the path of a Jinja template"
        ) from error


def _marks(tokenizer: Any, template: str) -> tuple[str, list[str]]:
    """Return the text that ends an answer, and all texts that must be single tokens."""
    from jinja2 import TemplateError

    turns = [{"role": "user", "content": "Name three colours."}, {"role": "assistant", "content": ANSWER}]
    try:
        whole = str(tokenizer.apply_chat_template(turns, tokenize=False))
    except TemplateError as error:
        raise SpecError(f"template = {template!r}: it refuses a prompt and its answer: {error}") from error
    rest = whole.partition(ANSWER)[2]
    ends = tokenizer.eos_token if tokenizer.eos_token and rest.startswith(tokenizer.eos_token) else None
    end_mark = END.match(rest)
    if ends is None and end_mark is None:
        raise SpecError(
            f"template = {template!r}: after an answer it writes {rest!r}, which is no token such as '<|im_end|>' or "
            "'</s>', so the model would never learn to end. Write one there, or {{ eos_token }}"
        )
    end = ends or end_mark[1]  # type: ignore[index]  # one of both
    return end, list(dict.fromkeys([end, *MARK.findall(whole)]))


def _model(directory: Path, tokenizer: Any, ids: list[int], are_new: list[bool]) -> Any:
    """Load the model and give it embedding rows for every token, new ones at the mean."""
    import torch
    from transformers import AutoModelForCausalLM

    from adhere.models.local.transformers import load_model

    model = load_model(AutoModelForCausalLM, directory)
    tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    if any(table is None for table in tables):
        raise IntegrityError(f"{directory}: the model has no embeddings or no head to give new tokens a row in")
    rows = len(tables[0].weight)
    means = [table.weight.detach()[:rows].mean(0) for table in tables]  # the same twice where they are tied
    if len(tokenizer) > rows:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    with torch.no_grad():
        for table, mean in zip(tables, means, strict=True):
            table.weight[[token for token, is_new in zip(ids, are_new, strict=True) if is_new]] = mean
    model.config.trained_tokens = sorted(ids)
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    return model
