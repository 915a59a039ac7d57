"""One stage of a study by TRL's own trainer, in TRL's own environment: what `trainer = "trl"` runs.

    python -m adhere.integrations.trl.stage PLAN.json MODEL ROWS SEED OUT

PLAN is a JSON text: `trainer` and `config` (names of classes of TRL), `settings` of the config, `reward` and `traps` of
online stages, `lora` (PEFT's arguments or null). It leaves the model in OUT, with `metrics.jsonl` and `ledger.json`;
what TRL does not count is not in the ledger.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from adhere.extras import need
from adhere.rewards import judge_reward

ROLES = {"prompt": "user", "completion": "assistant", "chosen": "assistant", "rejected": "assistant"}


def as_messages(row: dict[str, Any]) -> dict[str, Any]:
    """Give texts as messages, so that the chat template is applied; a conversation's prompt is its turns."""
    messages: dict[str, Any] = {
        name: [{"role": role, "content": row[name]}] for name, role in ROLES.items() if isinstance(row.get(name), str)
    }
    if row.get("turns"):
        messages["prompt"] = [{"role": turn["role"], "content": turn["content"]} for turn in row["turns"]]
    return messages


def train(plan: dict[str, Any], model: str, rows: str, seed: int, out: Path) -> None:
    """Train `model` on the file `rows` by the trainer of `plan`, and leave it in `out`.

    Raises:
        MissingExtra: TRL or datasets is not installed in this environment.
    """
    trl, datasets = need("trl", extra="dev"), need("datasets", extra="environments")
    transformers = need("transformers", extra="train")
    began = time.monotonic()
    table = datasets.load_dataset("json", data_files=rows, split="train").map(as_messages)
    settings = plan["settings"] | {"seed": seed, "report_to": "none", "save_strategy": "no", "logging_steps": 1}
    arguments = getattr(trl, plan["config"])(output_dir=str(out / "work"), **settings)
    more: dict[str, Any] = {}
    if plan["reward"]:
        # By the model, not its tokenizer: TRL stops at every end token of the generation config.
        more["reward_funcs"] = [judge_reward(plan["reward"], traps=plan["traps"], end_tokens=model)]
        if "score_variance" in table.column_names:
            table = table.sort("score_variance", reverse=True)
    if plan["lora"] is not None:
        more["peft_config"] = need("peft", extra="train").LoraConfig(**plan["lora"])
    made = getattr(trl, plan["trainer"])(model=model, args=arguments, train_dataset=table, **more)
    made.train()
    if "peft_config" in more:
        made.model = made.accelerator.unwrap_model(made.model).merge_and_unload()
    made.save_model(str(out))
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(str(out))  # as it was given
    _tell(made.state.log_history, time.monotonic() - began, out)


def _tell(history: list[dict[str, Any]], seconds: float, out: Path) -> None:
    """Write TRL's log as curves, and what it counted as the ledger."""
    rows = [{name: value for name, value in row.items() if isinstance(value, int | float)} for row in history]
    (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ledger: dict[str, Any] = {"seconds": seconds, "steps": max((int(row.get("step", 0)) for row in rows), default=0)}
    (out / "ledger.json").write_text(json.dumps(ledger), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    plan, model, rows, seed, out = arguments or sys.argv[1:]
    train(json.loads(plan), model, rows, int(seed), Path(out))


if __name__ == "__main__":
    main(sys.argv[1:])
