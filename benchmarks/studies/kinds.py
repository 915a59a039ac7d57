"""Measure how much of every generated kind a start model follows: which kinds a study may draw from.

    python -m benchmarks.studies.kinds local/smollm2-135m [--prompts 20] [--out FILE.json]

Every kind stands alone in about `--prompts` prompts, on training queries and in training wordings, answered greedily with at
most 64 tokens. Printed: kind, part, passed, passed and responding, in percent. A study draws kinds that pass in 1 to
60 %: below there is nothing for an online method to find, above there is little to win.
"""

from __future__ import annotations

import argparse
import collections
import json
from pathlib import Path

import adhere
from adhere.constraints import registry
from adhere.pipeline.outcomes import answers_of
from adhere.pipeline.responding.run import responding
from adhere.suites.base import Suite
from adhere.suites.generated.core.deal import CORE_KINDS, Dealer
from adhere.suites.generated.core.queries import queries
from adhere.suites.generated.core.slices import StudyManner

LOW, HIGH = 0.01, 0.60


def suite_of_kinds(prompts: int) -> Suite:
    """Deal all kinds in equal shares, about `prompts` prompts each: not every query takes every kind."""
    dealer = Dealer(queries("train"), seed=5, manner=StudyManner("train", new=False), source="kinds")
    kinds = tuple(registry.get(kind) for kind in CORE_KINDS)
    dealt = dealer.deal("kinds", prompts * len(kinds), kinds, counts=(1,))
    return Suite(name="kinds", version="1", prompts=tuple(dealt), slices=(), cut_answers="fail")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    suite = suite_of_kinds(asked.prompts)
    answers = answers_of(adhere.evaluate(asked.model, suite, max_new_tokens=64))
    responds = responding(answers)
    asked_for = collections.Counter(prompt.constraints[0].id for prompt in suite.prompts)
    passing, both = collections.Counter[str](), collections.Counter[str]()
    for prompt in suite.prompts:
        kind = prompt.constraints[0].id
        passing[kind] += answers.passes(prompt, 0) is True
        both[kind] += responds.get((prompt.id, 0)) is True
    rows = [
        {"kind": kind, "part": registry.get(kind).part, "prompts": asked_for[kind], "passed": passing[kind] / asked_for[kind],
         "responding": both[kind] / asked_for[kind]}
        for kind in CORE_KINDS
    ]  # fmt: skip
    for row in rows:
        mark = "" if LOW <= row["passed"] <= HIGH else "  left out"
        print(f"{row['kind']:28} {row['part']:8} {row['passed']:6.1%} {row['responding']:6.1%}{mark}")
    if asked.out is not None:
        asked.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
