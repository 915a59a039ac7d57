"""How fast the judge is beside lm-eval's IFEval functions: strict and loose verdicts of 541 answers, one core.

Two processes, one for each, stay alive and take turns, so that both see the same machine; each is asked for the CPU time
of one pass over a model's answers, and the medians of the passes are compared. Ours includes the verdict objects with
their reasons; lm-eval's returns booleans. Both seed language detection with 0.

    python -m venv REF && REF/bin/pip install nltk==3.9.1 langdetect==1.0.9 immutabledict packaging
    REF/bin/pip install --no-deps lm-eval==0.4.13
    REF/bin/pip download --no-deps -d REF llama-index-core && unzip -q REF/llama_index_core-*.whl -d REF/llama
    python benchmarks/judge.py --reference REF/bin/python --nltk-data REF/llama/llama_index/core/_static/nltk_cache
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "ifeval"
MODELS = ("gpt-4-20231107", "Qwen--Qwen2.5-0.5B-Instruct-GPTQ-Int4")
LEAST = {"gpt-4-20231107": 40, "Qwen--Qwen2.5-0.5B-Instruct-GPTQ-Int4": 15}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def answers(model: str) -> list[tuple[dict[str, Any], str]]:
    """(prompt row, answer) of one model."""
    prompts = {row["key"]: row for row in rows(DATA / "input_data.jsonl")}
    return [(prompts[row["key"]], row["response"]) for row in rows(DATA / "responses" / f"{model}.jsonl")]


def ours() -> Callable[[str], list[list[bool]]]:
    """A pass with the package: constraints are compiled once a prompt, as the pipeline does."""
    from adhere.constraints.reference import Text, constraint, forget

    compiled: dict[int, list[Any]] = {}
    pairs = {model: answers(model) for model in MODELS}
    for prompt, _ in pairs[MODELS[0]]:
        kwargs = zip(prompt["instruction_id_list"], prompt["kwargs"], strict=True)
        compiled[prompt["key"]] = [constraint(name, values) for name, values in kwargs]

    def one_pass(model: str) -> list[list[bool]]:
        forget()  # what it remembers of these very texts from the pass before
        verdicts = []
        for prompt, answer in pairs[model]:
            text = Text(answer)
            verdicts.append([found.both_views(text) for found in compiled[prompt["key"]]])
        return [[view.outcome == "pass" for both in found for view in both] for found in verdicts]

    return one_pass


def theirs() -> Callable[[str], list[list[bool]]]:
    """A pass with lm-eval's functions, loaded without the rest of lm-eval."""
    import langdetect

    langdetect.DetectorFactory.seed = 0
    spec = importlib.machinery.PathFinder.find_spec("lm_eval")
    assert spec is not None and spec.submodule_search_locations is not None, "lm-eval is not installed here"
    for name, folder in (("lm_eval", ""), ("lm_eval.tasks", "tasks"), ("lm_eval.tasks.ifeval", "tasks/ifeval")):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(next(iter(spec.submodule_search_locations))) / folder)]
        sys.modules[name] = package
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


def serve(make: Callable[[], Callable[[str], list[list[bool]]]]) -> None:
    """Answer each line (a model's name) with the CPU seconds of one pass and the verdicts' sums."""
    one_pass = make()
    for line in sys.stdin:
        start = time.process_time()
        found = one_pass(line.strip())
        seconds = time.process_time() - start
        sums = [sum(all(row[view::2]) for row in found) for view in (0, 1)]
        sums += [sum(sum(row[view::2]) for row in found) for view in (0, 1)]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "sums": sums, "memory_mb": memory}), flush=True)


def worker(python: str, role: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """One side of the pair."""
    command = [python, __file__, "--serve", role]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def ask(side: subprocess.Popen[str], model: str) -> dict[str, Any]:
    """One pass of one side."""
    assert side.stdin is not None and side.stdout is not None
    side.stdin.write(f"{model}\n")
    side.stdin.flush()
    return dict(json.loads(side.stdout.readline()))


def import_cost() -> tuple[float, float]:
    """(milliseconds, megabytes) that importing the verifier adds to a bare Python: medians of 9 processes."""

    def measure(statement: str) -> tuple[float, float]:
        code = (
            "import time, resource; t = time.perf_counter(); " + statement + "; print((time.perf_counter() - t) * 1e3, "
            "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
        )
        found = [
            tuple(
                map(
                    float,
                    subprocess.run(
                        [sys.executable, "-c", code], capture_output=True, text=True, check=True
                    ).stdout.split(),
                )
            )
            for _ in range(9)
        ]
        return statistics.median(x[0] for x in found), statistics.median(x[1] for x in found)

    bare, loaded = (
        measure("pass"),
        measure("from adhere.constraints.reference import constraint; constraint('punctuation:no_comma')"),
    )
    return loaded[0] - bare[0], loaded[1] - bare[1]


def main() -> None:
    """Measure, print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="the Python that has lm-eval and NLTK 3.9.1")
    parser.add_argument("--nltk-data", help="a folder with tokenizers/punkt_tab")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(ours if options.serve == "ours" else theirs)
        return
    print("| answers | lm-eval, answers/s | adhere, answers/s | adhere, µs an answer | ratio | asked for |")
    print("|---|---|---|---|---|---|")
    left = worker(sys.executable, "ours", {})
    right = worker(options.reference, "theirs", {"NLTK_DATA": options.nltk_data})
    for model in MODELS:
        ask(left, model), ask(right, model)  # the first pass loads profiles and fills caches
        times: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            times["theirs"].append(ask(right, model)["seconds"])
            times["ours"].append(ask(left, model)["seconds"])
        slow, fast = statistics.median(times["theirs"]), statistics.median(times["ours"])
        ratio = statistics.median(b / a for a, b in zip(times["ours"], times["theirs"], strict=True))
        print(
            f"| {model} | {541 / slow:,.0f} | {541 / fast:,.0f} | {fast / 541 * 1e6:.1f} | {ratio:.1f} | {LEAST[model]} |"
        )
        print(f"|  sums {ask(left, model)['sums']} {ask(right, model)['sums']}", file=sys.stderr)
    for side in (left, right):
        assert side.stdin is not None
        side.stdin.close()
        side.wait()
    milliseconds, megabytes = import_cost()
    print(f"\nImporting the verifier: {milliseconds:.0f} ms and {megabytes:.1f} MB more than bare Python.")


if __name__ == "__main__":
    main()
