"""The slowest pairs of kind and hostile megabyte: CPU seconds of both views, from nothing, the best of three.

The texts are those of `tests/unit/published/test_ifbench_hostile.py`, the kinds all of IFBench and IFTrain in both
modes.

    PYTHONPATH=tests python -m benchmarks.judge.hostile [--only distinct --only Neil] [--most 10]
"""

from __future__ import annotations

import argparse
import time

from tests.unit.published import test_ifbench_hostile as hostile

from adhere.constraints.published import Text

ENOUGH_S = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="a part of the texts' names; several are possible")
    parser.add_argument("--most", type=int, default=10)
    asked = parser.parse_args()
    found: dict[tuple[str, str, str], float] = {}
    for name, raw in (hostile.HOSTILE | hostile.MORE).items():
        if asked.only and not any(part in name for part in asked.only):
            continue
        for profile in hostile.PROFILES:
            for constraint in hostile.constraints(profile):
                took = []
                while len(took) < 3 and min(took, default=ENOUGH_S) >= ENOUGH_S:
                    start = time.thread_time()
                    constraint.both_views(Text(raw))
                    took.append(time.thread_time() - start)
                pair = (constraint.id, constraint.mode, name)
                found[pair] = max(min(took), found.get(pair, 0.0))
    for (kind, mode, name), seconds in sorted(found.items(), key=lambda item: -item[1])[: asked.most]:
        print(f"| `{kind}`, {mode} | {name} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
