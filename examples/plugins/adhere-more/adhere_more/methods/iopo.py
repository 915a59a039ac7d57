"""IOPO: preferences between answers to a prompt, and between prompts for an answer.

An item is two prompts with an answer each, where each answer keeps the rules of its own prompt and breaks one of the
other's; the judge says so. Loss: -log sigmoid(beta (r11 + r22 - r12 - r21)), r the log ratio of answer to prompt.
Source: arXiv 2411.06208, and its authors' code (github.com/AlibabaResearch/DAMO-ConvAI, IOPO, b22b277), whose logits
are half of (2 r11 - r12 - r21) + (2 r22 - r21 - r12). How ours differs: the paper writes the second prompt for the
purpose; ours pairs prompts of the pool, those that share the most words first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from adhere.errors import UsageError
from adhere.pipeline.judge import judge_text
from adhere.progress import Progress
from adhere.schema import ConstraintRef, SftRow
from adhere.train.batch.answers import AnswerSettings, Item, answers_work, train_on_answers
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.packed.pack import TokenRow
from adhere.train.packed.rows import sft_rows
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PROVENANCE", "IopoSettings", "crossings", "iopo"]


NEAR = (
    64  # prompts that each is compared with by its place, and the most that a word may have to bring prompts together
)


class IopoSettings(AnswerSettings, frozen=True):
    """IOPO. An item holds four rows."""

    batch_items: int = 8


PROVENANCE = {"beta": Provenance(None, "0.1", "of the IOPO authors' training file")}


def iopo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[SftRow],
    settings: IopoSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train `model` in place on crossings of verified rows.

    Raises:
        UsageError: No two rows cross. Otherwise as `answers.train_on_answers`.
    """
    from adhere_more import losses

    pairs = crossings(rows)
    if not pairs:
        raise UsageError(
            "iopo: no two prompts of the pool have answers that break each other's rules; it needs more kinds of them"
        )
    items = []
    for both in pairs:
        a, b = sft_rows(tokenizer, both)
        items.append(Item((a, b, TokenRow(b.prompt, a.completion), TokenRow(a.prompt, b.completion))))

    def loss(ratios: torch.Tensor, labels: torch.Tensor, point: torch.Tensor) -> torch.Tensor:  # noqa: ARG001 - KTO's
        return losses.iopo(ratios[:, :2], ratios[:, 2:], beta=settings.beta)

    return train_on_answers(model, items, settings, name="iopo", loss=loss, seed=seed, progress=progress)


def crossings(rows: Sequence[SftRow]) -> list[tuple[SftRow, SftRow]]:
    """Pairs of rows of which each answer fails the other's prompt; no row is in two.

    Prompts that share most words come first. Compared are prompts that share a word which at most `NEAR` prompts have,
    and each with the `NEAR` before it: time grows with the rows, not with their square.
    """
    one_each = list({row.prompt_id: row for row in reversed(rows) if row.instruction_id_list}.values())[::-1]
    words = [frozenset(row.prompt.lower().split()) for row in one_each]
    having: dict[str, list[int]] = {}
    for place, found_words in enumerate(words):
        for word in found_words:
            having.setdefault(word, []).append(place)
    together = {
        (max(pair), min(pair)) for places in having.values() if len(places) <= NEAR for pair in combinations(places, 2)
    }
    together |= {(i, j) for i in range(len(one_each)) for j in range(max(0, i - NEAR), i)}
    near = sorted(
        ((len(words[i] & words[j]) / max(1, len(words[i] | words[j])), i, j) for i, j in together),
        key=lambda candidate: (-candidate[0], candidate[1], candidate[2]),
    )
    used_places: set[int] = set()
    pairs = []
    for _, i, j in near:
        if i in used_places or j in used_places or one_each[i].prompt == one_each[j].prompt:
            continue
        if _fails(one_each[i].completion, one_each[j]) and _fails(one_each[j].completion, one_each[i]):
            used_places |= {i, j}
            pairs.append((one_each[j], one_each[i]))
    return pairs


def _fails(text: str, row: SftRow) -> bool:
    refs = tuple(
        ConstraintRef(name, dict(params)) for name, params in zip(row.instruction_id_list, row.kwargs, strict=True)
    )
    return any(verdict.outcome == "fail" for verdict in judge_text(text, refs, ("strict",)))


def _work(settings: IopoSettings, data: Shape) -> Work:
    return answers_work(settings, data, rows=4, items=data.rows / 2)


STAGE = Stage(
    "iopo",
    "preferences between answers and between prompts",
    "arXiv 2411.06208",
    IopoSettings,
    "sft",
    lambda pool, _: pool.sft,
    iopo,
    _work,
    PROVENANCE,
    version=1,
)
