"""Writes a run as a record of Every Eval Ever: one file with its numbers, and one with its conversations.

Source: evaleval/every_eval_ever, `schemas/eval.schema.json` and `instance_level_eval.schema.json`, version 0.3.0. No
path, host name or address of this machine is written.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from adhere.errors import UsageError
from adhere.integrations.shared.conversations import Conversation, conversations
from adhere.integrations.shared.messages import answer
from adhere.integrations.shared.scoring import STRICT, floor_columns
from adhere.models.http.providers import PROVIDERS
from adhere.schema import write_atomic
from adhere.store.manifest import slug
from adhere.store.run import Run
from adhere.store.summary import Measure, Rate

SCHEMA_VERSION = "0.3.0"
_RATES = ("prompt_strict", "prompt_loose", "instruction_strict", "instruction_loose")
_MAKERS = {"hf": "", "local": "local", **{provider.name: provider.maker for provider in PROVIDERS.values()}}


def write(run: Run, out: Path) -> tuple[list[Path], list[str]]:
    """Write `data/SUITE/DEVELOPER/MODEL/UUID.json` and `UUID_samples.jsonl`; return them, and notes.

    The run determines the uuid, so writing it twice gives one record.

    Raises:
        UsageError: The run is not finished.
    """
    if not run.is_sealed:
        raise UsageError(
            f"{run.directory} is not finished, so it has no numbers yet: run adhere eval again, or adhere rescore"
        )
    developer, name = model_of(run.spec.model)
    key = uuid.UUID(bytes=bytes.fromhex(run.manifest.spec_sha256[:32]), version=4)
    place = Path("data") / slug(suite_of(run.spec.suite)) / slug(developer) / slug(name) / f"{key}.json"
    samples = place.with_name(f"{key}_samples.jsonl")
    record = _record(run, f"{developer}/{name}")
    rows = [
        _row(conversation, record, draws=run.spec.draws)
        for conversation in conversations(run)
        if STRICT in conversation.scored.scores
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    record["detailed_evaluation_results"] = {
        "format": "jsonl",
        "file_path": samples.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(data).hexdigest(),
        "total_rows": len(rows),
    }
    (out / place).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out / place, json.dumps(record, indent=2).encode() + b"\n")
    write_atomic(out / samples, data)
    without_row = run.n_asked // max(1, sum(len(p.turns) for p in run.prompts())) * len(run.prompts()) - len(rows)
    notes = [f"{without_row} conversations without a verdict have no row there"] if without_row else []
    return [out / place, out / samples], notes


def model_of(name: str) -> tuple[str, str]:
    """Return developer and model as the Hugging Face hub would name them; of a path or an address only its end."""
    if name.startswith(("http://", "https://")):
        provider, rest = "", name.partition("#")[2]
    else:
        provider, _, rest = name.partition("/")
    if provider == "hf" and rest.startswith(("/", ".", "~")):
        rest = Path(rest).name
    elif provider == "scripted":
        rest = rest.partition(":")[0]
    maker = _MAKERS.get(provider, provider)
    developer, _, model = rest.rpartition("/")
    return developer or maker or "unknown", model or rest


def suite_of(name: str) -> str:
    """Return a suite's name without the path of its file."""
    kind, _, rest = name.partition(":")
    return kind if set(rest) & set("/\\.~") else name


def _record(run: Run, model_id: str) -> dict[str, Any]:
    spec, manifest, summary = run.spec, run.manifest, run.summary()
    is_remote = spec.engine.name == "endpoint"
    stamp = str(int(datetime.fromisoformat(manifest.created).timestamp()))
    model: dict[str, Any] = {
        "name": model_id.rpartition("/")[2],
        "id": model_id,
        "developer": model_id.partition("/")[0],
        "additional_details": {
            "deployment_type": "unknown" if is_remote else "self_deployed",
            "model_availability": "unknown" if is_remote else "open_weights",
            "precision": spec.engine.precision,
        },
    }
    if is_remote:
        platform = spec.model.partition("/")[0]
        model |= {"inference_platform": platform if platform in _MAKERS else "an OpenAI-compatible server"}
    else:
        model |= {"inference_engine": {"name": spec.engine.name, "version": spec.engine.version}}
    numbers = {name: getattr(summary.overall, name) for name in _RATES}
    results = [_result(run, name, rate) for name, rate in numbers.items() if rate.of_all is not None]
    results += [_result(run, measure.name, measure) for measure in summary.measures if measure.value is not None]
    return {
        "schema_version": SCHEMA_VERSION, "evaluation_id": f"{suite_of(spec.suite)}/{model_id}/{stamp}",
        "evaluation_timestamp": manifest.created,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "adhere", "source_type": "evaluation_run", "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "adhere", "version": manifest.adhere, "additional_details": _details(
            git_commit=manifest.git_commit, python=manifest.python, platform=manifest.platform, mode=spec.mode,
            **{f"package {name}": version for name, version in manifest.packages.items()},
        )},
        "model_info": model, "evaluation_results": results,
    }  # fmt: skip


def _result(run: Run, name: str, measure: Rate | Measure) -> dict[str, Any]:
    """Return one number with its interval. Measures with different scopes are results of their own."""
    spec, manifest, suite = run.spec, run.manifest, suite_of(run.spec.suite)
    scope = measure.scope if isinstance(measure, Measure) else ""
    value = measure.value if isinstance(measure, Measure) else measure.of_all
    top = 1.0 if value is None or value <= 1 else None
    metric: dict[str, Any] = {
        "metric_id": f"adhere.{slug(name)}", "metric_name": name, "metric_kind": "pass_rate",
        "metric_unit": "proportion" if top else "count",
        "lower_is_better": False, "score_type": "continuous", "min_score": 0.0, "max_score": top,
    }  # fmt: skip
    floor_fields = floor_columns(run.summary() if name == "prompt_strict" else None)
    score: dict[str, Any] = {"score": value, "details": _details(n=measure.n, **floor_fields)}
    if measure.low is not None and measure.high is not None:
        ends = {"lower": measure.low, "upper": measure.high, "confidence_level": 0.95}
        score["uncertainty"] = {"confidence_interval": ends, "num_samples": measure.n}
    return {
        "evaluation_result_id": "/".join(part for part in (suite, name, scope) if part),
        "evaluation_name": " ".join(part for part in (suite, scope) if part),
        "source_data": {
            "dataset_name": suite,
            "source_type": "other",
            "additional_details": _details(
                version=spec.suite_version, sha256=spec.suite_sha256, prompts=manifest.n_prompts
            ),
        },
        "evaluation_timestamp": manifest.created,
        "metric_config": metric,
        "score_details": score,
        "generation_config": {
            "generation_args": {
                "temperature": spec.sampling.temperature,
                "top_p": spec.sampling.top_p,
                "max_tokens": spec.sampling.max_new_tokens,
            },
            "additional_details": _details(draws=spec.draws, seed=spec.sampling.seed),
        },
    }


def _row(conversation: Conversation, record: dict[str, Any], *, draws: int) -> dict[str, Any]:
    prompt, last = conversation.prompt, conversation.responses[-1]
    text = "\n\n".join(turn.text for turn in prompt.turns)
    several = len(prompt.turns) > 1 or len(prompt.messages()) > 1 or bool(last.steps)
    score = conversation.scored.scores[STRICT]
    source = f"messages[{len(list(_messages(conversation))) - 1}].content" if several else "output.raw"
    usage = last.usage
    row: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION, "evaluation_id": record["evaluation_id"],
        "model_id": record["model_info"]["id"],
        "evaluation_name": record["evaluation_results"][0]["evaluation_name"],
        "evaluation_result_id": record["evaluation_results"][0]["evaluation_result_id"],
        "sample_id": prompt.id if draws == 1 else f"{prompt.id} draw {conversation.draw}",
        "sample_hash": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        "interaction_type": "multi_turn" if several else "single_turn", "input": {"raw": text, "reference": []},
        "output": None if several else {"raw": [last.text],
            "reasoning_trace": [last.reasoning] if last.reasoning else None},
        "messages": list(_messages(conversation)) if several else None,
        "answer_attribution": [{
            "turn_idx": len(list(_messages(conversation))) - 1 if several else 0, "source": source,
            "extracted_value": last.text,
            "extraction_method": "custom", "is_terminal": True,
        }],
        "evaluation": {"score": score, "is_correct": score == 1.0, "num_turns": len(prompt.turns)},
        "error": None if last.status == "ok" else last.status,
        "metadata": _details(failures=conversation.scored.failures, status=last.status,
            **{name: prompt.tags[name] for name in ("slice", "family") if name in prompt.tags}),
    }  # fmt: skip
    if usage.prompt_tokens is not None and usage.completion_tokens is not None and not several:
        row["token_usage"] = {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
        }
    return row


def _messages(conversation: Conversation) -> Iterator[dict[str, Any]]:
    answers = [response.said for response in conversation.responses]
    before, last = conversation.prompt.messages(answers[:-1]), conversation.responses[-1]
    reasoning = iter([response.reasoning for response in conversation.responses])
    first = len(before) - 2 * len(answers) + 2  # the model's own answers are every second message from here on
    for place, message in enumerate((*before, *answer(last))):
        is_own = message.role == "assistant" and place >= first and not last.steps
        yield {
            "turn_idx": place,
            "role": message.role,
            "content": message.content,
            "reasoning_trace": next(reasoning) if is_own else None,
            "tool_calls": [
                {
                    "id": call.id,
                    "name": call.name,
                    "arguments": {name: json.dumps(value) for name, value in call.arguments.items()},
                }
                for call in message.calls
            ]
            or None,
            "tool_call_id": None if message.call_id is None else [message.call_id],
        }


def _details(**values: object) -> dict[str, str]:
    """Return every value as text, which the schema demands; None values are left out."""
    return {name: str(value) for name, value in values.items() if value is not None}
