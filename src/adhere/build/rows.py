"""Make rows in TRL's columns from judged answers."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from adhere.build.filter import Answer, Candidate, diverse, find_passing, repair_answers
from adhere.build.pairs import Pair, pairs
from adhere.build.reading import Fault
from adhere.pipeline.responding.others import Others
from adhere.schema import Json, PairRow, Prompt, Record, RlRow, SftRow

ROWS_VERSION = 2  # raised when other rows are made of the same answers: filters, repairs, pairs, plain answers


class Limits(Record, frozen=True):
    """Says how many passing answers and pairs are kept; under a limit on rows, kinds get equal shares.

    Args:
        per_prompt: SFT rows a prompt.
        pairs_per_prompt: Pairs a prompt.
        sft_rows: SFT rows in all; None: no limit.
        pair_rows: Pairs in all; None: no limit.
    """

    per_prompt: int = 2
    pairs_per_prompt: int = 1
    sft_rows: int | None = None
    pair_rows: int | None = None


class Item(NamedTuple):
    """Holds one prompt with everything made of it.

    `dropped` counts, by fault, the passing answers (repaired ones too) that do not read as answers; `readable` counts
    the passing answers that do.
    """

    prompt: Prompt
    answers: list[Answer]
    sft: list[Candidate]
    pairs: list[Pair]
    dropped: Counter[Fault]
    readable: int


def make_item(
    prompt: Prompt, answers: list[Answer], limits: Limits, *, repair: bool, others: Others | None = None
) -> Item:
    """Choose what is kept of one prompt: first answers as the model wrote them, then repaired ones.

    Args:
        prompt: The prompt.
        answers: Its judged draws.
        limits: How much is kept.
        repair: Whether failing answers may be edited to pass.
        others: The answers to all prompts, which show what the model says to any request; None: no comparison.
    """
    faults: Counter[Fault] = Counter()
    passing = find_passing(prompt, answers, others=others, faults=faults)
    enough = 2 * max(limits.per_prompt, limits.pairs_per_prompt)
    repairs = repair_answers(prompt, answers, enough=enough, others=others, faults=faults) if repair else []
    natural = diverse(passing, limits.per_prompt)
    edited = diverse(
        [candidate for candidate in repairs if candidate.text not in {other.text for other in natural}],
        limits.per_prompt - len(natural),
    )
    item_pairs = pairs(
        prompt,
        answers,
        diverse(passing, limits.pairs_per_prompt),
        diverse(repairs, limits.pairs_per_prompt),
        limits.pairs_per_prompt,
    )
    return Item(prompt, answers, natural + edited, item_pairs, faults, len(passing) + len(repairs))


def sft_rows(item: Item) -> list[SftRow]:
    """Return the SFT rows of one prompt, best first."""
    prompt = item.prompt
    ids, kwargs = _constraint_columns(prompt)
    return [
        SftRow(prompt.id, prompt.text, answer.text, "sampled" if answer.original is None else "repaired", ids, kwargs)
        for answer in item.sft
    ]


def pair_rows(item: Item) -> list[PairRow]:
    """Return the preference pairs of one prompt, best first."""
    prompt = item.prompt
    ids, kwargs = _constraint_columns(prompt)
    return [
        PairRow(prompt.id, prompt.text, pair.chosen, pair.rejected, pair.origin, ids, kwargs) for pair in item.pairs
    ]


def rl_row(item: Item) -> RlRow | None:
    """Return the RL row of one prompt; None if there are fewer than two draws or one has no score."""
    scores = [answer.score for answer in item.answers]
    known_scores = [score for score in scores if score is not None]
    if len(known_scores) < max(2, len(scores)):
        return None
    prompt = item.prompt
    mean, variance = statistics.fmean(known_scores), statistics.variance(known_scores)
    return RlRow(
        prompt.id,
        prompt.text,
        len(known_scores),
        mean,
        variance,
        *_constraint_columns(prompt),
        prompt.tags.get("profile"),
    )


def _constraint_columns(prompt: Prompt) -> tuple[tuple[str, ...], tuple[dict[str, Json], ...]]:
    return tuple(ref.id for ref in prompt.constraints), tuple(ref.params for ref in prompt.constraints)


Row = TypeVar("Row")


def deal_rows(rows_by_prompt: Sequence[tuple[Prompt, list[Row]]], limit: int | None, seed: int) -> list[Row]:
    """Return all rows, or `limit` of them, in a seeded order.

    Every prompt's first row is taken before any prompt's second, and kinds of constraint take turns.
    """
    rng = random.Random(seed)
    count = sum(len(rows) for _, rows in rows_by_prompt) if limit is None else limit
    chosen: list[Row] = []
    for rank in range(max((len(rows) for _, rows in rows_by_prompt), default=0)):
        by_kind: dict[str, list[Row]] = {}
        for prompt, rows in rows_by_prompt:
            if rank < len(rows):
                by_kind.setdefault(rng.choice(prompt.constraints).id, []).append(rows[rank])
        for rows in by_kind.values():
            rng.shuffle(rows)
        while by_kind and len(chosen) < count:
            for kind in sorted(by_kind):
                if len(chosen) < count:
                    chosen.append(by_kind[kind].pop())
            by_kind = {kind: rows for kind, rows in by_kind.items() if rows}
    rng.shuffle(chosen)
    return chosen
