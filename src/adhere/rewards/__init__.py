"""The judge as a reward function for trainers of other houses. There is no second verifier here, only other doors.

judge.py      TRL: f(prompts, completions, **columns)
verl.py       verl: compute_score(data_source, solution_str, ground_truth, extra_info)
openrlhf.py   OpenRLHF: reward_func(queries, prompts, labels)
verifiers.py  verifiers: f(completion, info, answer, **others)
combine.py    sums, gates, penalties, checklists, judge models; imported when they are used
learned.py    a trained reward model
rows.py       what they share: a row's constraints, its answer, its number
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adhere.rewards.judge import judge_reward
from adhere.rewards.verifiers import verifiers_reward

if TYPE_CHECKING:
    from adhere.rewards.combine import badly_formed, checklist_reward, gated, model_reward, summed, too_long

__all__ = [
    "badly_formed", "checklist_reward", "gated", "judge_reward", "model_reward", "summed", "too_long",
    "verifiers_reward",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adhere.rewards import combine

    return getattr(combine, name)
