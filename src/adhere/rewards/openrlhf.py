"""The judge as OpenRLHF's reward function. Nothing here imports OpenRLHF; torch only where it is called.

    --remote_rm_url PATH/TO/adhere/rewards/openrlhf.py --label_key label

Where nothing was measured OpenRLHF stops. With --algo.dynamic_filtering_enable it can drop the whole group of such an
answer and ask another prompt instead; put this into a file of your own and give it to --remote_rm_url:

    from functools import partial
    from adhere.rewards import openrlhf
    reward_func = partial(openrlhf.reward_func, missing="mask")     # and traps=True

A row's label is the JSON text of a mapping with `instruction_id_list` and `kwargs`, for `traps` with the `prompt`, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adhere.errors import UsageError, one_of
from adhere.extras import need
from adhere.rewards.rows import (
    MISSING,
    Coverage,
    Missing,
    asked_by,
    insist_on_no_typo,
    insist_on_words,
    mask_missing,
    refs_in,
    reward_of,
    without_end_tokens,
)
from adhere.schema import CutAnswers, Mode


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any],
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    missing: Missing = "stop",
    most_unmeasured: float = 0.5,
    traps: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """The rewards of some answers.

    Args:
        queries: Prompt and answer in one text, as OpenRLHF decodes them; special tokens at the end are taken off.
        prompts: As many beginnings of the queries.
        labels: As many rows' constraints; see the module.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite, where there are several.
        cut_answers: Whether an answer that was cut at its token limit fails, or is judged as it stands. OpenRLHF
            decodes with special tokens, so the answers without one at their end were cut, where any of the batch has
            one.
        missing: Without a measurement `stop` gives None, at which OpenRLHF stops, `mask` NaN. Its dynamic filtering
            drops a group whose mean score is NaN; without that option NaN would reach the weights.
        most_unmeasured: The share of such answers above which `mask` stops, too, from this process's hundredth on.
        traps: Whether an answer that keeps the letter and not the intent (`pipeline.intent.gate`) gets 0. The prompt is
            what stands under `prompt` in the label, because OpenRLHF's own is templated.
        others: Not looked at: releases pass different ones. One that is nearly an argument of ours is refused.

    Returns:
        `rewards`: the share of constraints that pass, for the advantages. `scores`: 1.0 only where all pass, which is
        what dynamic filtering asks for. `extra_logs`: both, under names. They are float tensors of one number a query.
        Where any answer could not be measured and `missing` is `stop` they are lists in which it is None, never 0.

    Raises:
        TooFewMeasurements: There were more of them.
        UsageError: The lists differ in length, a query does not begin with its prompt, a label names no constraints, or
            with `traps` no prompt.
        UnknownName, BadParameter: A label names a constraint that cannot be judged.
    """
    if not len(queries) == len(prompts) == len(labels):
        raise UsageError(f"Got {len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels")
    insist_on_words("dense", mode, profile, cut_answers)
    insist_on_no_typo(others, ("mode", "profile", "cut_answers", "missing", "most_unmeasured", "traps"))
    one_of(missing, MISSING, "treatment of missing rewards")
    answers = [_answer(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    texts = [without_end_tokens(answer) for answer in answers]
    ended = [len(text) < len(answer) for text, answer in zip(texts, answers, strict=True)]
    shares = [
        reward_of(
            text,
            refs_in(label, where="OpenRLHF's label"),
            kind="dense",
            mode=mode,
            profile=profile,
            is_cut=any(ended) and not one_ended,
            cut_answers=cut_answers,
            asked=asked_by(label, where="OpenRLHF's label") if traps else None,
        )
        for text, label, one_ended in zip(texts, labels, ended, strict=True)
    ]
    if missing == "mask":
        shares = list(mask_missing(shares, _seen.setdefault(most_unmeasured, Coverage(most_unmeasured))))
    dense, binary = _numbers(shares), _numbers([_is_whole(share) for share in shares])
    return {"rewards": dense, "scores": binary, "extra_logs": {"constraints_passed": dense, "all_passed": binary}}


_seen: dict[float, Coverage] = {}


def _is_whole(share: float | None) -> float | None:
    """1.0 where all constraints pass, else 0.0; None and NaN stay what they are."""
    return share if share is None or math.isnan(share) else float(share == 1)


def _answer(query: str, prompt: str) -> str:
    if not query.startswith(prompt):
        raise UsageError(
            f"A query must begin with its prompt, and this one does not: query {query[:80]!r}, prompt {prompt[:80]!r}"
        )
    return query[len(prompt) :]


def _numbers(rewards: list[float | None]) -> Any:
    if None in rewards:
        return rewards
    return need("torch", extra="train").tensor(rewards)
