"""Writes stored runs as other harnesses' logs, so that their viewers open them.

No harness need be installed.

    export(run, Path("logs"), to="inspect")

inspect_ai   a .json log: `inspect view --log-dir logs`
lm_eval      MODEL/samples_TASK_TIME.jsonl and results_TIME.json
evalscope    predictions/, reviews/ and reports/: `evalscope app --outputs`
every-eval-ever  data/SUITE/DEVELOPER/MODEL/UUID.json and UUID_samples.jsonl
hub          DEVELOPER/MODEL/.eval_results/SUITE.yaml, for a benchmark of the Hugging Face hub
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from adhere.errors import UsageError, one_of
from adhere.integrations.evalscope import write as evalscope
from adhere.integrations.every_eval_ever import write as every_eval_ever
from adhere.integrations.hub import write as hub
from adhere.integrations.inspect_ai import write as inspect_ai
from adhere.integrations.lm_eval import write as lm_eval
from adhere.store.run import Run

To = Literal["inspect", "lm-eval", "evalscope", "every-eval-ever", "hub"]


def export(
    run: Run, out: Path, *, to: To, dataset: str | None = None, task: str | None = None
) -> tuple[list[Path], list[str]]:
    """Write a run below `out`; `dataset` and `task` name the hub's benchmark, for `hub` only.

    Returns:
        The files, and sentences on what such files cannot hold of this run.

    Raises:
        UsageError: There is no such harness, it cannot hold this run, or a benchmark is missing or superfluous.
    """
    harness: To = one_of(to, get_args(To), "harness")
    if (harness == "hub") != bool(dataset and task) or (harness != "hub" and (dataset or task)):
        raise UsageError(f"--dataset OWNER/NAME and --task ID name the benchmark of --to hub, both; got --to {harness}")
    if harness == "hub":
        return hub.write(run, out, dataset=str(dataset), task=str(task))
    writers = {"inspect": inspect_ai, "lm-eval": lm_eval, "evalscope": evalscope, "every-eval-ever": every_eval_ever}
    files, notes = writers[harness].write(run, out)
    return files, notes
