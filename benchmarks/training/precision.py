"""How many verdicts a change of precision flips: one model, the same prompts, greedy in fp32 and in bf16.

    python -m benchmarks.training.precision MODEL_DIRECTORY --prompts 40

Prints the shares of answers and of verdicts that differ, and both pass rates. On a CPU without bf16 hardware the bf16
half is a hundred times slower than the other.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from adhere import suites
from adhere.models.local.transformers import TransformersModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.outcomes import passes
from adhere.store.run import Run


def measured(directory: Path, precision: str, prompts: int, into: Path) -> Run:
    model = TransformersModel.load(directory, name=precision, precision=precision)
    started = time.perf_counter()
    run = evaluate_sync(model, suites.load("core", limit=prompts), into / precision)
    print(f"{precision}: {time.perf_counter() - started:.0f} s")
    model.close()
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--prompts", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        runs = [measured(asked.directory, precision, asked.prompts, Path(scratch)) for precision in ("fp32", "bf16")]
        texts = [{response.prompt_id: response.text for response in run.responses()} for run in runs]
        passed = [passes(run) for run in runs]
        verdicts = [{(v.prompt_id, v.index): v.outcome for v in run.verdicts() if v.view == "strict"} for run in runs]
    n = len(texts[0])
    same = sum(texts[0][key] == texts[1][key] for key in texts[0])
    flips = sum(verdicts[0][key] != verdicts[1][key] for key in verdicts[0])
    print(f"answers identical: {same} of {n}")
    print(f"constraint verdicts flipped: {flips} of {len(verdicts[0])} ({flips / len(verdicts[0]):.1%})")
    print(f"prompts whose verdict flipped: {sum(passed[0][key] != passed[1][key] for key in passed[0])} of {n}")
    print(
        f"prompts passed: fp32 {sum(map(bool, passed[0].values()))}, bf16 {sum(map(bool, passed[1].values()))} of {n}"
    )


if __name__ == "__main__":
    main()
