"""Writes a run as an inspect log (.json, version 2).

Source: UKGovernmentBEIS/inspect_ai 0.3.285, `log/_log.py`; its `read_eval_log` reads what is written here (tests).
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from adhere.integrations.inspect_ai.read import ENDS
from adhere.integrations.shared.conversations import Conversation, conversations
from adhere.integrations.shared.messages import assistant, messages_for
from adhere.integrations.shared.scoring import SCORES, columns, floor_columns, verdict_rows
from adhere.schema import Response, write_atomic
from adhere.store.manifest import slug
from adhere.store.run import Run

SCORER = "adhere"


def write(run: Run, out: Path) -> tuple[list[Path], list[str]]:
    """Write one log, named as inspect names logs: TIME_TASK_ID.json; return it, and no notes."""
    creation_time = datetime.fromisoformat(run.manifest.created).astimezone(UTC)
    all_conversations = list(conversations(run))
    log = _log(run, all_conversations, creation_time.isoformat(timespec="seconds"))
    file = out / f"{creation_time:%Y-%m-%dT%H-%M-%S}-00-00_{slug(run.spec.suite)}_{run.spec.sha256[:22]}.json"
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(file, json.dumps(log, ensure_ascii=True, indent=2).encode())  # NaN as inspect writes it
    return [file], []


def _log(run: Run, all_conversations: list[Conversation], creation_time: str) -> dict[str, Any]:
    spec = run.spec
    task = spec.suite
    sampling = {
        "max_tokens": spec.sampling.max_new_tokens,
        "temperature": spec.sampling.temperature,
        "top_p": spec.sampling.top_p,
    }
    slowest_s = max(
        (response.latency_s or 0.0 for conversation in all_conversations for response in conversation.responses),
        default=0.0,
    )
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": spec.sha256[:22], "run_id": spec.sha256[:22], "created": creation_time, "task": task,
            "task_id": spec.sha256[:22],
            "task_version": spec.suite_version, "task_args": {}, "model": spec.model,
            "dataset": {"name": spec.suite, "samples": len(run.prompts()),
                "sample_ids": [prompt.key for prompt in run.prompts()], "shuffled": False},
            "model_generate_config": sampling, "config": {"epochs": spec.draws, "log_samples": True},
            "packages": {"adhere": run.manifest.adhere},
            "metadata": {"engine": msgspec.to_builtins(spec.engine), "suite_sha256": spec.suite_sha256,
                "mode": spec.mode, **floor_columns(run.summary() if run.is_sealed else None)},
        },
        "plan": {"name": "plan", "steps": [], "config": sampling},
        "results": {"total_samples": len(all_conversations),
            "completed_samples": sum(conversation.failed is None for conversation in all_conversations),
            "scores": _results(all_conversations)},
        "stats": {"started_at": creation_time, "completed_at": creation_time, "model_usage": {}},
        "metadata": {"slowest_answer_s": slowest_s},
        "samples": [_sample(spec.model, conversation) for conversation in all_conversations],
    }  # fmt: skip


def _results(all_conversations: list[Conversation]) -> list[dict[str, Any]]:
    """Return mean and standard error of each number over the conversations that have it."""
    rows = []
    for name in SCORES:
        values = [
            conversation.scored.scores[name] for conversation in all_conversations if name in conversation.scored.scores
        ]
        metrics = {}
        if values:
            mean = sum(values) / len(values)
            metrics["mean"] = {"name": "mean", "value": mean, "params": {}}
            if len(values) > 1:
                error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
                metrics["stderr"] = {"name": "stderr", "value": error, "params": {}}
        rows.append(
            {
                "name": name,
                "scorer": SCORER,
                "params": {},
                "scored_samples": len(values),
                "unscored_samples": len(all_conversations) - len(values),
                "metrics": metrics,
            }
        )
    return rows


def _sample(model: str, conversation: Conversation) -> dict[str, Any]:
    prompt_messages = messages_for(conversation.prompt.messages(), "inspect")
    prompt_messages = [{**row, "source": "input"} if row["role"] == "user" else row for row in prompt_messages]
    messages = list(prompt_messages)
    for turn, response in enumerate(conversation.responses):
        if turn:
            messages.append({"role": "user", "content": conversation.prompt.turns[turn].text})
        if response.status != "error":
            messages += messages_for(response.steps, "inspect") if response.steps else [_message(model, response)]
    failed, last = conversation.failed, conversation.responses[-1]
    sample: dict[str, Any] = {
        "id": conversation.prompt.key, "epoch": conversation.draw + 1, "input": prompt_messages, "target": "",
        "messages": messages, "output": {"model": model, "choices": [], "completion": ""}, "scores": None,
        "metadata": columns(conversation.prompt),
        "store": {"adhere_answers": [[response.text, response.status,
            msgspec.to_builtins(response.calls or ())] for response in conversation.responses
            if response.status != "error"]},
    }  # fmt: skip
    if failed is not None:
        message = failed.error or "the call failed"
        sample["error"] = {"message": message, "traceback": message, "traceback_ansi": message}
        return sample
    choice = {"message": _message(model, last), "stop_reason": ENDS.get(last.status, "stop")}
    sample["output"] = {
        "model": model,
        "choices": [choice],
        "completion": last.text,
        "usage": _usage(last),
        "time": last.latency_s,
    }
    sample["scores"] = {
        SCORER: {
            "value": {name: conversation.scored.scores.get(name, math.nan) for name in SCORES},
            "answer": last.text,
            "explanation": conversation.scored.failures,
            "metadata": {"verdicts": verdict_rows(conversation.scored.verdicts)},
        }
    }
    return sample


def _message(model: str, response: Response) -> dict[str, Any]:
    content: Any = response.text
    if response.reasoning:
        content = [{"type": "reasoning", "reasoning": response.reasoning}, {"type": "text", "text": response.text}]
    return {
        **messages_for([assistant(response)], "inspect")[0],
        "content": content,
        "source": "generate",
        "model": model,
    }


def _usage(response: Response) -> dict[str, int] | None:
    usage = response.usage
    if usage.completion_tokens is None:
        return None
    prompt_tokens = usage.prompt_tokens or 0
    counts = {
        "input_tokens": prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": prompt_tokens + usage.completion_tokens,
    }
    return counts if usage.reasoning_tokens is None else {**counts, "reasoning_tokens": usage.reasoning_tokens}
