"""Writes a run as lm-eval's samples and results.

Source: EleutherAI/lm-evaluation-harness 0.4.13, `loggers/evaluation_tracker.py`, `evaluator.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.lm_eval.task import share, task_name
from adhere.integrations.shared.conversations import Conversation, conversations
from adhere.integrations.shared.scoring import (
    INST_LOOSE,
    INST_STRICT,
    LOOSE,
    STATUS,
    STRICT,
    ScoredConversation,
    columns,
    floor_columns,
)
from adhere.schema import View, write_atomic
from adhere.store.run import Run

_METRICS: tuple[tuple[str, str, View], ...] = ((STRICT, INST_STRICT, "strict"), (LOOSE, INST_LOOSE, "loose"))


def write(run: Run, out: Path) -> tuple[list[Path], list[str]]:
    """Write `MODEL/samples_TASK_TIME.jsonl` and `MODEL/results_TIME.json`; return them, and notes.

    Raises:
        UsageError: The run has several draws or turns: lm-eval keeps one question and one score for each document.
    """
    if run.spec.draws > 1 or any(len(prompt.turns) > 1 for prompt in run.prompts()):
        excess = f"{run.spec.draws} draws" if run.spec.draws > 1 else "several turns"
        raise UsageError(
            f"{run.directory} has {excess} for each prompt; lm-eval's samples hold one answer and one "
            "score. Use --to inspect"
        )
    all_conversations = list(conversations(run))
    without_failure = [conversation for conversation in all_conversations if conversation.failed is None]
    task = task_name(run.spec.suite)
    rows = [
        _row(number, conversation)
        for number, conversation in enumerate(all_conversations)
        if conversation.failed is None
    ]
    time = f"{datetime.fromisoformat(run.manifest.created):%Y-%m-%dT%H-%M-%S.%f}"
    home = out / _folder_name(run.spec.model)
    home.mkdir(parents=True, exist_ok=True)
    samples, results = home / f"samples_{task}_{time}.jsonl", home / f"results_{time}.json"
    write_atomic(samples, "".join(json.dumps(row) + "\n" for row in rows).encode())
    write_atomic(results, json.dumps(_results(run, task, without_failure), indent=2).encode())
    n_failed = len(all_conversations) - len(without_failure)
    notes = [f"{n_failed} failed calls are left out: lm-eval has no place for them"] if n_failed else []
    if any(prompt.system is not None for prompt in run.prompts()):
        notes.append("system prompts stand in the column adhere of `doc` only")
    if any(response.calls for conversation in all_conversations for response in conversation.responses):
        notes.append("calls of tools are written as lines of the answer's text: lm-eval has no place for them")
    if any(prompt.given for prompt in run.prompts()):
        notes.append("given messages and tools stand in the column adhere of `doc` only")
    return [samples, results], notes


def _row(number: int, conversation: Conversation) -> dict[str, Any]:
    doc, text, prompt = columns(conversation.prompt), conversation.responses[0].said, conversation.prompt.text
    numbers = _numbers(conversation.scored)
    return {
        "doc_id": number,
        "doc": doc,
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}},
        "resps": [[text]],
        "filtered_resps": [text],
        "filter": "none",
        "metrics": list(numbers),
        "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash("0"),
        **numbers,
        STATUS: conversation.responses[0].status,
    }


def _numbers(conversation: ScoredConversation) -> dict[str, Any]:
    numbers: dict[str, Any] = {}
    for whole, parts, view in _METRICS:
        outcomes = conversation.instructions(view)
        if whole in conversation.scores:
            numbers[f"{whole}_acc"] = bool(conversation.scores[whole])
        if outcomes:
            numbers[f"{parts}_acc"] = outcomes
    return numbers


def _results(run: Run, task: str, all_conversations: Sequence[Conversation]) -> dict[str, Any]:
    names = [f"{name}_acc" for whole, parts, _ in _METRICS for name in (whole, parts)]
    rows = [_numbers(conversation.scored) for conversation in all_conversations]
    scores: dict[str, Any] = {"alias": task, "sample_len": len(all_conversations)}
    for name in names:
        values = [row[name] for row in rows if name in row]
        if values:
            whole = isinstance(values[0], bool)
            scores[f"{name},none"] = sum(values) / len(values) if whole else share(values)
            scores[f"{name}_stderr,none"] = "N/A"
    return {
        "results": {task: scores},
        "group_subtasks": {task: []},
        "versions": {task: run.spec.suite_version},
        "n-shot": {task: 0},
        "configs": {
            task: {
                "task": task,
                "output_type": "generate_until",
                "metadata": {
                    "suite": run.spec.suite,
                    "sha256": run.spec.suite_sha256,
                    **floor_columns(run.summary() if run.is_sealed else None),
                },
            }
        },
        "higher_is_better": {task: dict.fromkeys(names, True)},
        "n-samples": {task: {"original": len(run.prompts()), "effective": len(all_conversations)}},
        "config": {"model": "adhere", "model_args": {"model": run.spec.model}},
        "model_source": "adhere",
        "model_name": run.spec.model,
        "model_name_sanitized": _folder_name(run.spec.model),
        "date": datetime.fromisoformat(run.manifest.created).timestamp(),
    }


def _folder_name(model: str) -> str:
    """Return the name of the folder that lm-eval makes for a model."""
    return re.sub(r"[\"<>:/\\|?*\[\]]+", "__", model)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
