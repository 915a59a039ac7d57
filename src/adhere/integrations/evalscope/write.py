"""Writes a run as EvalScope's predictions, reviews and report.

Source: modelscope/evalscope 1.14.1, `api/evaluator/cache.py`, `report/report.py`, `api/metric/semantics.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.inspect_ai.read import ENDS
from adhere.integrations.shared.conversations import Conversation, conversations
from adhere.integrations.shared.messages import answer, assistant, messages_for
from adhere.integrations.shared.scoring import SCORES, STATUS, STRICT, columns, floor_columns, verdict_rows
from adhere.schema import write_atomic
from adhere.store.manifest import slug
from adhere.store.run import Run

BENCHMARK, SUBSET = "adhere", "default"


def write(run: Run, out: Path) -> tuple[list[Path], list[str]]:
    """Write `predictions/`, `reviews/` and `reports/`, each with a folder MODEL; return the files, and no notes.

    Raises:
        UsageError: The run has prompts of several turns.
    """
    if any(len(prompt.turns) > 1 for prompt in run.prompts()):
        raise UsageError(
            f"{run.directory} has several turns for each prompt, which a review of EvalScope does not score "
            "apart. Use --to inspect"
        )
    all_conversations = list(conversations(run))
    places = {prompt.id: number for number, prompt in enumerate(run.prompts())}
    model, draws = slug(run.spec.model), run.spec.draws

    def rows(make: Callable[[str, Conversation, int, int], dict[str, Any]]) -> bytes:
        lines = (
            make(run.spec.model, conversation, places[conversation.prompt.id], draws)
            for conversation in all_conversations
        )
        return "".join(json.dumps(row) + "\n" for row in lines).encode()

    files = {
        out / "predictions" / model / f"{BENCHMARK}_{SUBSET}.jsonl": rows(_prediction),
        out / "reviews" / model / f"{BENCHMARK}_{SUBSET}.jsonl": rows(_review),
        out / "reports" / model / f"{BENCHMARK}.json": json.dumps(
            _report(run, model, all_conversations), indent=2
        ).encode(),
    }
    for file, data in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, data)
    return list(files), []


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    last = conversation.responses[0]
    answer_messages = [] if last.status == "error" else messages_for(answer(last), "evalscope")
    return [*messages_for(conversation.prompt.messages(), "evalscope"), *answer_messages]


def _prediction(model: str, conversation: Conversation, place: int, draws: int) -> dict[str, Any]:
    last = conversation.responses[0]
    choices = [
        {"message": messages_for([assistant(last)], "evalscope")[0], "stop_reason": ENDS.get(last.status, "stop")}
    ]
    return {
        "index": place * draws + conversation.draw,
        "model": model,
        "messages": _messages(conversation),
        "metadata": columns(conversation.prompt),
        "model_output": {
            "model": model,
            "choices": [] if conversation.failed else choices,
            "time": last.latency_s,
            "error": last.error,
        },
    }


def _review(_model: str, conversation: Conversation, place: int, draws: int) -> dict[str, Any]:
    index, scores, failed = place * draws + conversation.draw, conversation.scored.scores, conversation.failed
    status = "transport_error" if failed else "success" if STRICT in scores else "degraded" if scores else "excluded"
    return {
        "index": index,
        "target": None,
        "messages": _messages(conversation),
        "sample_score": {
            "sample_id": index,
            "group_id": place,
            "generation_index": conversation.draw,
            "sample_metadata": columns(conversation.prompt),
            "score": {
                "value": scores,
                "status": status,
                "main_score_name": STRICT,
                "prediction": conversation.responses[0].text,
                "extracted_prediction": conversation.responses[0].text,
                "explanation": conversation.scored.failures,
                "metadata": {
                    "verdicts": verdict_rows(conversation.scored.verdicts),
                    STATUS: conversation.responses[0].status,
                },
            },
        },
    }


def _description(run: Run) -> str:
    floor_fields = floor_columns(run.summary() if run.is_sealed else None)
    floor = (
        f" Floor: {floor_fields['floor']:.1%}, by the answerer {floor_fields['floor_answerer']!r} without a model."
        if floor_fields
        else ""
    )
    return f"Prompts whose constraints a program checks.{floor}"


def _report(run: Run, model: str, all_conversations: Sequence[Conversation]) -> dict[str, Any]:
    metrics, primary = [], None
    for name in SCORES:
        weighted_scores = [
            (conversation.scored.scores[name], conversation.scored.weight(name))
            for conversation in all_conversations
            if name in conversation.scored.scores
        ]
        if not weighted_scores:
            continue
        score = sum(value * weight for value, weight in weighted_scores) / sum(weight for _, weight in weighted_scores)
        identity = {"name": name, "aggregation": "mean", "dimensions": {}}
        primary = identity if name == STRICT else primary
        metrics.append(
            {
                "identity": identity,
                "score": score,
                "num": len(weighted_scores),
                "categories": [
                    {"name": ["default"], "subsets": [{"name": SUBSET, "score": score, "num": len(weighted_scores)}]}
                ],
                "semantics": {
                    "semantic_id": f"adhere.{name}.ratio",
                    "metric_name": name,
                    "kind": "quality",
                    "direction": "higher_is_better",
                    "value_range": {"min": 0.0, "max": 1.0},
                    "display_kind": "percent",
                    "display_multiplier": 100.0,
                },
            }
        )
    return {
        "schema_version": 2,
        "name": f"{model}@{BENCHMARK}",
        "dataset_name": BENCHMARK,
        "dataset_pretty_name": f"adhere: {run.spec.suite}",
        "dataset_description": _description(run),
        "model_name": model,
        "metrics": metrics,
        "analysis": "N/A",
        "primary_metric_identity": primary,
        "primary_metric_unavailable_reason": None if primary else "no prompt was decided",
    }
