"""Define `judged:statement`, profile `judged`: a statement about the answer that only a reader can judge.

Every verdict of this kind is undecided until `adhere judge RUN --by MODEL` asks a model; a blank answer fails, as
everywhere. `needs` names other constraints of the same turn by position: where one of them fails, this one fails too
(ComplexBench's dependencies).
"""

from __future__ import annotations

from adhere.constraints.finding import Finding
from adhere.constraints.published.shared.registry import Kind, Param, is_never_drawn, register

JUDGED = "judged:statement"
PROFILES = ("judged",)
_UNDECIDED = Finding("undecided", "no program decides this; adhere judge RUN --by MODEL asks a model")

register(
    Kind(
        JUDGED,
        PROFILES,
        {
            "statement": Param("string", required=True),
            "needs": Param("strings", is_drawn=is_never_drawn),
        },
        lambda values: lambda text: _UNDECIDED,  # noqa: ARG005 - no text decides it
        lambda values: str(values["statement"]),
    )
)
