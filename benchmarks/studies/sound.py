"""Passed and sound of every evaluation that packed records hold, those of tuning too, of a study finished or not.

python -m benchmarks.studies.sound docs/studies/study-2/records.tar.xz docs/studies/study-3/records.tar.xz

A line an evaluation: suite (nothing: the study's own prompts), arm (of a trial: what was tried), seed, prompts
measured, and in percent what passed, what passed and is more than the letter (see `Measurement.sound`; "-" where the
records are older than its measures), and answers that are form alone. Finished studies: `adhere reproduce`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from adhere.schema import decode
from adhere.study.run.measured import Measurement
from adhere.study.run.records import unpack


def percent(outcomes: Sequence[bool | None]) -> str:
    """Of those that are known; "-" where none is."""
    known = [found for found in outcomes if found is not None]
    return f"{100 * sum(known) / len(known):.1f}" if known else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="a study's packed records")
    for file in parser.parse_args().records:
        with tempfile.TemporaryDirectory() as folder:
            unpack(file, Path(folder))
            found = [decode(path.read_bytes(), Measurement) for path in Path(folder).rglob("evaluations/*.json")]
        print(f"{file}\n  {'suite':8} {'arm':40} {'seed':>5} {'n':>5} {'passed':>7} {'sound':>6} {'form alone':>11}")
        for one in sorted(found, key=lambda one: (one.suite, one.arm, -1 if one.seed is None else one.seed)):
            known = sum(passed is not None for passed in one.passes)
            seed = "" if one.seed is None else one.seed
            print(
                f"  {one.suite:8} {one.arm:40} {seed:>5} {known:5} {percent(one.passes):>7} {percent(one.sound):>6}"
                f" {percent(one.empty_form):>11}"
            )


if __name__ == "__main__":
    main()
