"""Conversion of text to token rows.

Prompts go through the chat template; answers get the end-of-turn token that the model must learn to write.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from adhere.errors import UsageError
from adhere.models.chat import render
from adhere.schema import Message, PairRow, SftRow, derive_seed
from adhere.train.packed.pack import TokenRow

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TokenPair(NamedTuple):
    """Holds a preference pair; both rows have the same prompt."""

    chosen: TokenRow
    rejected: TokenRow


def end_of_turn(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the token that ends an answer.

    Raises:
        UsageError: The tokenizer names none, so a model trained with it would never stop.
    """
    end = tokenizer.eos_token_id
    if not isinstance(end, int):
        raise UsageError(f"The tokenizer's eos_token_id is {end!r}; training needs the token that ends an answer")
    return end


def prompt_ids(tokenizer: PreTrainedTokenizerBase, prompt: str | Sequence[Message]) -> tuple[int, ...]:
    """Tokenize one user turn, or a conversation, with the chat template, up to where the answer begins."""
    return tuple(render(tokenizer, [Message("user", prompt)] if isinstance(prompt, str) else prompt))


def every_answer(rows: Iterable[SftRow]) -> list[SftRow]:
    """Make a row for each assistant turn of each conversation, so that all are learned and not only the last.

    The rows of a conversation begin alike, so a prefix tree computes each token once. An assistant turn at the very
    start, or without text, makes no row.
    """
    answer_rows = []
    for row in rows:
        answer_rows += [
            msgspec.structs.replace(row, turns=row.turns[:place], completion=turn.content)
            for place, turn in enumerate(row.turns)
            if place and turn.role == "assistant" and turn.content.strip()
        ]
        answer_rows.append(row)
    return answer_rows


def completion_ids(tokenizer: PreTrainedTokenizerBase, text: str, *, name: str) -> tuple[int, ...]:
    """Tokenize an answer and append the end-of-turn token; `name` describes the answer in the error.

    Raises:
        UsageError: The answer is empty.
    """
    if not text.strip():
        raise UsageError(f"The {name} is empty: there is nothing to learn from it. Drop the row")
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return (*ids, end_of_turn(tokenizer))


def insist_on_positions(
    rows: Iterable[object],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    stage: str,
    longest: int | None = None,
) -> None:
    """Refuse a row with more tokens than the model has positions, before anything is learned.

    Args:
        rows: Supervised rows and pairs; rows of other kinds are ignored.
        model: The model to be trained.
        tokenizer: The model's tokenizer.
        stage: The stage that learns from them, for the message.
        longest: The stage itself leaves out rows of more tokens than this; None: it leaves out none.

    Raises:
        UsageError: A row is too long; the message names it and says how many there are.
    """
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if not isinstance(positions, int) or (longest is not None and longest <= positions):
        return
    too_long = []
    for row in rows:
        if not isinstance(row, SftRow | PairRow):
            continue
        answers = (row.completion,) if isinstance(row, SftRow) else (row.chosen, row.rejected)
        prompt_text = row.prompt if not row.turns else "".join(turn.content for turn in row.turns)
        # A token stands for a byte at least, but for those of the template: most rows need not be cut to see it.
        if len((prompt_text + max(answers, key=len)).encode(errors="replace")) * 2 + 1024 < positions:
            continue
        answer_tokens = max(len(completion_ids(tokenizer, text, name="answer")) for text in answers if text.strip())
        tokens = len(prompt_ids(tokenizer, row.asked)) + answer_tokens
        if tokens > positions:
            too_long.append((row.prompt_id, tokens))
    if too_long:
        name, tokens = too_long[0]
        advice = f"leave them out: settings = {{ longest = {positions} }}" if "sft" in stage else "leave them out"
        raise UsageError(
            f"{stage}: row {name!r} has {tokens:,} tokens, and the model has {positions:,} positions; so have "
            f"{len(too_long):,} rows in all. What stands behind the last position is learned for nothing: {advice}, or "
            "start from a model that reads longer texts"
        )


def sft_rows(tokenizer: PreTrainedTokenizerBase, rows: Iterable[SftRow]) -> list[TokenRow]:
    """Tokenize supervised rows."""
    return [
        TokenRow(
            prompt_ids(tokenizer, row.asked),
            completion_ids(tokenizer, row.completion, name=f"completion for prompt {row.prompt_id!r}"),
        )
        for row in rows
    ]


def pair_rows(tokenizer: PreTrainedTokenizerBase, rows: Iterable[PairRow]) -> list[TokenPair]:
    """Tokenize preference pairs.

    Raises:
        UsageError: A pair has the same text as chosen and rejected.
    """
    pairs = []
    for row in rows:
        if row.chosen == row.rejected:
            raise UsageError(f"The pair for prompt {row.prompt_id!r} has the same text as chosen and rejected. Drop it")
        prompt = prompt_ids(tokenizer, row.asked)
        chosen, rejected = (
            TokenRow(prompt, completion_ids(tokenizer, text, name=f"{side} answer for prompt {row.prompt_id!r}"))
            for side, text in (("chosen", row.chosen), ("rejected", row.rejected))
        )
        pairs.append(TokenPair(chosen, rejected))
    return pairs


def chosen_rows(pairs: Sequence[PairRow]) -> list[SftRow]:
    """Return the chosen halves of preference pairs as supervised rows, the control for the rejected halves."""
    return [
        SftRow(
            pair.prompt_id,
            pair.prompt,
            pair.chosen,
            pair.origin,
            pair.instruction_id_list,
            pair.kwargs,
            turns=pair.turns,
        )
        for pair in pairs
    ]


def shuffled_batches(count: int, *, size: int, epochs: int, stage: str, seed: int) -> list[list[int]]:
    """Return batches of `size` indices below `count`, each of `epochs` passes in its own seeded order.

    The last batch of a pass may be smaller.
    """
    batches = []
    for epoch in range(epochs):
        order = list(range(count))
        random.Random(derive_seed(seed, stage, epoch)).shuffle(order)
        batches += [order[start : start + size] for start in range(0, count, size)]
    return batches
