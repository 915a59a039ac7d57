"""Count what each step of a build left over, in the order of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adhere.build.dataset.card import Stage
from adhere.build.dataset.queries import QueryPool
from adhere.build.dataset.spec import DataSpec
from adhere.build.decontaminate.rows import LcsDrop, NgramDrop
from adhere.build.draws import Draws
from adhere.build.filter import Answer
from adhere.build.rows import Item
from adhere.build.scorers import FilterReport
from adhere.schema import Prompt

Table = Sequence[Mapping[str, Any]]


def query_stage(query_pool: QueryPool) -> Stage:
    """Return the stage of the queries: those found, and those that can be used."""
    out = {why: count for why, count, _ in query_pool.left_out}
    return Stage("queries", "queries", len(query_pool.queries) + sum(out.values()), len(query_pool.queries), out)


def prompt_stage(spec: DataSpec, prompts: Sequence[Prompt], hopeless: Sequence[str]) -> Stage:
    """Return the stage of the prompts: those asked for, and those that could be made.

    `hopeless` holds the ids of the queries with which no prompt could be made.
    """
    count = sum(area.count for area in spec.areas) or spec.queries.count
    shortfall = count - len(prompts)
    out = {f"without new constraints that go together ({len(hopeless)} queries)": shortfall}
    return Stage("constraints that go together", "prompts", count, len(prompts), _some(out))


def clean_stage(prompts: Sequence[Prompt], clean: Sequence[Prompt], drops: Sequence[LcsDrop | NgramDrop]) -> Stage:
    """Return the stage of decontamination: all prompts, and those that repeat no test item."""
    out = Counter(f"like an item of {drop.against}" for drop in drops)
    return Stage("decontamination", "prompts", len(prompts), len(clean), dict(out))


def answer_stages(
    draws: Draws, items: Sequence[Item], filtering: FilterReport | None, tables: Mapping[str, Table]
) -> Iterator[Stage]:
    """Yield the stages from drawn answers to rows.

    Args:
        draws: The answers to every turn.
        items: The prompts that were kept, each with its judged answers to the first turn.
        filtering: What scorers said of these answers; None if no scorer was asked.
        tables: Table name -> its rows.
    """
    responses = [response for prompt_responses in draws.by_prompt.values() for response in prompt_responses]
    statuses = Counter(response.status for response in responses if response.status != "ok")
    yield Stage(
        "draws that ended by themselves",
        "answers",
        len(responses),
        len(responses) - statuses.total(),
        dict(sorted(statuses.items())),
    )
    answers = [answer for item in items for answer in item.answers]
    complete = [answer for answer in answers if answer.status == "ok"]
    passed = sum(answer.passed for answer in answers)
    undecided = sum(_is_undecided(answer) for answer in complete)
    out = {"break one": len(complete) - passed - undecided, "undecided": undecided}
    yield Stage("every constraint of the first turn kept", "answers", len(complete), passed, _some(out))
    if filtering is not None:
        out = {"rejected by a scorer": filtering.rejected, "without a vote of every scorer": filtering.undecided}
        yield Stage("flawless for every scorer", "answers", filtering.answers, filtering.kept, _some(out))
    yield _reading_stage(items)
    yield from _row_stages(len(items), tables)


def _reading_stage(items: Sequence[Item]) -> Stage:
    """Count the passing answers to first turns, repaired ones too, that read as answers."""
    out: Counter[str] = Counter()
    for item in items:
        out.update(item.dropped)
    readable = sum(item.readable for item in items)
    unit = "passing answers, repaired ones too"
    return Stage(
        "answers that respond, in whole sentences", unit, readable + out.total(), readable, dict(sorted(out.items()))
    )


def _row_stages(prompts: int, tables: Mapping[str, Table]) -> Iterator[Stage]:
    sft, pairs, rl = tables["sft"], tables["pairs"], tables["rl"]
    with_rows = len({row["prompt_id"] for row in sft})
    out = {"without an answer that passes, says something and fits the limits": prompts - with_rows}
    yield Stage("SFT rows", "prompts with a row", prompts, with_rows, _some(out))
    origins = Counter(row["origin"] for row in sft)
    out = {"repaired": origins["repaired"]}
    yield Stage("SFT rows as the model wrote them", "rows", len(sft), origins["sampled"], _some(out))
    with_pairs = len({row["prompt_id"] for row in pairs})
    yield Stage("preference pairs", "prompts with a pair", prompts, with_pairs)
    flat = sum(row["score_variance"] == 0 for row in rl)
    out = {"all draws scored alike": flat}
    yield Stage("RL prompts whose scores vary", "prompts", len(rl), len(rl) - flat, _some(out))


def _is_undecided(answer: Answer) -> bool:
    outcomes = {verdict.outcome for verdict in answer.verdicts}
    return "undecided" in outcomes and "fail" not in outcomes


def _some(counts: dict[str, int]) -> dict[str, int]:
    """Return the counts that are not zero."""
    return {why: count for why, count in counts.items() if count}
