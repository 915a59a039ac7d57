"""adhere: measures whether language models do what they are told, and proves what makes them do so more often.

The public names are imported when they are first used: `import adhere` itself imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adhere.constraints.base import Constraint, kind, param
    from adhere.errors import AdhereError
    from adhere.integrations.trl.callback import callback
    from adhere.pipeline.api import check, check_many, compare, constraint, evaluate, judge, judge_many
    from adhere.pipeline.responding.ask import responsive
    from adhere.rewards import judge_reward
    from adhere.rewards.check import check_rows
    from adhere.schema import ConstraintRef, Prompt, Response, Turn, Verdict
    from adhere.suites import Suite
    from adhere.suites import load as load_suite

__version__ = "0.1.0"
__all__ = [
    "AdhereError", "Constraint", "ConstraintRef", "Prompt", "Response", "Suite", "Turn", "Verdict", "callback",
    "check", "check_many", "check_rows", "compare", "constraint", "evaluate", "judge", "judge_many", "judge_reward",
    "kind", "load_suite", "param", "responsive",
]  # fmt: skip
_HOMES = {
    **dict.fromkeys(
        ("check", "check_many", "compare", "constraint", "evaluate", "judge", "judge_many"), "adhere.pipeline.api"
    ),
    **dict.fromkeys(("Constraint", "kind", "param"), "adhere.constraints.base"),
    **dict.fromkeys(("ConstraintRef", "Prompt", "Response", "Turn", "Verdict"), "adhere.schema"),
    "AdhereError": "adhere.errors",
    "Suite": "adhere.suites",
    "callback": "adhere.integrations.trl.callback",
    "check_rows": "adhere.rewards.check",
    "judge_reward": "adhere.rewards",
    "responsive": "adhere.pipeline.responding.ask",
    "load_suite": "adhere.suites",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'adhere' has no attribute {name!r}")
    from importlib import import_module

    attribute = getattr(import_module(_HOMES[name]), "load" if name == "load_suite" else name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
