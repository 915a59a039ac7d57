"""Decontamination beside a plain rapidfuzz scan over all pairs, on documents of 200 words cut from real answers.

    python -m benchmarks.data.decontaminate --data DATA --documents 20000 --plain 200
    python -m benchmarks.data.decontaminate --data DATA --documents 20000 --whole

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
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.costs import measure
from benchmarks.sources import DATA, answer_words
from rapidfuzz.distance import LCSseq

from adhere import suites
from adhere.build.decontaminate.files import decontaminate_file
from adhere.build.decontaminate.rows import items_of
from adhere.text.repeats import SubsequenceRule, tokens


def documents(data: Path, count: int, seed: int) -> list[str]:
    words = answer_words(data)
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


COPY = "import sys; out = open(sys.argv[2], 'wb')\nfor line in open(sys.argv[1], 'rb'): out.write(line)"
PARSE = """import hashlib, msgspec, sys
out, total, decode = open(sys.argv[2], 'wb'), hashlib.sha256(), msgspec.json.Decoder(dict).decode
file = open(sys.argv[1], 'rb')
while lines := file.readlines(1 << 20):
    total.update(b''.join(lines))
    for line in lines: decode(line)
    out.writelines(lines)"""


def whole(texts: list[str], names: list[str], items: list[list[bytes]], rounds: int) -> None:
    """The whole command beside the plain scan of as many documents, in turns."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, some in (("one", texts[:1]), ("all", texts)):
            (folder / name).with_suffix(".jsonl").write_text(
                "".join(json.dumps({"text": text}) + "\n" for text in some)
            )
        against = [word for name in names for word in ("--against", name)]
        ran: dict[str, list[float]] = {}
        for _ in range(rounds):
            started = time.process_time()
            plain(texts[:50], items)
            ran.setdefault("scan", []).append((time.process_time() - started) / 50 * len(texts))
            for rule in ("lcs", "span"):
                for name in ("one", "all"):
                    command = ("-m", "adhere", "decontaminate", folder / f"{name}.jsonl", *against, "--rule", rule)
                    seconds = measure(*command, "--out", folder / "kept.jsonl", "--jobs", "1").cpu_s
                    ran.setdefault(f"{rule}, {name}", []).append(seconds)
            for name, script in (("copy", COPY), ("copy, hash, parse", PARSE)):
                ran.setdefault(name, []).append(measure("-c", script, folder / "all.jsonl", folder / "copy").cpu_s)
    scan = statistics.median(ran.pop("scan"))
    print(f"whole commands on {len(texts)} documents; the plain scan of them: {scan:.0f} s (extrapolated from 50)")
    for name, seconds in ran.items():
        middle = statistics.median(seconds)
        print(f"  {name:18} {middle:6.2f} s of processor; {scan / middle:6.0f} times the scan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--plain", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="only the whole command")
    arguments = parser.parse_args()
    names = [
        f"ifeval:{arguments.data / 'ifeval/input_data.jsonl'}",
        f"ifbench:{arguments.data / 'ifbench/IFBench_test.jsonl'}",
    ]
    items = items_of([(name, suites.load(name)) for name in names])
    texts = documents(arguments.data, arguments.documents, seed=0)
    if arguments.whole:
        whole(texts, names, [tokens(item.text) for item in items], arguments.rounds)
        return
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
