"""Continued pre-training: next-token training on plain text, with a share of instruction rows mixed in.

Every token is learned: of a document all, of an instruction row its question too, for both are text here. Documents are
cut into windows, each a row of its own that sees nothing of its neighbours; rows are packed without padding as in every
stage. The loss is the mean negative log-likelihood over the tokens of a step. Text and rows are passed over as often as
`tokens` takes, each pass in its own seeded order.

Source: Instruction Pre-Training (arXiv 2406.14491), which augments raw text with instruction-response pairs and learns
both alike. How ours differs: there every text is followed by pairs made from it by a synthesizer, and the share of
plain text differs by experiment; here the rows are whatever `adhere build` verified, and `share` says how many of the
tokens are theirs.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from adhere.errors import IntegrityError, UsageError
from adhere.pipeline.compare.perplexity import read_texts
from adhere.progress import Progress, Silent
from adhere.schema import SftRow, derive_seed
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import Learner, learning
from adhere.train.packed.pack import Part, TokenRow, cut, log_probs, row_sums
from adhere.train.packed.rows import end_of_turn, sft_rows
from adhere.train.parallel import gather
from adhere.train.settings import Count, OptimizerSettings, Positive, Share, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class ContinueSettings(OptimizerSettings, frozen=True):
    """Next-token training on plain text and instruction rows.

    Attributes:
        text: Files of documents: the column `text` of JSON lines (.jsonl), or paragraphs between empty lines. Paths are
            relative to where the command runs.
        text_sha256: Hash of the documents. It is filled in when the run begins, so that a changed file makes
            another run.
        share: Share of the learned tokens that are instruction rows.
        tokens: Number of tokens learned in all.
        batch_tokens: Least tokens of an optimizer step.
        window: Documents are cut into windows of at most this many tokens; an instruction row is never cut.
        held_out: Share of the documents that are not learned; their loss is logged before the first step and
            after the last.
    """

    learning_rate: Positive = 3e-5
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    weight_decay: Annotated[float, Meta(ge=0)] = 0.1
    warmup_share: Share = 0.05
    text: tuple[str, ...] = ()
    text_sha256: str = ""
    share: Share = 0.1
    tokens: Count = 100_000
    batch_tokens: Count = 2048
    window: Count = 512
    held_out: Annotated[float, Meta(ge=0, lt=1)] = 0.02

    @property
    def needs_rows(self) -> bool:
        """Whether any instruction rows are learned."""
        return self.share > 0

    def with_inputs(self) -> ContinueSettings:
        """Return the settings with `text_sha256` filled in.

        Raises:
            UsageError: A file of `text` is missing, or none is named.
            IntegrityError: The files have changed since `text_sha256` was noted.
        """
        text_sha256 = _sha256(_files(self)) if self.share < 1 else ""
        if self.text_sha256 not in {"", text_sha256}:
            raise IntegrityError(
                f"continue: the documents of {', '.join(self.text)} are not those that this run began with"
            )
        return msgspec.structs.replace(self, text_sha256=text_sha256)


PROVENANCE = {
    "share": Provenance(None, "0.1", "the paper's abstract, all that was at hand, names no share"),
    "tokens": Provenance("100 billion", "100,000", "minutes on two cores"),
    "learning_rate": Provenance(None, "3e-5", "the start has come down from a higher one; scaled"),
}


class _Batch(NamedTuple):
    """Holds the rows of a step; `is_text` tells for each row whether it comes from a document."""

    rows: tuple[TokenRow, ...]
    is_text: tuple[bool, ...]


def continue_training(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow],
    settings: ContinueSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on the documents in `text` and on `rows`, in orders drawn from `seed`.

    Raises:
        UsageError: There is no document to learn, or no row where `share` asks for some.
        IntegrityError: The documents have changed since the run began.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings.with_inputs())
    if settings.share > 0 and not rows:
        raise UsageError(f"continue: no rows to train on, and share = {settings.share:g} asks for some. Take share = 0")
    documents = _documents(_files(settings)) if settings.share < 1 else ()
    # Held out are whole documents, at most all but one: windows of a document are alike.
    order = random.Random(derive_seed(seed, "held out")).sample(range(len(documents)), len(documents))
    aside = min(round(settings.held_out * len(documents)), len(documents) - 1) if documents else 0
    held_out_rows = _windows(tokenizer, [documents[place] for place in order[:aside]], settings.window)
    text = _windows(tokenizer, [documents[place] for place in sorted(order[aside:])], settings.window)
    batches = list(_batches(text, _whole(tokenizer, rows), settings, seed=seed))
    tally, log = Tally(), StepLog()
    with (
        learning(model, settings, stage="continue", steps=len(batches)) as learner,
        (progress or Silent()).step("continue", len(batches), "steps") as bar,
    ):
        learner.describe(tally)
        for batch in learner.remaining(batches, tally, log, bar):
            before = _loss_of(model, held_out_rows, settings) if held_out_rows and learner.step == 0 else None
            row = _step(model, learner, batch, settings, tally)
            if before is not None:
                row["held_out_loss_before"] = before
            if held_out_rows and learner.step == len(batches):
                row["held_out_loss"] = _loss_of(model, held_out_rows, settings)
            log.append(row)
            bar.advance(note=f"loss {row['loss']:.3f}")
    return StageResult(log, tally.close())


def _step(model: PreTrainedModel, learner: Learner, batch: _Batch, settings: ContinueSettings, tally: Tally) -> LogRow:
    """Take one optimizer step and return its log row, with separate losses of text and instruction rows."""
    tokens = sum(len(row.completion) for row in batch.rows)
    parts = cut([[row] for row in batch.rows], tree_tokens=settings.tree_tokens)
    row_losses: list[tuple[bool, float, int]] = []  # of every row: whether it is text, its nats, its tokens

    def loss_of(part: Part) -> torch.Tensor:
        token_log_probs = log_probs(model, part.tree, precision=settings.precision)  # (K)
        sums = row_sums(token_log_probs, part.tree).detach().tolist()  # (R)
        row_losses.extend(
            (batch.is_text[item], -own, size)
            for item, own, size in zip(part.items, sums, part.tree.lengths, strict=True)
        )
        return -token_log_probs.sum() / tokens

    update = learner.update(parts, loss_of)
    tally.steps += 1
    tally.prompts += len(batch.rows)
    tally.tokens_trained += tokens
    tally.tokens_processed += sum(len(part.tree) for part in parts)
    columns: dict[str, float] = {}
    row_losses = gather(row_losses)
    for name, is_text in (("text", True), ("instruction", False)):
        own = [(nats, size) for kind, nats, size in row_losses if kind is is_text]
        if own:
            columns[f"{name}_loss"] = sum(nats for nats, _ in own) / sum(size for _, size in own)
        columns[f"{name}_tokens"] = float(sum(size for _, size in own))
    return learner.row(update, **columns)


class _File(NamedTuple):
    """Identifies a version of a file of documents; its text stays cached until size or time of change differ."""

    path: str
    size: int
    changed_ns: int


def _files(settings: ContinueSettings) -> tuple[_File, ...]:
    if not settings.text:
        raise UsageError('continue: no rows of text to train on. Name files: text = ["text.jsonl"]; or take share = 1')
    files = []
    for path in settings.text:
        try:
            stat = Path(path).stat()
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({error})") from error
        files.append(_File(str(Path(path).resolve()), stat.st_size, stat.st_mtime_ns))
    return tuple(files)


# The stages of a study mostly share their text; more of it than one stage's would only fill memory.
@functools.lru_cache(maxsize=1)
def _documents(files: tuple[_File, ...]) -> tuple[str, ...]:
    return tuple(document for file in files for document in read_texts(Path(file.path)))


@functools.lru_cache(maxsize=64)
def _sha256(files: tuple[_File, ...]) -> str:
    """Hash the documents, joined by NUL, without joining their texts in memory."""
    digest = hashlib.sha256()
    for place, document in enumerate(_documents(files)):
        digest.update(b"\0" * (place > 0) + document.encode())
    return digest.hexdigest()


def _windows(tokenizer: PreTrainedTokenizerBase, documents: Sequence[str], window: int) -> list[TokenRow]:
    """Cut the documents into windows of at most `window` tokens.

    The first token of each window is predicted from the token that ends texts, as at the start of a text.
    """
    end = end_of_turn(tokenizer)
    rows = []
    for document in documents:
        ids = (*tokenizer(document, add_special_tokens=False)["input_ids"], end)
        rows += [TokenRow((end,), tuple(ids[at : at + window])) for at in range(0, len(ids), window)]
    return rows


def _whole(tokenizer: PreTrainedTokenizerBase, rows: Sequence[SftRow]) -> list[TokenRow]:
    """Return instruction rows in which every token but the first is learned."""
    return [TokenRow(row.prompt[:1], row.prompt[1:] + row.completion) for row in sft_rows(tokenizer, rows)]


def _batches(
    text: Sequence[TokenRow], rows: Sequence[TokenRow], settings: ContinueSettings, *, seed: int
) -> Iterator[_Batch]:
    """Yield the rows of each step until `tokens` are learned.

    The side (text or instructions) that is behind its share gives the next row, so the share holds at every step.
    """
    sides = {True: _endless(text, derive_seed(seed, "text")), False: _endless(rows, derive_seed(seed, "instructions"))}
    tokens_learned = {True: 0, False: 0}
    batch: list[tuple[TokenRow, bool]] = []
    size = 0
    while sum(tokens_learned.values()) < settings.tokens:
        # Instructions are behind while their tokens are fewer than `share` of what one token more would make; the one
        # more keeps text away with share 1, from the first row on.
        is_text = tokens_learned[False] >= settings.share * (sum(tokens_learned.values()) + 1)
        row = next(sides[is_text])
        tokens_learned[is_text] += len(row.completion)
        batch.append((row, is_text))
        size += len(row.completion)
        if size >= settings.batch_tokens:
            yield _Batch(tuple(row for row, _ in batch), tuple(of for _, of in batch))
            batch, size = [], 0
    if batch:
        yield _Batch(tuple(row for row, _ in batch), tuple(of for _, of in batch))


def _endless(rows: Sequence[TokenRow], seed: int) -> Iterator[TokenRow]:
    passes = 0
    while True:
        yield from random.Random(derive_seed(seed, passes)).sample(rows, len(rows))
        passes += 1


def _loss_of(model: PreTrainedModel, rows: Sequence[TokenRow], settings: ContinueSettings) -> float:
    """Return the mean loss of the rows in nats a token."""
    import torch

    with torch.no_grad():
        parts = cut([[row] for row in rows], tree_tokens=settings.tree_tokens)
        total = sum(float(log_probs(model, part.tree, precision=settings.precision).sum()) for part in parts)
    return -total / sum(len(row.completion) for row in rows)


def _work(settings: ContinueSettings, _data: Shape) -> Work:
    tokens = float(settings.tokens)
    return Work(steps=max(1.0, tokens / settings.batch_tokens), trained=tokens, processed=tokens)


STAGE = Stage(
    "continue",
    "next-token training on plain text, instruction rows mixed in",
    "arXiv 2406.14491",
    ContinueSettings,
    "sft",
    lambda pool, settings: pool.sft if settings.needs_rows else (),
    continue_training,
    _work,
    PROVENANCE,
    version=1,
)
