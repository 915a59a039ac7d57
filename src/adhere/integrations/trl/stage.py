"""Runs one stage of a study with TRL's own trainer, in TRL's own environment, for `trainer = "trl"`.

    python -m adhere.integrations.trl.stage PLAN.json MODEL ROWS SEED OUT

PLAN is a JSON text: `trainer` and `config` (classes of TRL, by their path in it), `settings` of the config, `reward`,
`traps` and `masks_unmeasured` of online stages, `lora` (PEFT's arguments or null). It leaves the model in OUT, with
`metrics.jsonl` and `ledger.json`; what TRL does not count is not in the ledger.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from adhere.errors import AdhereError
from adhere.extras import need
from adhere.rewards import judge_reward
from adhere.rewards.judge import RewardFunction


def asked_of(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the row's prompt as messages."""
    turns = row.get("turns") or [{"role": "user", "content": row["prompt"]}]
    return [{"role": turn["role"], "content": turn["content"]} for turn in turns]


def as_text(row: Mapping[str, Any], tokenizer: Any) -> dict[str, str]:
    """Return the prompt of a row with answers as the text that the chat template makes of it.

    TRL then learns the same tokens as our stages: the answer and its end token. From messages it would also learn what
    the template writes after them, mostly a line break.
    """
    text = tokenizer.apply_chat_template(asked_of(row), add_generation_prompt=True, tokenize=False)
    begins = tokenizer.bos_token if tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id] else None
    return {"prompt": text.removeprefix(begins or "")}  # TRL's tokenization puts it there again


def train(plan: dict[str, Any], model: str, rows: str, seed: int, out: Path) -> None:
    """Train `model` on the file `rows` with the trainer of `plan`, and save it in `out`.

    Raises:
        MissingExtra: TRL or datasets is not installed in this environment.
    """
    need("trl", extra="dev")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # the warning of a trainer that the spec asks for
    datasets, transformers = need("datasets", extra="environments"), need("transformers", extra="train")
    torch, began = need("torch", extra="train"), time.monotonic()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    table = datasets.load_dataset("json", data_files=rows, split="train")
    settings = plan["settings"] | {"seed": seed, "report_to": "none", "save_strategy": "no", "logging_steps": 1}
    # bf16 on a CPU is refused unless it is said that a CPU is meant.
    settings["use_cpu"] = not (torch.cuda.is_available() or torch.backends.mps.is_available())
    arguments = _of_trl(plan["config"])(output_dir=str(out / "work"), **settings)
    more: dict[str, Any] = {}
    if plan["reward"]:
        table = table.map(lambda row: {"prompt": asked_of(row)})
        more["reward_funcs"] = [_reward(plan, model)]
        if "score_variance" in table.column_names:
            table = table.sort("score_variance", reverse=True)
    else:
        table = table.map(as_text, fn_kwargs={"tokenizer": tokenizer})
    if plan["lora"] is not None:
        more["peft_config"] = need("peft", extra="train").LoraConfig(**plan["lora"])
    trainer = _of_trl(plan["trainer"])
    trl_trainer = trainer(model=model, args=arguments, train_dataset=table, processing_class=tokenizer, **more)
    trl_trainer.train()
    if "peft_config" in more:
        trl_trainer.model = trl_trainer.accelerator.unwrap_model(trl_trainer.model).merge_and_unload()
    trl_trainer.save_model(str(out))
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(str(out))  # as it was given
    _tell(trl_trainer.state.log_history, time.monotonic() - began, out)


def _of_trl(path: str) -> Any:
    """Import a class of TRL, such as `SFTConfig` or `experimental.online_dpo.OnlineDPOConfig`."""
    module, _, name = f"trl.{path}".rpartition(".")
    return getattr(import_module(module), name)


def _reward(plan: Mapping[str, Any], model: str) -> RewardFunction:
    """Return the judge; for a trainer that counts unmeasured answers as 0, one that raises an error for them."""
    # By the model, not its tokenizer: TRL stops at every end token of the generation config.
    judge = judge_reward(plan["reward"], traps=plan["traps"], end_tokens=model)
    if plan["masks_unmeasured"]:
        return judge

    def reward(*arguments: Any, **columns: Any) -> list[float | None]:
        rewards = judge(*arguments, **columns)
        if None in rewards:
            raise AdhereError(
                f"{plan['trainer']} counts an answer that was not measured as 0, and one of this step was not. Take "
                "the prompts out that no program decides, or train by our own stage: leave `trainer` out"
            )
        return rewards

    return reward


def _tell(history: list[dict[str, Any]], seconds: float, out: Path) -> None:
    """Write TRL's log as curves, and its counts as the ledger."""
    rows = [{name: value for name, value in row.items() if isinstance(value, int | float)} for row in history]
    (out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ledger: dict[str, Any] = {"seconds": seconds, "steps": max((int(row.get("step", 0)) for row in rows), default=0)}
    (out / "ledger.json").write_text(json.dumps(ledger), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run `train` with arguments from the command line."""
    plan, model, rows, seed, out = arguments or sys.argv[1:]
    train(json.loads(plan), model, rows, int(seed), Path(out))


if __name__ == "__main__":
    main(sys.argv[1:])
