"""The judge as OpenRLHF's reward function. Nothing here imports OpenRLHF; torch only where it is called.

    --remote_rm_url PATH/TO/adhere/rewards/openrlhf.py --label_key label

A row's label is the JSON text of a mapping with `instruction_id_list` and `kwargs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adhere.constraints.resolve import Mode
from adhere.errors import UsageError
from adhere.extras import need
from adhere.rewards.rows import refs_in, reward_of, without_end_tokens


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any],
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    **others: Any,  # noqa: ARG001 - releases pass different ones
) -> dict[str, Any]:
    """The rewards of some answers.

    Args:
        queries: Prompt and answer in one text, as OpenRLHF decodes them; special tokens at the end are taken off.
        prompts: As many beginnings of the queries.
        labels: As many rows' constraints; see the module.
        mode: Whose semantics published kinds have.
        profile: Which version of a published suite, where there are several.
        others: Not looked at.

    Returns:
        `rewards`: the share of constraints that pass, for the advantages. `scores`: 1.0 only where all pass, which is
        what dynamic filtering asks for. `extra_logs`: both, under names. They are float tensors of one number a query.
        Where any answer could not be measured they are lists in which it is None, never 0: OpenRLHF has no place for a
        missing reward and stops there.

    Raises:
        UsageError: The lists differ in length, a query does not begin with its prompt, or a label names no constraints.
        UnknownName, BadParameter: A label names a constraint that cannot be judged.
    """
    if not len(queries) == len(prompts) == len(labels):
        raise UsageError(f"Got {len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels")
    texts = [_answer(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    refs_P = [refs_in(label, where="OpenRLHF's label") for label in labels]
    dense, binary = (
        _numbers(
            [
                reward_of(text, refs, kind=kind, mode=mode, profile=profile)
                for text, refs in zip(texts, refs_P, strict=True)
            ]
        )
        for kind in ("dense", "binary")
    )
    return {"rewards": dense, "scores": binary, "extra_logs": {"constraints_passed": dense, "all_passed": binary}}


def _answer(query: str, prompt: str) -> str:
    if not query.startswith(prompt):
        raise UsageError(
            f"A query must begin with its prompt, and this one does not: query {query[:80]!r}, prompt {prompt[:80]!r}"
        )
    return without_end_tokens(query[len(prompt) :])


def _numbers(rewards: list[float | None]) -> Any:
    if None in rewards:
        return rewards
    return need("torch", extra="train").tensor(rewards)
