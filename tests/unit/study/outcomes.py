"""Evaluations made of known outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.schema import ConstraintRef, EngineInfo, Prompt, Turn
from adhere.study.outcome.contrast import Evaluations
from adhere.study.run.measured import Measurement
from adhere.study.run.plain import PlainText

SLICES = ("new-topic/single", "new-family/multiple")
ENGINE = EngineInfo("transformers", "5.0", "fp32", None, {"torch": "2"})


def prompts(n: int, *, shared: int = 1, kinds: int = 0) -> list[Prompt]:
    """`n` prompts of two slices in turn.

    `shared` follow each other on one query, and each asks for one of `kinds` kinds in turn.
    """
    asked = [(ConstraintRef(f"kind:{i % kinds}", {}),) if kinds else () for i in range(n)]
    return [
        Prompt(f"p{i}", (Turn("x", asked[i]),), tags={"slice": SLICES[i % 2], "query": f"q{i // shared}"})
        for i in range(n)
    ]


def evaluation(
    passes: Sequence[bool | None],
    *,
    arm: str = "a",
    seed: int | None = 0,
    words: Sequence[int | None] | None = None,
    nats: Sequence[float] = (100.0, 90.0, 120.0),
) -> Measurement:
    """An evaluation with these outcomes."""
    n = len(passes)
    return Measurement(
        version=1, key="k", arm=arm, seed=seed, engine=ENGINE, suite_sha256="s", summary=None, passes=list(passes),
        words=list(words or [20] * n), topic_words=[0.5] * n, repetitive=[False] * n,
        plain=PlainText(list(nats), [40] * len(nats)), shown={}, run="r", seconds=1.0, echo=[False] * n,
        empty_form=[False] * n,
    )  # fmt: skip  # type: ignore[arg-type]


def known(
    found: dict[tuple[str, int | None], Sequence[bool | None]], seeds: list[int], *, shared: int = 1, kinds: int = 0
) -> Evaluations:
    """Evaluations by arm and seed."""
    n = len(next(iter(found.values())))
    made = {(arm, seed): evaluation(passes, arm=arm, seed=seed) for (arm, seed), passes in found.items()}
    return Evaluations(made, prompts(n, shared=shared, kinds=kinds), seeds)
