"""Our suites as lm-eval tasks: `adhere export --suite core --to lm-eval --out tasks` writes a folder that calls this.

    lm_eval run --model hf --model_args pretrained=… --include_path tasks --tasks adhere_core
        --apply_chat_template --log_samples

Source: EleutherAI/lm-evaluation-harness 0.4.13 (`custom_dataset`, `process_results`); metrics are named as its IFEval
names them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adhere import suites
from adhere.errors import UsageError
from adhere.integrations import need_harness
from adhere.integrations.shared.scoring import (
    INST_LOOSE,
    INST_STRICT,
    LOOSE,
    STRICT,
    SaidAnswer,
    columns,
    prompt_of,
    score_answers,
)
from adhere.schema import Prompt, write_atomic
from adhere.suites.base import Suite

_UTILS = '''"""Written by `adhere export`. The work is done by the package adhere."""

from adhere.integrations.lm_eval.task import documents, process_results, share

__all__ = ["documents", "process_results", "share"]
'''


def write_task(suite_name: str, out: Path, *, seed: int | None = None, limit: int | None = None) -> str:
    """Write a task folder for one suite; return the name of its task.

    Raises:
        UsageError: lm-eval cannot ask this suite: it has several turns, system prompts or given messages.
        UnknownName: There is no such suite.
    """
    suite = suites.load(suite_name, seed=seed, limit=limit)
    for prompt in suite.prompts:
        refuse(prompt, suite_name)
    name = task_name(suite_name)
    sampling = suite.sampling
    generation = {
        "until": [],
        "do_sample": sampling.temperature > 0,
        "temperature": sampling.temperature,
        "max_gen_toks": sampling.max_new_tokens,
    }
    prefix, colon, rest = suite_name.partition(":")
    path = Path(rest).resolve()  # lm-eval may be started elsewhere
    chosen = {"suite": f"{prefix}:{path}" if colon and path.is_file() else suite_name, "seed": seed, "limit": limit}
    metrics = "".join(
        f"  - metric: {metric}_acc\n    aggregation: "
        f"{'mean' if metric in {STRICT, LOOSE} else '!function utils.share'}\n    higher_is_better: true\n"
        for metric in (STRICT, INST_STRICT, LOOSE, INST_LOOSE)
    )
    yaml = (
        f"# Written by adhere export: {suite.name}, {len(suite.prompts)} prompts, sha256 {suite.sha256}\n"
        f"task: {name}\ncustom_dataset: !function utils.documents\ndataset_kwargs: {json.dumps(chosen)}\n"
        "output_type: generate_until\ntest_split: test\nnum_fewshot: 0\ndoc_to_text: prompt\ndoc_to_target: 0\n"
        f"generation_kwargs: {json.dumps(generation)}\nprocess_results: !function utils.process_results\n"
        f"metric_list:\n{metrics}"
    )
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / "utils.py", _UTILS.encode())
    write_atomic(out / f"{name}.yaml", yaml.encode())
    return name


def task_name(suite_name: str) -> str:
    """Return a task's name such as `adhere_core`; a suite in a file is named without its folder."""
    prefix, _, rest = suite_name.partition(":")
    stem = Path(rest).stem if "/" in rest or "." in rest else rest
    return re.sub(r"[^a-z0-9]+", "_", f"adhere_{prefix}_{stem}".lower()).strip("_")


def documents(suite: str, *, seed: int | None = None, limit: int | None = None, **_: Any) -> dict[str, Any]:
    """Return the prompts of a suite as the split `test`; lm-eval calls it with the folder's settings."""
    own_suite: Suite = suites.load(suite, seed=seed, limit=limit)
    datasets = need_harness("datasets", "lm-eval")
    # As JSON text, because columns of one name must have one type for all rows.
    rows = [
        {**columns(prompt), "key": str(prompt.key), "kwargs": json.dumps(columns(prompt)["kwargs"])}
        for prompt in own_suite.prompts
    ]
    return {"test": datasets.Dataset.from_list(rows)}


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Return the numbers of one document; an undecided one is left out, so that no mean counts it.

    lm-eval does not say whether an answer was cut at the token limit, so cut answers are judged like others.
    """
    conversation = score_answers(prompt_of(doc), [SaidAnswer(results[0])])
    numbers: dict[str, Any] = {
        f"{name}_acc": value for name, value in conversation.scores.items() if name in {STRICT, LOOSE}
    }
    strict, loose = conversation.instructions("strict"), conversation.instructions("loose")
    numbers |= {f"{INST_STRICT}_acc": strict} if strict else {}
    return numbers | ({f"{INST_LOOSE}_acc": loose} if loose else {})


def share(items: Sequence[Sequence[bool]]) -> float:
    """Return the share of all instructions that are followed, each instruction counting once."""
    every = [is_followed for item in items for is_followed in item]
    return sum(every) / len(every)


def refuse(prompt: Prompt, suite_name: str) -> None:
    """Refuse a prompt that a harness of single questions cannot ask.

    Raises:
        UsageError: The prompt has several turns, a system prompt, or given messages.
    """
    obstacles = {
        "several turns": len(prompt.turns) > 1,
        "a system prompt": prompt.system is not None,
        "given messages": bool(prompt.given),
    }
    obstacle = next((name for name, is_so in obstacles.items() if is_so), None)
    if obstacle is not None:
        raise UsageError(
            f"{suite_name}: prompt {prompt.id!r} has {obstacle}, which such a task cannot ask. "
            "Use inspect (adhere.integrations.inspect_ai.task) or adhere eval for this suite"
        )
