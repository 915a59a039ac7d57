"""Writes a run's number as an entry of `.eval_results/*.yaml`, which a model's repository on the hub shows.

Source: `docs/hub/eval-results.md` of huggingface/hub-docs, read on 2026-11-28 (there: work in progress). The data set
must be one that the hub lists as a benchmark; `task_id` is one of its `eval.yaml`. Nothing is uploaded.
"""

from __future__ import annotations

import json
from pathlib import Path

from adhere.errors import UsageError
from adhere.integrations.every_eval_ever.write import model_of, suite_of
from adhere.schema import write_atomic
from adhere.store.manifest import slug
from adhere.store.run import Run


def write(run: Run, out: Path, *, dataset: str, task: str) -> tuple[list[Path], list[str]]:
    """Write `DEVELOPER/MODEL/.eval_results/SUITE.yaml`; return the file, and no notes.

    Raises:
        UsageError: The run has no rate, `dataset` is no id of the hub, or another number is stored there already.
    """
    rate = run.summary().overall.prompt_strict if run.is_sealed else None
    if rate is None or rate.of_all is None or rate.low is None or rate.high is None:
        why = rate.reason if rate is not None else "run adhere eval again, or adhere rescore"
        raise UsageError(f"{run.directory} has no rate of prompts passed (strict): {why}")
    if dataset.count("/") != 1 or not all(dataset.split("/")):
        raise UsageError(f"--dataset {dataset!r} is no data set of the hub: OWNER/NAME, as google/IFEval")
    developer, model = model_of(run.spec.model)
    suite = suite_of(run.spec.suite)
    notes = (
        f"prompts passed (strict), in percent; 95 % interval {100 * rate.low:.2f} to {100 * rate.high:.2f}; {rate.n:,} "
        f"answers judged, {run.manifest.n_prompts:,} prompts asked; suite {suite}, adhere {run.manifest.adhere}"
    )
    # A text in JSON is one in YAML, so no name can be read as a number or as syntax.
    data = (
        f"- dataset:\n    id: {json.dumps(dataset)}\n    task_id: {json.dumps(task)}\n"
        f"  value: {100 * rate.of_all:.2f}\n  date: {json.dumps(run.manifest.created)}\n  notes: {json.dumps(notes)}\n"
    ).encode()
    file = out / slug(developer) / slug(model) / ".eval_results" / f"{slug(suite)}.yaml"
    if file.exists() and file.read_bytes() != data:
        raise UsageError(f"{file} holds another result. Move it away, or give another --out")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, data)
    return [file], []
