"""The judge as a reward function for other projects' trainers, with the same verifiers as everywhere.

judge.py      TRL: f(prompts, completions, **columns)
combine.py    sums, gates, penalties, checklists, judge models; imported when they are used
learned.py    a trained reward model
rows.py       shared parts: a row's constraints, its answer, its number

verl.py, openrlhf.py and verifiers.py re-export `adhere.integrations` under the paths that trainers' files name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adhere.rewards.judge import judge_reward

if TYPE_CHECKING:
    from adhere.integrations.verifiers.reward import verifiers_reward
    from adhere.rewards.combine import badly_formed, checklist_reward, gated, model_reward, summed, too_long

__all__ = [
    "badly_formed", "checklist_reward", "gated", "judge_reward", "model_reward", "summed", "too_long",
    "verifiers_reward",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adhere.rewards import combine, verifiers

    return getattr(verifiers if name == "verifiers_reward" else combine, name)
