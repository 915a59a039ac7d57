"""Measures checkpoints during training: `adhere.callback(suite, every=…)` for trainers of TRL and transformers.

The model in memory answers the suite with transformers' `generate`; each measured step has its own Run in
OUTPUT_DIR/adhere. Its numbers are logged like the trainer's own, also in `trainer.state.log_history`:

    adhere/prompts_passed         share of prompts passed (strict), with _low and _high, its 95 % interval
    adhere/constraints_passed     share of constraints passed (strict)
    adhere/sound, /responds       shares that pass by more than the letter, and that respond
    adhere/coverage               share of answers that passed or failed

Numbers that were not measured are left out. Answers are greedy unless the suite says otherwise, so training draws the
same random numbers with the callback as without it.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from adhere.errors import UsageError
from adhere.extras import need
from adhere.pipeline.api import evaluate
from adhere.pipeline.summarize.tracked import tracked_numbers
from adhere.schema import EngineInfo, Json, content_hash
from adhere.store.run import Run
from adhere.suites import Suite, load
from adhere.suites.own import suite_of


def callback(
    suite: Any,
    every: int = 100,
    *,
    limit: int | None = None,
    out: Path | str | None = None,
    max_new_tokens: int | None = None,
    at_start: bool = True,
) -> Any:
    """Return a `TrainerCallback` that measures the model every `every` steps, and at the end of training.

    It works in one process, or in several that hold whole weights (the first measures, the others wait).

    Args:
        suite: A name, a Suite, or a list or DataFrame of prompts, as `adhere.evaluate` takes it.
        every: Optimizer steps between two measurements, at least 1.
        limit: Most prompts, an even share of each slice.
        out: Folder of the Runs [OUTPUT_DIR/adhere].
        max_new_tokens: Token limit of an answer [the suite's own].
        at_start: Whether to measure the model before the first step, too.

    Raises:
        UsageError: `every` is below 1, or the suite cannot be used.
        UnknownName: There is no such suite.
        MissingExtra: transformers is not installed.
    """
    if every < 1:
        raise UsageError(f"every is a number of steps, at least 1; got {every}")
    own_suite = load(suite) if isinstance(suite, str) else suite if isinstance(suite, Suite) else suite_of(suite)
    own_suite.cut(limit).insist_on_no_episodes("measure the checkpoint with adhere eval")
    transformers = need("transformers", extra="train")

    class Measuring(transformers.TrainerCallback):  # type: ignore[name-defined]  # a base class of an extra
        """Measures a model while it is trained; `runs` has the Runs, by step."""

        def __init__(self) -> None:
            self.runs: dict[int, Run] = {}

        def on_train_begin(self, args: Any, state: Any, control: Any, **trainer_parts: Any) -> None:
            _refuse_cut_weights(args)
            if at_start and state.global_step == 0:
                self._measure(args, state, control, trainer_parts)

        def on_step_end(self, args: Any, state: Any, control: Any, **trainer_parts: Any) -> None:
            if state.global_step % every == 0:
                self._measure(args, state, control, trainer_parts)

        def on_train_end(self, args: Any, state: Any, control: Any, **trainer_parts: Any) -> None:
            self._measure(args, state, control, trainer_parts)

        def _measure(self, args: Any, state: Any, control: Any, trainer_parts: dict[str, Any]) -> None:
            if not state.is_world_process_zero or state.global_step in self.runs:
                return
            folder = Path(args.output_dir) / "adhere" if out is None else Path(out)
            run = _measure_model(trainer_parts, state.global_step, own_suite.cut(limit), folder, max_new_tokens)
            self.runs[state.global_step] = run
            _log(run, self, (args, state, control), model=trainer_parts["model"])

    return Measuring()


def _refuse_cut_weights(args: Any) -> None:
    """Refuse sharded weights: no process alone can answer with them.

    Raises:
        UsageError: The weights are sharded by FSDP or DeepSpeed.
    """
    if getattr(args, "fsdp", None) or getattr(args, "deepspeed", None):
        raise UsageError(
            "adhere.callback measures a model that one process holds whole; FSDP and DeepSpeed cut its weights. Save "
            "checkpoints and measure them: adhere eval hf/CHECKPOINT --suite SUITE"
        )


def _measure_model(
    trainer_parts: dict[str, Any], step: int, suite: Suite, out: Path, max_new_tokens: int | None
) -> Run:
    """Evaluate the model in memory and return the sealed Run; the model's mode is restored."""
    import torch
    import transformers

    from adhere.models.local.generate import TOGETHER, GenerateModel

    model, tokenizer = trainer_parts["model"], trainer_parts.get("processing_class") or trainer_parts.get("tokenizer")
    if getattr(tokenizer, "chat_template", None) is None:
        raise UsageError("adhere.callback asks by the tokenizer's chat template, and the trainer's tokenizer has none")
    rows = TOGETHER.get(model.device.type, 1)
    settings: dict[str, Json] = {
        "decoder": "generate", "device": str(model.device), "rows": rows,
        "batch_invariant": "yes" if rows == 1 else "no", "step": step, "weights": _fingerprint(model),
    }  # fmt: skip
    precision = str(model.dtype).removeprefix("torch.")
    engine = EngineInfo("transformers", transformers.__version__, precision, None, settings)
    was_training, use_cache = model.training, getattr(model.config, "use_cache", None)
    model.eval()
    try:
        model.config.use_cache = True
        with torch.no_grad():
            generate_model = GenerateModel(model, tokenizer, name=f"training/step-{step}", engine=engine)
            return evaluate(generate_model, suite, out, max_new_tokens=max_new_tokens)
    finally:
        model.config.use_cache = use_cache
        model.train(was_training)


def _fingerprint(model: Any) -> str:
    """Return a hash of each parameter's sum and norm, so that other weights at the same step make another Run."""
    parts = [
        [name, float(weight.detach().float().sum()), float(weight.detach().float().norm())]
        for name, weight in model.named_parameters()
    ]
    return hashlib.sha256(content_hash(parts).encode()).hexdigest()[:16]


def _log(run: Run, own: Any, event: tuple[Any, Any, Any], *, model: Any) -> None:
    """Log the Run's numbers as `Trainer.log` does: in the history, and with every other callback of the trainer.

    Callbacks are not given their trainer, so its other callbacks are those of the handler that is calling.
    """
    args, state, control = event
    numbers = {f"adhere/{name}": value for name, value in tracked_numbers(run.summary()).items()}
    state.log_history.append({**numbers, "epoch": state.epoch, "step": state.global_step})
    for other in _neighbours():
        if other is not own:
            other.on_log(args, state, control, logs=dict(numbers), model=model)


def _neighbours() -> list[Any]:
    """Return the callbacks of the handler that is calling, which is looked for on the stack; empty without one."""
    from transformers.trainer_callback import CallbackHandler

    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the interpreter's own name
    while frame is not None:
        if isinstance(handler := frame.f_locals.get("self"), CallbackHandler):
            return list(handler.callbacks)
        frame = frame.f_back
    return []
