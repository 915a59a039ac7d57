"""Decontamination beside a plain rapidfuzz scan over all pairs, on documents of 200 words cut from real answers.

    python benchmarks/decontaminate.py --data DATA --documents 20000 --plain 200

DATA holds `ifeval/input_data.jsonl`, `ifbench/IFBench_test.jsonl` (the test items) and `ifeval/responses/*.jsonl`
(where the documents come from: answers to the very prompts that they are compared with, so more pairs come near to a
match than in other texts). The plain scan is timed on the first `--plain` documents and extrapolated; its decisions are
compared with ours on all of those.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from rapidfuzz.distance import LCSseq

from adhere import suites
from adhere.build.decontaminate.files import decontaminate_file
from adhere.build.decontaminate.rows import items_of
from adhere.text.repeats import SubsequenceRule, tokens


def documents(data: Path, count: int, seed: int) -> list[str]:
    texts = []
    for path in sorted((data / "ifeval/responses").glob("*.jsonl")):
        texts += [json.loads(line)["response"] for line in path.open(encoding="utf-8")]
    words = " ".join(texts).split()
    rng = random.Random(seed)
    starts = [rng.randrange(len(words) - 200) for _ in range(count)]
    return [" ".join(words[start : start + 200]) for start in starts]


def plain(texts: list[str], items: list[list[bytes]]) -> list[bool]:
    found = []
    for text in texts:
        one = tokens(text)
        hits = []
        for other in items:
            common = LCSseq.similarity(one, other)
            hits.append(common >= 13 and common >= 0.6 * min(len(one), len(other)))
        found.append(any(hits))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--plain", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    names = [
        f"ifeval:{arguments.data / 'ifeval/input_data.jsonl'}",
        f"ifbench:{arguments.data / 'ifbench/IFBench_test.jsonl'}",
    ]
    items = items_of([(name, suites.load(name)) for name in names])
    texts = documents(arguments.data, arguments.documents, seed=0)
    rule = SubsequenceRule([item.text for item in items])
    matches = rule.matches(texts)  # once without a clock
    cut = [tokens(item.text) for item in items]
    ours, scan, decided = [], [], []
    for _ in range(arguments.rounds):  # in turns, so that a busy machine slows both
        started = time.process_time()
        rule.matches(texts)
        ours.append((time.process_time() - started) / len(texts))
        started = time.process_time()
        decided = plain(texts[: arguments.plain], cut)
        scan.append((time.process_time() - started) / arguments.plain)
    assert decided == [match is not None for match in matches[: arguments.plain]], "the decisions differ"
    one, other = sorted(ours)[len(ours) // 2], sorted(scan)[len(scan) // 2]
    print(
        f"{len(items)} items, {len(texts)} documents of "
        f"{sum(len(tokens(text)) for text in texts) / len(texts):.0f} tokens, "
        f"dropped {sum(match is not None for match in matches)}"
    )
    print(
        f"plain scan  {other * 1e6:8.0f} us a document; 1,000,000 documents: "
        f"{other * 1e6 / 60:.0f} min (extrapolated from {arguments.plain})"
    )
    print(
        f"adhere      {one * 1e6:8.1f} us a document; 1,000,000 documents: "
        f"{one * 1e6:.0f} s (extrapolated from {len(texts)}); {other / one:.0f} times the scan, one core each"
    )
    with tempfile.TemporaryDirectory() as folder:
        for size in (len(texts) // 4, len(texts)):
            train = Path(folder) / "train.jsonl"
            train.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts[:size]))
            started = time.perf_counter()
            done = decontaminate_file(
                train, items, out=Path(folder) / "kept.jsonl", drops=Path(folder) / "drops.jsonl", jobs=arguments.jobs
            )
            taken = time.perf_counter() - started
            most = (
                resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            )
            print(
                f"file to file, {arguments.jobs} processes: {size} rows in {taken:.1f} s, {done.dropped} dropped; "
                f"peak {most[0]} MB a process, {most[1]} MB here"
            )


if __name__ == "__main__":
    main()
