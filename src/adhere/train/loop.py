"""The optimizer loop that every stage shares: schedule, accumulation, clipping, checks.

A stage cuts its optimizer batch into parts and gives a loss for each, already normalised over the *whole* batch. The
gradients of the parts add up, so results do not depend on where the cuts are.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from adhere.errors import Divergence, UsageError
from adhere.progress import Step
from adhere.train.budget.ledger import LogRow, StepLog, Tally, peak_memory_bytes, values_of
from adhere.train.checkpoint import keeper
from adhere.train.packed.pack import Tree, log_probs
from adhere.train.parallel import add_up, is_sharding, share
from adhere.train.settings import Merging, OptimizerSettings, Precision
from adhere.train.watch import PASSED, SCORE, watcher

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


LOOP_VERSION = 1  # raised when what all methods share (loop, packing, optimizer, adapters) trains other weights
Part = TypeVar("Part")
Item = TypeVar("Item")


class Update(NamedTuple):
    """Holds the numbers of one optimizer step. `grad_norm` is before clipping."""

    loss: float
    grad_norm: float
    learning_rate: float


def rate_at(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Return the learning rate of step `step` (from 0) of `steps`."""
    warmup = math.ceil(settings.warmup_share * steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / (warmup + 1)
    done = (step - warmup) / max(1, steps - 1 - warmup)  # 0 at the first step after warm-up, 1 at the last
    match settings.schedule:
        case "constant":
            remaining_share = 1.0
        case "linear":
            remaining_share = 1.0 - done
        case "cosine":
            remaining_share = (1.0 + math.cos(math.pi * done)) / 2
    return settings.learning_rate * (settings.final_share + (1 - settings.final_share) * remaining_share)


class Learner:
    """Updates a model's weights, one optimizer step a call. `learning` makes it."""

    def __init__(self, model: PreTrainedModel, settings: OptimizerSettings, *, stage: str, steps: int) -> None:
        import torch

        self.model, self.settings, self.stage, self.steps = model, settings, stage, steps
        self.precision: Precision = settings.precision or "fp32"
        self.keeper = keeper()
        self.watch = watcher()
        self.step = 0
        self.kept: list[torch.Tensor] = []
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        _refuse_coarse_weights(self.parameters, settings.learning_rate, stage)
        groups = [
            {"params": [p for p in self.parameters if p.ndim >= 2], "weight_decay": settings.weight_decay},
            {"params": [p for p in self.parameters if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=settings.learning_rate,
            betas=settings.betas,
            fused=all(parameter.device.type in {"cpu", "cuda"} for parameter in self.parameters),
        )
        if settings.merging is not None:
            self.optimizer = _merging(self.optimizer, model, settings.merging, stage)

    def describe(self, tally: Tally) -> None:
        """Record in the ledger how many weights are trained, in which precision, and on which device."""
        trained = sum(parameter.numel() for parameter in self.parameters)
        tally.parameters_trained = trained
        tally.parameters_frozen = sum(parameter.numel() for parameter in self.model.parameters()) - trained
        tally.precision, tally.device = self.precision, self.model.device.type

    def remaining(
        self, order: Sequence[Item], tally: Tally, log: list[LogRow], bar: Step | None = None
    ) -> Iterator[Item]:
        """Yield the batches of `order` that are not trained on yet; a stage's loop runs over them.

        Inside `checkpoint.keeping`, the first call restores the checkpoint, and later ones are written after batches
        when due. Inside `watch.watching`, the model is evaluated before, during and after training, and ends with its
        best weights.
        """
        place = 0 if self.keeper is None else self.keeper.restore(self, tally, log)
        if self.watch is not None and isinstance(log, StepLog):
            if not place:
                first: LogRow = {"step": 0, "loss": None}
                log.append(first | self._look(tally, log))
            every, looks = self.watch.every, self.step // self.watch.every

            def look() -> LogRow:
                nonlocal looks
                due, looks = self.step // every > looks, self.step // every
                return self._look(tally, log) if due or self.step == self.steps else {}

            log.more = look
        if bar is not None and place:
            bar.advance(place, note="taken up again")
        for done, item in enumerate(order[place:], start=place + 1):
            yield item
            if self.keeper is not None:
                self.keeper.save_if_due(self, tally, log, done=done)
        if self.watch is not None:
            self.go_back()

    def _look(self, tally: Tally, log: Sequence[LogRow]) -> LogRow:
        """Evaluate the model, remember its weights if the score is the highest so far, and return the log's columns."""
        assert self.watch is not None  # noqa: S101 - the callers asked
        score, passed = self.watch.look(self.model, tally)
        if all(score > earlier for earlier in values_of(log, SCORE)):
            self.keep()
        return {SCORE: score, PASSED: passed}

    def log_probs(self, tree: Tree, *, temperature: float = 1.0) -> torch.Tensor:
        """Compute the log-probs of the tree's completion tokens (K) under the model, in the stage's precision."""
        return log_probs(self.model, tree, temperature=temperature, precision=self.precision)

    def keep(self) -> None:
        """Remember the trained weights as they are, for `go_back`; a checkpoint holds them, too."""
        self.kept = [parameter.detach().clone() for parameter in self.parameters]

    def go_back(self) -> None:
        """Put the weights that `keep` remembered back into the model."""
        from adhere.train.sharding import local

        self.put([local(value) for value in self.kept])

    def put(self, values: Sequence[torch.Tensor]) -> None:
        """Set the trained weights to `values`; with sharded weights each process gives its own parts."""
        import torch

        from adhere.train.sharding import let_go, local

        if is_sharding():
            let_go(self.model)
        with torch.no_grad():
            for parameter, value in zip(self.parameters, values, strict=True):
                local(parameter).copy_(value)

    def update(self, parts: Iterable[Part], loss_of: Callable[[Part], torch.Tensor]) -> Update:
        """Add up the gradients of all parts and take one optimizer step.

        Raises:
            Divergence: A loss or the gradient is not finite; the weights stay as before the step.
        """
        import torch

        from adhere.train.sharding import idle, scalar

        rate = self._next_rate()
        total = 0.0
        for part in share(parts):
            if part is None:
                idle(self.model)
                continue
            loss = loss_of(part)
            value = float(loss.detach())
            self._refuse_unbounded("loss", value, rate)
            loss.backward()  # type: ignore[no-untyped-call]
            total += value
        total = add_up(self.parameters, total)
        norm = scalar(torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip))
        self._refuse_unbounded("gradient norm", norm, rate)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return Update(total, norm, rate)

    def skip(self) -> LogRow:
        """Count a step without an update, and return its log row."""
        rate = self._next_rate()
        self.step += 1
        return {"loss": None, "learning_rate": rate, "peak_memory_bytes": self._peak_memory()}

    def row(self, update: Update, **columns: float | None) -> LogRow:
        """Return the log row of a step: the columns of every stage, and the stage's own `columns`.

        `merging_lost_share` is the share of AdamW's step, along its direction, that online merging did not take.
        """
        step_share: float | None = getattr(self.optimizer, "step_share", None)
        return {
            "step": self.step,
            "loss": update.loss,
            "learning_rate": update.learning_rate,
            "grad_norm": update.grad_norm,
            **columns,
            **({} if step_share is None else {"merging_lost_share": 1 - step_share}),
            "peak_memory_bytes": self._peak_memory(),
        }

    def _peak_memory(self) -> int:
        return peak_memory_bytes(self.model.device.type)

    def _next_rate(self) -> float:
        rate = rate_at(self.step, self.steps, self.settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _refuse_unbounded(self, noun: str, value: float, rate: float) -> None:
        if not math.isfinite(value):
            raise Divergence(
                f"{self.stage}: the {noun} of step {self.step + 1} of {self.steps} is {value} at learning rate "
                f"{rate:.3g}; that step was not taken. Lower learning_rate, or look for a broken row in its batch"
            )


@contextmanager
def learning(model: PreTrainedModel, settings: OptimizerSettings, *, stage: str, steps: int) -> Iterator[Learner]:
    """Make a Learner on `model`; afterwards the model has its former mode again.

    Dropout is off throughout: log-probs of the same weights must be equal in generation, reference and training.
    """
    from adhere.train.packed.tokens import trained_rows

    embeddings = [model.get_input_embeddings(), model.get_output_embeddings()]  # type: ignore[no-untyped-call]
    rows = {id(tokens) for tokens in trained_rows(model).values()}  # of a chat template's own tokens: always trained
    frozen_parameters = [
        p for module in embeddings if module is not None for p in module.parameters() if p.requires_grad
    ]
    frozen_parameters = [p for p in frozen_parameters if settings.freeze_embeddings_and_head and id(p) not in rows]
    attention, training = model.config._attn_implementation, model.training  # noqa: SLF001 (no public reader)
    for parameter in frozen_parameters:
        parameter.requires_grad_(False)  # noqa: FBT003 (torch's own signature)
    model.train(False)  # noqa: FBT003
    if settings.gradient_checkpointing:
        _refuse_dropout(model)
        # transformers renamed both within version 5
        getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)({"use_reentrant": False})
        model.train()  # transformers computes again only in this mode
    try:
        if is_sharding():
            _shard(model, settings, stage)
        model.set_attn_implementation(attention_for(model, settings.precision or "fp32"))  # now it is where it computes
        yield Learner(model, settings, stage=stage, steps=steps)
    finally:
        for parameter in frozen_parameters:
            parameter.requires_grad_(True)  # noqa: FBT003
        model.zero_grad(set_to_none=True)
        if settings.gradient_checkpointing:
            getattr(model, "activation_checkpointing_disable", model.gradient_checkpointing_disable)()
        model.set_attn_implementation(attention)
        model.train(training)


def _shard(model: PreTrainedModel, settings: OptimizerSettings, stage: str) -> None:
    from adhere.train.sharding import distribute

    if settings.merging is not None:
        raise UsageError(f"{stage}: online merging needs whole matrices in each process. Run it without --shard")
    distribute(model)


def attention_for(model: PreTrainedModel, precision: Precision) -> str:
    """Return the name of the attention that is fastest over trees.

    It is ours in bf16 on a CPU, else torch's, which is exact with a 4D mask (benchmarks/training/trees.py).
    """
    from adhere.train.packed.attention import register

    return register(low=precision == "bf16" and model.device.type == "cpu")


def frozen_copy(model: PreTrainedModel, precision: Precision | None = None) -> PreTrainedModel:
    """Return a frozen copy of the model as it is now, to be a stage's reference.

    With sharded weights the copy is sharded, too.
    """
    model = copy.deepcopy(model)
    model.requires_grad_(False)  # noqa: FBT003
    model.train(False)  # noqa: FBT003
    if is_sharding():
        from adhere.train.sharding import distribute

        distribute(model)
    model.set_attn_implementation(attention_for(model, precision or "fp32"))
    return model


def _refuse_dropout(model: PreTrainedModel) -> None:
    dropouts = {name: value for name, value in model.config.to_dict().items() if "dropout" in name and value}
    if dropouts:
        settings_text = ", ".join(f"{name} = {value}" for name, value in dropouts.items())
        raise UsageError(
            f"gradient_checkpointing: the model's config has {settings_text}, which checkpointing would switch "
            "on. Set it to 0 there"
        )


def _merging(
    optimizer: torch.optim.Optimizer, model: PreTrainedModel, merging: Merging, stage: str
) -> torch.optim.Optimizer:
    """Wrap the optimizer in online merging with what was learned from `merging.base` to the model's weights.

    Masks depend on torch's seed.
    """
    import torch
    from safetensors.torch import load_file

    from adhere.train.optim import OnlineMerging
    from adhere.train.packed.tokens import trained_rows, trained_tokens

    files = sorted(Path(merging.base).glob("*.safetensors"))
    if not files:
        raise UsageError(
            f"{stage}: merging.base = {merging.base!r} holds no safetensors; "
            "it names the weights before the stage before"
        )
    base = {name: tensor for file in files for name, tensor in load_file(str(file)).items()}
    base |= {f"{name}.rows": base[f"{name}.weight"][trained_tokens(model)] for name in trained_rows(model)}
    return OnlineMerging(
        optimizer,
        base,
        merging.method,
        p=merging.p,
        alpha=merging.alpha,
        mode=merging.mode,
        every=merging.every,
        model=model,
        seed=torch.initial_seed() % 2**32,
    )


def _refuse_coarse_weights(parameters: list[torch.nn.Parameter], rate: float, stage: str) -> None:
    """Refuse a small learning rate for weights of less than 32 bits.

    At lr 7e-7 a step changes 1 % of bf16 weights, and the rest round back: training would silently stand still.
    """
    coarse = sorted({str(p.dtype) for p in parameters if p.dtype.itemsize < 4})
    if coarse and rate < 1e-5:
        raise UsageError(
            f"{stage}: weights in {', '.join(coarse)} cannot take steps of learning_rate {rate:g} (they round back to "
            "where they were). Load the model in float32, or use a learning rate of at least 1e-5"
        )
