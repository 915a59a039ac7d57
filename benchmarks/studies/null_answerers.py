"""Ask answerers without a model a study's held-out prompts, and count what passes, and what passes and responds.

    python -m benchmarks.studies.null_answerers examples/study-5.toml

A study with `[kinds]` is asked at each of its seeds. Every answerer is judged among its own answers to all other prompts,
as an arm is. Printed are the best three by either count, in percent, over all seeds.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from adhere.pipeline.floors.bots import ANSWERERS
from adhere.pipeline.floors.measure import measure_floors
from adhere.pipeline.responding import Exchange, responds_all
from adhere.study.design.check import load_study
from adhere.study.design.inputs import held_out_suite


def main(file: Path) -> None:
    spec = load_study(file)
    passed, responding, asked = Counter[str](), Counter[str](), 0
    for seed in spec.seeds:
        prompts = held_out_suite(spec.with_kinds_of(seed)).prompts
        asked += len(prompts)
        for answerer, row in ((one, measure_floors(prompts, [one])[0]) for one in ANSWERERS):
            given = [
                Exchange(one.text, answerer.answer(one.text), tuple(one.constraints), one.tags.get("profile"))
                for one in prompts
            ]
            found = responds_all(given)
            passed[answerer.name] += row.passed.count("1")
            responding[answerer.name] += sum(
                sign == "1" and one.outcome == "yes" for sign, one in zip(row.passed, found, strict=True)
            )
        print(f"seed {seed}: {len(prompts)} prompts", file=sys.stderr, flush=True)
    for name, counts in (("pass", passed), ("pass and respond", responding)):
        best = ", ".join(f"{who} {100 * n / asked:.1f}" for who, n in counts.most_common(3))
        print(f"{name}, of {asked} prompts: {best}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
