"""What `adhere verify` costs beside the bare judge, how it scales over processes, and how much memory it takes.

GPT-4's 541 answers to IFEval are repeated to 100,000 rows, as draws of the same prompts, or (`--distinct`) as answers
to as many prompts of their own. Measured, each in its own process, by CPU time (medians):

* the bare judge: strict and loose findings of every answer, nothing parsed, counted or written;
* the command, from start to exit, with and without a verdict file, plain and compressed;
* its peak memory for a tenth of the rows and for all of them; its wall-clock time for several `--jobs`.

    python -m benchmarks.judge.verify
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.costs import Cost, measure
from benchmarks.sources import DATA, rows

IFEVAL = DATA / "ifeval"
RESPONSES = IFEVAL / "responses" / "gpt-4-20231107.jsonl"


def bare(answers: Path, suite_path: Path) -> float:
    """CPU seconds of judging the answers, when everything is parsed and compiled."""
    from adhere import suites
    from adhere.pipeline.judge import Judge

    suite = suites.load(f"ifeval:{suite_path}")
    judges = {prompt.key: Judge(prompt.constraints, profile="ifeval") for prompt in suite.prompts}
    pairs = [(judges[row["key"]], row["response"]) for row in rows(answers)]
    start = time.process_time()
    for judge, text in pairs:
        judge.findings(text)
    return time.process_time() - start


def write_rows(folder: Path, n: int, *, distinct: bool) -> tuple[Path, Path]:
    """(answers, suite) of `n` rows."""
    answers, suite = folder / f"answers-{n}.jsonl", folder / f"suite-{n}.jsonl"
    stored, prompts = list(rows(RESPONSES)), list(rows(IFEVAL / "input_data.jsonl"))
    with answers.open("w", encoding="utf-8") as file:
        for position in range(n):
            row = stored[position % len(stored)]
            own = {"key": position} if distinct else {"key": row["key"], "draw": position // len(stored)}
            file.write(json.dumps({**own, "response": row["response"]}, ensure_ascii=False) + "\n")
    with suite.open("w", encoding="utf-8") as file:
        for position in range(n if distinct else len(prompts)):
            row = prompts[position % len(prompts)]
            file.write(json.dumps({**row, "key": position} if distinct else row, ensure_ascii=False) + "\n")
    return answers, suite


def verify(answers: Path, suite: Path, *options: str) -> Cost:
    """The command."""
    return measure(
        "-m", "adhere", "verify", str(answers), "--suite", f"ifeval:{suite}", "--json", "--min-coverage", "0", *options
    )


def main() -> None:
    """Measure, print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--distinct", action="store_true", help="as many prompts as answers")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1, 2], help="processes to time, wall clock")
    parser.add_argument("--bare", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        print(bare(*options.bare))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        answers, suite = write_rows(folder, options.rows, distinct=options.distinct)
        packed = folder / "answers.jsonl.gz"
        packed.write_bytes(gzip.compress(answers.read_bytes(), 6))
        out = folder / "verdicts.jsonl"
        ways = {
            "numbers only": (answers,),
            "with --verdicts": (answers, "--verdicts", str(out)),
            ".gz in, .zst out": (packed, "--verdicts", f"{out}.zst"),
        }
        judging: list[float] = []
        spent: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(options.rounds):
            command = [sys.executable, "-m", "benchmarks.judge.verify", "--bare", str(answers), str(suite)]
            judging.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
            for way, (source, *more) in ways.items():
                spent[way].append(verify(source, suite, *more).cpu_s)
        base = statistics.median(judging)
        print(f"{options.rows:,} answers, one process, CPU time\n\n| what | s | answers/s | of the bare judge's |")
        print(f"|---|---|---|---|\n| bare judge | {base:.2f} | {options.rows / base:,.0f} | |")
        for way, seconds in spent.items():
            ratio = statistics.median(bare / own for bare, own in zip(judging, seconds, strict=True))
            median = statistics.median(seconds)
            print(f"| {way} | {median:.2f} | {options.rows / median:,.0f} | {100 * ratio:.0f} % |")
        few_answers, few_suite = write_rows(folder, options.rows // 10, distinct=options.distinct)
        few, many = verify(few_answers, few_suite), verify(answers, suite)
        print(
            f"\nPeak memory: {few.peak_mb:.0f} MB for {options.rows // 10:,} answers, "
            f"{many.peak_mb:.0f} MB for {options.rows:,}."
        )
        print("\n| --jobs | wall clock, s | CPU, s | peak of the largest process, MB |\n|---|---|---|---|")
        for jobs in options.jobs:
            found = verify(answers, suite, "--verdicts", str(out), "--jobs", str(jobs))
            print(f"| {jobs} | {found.wall_s:.1f} | {found.cpu_s:.1f} | {found.peak_mb:.0f} |")


if __name__ == "__main__":
    main()
