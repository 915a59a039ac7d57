"""How fast the judge is beside lm-eval's IFEval functions: strict and loose verdicts of 541 answers, one core.

Processes of the two sides stay alive and take turns, so that both see the same machine; each is asked for the CPU time
of one pass over a model's answers, and the medians of the passes are compared. Ours makes the records that are stored:
one Verdict a constraint and view, with its reason, through `Judge.verdicts`; the second row of a model is the same
without the records (findings, which hold the reasons too). lm-eval's functions return booleans. Both seed language
detection with 0, and ours forgets before each pass what it remembers of these very texts.

    python -m venv REF && REF/bin/pip install nltk==3.9.1 langdetect==1.0.9 immutabledict packaging
    REF/bin/pip install --no-deps lm-eval==0.4.13
    REF/bin/pip download --no-deps -d REF llama-index-core && unzip -q REF/llama_index_core-*.whl -d REF/llama
    python -m benchmarks.judge.ifeval --reference REF/bin/python --nltk-data REF/llama/llama_index/core/_static/nltk_cache
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.judge.reference import Side, load_lm_eval, serve
from benchmarks.sources import DATA, rows

MODULE = ("benchmarks.judge.ifeval", "--serve")
IFEVAL = DATA / "ifeval"
MODELS = ("gpt-4-20231107", "Qwen--Qwen2.5-0.5B-Instruct-GPTQ-Int4")
LEAST = {"gpt-4-20231107": 40, "Qwen--Qwen2.5-0.5B-Instruct-GPTQ-Int4": 15}


def answers(model: str) -> list[tuple[dict[str, Any], str]]:
    """(prompt row, answer) of one model."""
    prompts = {row["key"]: row for row in rows(IFEVAL / "input_data.jsonl")}
    return [(prompts[row["key"]], row["response"]) for row in rows(IFEVAL / "responses" / f"{model}.jsonl")]


def ours(*, records: bool) -> Callable[[str], list[list[bool]]]:
    """A pass with the package: constraints are compiled once a prompt, as the pipeline does."""
    from adhere.constraints.published import forget
    from adhere.pipeline.judge import Judge
    from adhere.schema import ConstraintRef

    judges: dict[int, Judge] = {}
    pairs = {model: answers(model) for model in MODELS}
    for prompt, _ in pairs[MODELS[0]]:
        kwargs = zip(prompt["instruction_id_list"], prompt["kwargs"], strict=True)
        judges[prompt["key"]] = Judge([ConstraintRef(name, values) for name, values in kwargs], profile="ifeval")

    def with_records(model: str) -> list[list[bool]]:
        forget()
        verdicts = [
            judges[prompt["key"]].verdicts(answer, key=(str(prompt["key"]), 0, 0)) for prompt, answer in pairs[model]
        ]
        return [[verdict.outcome == "pass" for verdict in found] for found in verdicts]

    def without(model: str) -> list[list[bool]]:
        forget()
        findings = [judges[prompt["key"]].findings(answer) for prompt, answer in pairs[model]]
        return [[view.outcome == "pass" for both in found for view in both] for found in findings]

    return with_records if records else without


def theirs() -> Callable[[str], list[list[bool]]]:
    """A pass with lm-eval's functions, loaded without the rest of lm-eval."""
    load_lm_eval()
    from lm_eval.tasks.ifeval import utils

    pairs = {
        model: [
            (utils.InputExample(row["key"], row["instruction_id_list"], row["prompt"], row["kwargs"]), answer)
            for row, answer in answers(model)
        ]
        for model in MODELS
    }

    def one_pass(model: str) -> list[list[bool]]:
        found = []
        for example, answer in pairs[model]:
            strict = utils.test_instruction_following_strict(example, answer).follow_instruction_list
            loose = utils.test_instruction_following_loose(example, answer).follow_instruction_list
            found.append([view for both in zip(strict, loose, strict=True) for view in both])
        return found

    return one_pass


def answer(one_pass: Callable[[str], list[list[bool]]], model: str) -> dict[str, Any]:
    """The CPU seconds of one pass, the verdicts' sums, and the memory so far."""
    start = time.process_time()
    found = one_pass(model)
    seconds = time.process_time() - start
    sums = [sum(all(row[view::2]) for row in found) for view in (0, 1)]
    sums += [sum(sum(row[view::2]) for row in found) for view in (0, 1)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "sums": sums, "memory_mb": memory}


SIDES = {"records": partial(ours, records=True), "findings": partial(ours, records=False), "theirs": theirs}


IMPORTS = (
    "import adhere; adhere.judge",
    "from adhere.constraints.published import constraint; constraint('punctuation:no_comma')",
)


def import_cost(statement: str) -> tuple[float, float]:
    """(milliseconds of CPU, megabytes) that a statement adds to a bare Python.

    Medians of 15 processes, bytecode cached.
    """
    measured = (
        "import time; start = time.process_time(); {}; seconds = time.process_time() - start; "
        "pages = int(open('/proc/self/statm').read().split()[1]); print(seconds * 1e3, pages / 256)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}

        def run(code: str) -> list[float]:
            command = [sys.executable, "-c", measured.format(code)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            return list(map(float, done.stdout.split()))

        run(statement)
        bare, loaded = zip(*((run("pass"), run(statement)) for _ in range(15)), strict=True)
    milliseconds, megabytes = (
        statistics.median(column) - statistics.median(base)
        for column, base in zip(zip(*loaded, strict=True), zip(*bare, strict=True), strict=True)
    )
    return milliseconds, megabytes


def main() -> None:
    """Measure, print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="the Python that has lm-eval and NLTK 3.9.1")
    parser.add_argument("--nltk-data", help="a folder with tokenizers/punkt_tab")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(partial(answer, SIDES[options.serve]()))
        return
    print(
        "| answers | adhere makes | lm-eval, answers/s | adhere, answers/s | adhere, µs an answer | ratio | asked for |"
    )
    print("|---|---|---|---|---|---|---|")
    sides = {name: Side(sys.executable, *MODULE, name) for name in ("records", "findings")}
    sides["theirs"] = Side(options.reference, *MODULE, "theirs", nltk_data=options.nltk_data)
    for model in MODELS:
        sums = {name: side.ask(model)["sums"] for name, side in sides.items()}  # a first pass, which fills caches
        print(f"{model}: prompts and instructions passed, strict and loose: {sums}", file=sys.stderr)
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, side in sides.items():
                times[name].append(side.ask(model)["seconds"])
        slow = statistics.median(times["theirs"])
        for name, makes in (("records", "stored verdicts"), ("findings", "findings only")):
            fast = statistics.median(times[name])
            ratio = statistics.median(b / a for a, b in zip(times[name], times["theirs"], strict=True))
            least = LEAST[model] if name == "records" else "–"
            print(
                f"| {model} | {makes} | {541 / slow:,.0f} | {541 / fast:,.0f} | {fast / 541 * 1e6:.1f} | {ratio:.1f} "
                f"| {least} |"
            )
    for side in sides.values():
        side.close()
    print("\n| import | CPU ms more than bare Python | MB more |\n|---|---|---|")
    for statement in IMPORTS:
        milliseconds, megabytes = import_cost(statement)
        print(f"| `{statement}` | {milliseconds:.0f} | {megabytes:.1f} |")


if __name__ == "__main__":
    main()
