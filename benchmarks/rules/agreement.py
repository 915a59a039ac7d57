"""Hold `adhere rules` against labelled sessions: `python -m benchmarks.rules.agreement LABELS [--show]`.

LABELS has a folder a session: a rule file, one session file, and `labels.jsonl` with a row a rule (`rule`, `line`,
`outcome`, `kind`, `reader_can_decide`). Nothing of it is written. A prohibition that nobody came near is kept by the
labels' convention, so there an untriggered counts as kept. Several checks of one line count as one: the line is
broken where one of them is, and kept where each sentence of it that tells something has a check that is kept.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from adhere.rules.examine import examine, read_rules
from adhere.stats import wilson_clustered

ORDER = ("broken", "undecided", "no check", "kept", "untriggered")


def verdicts_of(folder: Path) -> dict[int, str]:
    """The outcome of each line of the rule file that has a check."""
    rule_file = next(path for path in folder.iterdir() if path.suffix == ".md")
    session = next(path for path in folder.iterdir() if path != rule_file and path.name != "labels.jsonl")
    rules = read_rules(rule_file)
    lines = {rule.id: rule.line for rule in rules}
    outcomes: dict[int, set[str]] = {}
    for one in examine(rules, [session]).verdicts:
        outcomes.setdefault(lines[one.rule], set()).add(one.outcome)
    for rule in rules:
        if rule.check is None and rule.line in outcomes:
            outcomes[rule.line].add("no check")
    return {line: next(outcome for outcome in ORDER if outcome in found) for line, found in outcomes.items()}


def main(root: Path, *, show: bool) -> None:
    """Print how many verdicts are right, of those that a reader can decide."""
    table: Counter[tuple[str, str]] = Counter()
    right: list[int] = []
    n: list[int] = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        known = verdicts_of(folder)
        hits, tries = 0, 0
        for line in (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines():
            label = json.loads(line)
            verdict = known.get(label["line"], "no check")
            if verdict == "untriggered" and label["kind"] == "prohibition":
                verdict = "kept"
            table[label["outcome"], verdict] += 1
            if label["outcome"] in {"kept", "broken"} and verdict in {"kept", "broken", "untriggered"}:
                tries += 1
                hits += verdict == label["outcome"]
            if show and verdict not in {label["outcome"], "no check"}:
                print(
                    f"{folder.name}:{label['line']} {label['kind']} label {label['outcome']}, verdict {verdict}: {label['rule']}"
                )
        right.append(hits)
        n.append(tries)
    columns = ("kept", "broken", "untriggered", "undecided", "no check")
    print(f"{'label':12}" + "".join(f"{name:>13}" for name in columns))
    for label in ("kept", "broken", "untriggered", "undecided"):
        print(f"{label:12}" + "".join(f"{table[label, verdict]:13}" for verdict in columns))
    interval = wilson_clustered(right, n)
    assert interval is not None
    print(
        f"right: {sum(right)} of {sum(n)} = {100 * sum(right) / sum(n):.1f} % ({100 * interval.low:.1f}…{100 * interval.high:.1f}, by session)"
    )
    decidable = sum(count for (label, _), count in table.items() if label in {"kept", "broken"})
    open_rows = sum(
        count
        for (label, verdict), count in table.items()
        if label in {"kept", "broken"} and verdict in {"undecided", "no check"}
    )
    print(
        f"undecided or without a check: {open_rows} of {decidable} that a reader decides = {100 * open_rows / decidable:.1f} %"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), show="--show" in sys.argv)
