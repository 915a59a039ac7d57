"""Draw how often verdicts are right beside how often the printed confidence says so.

    python -m benchmarks.claims.reliability docs/reference/claims-reliability.svg

`statements/first-sight.jsonl` holds what programs said of the fourth set before anybody had looked at it (3f40f5ee). The
confidence of a verdict is a frequency on that set, so held against all of it it would be right by construction.
Here each source document is left out in turn: the frequency of the other documents is what is said of its statements.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from adhere.report.pieces.charts import Mark, marks
from adhere.report.pieces.picture import Picture
from adhere.stats import wilson_clustered

HERE = Path(__file__).parent / "statements"
LEAST = 30  # as calibration.py


def rows_of(name: str) -> list[dict]:
    """The rows of a file beside this one."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def left_out(verdict: str) -> tuple[int, float, float, float, float] | None:
    """n, the mean of what is said, the share that is right, and its interval with documents as clusters."""
    labels = {row["id"]: row for row in rows_of("fourth.jsonl")}
    called = [labels[row["id"]] for row in rows_of("first-sight.jsonl") if row["verdict"] == verdict]
    if len(called) < LEAST:
        return None
    documents = sorted({row["sources"][0] for row in called})
    right = {name: sum(row["label"] == verdict for row in called if row["sources"][0] == name) for name in documents}
    of = {name: sum(row["sources"][0] == name for row in called) for name in documents}
    n, hits = len(called), sum(right.values())
    said = sum(of[name] * (hits - right[name]) / (n - of[name]) for name in documents) / n
    interval = wilson_clustered([right[name] for name in documents], [of[name] for name in documents])
    assert interval is not None
    return n, said, hits / n, interval.low, interval.high


def main() -> None:
    """See the module."""
    rows = []
    for verdict in ("supported", "denied", "partly", "not found"):
        found = left_out(verdict)
        if found is None:
            print(f"{verdict:10} fewer than {LEAST} labelled: no confidence")
            continue
        n, said, observed, low, high = found
        print(f"{verdict:10} n {n}  said {said:.3f}  right {observed:.3f} [{low:.3f}, {high:.3f}]")
        text = f"said {100 * said:.0f} %, right {100 * observed:.0f} % ({100 * low:.0f}…{100 * high:.0f})"
        rows.append((f"{verdict} ({n})", text, [Mark(1, said, said, said), Mark(2, observed, low, high)]))
    name = "Confidence and how often it was right. " + "; ".join(f"{row[0]}: {row[1]}" for row in rows)
    picture = Picture(
        "Statements: what the confidence says, and what was right",
        marks(rows, name=name),
        legend=[(1, "said, from the other documents"), (2, "right, with its 95 % interval by document")],
        note="the fourth set at its first sight, each source document left out in turn",
        alt=name,
    )
    picture.save(sys.argv[1])


if __name__ == "__main__":
    main()
