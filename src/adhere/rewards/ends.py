"""Finds the tokens that end an answer, from a token, a model, a config or a tokenizer.

A tokenizer's `eos_token_id` is one token, but a model may stop at others: TRL and vLLM stop at every one of the
generation config's list. An answer that ends with a token that is not known as an end would count as cut, and earn 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.extras import need

_MARK = "adhere"


def end_tokens_of(source: Any) -> frozenset[int]:
    """Return the tokens with which answers end, and the padding that may follow them.

    Args:
        source: A token; a model (its generation config is read), or its name as transformers and TRL take it; a
            generation config; a tokenizer (its end of sequence, what its chat template writes after an answer, and the
            `generation_config.json` next to it); several of these; or None, for none.

    Raises:
        UsageError: `source` is none of these, or there is no model of that name.
    """
    if source is None:
        return frozenset()
    if isinstance(source, int) and not isinstance(source, bool):
        return frozenset([source])
    if isinstance(source, str | Path):
        return _of_name(str(source))
    if isinstance(source, Iterable) and not hasattr(source, "eos_token_id"):
        return frozenset[int]().union(*map(end_tokens_of, source))
    ids: frozenset[int] = frozenset()
    is_known = False
    for holder in (source, getattr(source, "generation_config", None), getattr(source, "config", None)):
        if holder is not None and hasattr(holder, "eos_token_id"):
            is_known = True
            ids |= end_tokens_of(holder.eos_token_id) | end_tokens_of(getattr(holder, "pad_token_id", None))
    if hasattr(source, "apply_chat_template"):
        ids |= _of_template(source) | _beside(getattr(source, "name_or_path", ""))
    if not is_known:
        raise UsageError(
            f"end_tokens takes token ids, a model, a generation config or a tokenizer, got {type(source).__name__}: "
            f"{source!r:.60}"
        )
    return ids


def _of_name(name: str) -> frozenset[int]:
    transformers = need("transformers", extra="train")
    try:
        ids = end_tokens_of(transformers.AutoTokenizer.from_pretrained(name))
    except (OSError, ValueError) as error:
        raise UsageError(f"end_tokens={name!r} is no model whose tokenizer can be read: {error}") from error
    try:
        return ids | end_tokens_of(transformers.GenerationConfig.from_pretrained(name))
    except OSError:  # most base models have none, and then stop at the tokenizer's token alone
        return ids


def _of_template(tokenizer: Any) -> frozenset[int]:
    """Return the special token that a chat template writes after an answer (`<|im_end|>`, `<|eot_id|>`)."""
    if not getattr(tokenizer, "chat_template", None):
        return frozenset()
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _MARK}]
    text = tokenizer.apply_chat_template(turns, tokenize=False)
    tail = tokenizer(text.rpartition(_MARK)[2], add_special_tokens=False)["input_ids"]
    special = set(tokenizer.all_special_ids) | {
        token for token, token_info in getattr(tokenizer, "added_tokens_decoder", {}).items() if token_info.special
    }
    return frozenset(token for token in tail[:1] if token in special)


def _beside(name: str) -> frozenset[int]:
    """Return the end and padding tokens from `generation_config.json` in the folder that a tokenizer came from."""
    path = Path(name) / "generation_config.json"
    if not name or not path.is_file():
        return frozenset()
    config = json.loads(path.read_bytes())
    return end_tokens_of(config.get("eos_token_id")) | end_tokens_of(config.get("pad_token_id"))
