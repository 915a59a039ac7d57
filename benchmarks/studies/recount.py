"""Counts kept answers of a study again, by today's measure of responding, and compares two arms by it.

python -m benchmarks.studies.recount docs/studies/study-4-control sft+dpo+grpo odpo-8e5-b20

Needs records with answers (`keep_answers`). A line an arm: seeds, and in percent what passes, what passes and is sound,
what passes and responds, what responds whether it passes or not, and what is undecided. Then the difference of the two
arms in each count over the seeds that both have: the model of `adhere.stats.fit_crossed`, prompts clustered by query.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adhere.pipeline.responding import Exchange, responds_all
from adhere.schema import Prompt, decode
from adhere.stats import fit_crossed
from adhere.study.outcome.prompts import load_asked
from adhere.study.run.answers import ENDING, FOLDER, read_answers
from adhere.study.run.measured import Measurement
from adhere.study.run.records import unpack

COUNTS = ("passes", "sound", "responsive", "responds", "undecided")


class Recount(NamedTuple):
    """Hold one evaluation, recounted: 1.0 or 0.0 by prompt for each of `COUNTS`."""

    arm: str
    seed: int | None
    counts_CP: np.ndarray  # noqa: N815 - the dimensions


def recount(run: Measurement, prompts: Sequence[Prompt], texts: dict[str, str]) -> Recount:
    """Judge whether each answer responds, among the other answers of its evaluation."""
    exchanges = [Exchange(one.text, texts.get(one.id, ""), one.constraints, one.tags.get("profile")) for one in prompts]
    outcomes = [one.outcome for one in responds_all(exchanges)]
    rows = [
        [bool(passed) for passed in run.passes],
        [bool(sound) for sound in run.sound],
        [bool(passed) and outcome == "yes" for passed, outcome in zip(run.passes, outcomes, strict=True)],
        [outcome == "yes" for outcome in outcomes],
        [outcome == "undecided" for outcome in outcomes],
    ]
    return Recount(run.arm, run.seed, np.array(rows, dtype=np.float64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR", help="a committed study")
    parser.add_argument("treatment")
    parser.add_argument("control")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        unpack(given.directory / "records.tar.xz", folder)
        runs = [(file.stem, decode(file.read_bytes(), Measurement)) for file in (folder / "evaluations").glob("*.json")]
        own = [(name, run) for name, run in runs if not run.suite]
        prompts = load_asked(folder, sha256=own[0][1].suite_sha256)[""].prompts
        recounts = [
            recount(
                run, prompts, {one.prompt_id: one.text for one in read_answers(folder / FOLDER / f"{name}{ENDING}")}
            )
            for name, run in own
        ]
    by_arm: dict[str, dict[int | None, np.ndarray]] = {}
    for one in recounts:
        by_arm.setdefault(one.arm, {})[one.seed] = one.counts_CP
    print(f"{'arm':24} seeds " + " ".join(f"{name:>10}" for name in COUNTS))
    for arm, seeds in sorted(by_arm.items()):
        means = np.mean(list(seeds.values()), axis=(0, 2))
        print(f"{arm:24} {len(seeds):5} " + " ".join(f"{100 * value:10.1f}" for value in means))
    both = sorted(set(by_arm[given.treatment]) & set(by_arm[given.control]), key=str)
    queries = [one.tags.get("query", one.id) for one in prompts]
    print(f"\n{given.treatment} − {given.control}, {len(both)} seeds, points")
    for place, name in enumerate(COUNTS[:4]):
        d_SP = np.array([by_arm[given.treatment][seed][place] - by_arm[given.control][seed][place] for seed in both])
        fit = fit_crossed(d_SP, clusters_P=queries)
        assert fit is not None
        low, high = fit.interval(0.95)
        seeds = ", ".join(f"{100 * value:+.1f}" for value in d_SP.mean(axis=1))
        print(f"  {name:12} {100 * fit.value:+6.1f} [{100 * low:+.1f}, {100 * high:+.1f}]   {seeds}")


if __name__ == "__main__":
    main()
