"""`adhere.callback`: checkpoints are measured while they are trained, and logged where the trainer logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import adhere  # noqa: E402
from adhere.errors import UnknownName, UsageError  # noqa: E402

SUITE = [{"prompt": f"Say {at} in lowercase.", "constraints": [{"id": "case:lower", "params": {}}]} for at in range(3)]


class Tracker(transformers.TrainerCallback):
    """Stands for a tracker: what it is told, by step."""

    def __init__(self) -> None:
        self.told: list[tuple[int, dict[str, Any]]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.told.append((state.global_step, dict(logs)))


def train(tiny: Path, out: Path, *callbacks: Any, steps: int = 4, **more: Any) -> Any:
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    rows = [{"input_ids": torch.tensor(tokenizer("the quick brown fox").input_ids)} for _ in range(8)]
    for row in rows:
        row["labels"] = row["input_ids"]
    arguments = transformers.TrainingArguments(
        output_dir=str(out), max_steps=steps, per_device_train_batch_size=2, report_to="none", use_cpu=True,
        logging_steps=1, save_strategy="no", disable_tqdm=True, learning_rate=1e-2, **more,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=rows, processing_class=tokenizer, callbacks=list(callbacks)
    )
    trainer.train()
    return trainer


@pytest.fixture(autouse=True)
def fewer_warnings() -> None:
    pytest.MonkeyPatch().setenv("TRANSFORMERS_VERBOSITY", "error")


def test_it_measures_at_the_start_every_few_steps_and_at_the_end(tiny_llama_dir: Path, tmp_path: Path) -> None:
    tracker = Tracker()
    measuring = adhere.callback(SUITE, every=3, max_new_tokens=4)
    trainer = train(tiny_llama_dir, tmp_path, tracker, measuring)
    assert list(measuring.runs) == [0, 3, 4]
    assert trainer.model.training, "left as it was"
    told = {step: logs for step, logs in tracker.told if "adhere/prompts_passed" in logs}
    assert set(told) == {0, 3, 4}
    for step, run in measuring.runs.items():
        rate = run.summary().overall.prompt_strict
        assert told[step]["adhere/prompts_passed"] == rate.of_all
        assert told[step]["adhere/prompts_passed_low"] == rate.low
        assert str(run.directory).startswith(str(tmp_path / "adhere"))
    history = [row for row in trainer.state.log_history if "adhere/coverage" in row]
    assert [row["step"] for row in history] == [0, 3, 4]
    weights = {run.spec.engine.settings["weights"] for run in measuring.runs.values()}
    assert len(weights) == 3, "each is of other weights"


def test_training_is_the_same_with_it(tiny_llama_dir: Path, tmp_path: Path) -> None:
    def losses(*callbacks: Any) -> list[float]:
        trainer = train(tiny_llama_dir, tmp_path, *callbacks, steps=3)
        return [row["loss"] for row in trainer.state.log_history if "loss" in row]

    assert losses() == losses(adhere.callback(SUITE, every=1, max_new_tokens=4))


def test_what_cannot_be_done_is_said_before_training() -> None:
    with pytest.raises(UsageError, match="at least 1; got 0"):
        adhere.callback("core", every=0)
    with pytest.raises(UnknownName):
        adhere.callback("coer")
    with pytest.raises(UsageError, match="FSDP"):
        adhere.callback(SUITE).on_train_begin(
            type("Args", (), {"fsdp": ["full_shard"]}), type("State", (), {"global_step": 0}), None
        )
