"""Hold labelled statements against their sources and count what was called rightly.

    python -m benchmarks.claims.statements dev              # the half that the rules were made on
    python -m benchmarks.claims.statements frozen           # the half that nobody looked at until 935458cd
    python -m benchmarks.claims.statements third            # 150 more, of another author, that nobody looked at until dcd56baa
    python -m benchmarks.claims.statements fourth           # 150 more of that author, run once with each code (dcd56baa, 3f40f5ee)
    python -m benchmarks.claims.statements dev --wrong      # each statement that was called otherwise than labelled

The statements are ours; their sources are read from ADHERE_DATA and ADHERE_PAPERS (../shared/data, ../shared/papers).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

from adhere.evidence.check import read_all
from adhere.evidence.statements.assessments import VERDICTS, Assessment, Statement
from adhere.evidence.statements.judge import Sources, judge
from adhere.stats import wilson_clustered

HERE = Path(__file__).parent / "statements"
SHARED = Path(__file__).parents[3] / "shared"
DATA = Path(os.environ.get("ADHERE_DATA", SHARED / "data"))
PAPERS = Path(os.environ.get("ADHERE_PAPERS", SHARED / "papers"))


def source_path(name: str) -> Path:
    """Where a source of the labels lies here: `papers/…` or `data/…`."""
    room, _, rest = name.partition("/")
    return (PAPERS if room == "papers" else DATA) / rest


def judged_rows(half: str) -> list[tuple[dict, Assessment]]:
    """Every labelled statement of a half with the verdict of programs."""
    rows = [json.loads(line) for line in (HERE / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()]
    absent = sorted({name for row in rows for name in row["sources"] if not source_path(name).is_file()})
    if absent:
        sys.exit(f"not here: {', '.join(absent)} (set ADHERE_DATA and ADHERE_PAPERS)")
    sources: dict[tuple[str, ...], Sources] = {}
    found = []
    for row in rows:
        names = tuple(row["sources"])
        if names not in sources:
            sources[names] = Sources.of(read_all([source_path(name) for name in names]))
        found.append((row, judge(Statement(row["statement"], "labels", 1), sources[names])))
    return found


def share(right: int, of: int) -> str:
    """A share with its 95 % interval (Wilson)."""
    interval = wilson_clustered([1] * right + [0] * (of - right), [1] * of)
    return f"{right} of {of}" + (f" = {right / of:.3f} [{interval.low:.3f}, {interval.high:.3f}]" if interval else "")


def tell(half: str, found: list[tuple[dict, Assessment]]) -> None:
    """Print what was called and how much of it was right."""
    print(f"## {half}: {len(found)} statements")
    for verdict in VERDICTS:
        called = [row for row, judged in found if judged.verdict == verdict]
        right = sum(row["label"] == verdict for row in called)
        labels = ", ".join(f"{n} {label}" for label, n in Counter(row["label"] for row in called).most_common())
        print(
            f"called {verdict:12} {share(right, len(called)) if verdict != 'cannot tell' else len(called)}   labelled: {labels}"
        )
    decidable = [(row, judged) for row, judged in found if row["decidable"]]
    print("decidable, found:", share(sum(row["label"] == judged.verdict for row, judged in decidable), len(decidable)))
    for label in VERDICTS[:4]:
        of = [judged for row, judged in decidable if row["label"] == label]
        print(f"  labelled {label}:", share(sum(judged.verdict == label for judged in of), len(of)))
    kinds: dict[tuple[str, str], Counter[bool]] = {}
    for row, judged in found:
        kinds.setdefault((judged.verdict, judged.kind), Counter())[row["label"] == judged.verdict] += 1
    for (verdict, kind), counted in sorted(kinds.items()):
        print(f"  {verdict} by {kind}: {counted[True]} right, {counted[False]} wrong")


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halves", nargs="+", choices=["dev", "frozen", "third", "fourth"])
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    for half in options.halves:
        found = judged_rows(half)
        tell(half, found)
        if options.wrong:
            for row, judged in found:
                if row["label"] != judged.verdict:
                    mark = "D" if row["decidable"] else " "
                    print(
                        f"\n{mark} {row['id']} {row['label']} -> {judged.verdict} by {judged.kind} ({row['made']}; {row['sources'][0]}:{row['line']})"
                    )
                    print(f"   {row['statement']}\n   {judged.reason}")
                    for quote in judged.evidence[:1]:
                        print(f"   {quote.file}:{quote.line} {quote.quote[:260]}")


if __name__ == "__main__":
    main()
